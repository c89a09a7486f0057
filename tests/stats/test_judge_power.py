import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from casewise.errors import StatisticsError
from casewise.stats import judge_power
from casewise.stats.judge_power import (
    SimulatedPower,
    assumed_deviation,
    further_queries,
    power_of_queries,
    queries_needed,
    query_differences,
    simulated_power,
    simulated_queries_needed,
)
from casewise.stats.power import detectable_shift
from casewise.stats.shares import wilson


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


BY_HAND = query_differences([1, 1, 0, 0, 1], [0, 1, 0, 1, 0], clusters=[0, 0, 1, 1, 2])
"""Three queries with a difference of 1 on two items, of -1 on two items and of 1 on one item."""


def test_differences_are_summed_within_queries():
    assert (BY_HAND.sums.tolist(), BY_HAND.items.tolist()) == ([1, -1, 1], [2, 2, 1])
    assert BY_HAND.chance == pytest.approx([1 / 3] * 3)
    assert BY_HAND.mean == pytest.approx(1 / 5)
    part = (np.array([1, -1, 1]) - np.array([2, 2, 1]) / 5) / (5 / 3)
    assert BY_HAND.deviation == pytest.approx(np.sqrt((part**2).mean()))
    assert query_differences([1, 1], [0, 1]).items.tolist() == [1, 1]


@pytest.mark.parametrize("difference", [-0.45, 0.0, 0.1, 0.7, 0.99])
def test_the_nearest_population_with_another_difference_is_tilted_exponentially(difference):
    prior = np.array([0.5, 0.3, 0.2])
    tilted = replace(BY_HAND, chance=prior).tilted(difference)
    off = BY_HAND.sums - difference * BY_HAND.items

    assert tilted.mean == pytest.approx(difference, abs=1e-9)
    assert tilted.chance.sum() == pytest.approx(1)
    slopes = np.diff(np.log(tilted.chance / prior)) / np.diff(off)
    assert slopes[0] == pytest.approx(slopes[1])


def test_the_power_is_that_of_the_noncentral_t():
    t, shift = scipy.stats.t.ppf(0.99, 24), np.sqrt(25) * 0.2 / 0.5
    expected = scipy.stats.nct.sf(t, 24, shift) + scipy.stats.nct.cdf(-t, 24, shift)

    assert power_of_queries(25, -0.2, 0.5, alpha=0.02) == pytest.approx(expected)
    assert power_of_queries(25, 0.2, 0.5) == power_of_queries(25, 0.2, 0.5, alpha=0.05)
    assert power_of_queries(2, 0.2, 0.5) < 0.1


def test_a_simulation_rejects_where_the_cluster_robust_t_of_its_draws_does():
    population = replace(BY_HAND, sums=np.array([1.0, -1, 2]), chance=np.array([0.5, 0.3, 0.2]))
    found = simulated_power(population, 12, alpha=0.1, repeats=500, seed=3)

    drawn = np.random.default_rng(3).multinomial(12, population.chance, size=500)
    rejected = 0
    for counts in drawn:
        d, k = (np.repeat(values, counts) for values in (population.sums, population.items))
        mean = d.sum() / k.sum()
        error = np.sqrt(12 / 11 * ((d - mean * k) ** 2).sum()) / k.sum()
        rejected += abs(mean) > scipy.stats.t.ppf(0.95, 11) * error
    limits = wilson(rejected, 500)
    assert (found.power, found.queries, found.repeats, found.seed) == (rejected / 500, 12, 500, 3)
    assert (found.ci_low, found.ci_high) == (float(limits.low), float(limits.high))
    assert simulated_power(population, 12) == simulated_power(population, 12, alpha=0.05, repeats=4_000, seed=0)


