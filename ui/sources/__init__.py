"""Sources in the library."""
