"""Start of the installed application: `app.py` and Streamlit's configuration, as a clone has them."""
