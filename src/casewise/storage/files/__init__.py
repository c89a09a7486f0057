"""Files written whole or not at all, JSON read strictly, a line a record."""
