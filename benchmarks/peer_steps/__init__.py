"""What peers.py measures, step by step, on either side."""
