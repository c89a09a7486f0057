"""Alarms of the service's rolling limits: hardly ever where nothing is wrong, and soon where much is."""

import numpy as np
import pytest
from benchmarks.covered.deployed import alarms_of_an_hour


@pytest.mark.slow
@pytest.mark.parametrize("unreadable", [0.0, 0.01, 0.05])
def test_ten_healthy_hours_of_a_thousand_requests_raise_no_alarm(unreadable):
    rng = np.random.default_rng(1)
    alarms = [alarms_of_an_hour(rng, fitted_with=unreadable, unreadable=unreadable) for _hour in range(10)]

    assert alarms == [[]] * 10


@pytest.mark.slow
def test_an_hour_in_which_a_fifth_of_the_replies_cannot_be_read_raises_an_alarm_of_that():
    problems = alarms_of_an_hour(np.random.default_rng(2), fitted_with=0.01, unreadable=0.2)

    assert any("of the judge could not be read" in problem for problem in problems)
