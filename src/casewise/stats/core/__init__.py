"""What all statistics stand on: arrays checked, tails, clusters, intervals, shares, many tests at once."""
