"""Formats of tables that other programs write, one short reader each, recognised by content."""
