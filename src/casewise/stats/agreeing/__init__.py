"""A judge beside people: labels, metrics with intervals, pairs, calibration, costs, comparison, the gate."""
