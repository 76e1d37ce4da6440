"""Steps of peers.py on either side."""
