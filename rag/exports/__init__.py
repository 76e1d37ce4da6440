"""A chat as a file that stands alone: Markdown, HTML or JSON, each quote numbered with its file and hash."""
