"""What is simulated, a file for each kind of number; `python -m benchmarks.coverage` runs it."""
