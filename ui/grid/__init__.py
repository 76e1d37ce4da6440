"""Grid page: the same questions over many documents, as a table whose cells open their words."""
