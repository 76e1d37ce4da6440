"""The sources page."""
