"""Pages: numbers from `evaluation` and `auditing`, laid out to read."""
