"""Rerankers: the best of a search in a better order."""
