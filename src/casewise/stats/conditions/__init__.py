"""Condition against condition: what the context changes in what people say."""
