import math

import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats import judge_power
from casewise.stats.judge_power import (
    assumed_deviation,
    further_queries,
    power_of_queries,
    queries_needed,
    query_differences,
    simulated_power,
    simulated_queries_needed,
)


def two_judges(queries, *, rng, ahead=0.04, each=2):
    """Two judges right on about 80 % of items, whose difference goes together within a query."""
    shift = rng.normal(0, 0.1, queries).repeat(each)
    first = rng.random(queries * each) < np.clip(0.8 + ahead + shift, 0, 1)
    second = rng.random(queries * each) < np.clip(0.8 - shift, 0, 1)
    return first.astype(float), second.astype(float), np.arange(queries).repeat(each)


def test_the_formula_is_millers_up_to_students_quantiles():
    # (1.959964 + 0.841621)^2 * 0.25^2 / 0.03^2 = 545.07
    assert queries_needed(0.03, 0.25) == pytest.approx(545.07, abs=3)
    assert power_of_queries(queries_needed(0.03, 0.25), 0.03, 0.25) >= 0.8
    assert power_of_queries(queries_needed(0.03, 0.25) - 1, 0.03, 0.25) < 0.8


def test_a_deviation_by_hand():
    assert assumed_deviation(0.02, discordance=0.1004) == pytest.approx(np.sqrt(0.1))
    assert assumed_deviation(0.0, discordance=0.1, items_per_query=2, correlation=1) == pytest.approx(np.sqrt(0.1))


@pytest.mark.slow
def test_the_queries_asked_for_find_the_difference_as_often_as_promised():
    rng = np.random.default_rng(3)
    pilot = query_differences(*two_judges(400, rng=rng)[:2], clusters=np.arange(400).repeat(2))
    planned = simulated_queries_needed(pilot.tilted(0.04), repeats=2_000)
    found = 0
    for _ in range(400):
        first, second, query = two_judges(planned.queries, rng=rng)
        d = query_differences(first, second, clusters=query)
        found += abs(d.mean) > 1.96 * d.deviation / np.sqrt(planned.queries)

    assert found / 400 == pytest.approx(0.8, abs=0.08)


def test_without_a_difference_the_test_keeps_its_level():
    rng = np.random.default_rng(4)
    pilot = query_differences(*two_judges(300, rng=rng)[:2], clusters=np.arange(300).repeat(2))

    assert pilot.tilted(0.0).mean == pytest.approx(0, abs=1e-9)
    assert simulated_power(pilot.tilted(0.0), 100, repeats=10_000).power == pytest.approx(0.05, abs=0.012)


def test_queries_that_are_alike_are_taken_together_where_there_are_many(monkeypatch):
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 2, (2, 600)).astype(float)
    clusters = np.repeat(np.arange(300), 2)
    apart = query_differences(first, second, clusters=clusters)
    whole = simulated_power(apart.tilted(0.05), 200, repeats=2_000)
    monkeypatch.setattr(judge_power, "DRAWN", 7 * 300)
    assert simulated_power(apart.tilted(0.05), 200, repeats=2_000) == whole
    monkeypatch.setattr(judge_power, "MANY", 10)
    together = query_differences(first, second, clusters=clusters)

    assert len(together.sums) == 5
    assert together.mean == pytest.approx(apart.mean)
    assert together.deviation == pytest.approx(apart.deviation)
    assert together.tilted(0.05).deviation == pytest.approx(apart.tilted(0.05).deviation)
    assert simulated_power(together.tilted(0.05), 200, repeats=2_000).power == pytest.approx(whole.power, abs=0.05)


def test_a_forecast_of_further_queries_needs_queries_that_say_how_much_they_differ():
    rng = np.random.default_rng(4)
    few, many = (rng.normal(0, 0.5 / n, n) for n in (3, 200))

    assert further_queries(0.9, few, 3) is None
    assert further_queries(0.05, np.zeros(200), 200) is None
    needed = queries_needed(0.05, math.sqrt(200 * 200 / 199 * (many**2).sum()))
    assert further_queries(0.05, many, 200) == needed - 200


@pytest.mark.parametrize(
    "question",
    [
        lambda: query_differences([1, 0], [1, 0], clusters=[0, 1]),
        lambda: query_differences([1, 1], [0, 0], clusters=[0, 1]).tilted(-0.1),
        lambda: queries_needed(0.0, 0.3),
        lambda: assumed_deviation(0.3, discordance=0.1),
        lambda: assumed_deviation(0.01, discordance=0.1, items_per_query=2, correlation=2),
    ],
)
def test_a_question_without_an_answer_is_an_error(question):
    with pytest.raises(StatisticsError):
        question()


def test_a_power_at_an_alpha_of_next_to_nothing_is_a_number_and_no_warning():
    assert 0 <= power_of_queries(3, 0.5, 2.7e-197, alpha=7e-277) <= 1
