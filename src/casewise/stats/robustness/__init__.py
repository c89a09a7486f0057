"""Verdicts under an attack, paired with those without it."""
