"""Labels as distributions: what many votes say of an item beyond their majority."""
