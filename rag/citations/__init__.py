"""Citations: markers, statements, the checker and its judges."""
