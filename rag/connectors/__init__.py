"""Connectors: folders, web pages, Confluence and Google Drive as sources of documents."""
