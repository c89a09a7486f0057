"""The pages of chatbots' replies, and of verdicts compared with replies."""

import pytest

from casewise.reports.behaviour import apart
from casewise.stats.estimates import Estimate


def estimate(value, low=None, high=None, name="accuracy"):
    return Estimate(name, value, low, high, 90.0, 0, "made up")


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(0.01, 0.2, "its verdicts are right more often"), (0.0, 0.2, "not told apart"), (-0.2, 0.0, "not told apart"), (-0.2, -0.01, "its replies are right more often")],
)  # fmt: skip
def test_says_against_does_follows_from_the_interval_of_the_difference(low, high, told):
    assert told in apart(estimate((low + high) / 2, low, high))
