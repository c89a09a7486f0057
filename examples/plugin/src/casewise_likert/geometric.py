"""A metric: the geometric mean of both recalls."""

import numpy as np

from casewise.stats.arrays import FloatArray
from casewise.stats.measured import Totals
from casewise.stats.metrics import Metric, divide


def geometric_mean(sums: Totals) -> FloatArray:
    """Return the root of the product of both recalls, elementwise; nan where a class is missing."""
    return np.sqrt(divide(sums["hit_safe"], sums["safe"]) * divide(sums["hit_unsafe"], sums["unsafe"]))


G_MEAN = Metric(
    "g_mean",
    "geometric mean of recalls",
    "root of the product of the recall of safe and the recall of unsafe (Kubat & Matwin 1997)",
    formula=geometric_mean,
)
