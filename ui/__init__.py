"""Streamlit pages."""
