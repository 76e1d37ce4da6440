"""The server behind the pages: shared services, metrics and background work."""
