"""One durable run for every kind of call: in any order, within limits, and without paying twice."""
