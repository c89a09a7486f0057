"""Judges: what turns an item, shown in an arm, into an outcome."""
