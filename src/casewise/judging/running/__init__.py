"""A run of judging: what is asked, what is left, what it took."""
