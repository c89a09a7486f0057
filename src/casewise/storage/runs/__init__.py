"""A run as a folder."""
