"""Documents in, cited answers out."""
