"""Batch interfaces: one protocol, and a file for each provider."""
