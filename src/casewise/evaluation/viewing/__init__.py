"""Looking around in runs: items beside series in one table, what of it is wanted, and what comes in meanwhile."""
