"""The derived indexes."""
