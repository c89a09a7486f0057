"""One durable run, whatever is asked and whoever answers: in any order, within limits, and nothing paid for twice."""
