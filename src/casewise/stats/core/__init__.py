"""What all statistics stand on: arrays checked, tails, resampling, clusters, shares, many tests at once."""
