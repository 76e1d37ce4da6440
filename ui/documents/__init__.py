"""Documents in the library."""
