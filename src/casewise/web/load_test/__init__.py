"""Simulated people on the real pages, over HTTP."""
