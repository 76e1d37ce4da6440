"""The trees page."""
