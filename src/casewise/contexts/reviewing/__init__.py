"""Contexts read, revised and signed off by people."""
