"""What a study found: ratings from wherever they lie, the analysis, simulated designs."""
