"""From runs and a benchmark to named numbers. Every number that a report shows is computed here; `reporting` lays out."""
