"""What every prompt and every reply has in common, whatever is asked: placeholders, JSON, refusals, a context in words."""
