"""Documents into the library: queue and parsers."""
