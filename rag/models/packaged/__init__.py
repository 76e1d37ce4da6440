"""The embedding models, and where their files come from."""
