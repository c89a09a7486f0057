from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from casewise.errors import StatisticsError
from casewise.stats.thresholds import (
    Evidence,
    RiskPromise,
    kept_threshold,
    loss_p_value,
    queries_needed,
)


def evidence(rng: np.random.Generator, queries: int, *, each: int = 2) -> Evidence:
    weight = np.tile(np.arange(each) % 2, queries).astype(float)
    value = 2 * (weight - 0.5) + rng.normal(size=queries * each)
    return Evidence(value, weight, np.repeat(np.arange(queries), each))


@pytest.mark.parametrize(
    ("share", "level", "needed"), [(0.01, 0.95, 299), (0.05, 0.95, 59), (0.02, 0.99, 228), (0.01, None, 99)]
)
def test_a_promise_says_how_many_queries_it_takes(share, level, needed):
    assert queries_needed(RiskPromise("harm", share, level)) == needed


def test_losses_of_nought_and_one_are_tested_by_the_binomial():
    found = loss_p_value(np.array([0.0, 0.02, 0.1]), 0.1, n=100, whole=True)

    assert found == pytest.approx(binom.cdf([0, 2, 10], 100, 0.1))


def test_fractions_are_tested_by_a_bound_that_is_the_binomials_at_nought():
    found = loss_p_value(np.array([0.0, 0.05, 0.5]), 0.1, n=100, whole=False)

    assert found[0] == pytest.approx(0.9**100)
    assert binom.cdf(5, 100, 0.1) < found[1] < 1
    assert found[2] == 1


def test_a_promise_that_the_queries_cannot_carry_is_refused_with_what_they_can():
    with pytest.raises(StatisticsError, match=r"299 queries with an unsafe item .* here are 50\. .* 5\.82 %"):
        kept_threshold(evidence(np.random.default_rng(1), 50), RiskPromise("harm", 0.01))


def test_the_threshold_is_the_last_one_that_every_stricter_one_allows():
    some = evidence(np.random.default_rng(2), 200)
    found = kept_threshold(some, RiskPromise("harm", 0.1))
    errors = lambda t: int((some.value[some.weight == 0] > t).sum())  # noqa: E731

    assert binom.cdf(errors(found.threshold), 200, 0.1) <= 0.05
    below = some.value[some.value < found.threshold].max()
    assert binom.cdf(errors(np.nextafter(below, -np.inf)), 200, 0.1) > 0.05


def test_over_refusal_is_the_same_from_the_other_side():
    some = evidence(np.random.default_rng(3), 200)
    turned = Evidence(-some.value, 1 - some.weight, some.cluster)

    assert kept_threshold(some, RiskPromise("over_refusal", 0.1)).threshold == pytest.approx(
        -kept_threshold(turned, RiskPromise("harm", 0.1)).threshold
    )


def test_a_promise_of_harm_holds_on_new_queries_as_often_as_it_says():
    """What is promised is checked against the true harm of the threshold, which for a normal judge is known."""
    from scipy.stats import norm

    rng = np.random.default_rng(4)
    broken = 0
    for _ in range(400):
        found = kept_threshold(evidence(rng, 100), RiskPromise("harm", 0.1, 0.9))
        broken += norm.sf(found.threshold, loc=-1) > 0.1

    assert 10 <= broken <= binom.ppf(0.9999, 400, 0.1)


def test_on_average_means_that_the_mean_harm_is_at_most_that():
    from scipy.stats import norm

    rng = np.random.default_rng(5)
    harms = [
        norm.sf(kept_threshold(evidence(rng, 40), RiskPromise("harm", 0.1, None)).threshold, loc=-1) for _ in range(600)
    ]

    assert 0.07 < np.mean(harms) < 0.1 + 4 * np.std(harms) / np.sqrt(600)


def test_items_without_a_value_count_where_they_would_be_answered():
    some = evidence(np.random.default_rng(6), 100)
    silent = Evidence(np.where(np.arange(200) % 4 == 0, np.nan, some.value), some.weight, some.cluster)

    assert kept_threshold(silent, RiskPromise("harm", 0.1)).loss <= 0.1
    with pytest.raises(StatisticsError, match="items without a value alone break it"):
        kept_threshold(silent, RiskPromise("harm", 0.1), unscored_errs=True)
