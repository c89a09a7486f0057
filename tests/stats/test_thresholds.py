from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from casewise.errors import ConfigurationError, StatisticsError
from casewise.stats.calibrators import Platt
from casewise.stats.estimates import Estimate
from casewise.stats.thresholds import (
    Evidence,
    FittedThresholds,
    Requirements,
    RiskPromise,
    Trial,
    cheapest_trial,
    fit_thresholds,
    held_out,
    kept_threshold,
    loss_p_value,
    measure_decisions,
    queries_at,
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


def decisions_evidence(seed: int, queries: int = 300, *, signal: float = 1.0) -> Evidence:
    rng = np.random.default_rng(seed)
    weight = np.tile([1.0, 0.0], queries)
    return Evidence(
        signal * 2 * (weight - 0.5) + rng.normal(size=2 * queries), weight, np.repeat(np.arange(queries), 2)
    )


def ends(found: object) -> tuple[float, float, float]:
    """An interval with its number; nan where there is none."""
    assert isinstance(found, Estimate)
    low, value, high = (float("nan") if one is None else one for one in (found.ci_low, found.estimate, found.ci_high))
    return low, value, high


def test_decisions_follow_from_thresholds_and_a_missing_value_from_what_was_said():
    fitted = FittedThresholds(answer_above=0.7, refuse_up_to=0.3)

    assert fitted.decide(np.array([0.3, 0.31, 0.7, 0.71, np.nan]), fail="ask").tolist() == [0, 1, 1, 2, 1]


def test_what_decisions_come_to_is_counted_by_hand():
    some = Evidence(np.array([0.9, 0.1, 0.9, 0.5, np.nan]), np.array([1.0, 1.0, 0.0, 0.5, 0.0]), np.arange(5))
    found = measure_decisions(some, np.array([2, 0, 2, 1, 0]), wanted=Requirements(ratio=4, ask_cost=0.5))

    assert found.harm.estimate == pytest.approx(1 / 2.5)
    assert found.over_refusal.estimate == pytest.approx(1 / 2.5)
    assert (found.asked.estimate, found.answered_wrongly.estimate, found.unscored.estimate) == (0.2, 0.5, 0.2)
    assert ends(found.cost)[1] == pytest.approx((1 + 4 + 0.5) / 5)


def test_two_promises_ask_between_and_share_the_chance_of_failing():
    some = decisions_evidence(1)
    fitted = fit_thresholds(some, Requirements(max_harm=0.05, max_over_refusal=0.05))

    assert fitted.refuse_up_to < fitted.answer_above
    assert [one.promise.level for one in fitted.promised] == [pytest.approx(0.975)] * 2
    assert all(one.loss < 0.05 for one in fitted.promised)


def test_nobody_is_asked_where_one_threshold_keeps_both_promises():
    fitted = fit_thresholds(decisions_evidence(2, signal=3), Requirements(max_harm=0.05, max_over_refusal=0.05))

    assert fitted.refuse_up_to == fitted.answer_above


def test_the_cheapest_threshold_within_a_promise_never_breaks_it():
    some = decisions_evidence(3)
    promised = fit_thresholds(some, Requirements(max_harm=0.05)).answer_above
    cheap, dear = (fit_thresholds(some, Requirements(ratio=ratio, max_harm=0.05)).answer_above for ratio in (0.1, 200))

    assert cheap == promised < dear


def test_asking_is_for_those_of_whom_both_errors_cost_more():
    values = np.linspace(-4, 4, 81)
    some = Evidence(np.r_[values, values], np.r_[np.ones(81), np.zeros(81)], np.arange(162))
    fitted = fit_thresholds(some, Requirements(ratio=4, ask_cost=0.4), calibrator=Platt(1.0, 0.0))
    p = 1 / (1 + np.exp(-values))
    asked = (values > fitted.refuse_up_to) & (values <= fitted.answer_above)

    assert asked.tolist() == (np.minimum(4 * (1 - p), p) > 0.4).tolist()


def test_a_judge_that_knows_nothing_does_not_look_useful_on_held_out_queries():
    some = decisions_evidence(4, queries=60, signal=0)
    wanted = Requirements(ratio=1)
    own = measure_decisions(some, fit_thresholds(some, wanted).decide(some.value, fail="refuse"), wanted=wanted)
    fresh = measure_decisions(some, held_out(some, wanted, method="platt")[0], wanted=wanted)

    assert ends(own.cost)[1] < 0.5 <= ends(fresh.cost)[1] + 0.02


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({}, "--ratio"),
        ({"ask_cost": 0.1}, "--ratio"),
        ({"ask_cost": 0.1, "ratio": 2, "max_harm": 0.1}, "no promise"),
        ({"ratio": -1}, "above 0"),
        ({"max_harm": 0.1, "chosen_from": 0}, "--chosen-from"),
        ({"max_harm": 0.1, "chosen_from": 3, "level": None}, "best of several"),
        ({"ratio": 1, "fail": "perhaps"}, "--fail"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(wish, problem):
    with pytest.raises(ConfigurationError, match=problem):
        Requirements(**wish)


def test_judges_that_are_compared_share_the_chance_of_breaking_a_promise():
    (one,), (of_ten,) = (Requirements(max_harm=0.1, chosen_from=n).promises for n in (1, 10))
    both = Requirements(max_harm=0.1, max_over_refusal=0.1, chosen_from=5).promises

    assert one.level == 0.95
    assert of_ten.level == pytest.approx(0.995)
    assert [promise.level for promise in both] == pytest.approx([0.995, 0.995])


def test_intervals_of_the_best_of_several_are_wider_around_the_same_number():
    some = decisions_evidence(5, queries=60)
    decisions = fit_thresholds(some, Requirements(ratio=1)).decide(some.value, fail="refuse")
    one, of_ten = (measure_decisions(some, decisions, wanted=Requirements(ratio=1, chosen_from=n)) for n in (1, 10))

    for name in ("harm", "over_refusal", "cost"):
        (low, value, high), (lower, same, higher) = (ends(getattr(each, name)) for each in (one, of_ten))
        assert value == same
        assert lower < low < high < higher


def test_an_interval_grows_by_what_the_folds_thresholds_move_its_number():
    """Sixty queries say little of the cheapest threshold: its errors move from fold to fold, and the sum of both hardly does."""
    trial = Trial.from_evidence(decisions_evidence(6, queries=60, signal=0.6), Requirements(ratio=1), method="platt")
    bare = measure_decisions(trial.evidence, trial.decisions, wanted=trial.wanted)

    assert trial.threshold_variances["over_refusal"] > 0
    (_, value, high), (_, same, higher) = ends(bare.over_refusal), ends(trial.measured.over_refusal)
    assert value == same
    assert high < higher


def test_a_trial_that_cannot_carry_its_promise_says_so_and_minimises_cost():
    some = decisions_evidence(7, queries=20)
    trial, priced = (
        Trial.from_evidence(some, wanted, method="platt")
        for wanted in (Requirements(max_harm=0.01), Requirements(ratio=1))
    )

    assert "takes 299 queries" in str(trial.broken)
    assert trial.fitted == priced.fitted
    assert trial.wanted.promises == ()
    with pytest.raises(ValueError, match="no item has both"):
        Trial.from_evidence(
            Evidence(np.full(40, np.nan), some.weight, some.cluster), Requirements(ratio=1), method="platt"
        )


def test_the_cheapest_trial_keeps_its_promise_where_any_does():
    good, better = (
        Trial.from_evidence(
            decisions_evidence(8, queries=n, signal=signal), Requirements(max_harm=0.05), method="platt"
        )
        for n, signal in ((100, 0.7), (20, 3))
    )

    assert better.broken is not None
    assert better.cost.value < good.cost.value
    assert cheapest_trial({"good": good, "better": better}) == "good"
    assert cheapest_trial({"better": better}) == "better"


@pytest.mark.parametrize(("rate", "at_most", "level"), [(0.0, 0.05, 0.95), (0.03, 0.05, 0.95), (0.09, 0.1, 0.9875)])
def test_so_many_queries_as_are_said_carry_a_promise_at_that_rate_and_half_as_many_do_not(rate, at_most, level):
    n = queries_at(RiskPromise("harm", at_most, level), rate, whole=True)
    assert n is not None

    def p(queries):
        return loss_p_value(np.array(rate), at_most, n=queries, whole=True)

    assert p(n) <= 1 - level < p(n // 2)


@pytest.mark.parametrize(
    ("rate", "level", "queries"), [(0.05, 0.95, None), (0.2, None, None), (0.0, None, 19), (0.04, None, 95)]
)
def test_no_number_of_queries_carries_a_promise_that_the_rate_breaks(rate, level, queries):
    assert queries_at(RiskPromise("harm", 0.05, level), rate, whole=True) == queries


def test_what_these_queries_cannot_carry_is_refused():
    with pytest.raises(StatisticsError, match=r"299 queries with an unsafe item .* here are 50\. .* 5\.82 %"):
        kept_threshold(evidence(np.random.default_rng(1), 50), RiskPromise("harm", 0.01))


def test_needless_asking_is_promised_beside_harm_and_the_rest_is_asked_about():
    evidence = decisions_evidence(1, signal=4)
    fitted = fit_thresholds(evidence, Requirements(max_harm=0.2, max_needless_ask=0.3))
    assert fitted.refuse_up_to == -np.inf
    safe = evidence.weight > 0.5
    assert (evidence.value[safe] <= fitted.answer_above).mean() < 0.3
    with_both = fit_thresholds(evidence, Requirements(max_harm=0.2, max_needless_ask=0.3, max_over_refusal=0.1))
    assert -np.inf < with_both.refuse_up_to <= with_both.answer_above


def test_two_promises_that_exclude_each_other_are_refused():
    with pytest.raises(StatisticsError, match="cannot both be promised"):
        fit_thresholds(decisions_evidence(1, signal=0.1), Requirements(max_harm=0.1, max_needless_ask=0.1))


@pytest.mark.parametrize(("at_most", "level"), [(0.0, 0.95), (1.0, 0.95), (0.1, 0.0), (0.1, 1.0)])
def test_a_promise_has_a_share_and_a_level_between_0_and_1(at_most, level):
    with pytest.raises(StatisticsError, match="between 0 and 1"):
        RiskPromise("harm", at_most, level)
