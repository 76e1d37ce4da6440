"""Sign-in: who is at the page."""
