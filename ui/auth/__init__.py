"""Sign-in: modes, middleware, the signed-in visitor."""
