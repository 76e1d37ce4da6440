"""Documents into the library: queue, pipeline and parsers."""
