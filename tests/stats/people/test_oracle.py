import csv

import numpy as np
import pytest
from tests.support.rate_mixtures import HONEST, counts_of

from casewise.errors import StatisticsError
from casewise.stats import oracle_accuracy
from casewise.stats.shares import chance_of_majority


def of(safe, votes, **options):
    return oracle_accuracy(safe, votes, rng=np.random.default_rng(0), **options)


def truth(rates, votes):
    """The oracle's accuracy in the long run, from the true rates of many items."""
    drawn = rates(np.random.default_rng(5), 400_000)
    return float(chance_of_majority(np.maximum(drawn, 1 - drawn), votes).mean())


@pytest.fixture
def release(shared):
    with (shared / "data" / "human_ratings.csv").open() as file:
        rows = list(csv.DictReader(file))
    safe = np.array([row["votes20"].count("1") for row in rows])
    return safe, [row["intended_safe"] for row in rows], np.arange(900) // 2


def test_on_the_release_the_oracle_is_on_the_scale_of_every_accuracy(release):
    safe, intent, query = release
    found = of(safe, np.full(900, 20), strata=intent, clusters=query)

    assert (found.ties, found.items) == (92, 900)
    assert (found.low, found.high) == pytest.approx((0.873, 0.910), abs=0.002)
    assert found.ci_low < found.low < found.high < found.ci_high
    copying = (900 - 92 + 92 / 2) / 900
    assert found.high < copying == pytest.approx(0.949, abs=5e-4)


def test_two_items_by_hand():
    """Beta(1, 1): after 3 safe of 3 votes the rate is above a half with chance 15/16; a tie is half right."""
    found = of([3, 0, 1, 1], [3, 3, 2, 2], clusters=[0, 1, 2, 3])

    assert found.by_prior["uniform"] == pytest.approx((15 / 16 * 2 + 0.5 * 2) / 4)
    assert found.ties == 2


def test_the_oracle_is_right_so_often():
    rng = np.random.default_rng(3)
    true = rng.beta(2, 2, 20_000)
    safe = rng.binomial(20, true)
    label = (np.sign(2 * safe - 20) + 1) / 2

    right = np.where(true > 0.5, label, 1 - label).mean()
    found = of(safe, np.full(20_000, 20))
    assert found.by_prior["beta"] == pytest.approx(right, abs=0.01)
    assert found.ci_low < right < found.ci_high


@pytest.mark.slow
@pytest.mark.parametrize("votes", [5, 20])
@pytest.mark.parametrize(
    "name", ["beta(1, 1)", "beta(2, 2)", "(0.4, 0.6)", "(0.5,)", "logits N(0.5, 2)", "beta(6.7, 20.7)"]
)
def test_the_interval_holds_the_long_run_whatever_the_spread_of_rates(name, votes):
    rng = np.random.default_rng(votes)
    long_run = truth(HONEST[name], votes)
    found = [of(counts_of(HONEST[name], items=200, votes=votes, rng=rng), np.full(200, votes)) for _ in range(5)]

    # At 95 % one miss in five happens in a fifth of such tests, two in a fiftieth.
    assert sum(one.ci_low - 1e-6 <= long_run <= one.ci_high + 1e-6 for one in found) >= 4


def test_items_of_one_query_that_go_together_make_it_wider():
    rng = np.random.default_rng(1)
    safe = np.repeat(rng.binomial(20, rng.beta(2, 2, 60)), 5)
    query = np.repeat(np.arange(60), 5)

    together, apart = of(safe, np.full(300, 20), clusters=query), of(safe, np.full(300, 20))
    assert together.ci_high - together.ci_low > apart.ci_high - apart.ci_low


def test_ties_alone_have_no_label():
    with pytest.raises(StatisticsError, match="no item has a majority"):
        of([2, 2], [4, 4])


def test_many_clusters_are_drawn_for_by_their_covariance_which_comes_to_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    safe, query = rng.binomial(5, rng.beta(2, 2, 3000)), np.repeat(np.arange(1500), 2)
    each = of(safe, np.full(3000, 5), clusters=query)
    monkeypatch.setattr("casewise.stats.crowd.MANY_CLUSTERS", 1_000)

    together = of(safe, np.full(3000, 5), clusters=query)

    assert together.by_prior == each.by_prior
    assert 0 < abs(together.ci_low - each.ci_low) < 0.1 * (each.ci_high - each.ci_low)
    assert together.ci_high == pytest.approx(each.ci_high, abs=0.1 * (each.ci_high - each.ci_low))
