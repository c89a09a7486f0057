"""Judges, published and a user's own, ranked beside what takes no judging."""
