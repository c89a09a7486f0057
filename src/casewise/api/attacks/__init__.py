"""Lies about the context, and what a source outside says of it."""
