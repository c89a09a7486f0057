"""Named numbers from runs and a benchmark. Every number that a report shows is computed here; `reporting` lays out."""
