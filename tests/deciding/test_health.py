"""False alarms of the service's rolling limits, simulated for hours in which nothing is wrong."""

from pathlib import Path

import numpy as np
import pytest

from casewise.deciding.decider import DecisionNumbers
from casewise.deciding.decider_file import FittedDecider, read_decider
from casewise.deciding.health import RecentDecisions

PINNED = Path(__file__).parents[1] / "contract" / "decider-1.json"


def fitted(rng: np.random.Generator, *, unreadable: float) -> FittedDecider:
    """A decider fitted on 90 items of 45 queries, of which so large a share gave no value on average."""
    file, _ = read_decider(PINNED)
    lost, values = rng.uniform(size=90) < unreadable, rng.uniform(size=90)
    answered = ~lost & (values > 0.5)
    edges = np.quantile(values[~lost], np.linspace(0, 1, 11)[1:-1])
    on = {
        "unscored": {"unparsed": float(lost.mean())},
        "without_value": float(lost.mean()),
        "score_edges": tuple(edges.tolist()),
        "score_shares": (0.1,) * 10,
        "decisions": {"refuse": float(1 - answered.mean()), "ask": 0.0, "answer": float(answered.mean())},
        "categories": {},
    }
    benchmark = file.benchmark.model_copy(update={"n_items": 90, "n_queries": 45})
    measured_on = file.measured_on.model_copy(update=on)
    return file.model_copy(update={"measured_on": measured_on, "benchmark": benchmark})


@pytest.mark.slow
@pytest.mark.parametrize("unreadable", [0.0, 0.01, 0.05])
def test_ten_healthy_hours_of_a_thousand_requests_raise_no_alarm(unreadable):
    rng = np.random.default_rng(1)
    alarms: list[str] = []
    for _hour in range(10):
        recent = RecentDecisions(fitted(rng, unreadable=unreadable))
        for number in range(1, 1001):
            lost, value = rng.uniform() < unreadable, float(rng.uniform())
            recent.add(
                DecisionNumbers(
                    decision="answer" if not lost and value > 0.5 else "refuse",
                    id="x",
                    value=None if lost else value,
                    failed="unparsed" if lost else None,
                )
            )
            if number % 100 == 0:
                alarms += recent.problems(list(recent.shares()), recent.drift())

    assert not alarms
