"""Items beside judges: how hard each is, what it tells, and which few place a new judge."""
