"""Where documents come from when nobody uploads them: folders, Confluence, Google Drive, web pages."""