@pytest.mark.parametrize("share", [0.6, 1.0, 1.9])
def test_the_fewest_queries_are_found_around_the_formulas(monkeypatch, share):
    """A power that leaps to 1 at one number of queries."""
    about = queries_needed(BY_HAND.mean, BY_HAND.deviation, alpha=0.02, power=0.9)
    leap = int(share * about)

    def leaping(population, n, *, alpha, repeats):
        assert (population, alpha, repeats) == (BY_HAND, 0.02, 70)
        return SimulatedPower(n, 0.9 * (n >= leap), 0.0, 1.0, repeats, 0)

    monkeypatch.setattr(judge_power, "simulated_power", leaping)
    found = simulated_queries_needed(BY_HAND, alpha=0.02, power=0.9, repeats=70)

    assert leap <= found.queries <= leap + max(1, about // 200)


def test_a_forecast_is_of_ten_queries_or_more_and_of_a_million_at_most():
    even, uneven = (np.resize([0.01, -0.01], n) for n in (10, 9))

    assert further_queries(0.005, even, 10) == queries_needed(0.005, math.sqrt(100 / 9 * (even**2).sum())) - 10
    assert further_queries(0.005, uneven, 9) is None
    assert further_queries(0.005, even, 10, level=0.99) == (
        queries_needed(0.005, math.sqrt(100 / 9 * (even**2).sum()), alpha=0.01) - 10
    )
    assert further_queries(5.0, even, 10) == 1
    assert further_queries(0.0, even, 10) is None
    assert further_queries(1e-5, even, 10) is None


@pytest.mark.parametrize(("n", "alpha", "power"), [(20, 0.05, 0.8), (7, 0.01, 0.6), (200, 0.2, 0.99)])
def test_the_queries_that_are_needed_are_the_fewest(n, alpha, power):
    shift = judge_power_shift(n, alpha, power)
    assert queries_needed(shift, 1.0, alpha=alpha, power=power) == n
    assert queries_needed(shift * 0.999, 1.0, alpha=alpha, power=power) >= n


def judge_power_shift(n, alpha, power):
    """The difference in standard deviations that `n` queries just find."""
    return detectable_shift(n - 1, alpha=alpha, power=power) / np.sqrt(n) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (lambda: query_differences([1, 0], [1, 0], clusters=[0, 1]), "judges that differ on one"),
        (lambda: query_differences([1, 0], [0, 0], clusters=[0, 0]), "two queries at least"),
        (lambda: query_differences([1, 1], [0, 0], clusters=[0, 1]).tilted(-0.1), "never on the other side of -0.1"),
        (lambda: query_differences([1, 1], [0, 0], clusters=[0, 1]).tilted(1.1), "never on the other side of 1.1"),
        (lambda: query_differences([1, 0], [0, 1], clusters=[0, 1]).tilted(1.0), "never on the other side of 1"),
        (lambda: query_differences([1, 0], [0, 1], clusters=[0, 1]).tilted(-1.0), "never on the other side of -1"),
        (lambda: queries_needed(0.0, 0.3), "finite and not 0"),
        (lambda: queries_needed(np.inf, 0.3), "finite and not 0"),
        (lambda: queries_needed(0.1, 0.0), "must vary over queries"),
        (lambda: queries_needed(0.1, np.inf), "must vary over queries"),
        (lambda: queries_needed(0.1, 0.3, alpha=0.5, power=0.4), "no more than alpha"),
        (lambda: power_of_queries(1, 0.1, 0.3), "at least 2"),
        (lambda: power_of_queries(5, 0.1, 0.3, alpha=1.0), "alpha"),
        (lambda: simulated_power(BY_HAND, 1), "at least 2"),
        (lambda: simulated_power(BY_HAND, 5, alpha=0.0), "alpha"),
        (lambda: simulated_power(BY_HAND, 5, repeats=0), "repeats"),
        (lambda: assumed_deviation(0.3, discordance=0.1), "cannot differ by 0.3"),
        (lambda: assumed_deviation(0.01, discordance=0.1, items_per_query=2, correlation=2), "between -1 and 1"),
        (lambda: assumed_deviation(0.01, discordance=0.1, items_per_query=3, correlation=-0.6), "between -0.5 and 1"),
        (lambda: assumed_deviation(0.01, discordance=0.1, items_per_query=0), "items_per_query"),
    ],
)
def test_a_question_without_an_answer_is_an_error(question, why):
    with pytest.raises(StatisticsError, match=why):
        question()


def test_the_deviation_of_several_items_by_hand():
    assert assumed_deviation(0.1, discordance=0.1) == pytest.approx(0.3)
    assert assumed_deviation(0.1, discordance=0.2, items_per_query=3, correlation=0.25) == pytest.approx(
        np.sqrt((0.2 - 0.01) * 1.5 / 3)
    )
    assert assumed_deviation(0.1, discordance=0.2, items_per_query=3, correlation=-0.5) == 0


def test_a_power_at_an_alpha_of_next_to_nothing_is_a_number_and_no_warning():
    assert 0 <= power_of_queries(3, 0.5, 2.7e-197, alpha=7e-277) <= 1
    assert power_of_queries(3, 1e-200, 1.0) == pytest.approx(0.05)
    assert power_of_queries(3, 1e200, 1e-200) == 1
