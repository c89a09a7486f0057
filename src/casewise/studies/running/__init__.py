"""A study under way: rounds, annotators, slots, answers, quality, privacy, export."""
