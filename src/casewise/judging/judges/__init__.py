"""The judges there are, and the one place that finds a judge by its name."""
