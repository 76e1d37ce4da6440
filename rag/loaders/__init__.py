"""From any file to canonical text."""
