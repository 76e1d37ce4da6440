"""Check of a text against the documents."""
