"""Confluence, cloud and server."""
