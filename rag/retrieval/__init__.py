"""From a question to passages."""
