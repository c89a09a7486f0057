"""Reviewed contexts, released as a benchmark."""
