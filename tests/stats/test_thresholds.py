from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from casewise.errors import ConfigurationError, StatisticsError
from casewise.stats.calibrators import Platt
from casewise.stats.estimates import Estimate
from casewise.stats.thresholds import (
    DECISIONS,
    Evidence,
    FittedThresholds,
    LossCurve,
    RequirementFields,
    Requirements,
    RiskPromise,
    Trial,
    cheapest_trial,
    fewest_queries,
    fit_thresholds,
    held_out,
    kept_threshold,
    loss_p_value,
    measure_decisions,
    queries_at,
    rates,
)
from casewise.stats.words import Folds


def evidence(rng: np.random.Generator, queries: int, *, each: int = 2) -> Evidence:
    weight = np.tile(np.arange(each) % 2, queries).astype(float)
    value = 2 * (weight - 0.5) + rng.normal(size=queries * each)
    return Evidence(value, weight, np.repeat(np.arange(queries), each))


@pytest.mark.parametrize(
    ("share", "level", "needed"), [(0.01, 0.95, 299), (0.05, 0.95, 59), (0.02, 0.99, 228), (0.01, None, 99)]
)
def test_a_promise_says_how_many_queries_it_takes(share, level, needed):
    assert fewest_queries(RiskPromise("harm", share, level)) == needed


def test_losses_of_nought_and_one_are_tested_by_the_binomial():
    found = loss_p_value(np.array([0.0, 0.02, 0.1]), 0.1, n=100, whole=True)

    assert found == pytest.approx(binom.cdf([0, 2, 10], 100, 0.1))

    assert loss_p_value(np.array(0.07), 0.1, n=100, whole=True) == pytest.approx(binom.cdf(7, 100, 0.1)), "not 8"


def test_fractions_are_tested_by_the_smaller_bound_of_hoeffding_and_bentkus():
    means = np.array([0.0, 0.05, 0.099, 0.5])
    found = loss_p_value(means, 0.1, n=100, whole=False)
    hoeffding = [
        np.exp(-100 * (m * np.log(m / 0.1) + (1 - m) * np.log((1 - m) / 0.9))) if m else 0.9**100
        for m in (0, 0.05, 0.099)
    ]
    bentkus = np.e * binom.cdf(np.ceil(means * 100), 100, 0.1)

    assert found[:3] == pytest.approx(np.minimum(hoeffding, bentkus[:3]))
    assert hoeffding[0] < bentkus[0]
    assert loss_p_value(np.array(0.02), 0.1, n=20, whole=False) == pytest.approx(
        min(np.exp(-20 * (0.02 * np.log(0.2) + 0.98 * np.log(0.98 / 0.9))), np.e * binom.cdf(1, 20, 0.1), 1)
    )
    assert found[3] == 1


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (RiskPromise("harm", 0.05), "harm at most 5 % with 95 % confidence"),
        (RiskPromise("over_refusal", 0.125, None), "over-refusal at most 12.5 % on average"),
        (RiskPromise("needless_ask", 0.1, 0.9), "needless asking or refusal at most 10 % with 90 % confidence"),
    ],
)
def test_a_promise_says_what_it_promises_and_how_surely(promise, words):
    assert promise.in_words == words


def test_errors_at_each_threshold_by_hand():
    some = Evidence(np.array([0.2, 0.4, np.nan, 0.8]), np.array([0.0, 1.0, 0.5, 1.0]), np.arange(4))
    refused, answered = (np.array(some.trade_offs(fail=fail)).T for fail in ("refuse", "answer"))

    assert refused[0].tolist() == pytest.approx([-np.inf, 0.3, 0.6, np.inf])
    assert refused[1] == pytest.approx([1 / 1.5, 0, 0, 0])
    assert refused[2] == pytest.approx([0.2, 0.2, 0.6, 1])
    assert answered[1] == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3])
    assert answered[2] == pytest.approx([0, 0, 0.4, 0.8])
    tie = Evidence(np.array([0.5]), np.array([0.5]), np.array([0])).trade_offs(fail="refuse")
    assert [(errors.harm, errors.over_refusal) for errors in tie] == [(1, 0), (0, 1)]


def test_of_many_thresholds_sixty_are_listed_from_end_to_end():
    found = Evidence(np.arange(200.0), np.tile([0.0, 1.0], 100), np.arange(200)).trade_offs(fail="refuse")

    assert (len(found), found[0].threshold, found[-1].threshold) == (60, -np.inf, np.inf)


def test_the_loss_of_a_query_is_the_share_of_its_items_that_err():
    some = Evidence(np.array([0.2, 0.4, 0.6, 0.9]), np.array([0.0, 0.0, 0.0, 1.0]), np.array([0, 0, 1, 2]))
    harm, refusal = (LossCurve.from_evidence(some, kind, unscored_errs=False) for kind in ("harm", "over_refusal"))

    assert harm.thresholds.tolist() == pytest.approx([-np.inf, 0.3, 0.5, 0.75, np.inf])
    assert (harm.loss.tolist(), harm.n_queries, harm.whole) == ([1, 0.75, 0.5, 0, 0], 2, False)
    assert (refusal.loss.tolist(), refusal.n_queries, refusal.whole) == ([0, 0, 0, 0, 1], 1, True)
    assert (some.queries("harm"), some.queries("over_refusal"), some.queries("needless_ask")) == (2, 1, 1)


def test_the_loss_counts_items_without_a_value_where_they_err_and_a_tie_as_a_whole_query():
    some = Evidence(np.array([0.2, np.nan]), np.array([0.5, 0.0]), np.arange(2))
    silent, counted = (LossCurve.from_evidence(some, "harm", unscored_errs=errs) for errs in (False, True))
    without = LossCurve.from_evidence(replace(some, value=np.full(2, np.nan)), "harm", unscored_errs=True)

    assert silent.loss.tolist() == [0.5, 0]
    assert counted.loss.tolist() == [1, 0.5]
    assert (without.thresholds.tolist(), without.loss.tolist()) == ([np.inf], [1])


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


def test_a_promise_on_average_of_a_tenth_allows_one_error_in_nineteen_queries():
    some = Evidence(np.arange(1.0, 20), np.zeros(19), np.arange(19))
    found = kept_threshold(some, RiskPromise("harm", 0.1, None))

    assert (found.threshold, found.n_queries) == (18.5, 19)
    assert found.loss == pytest.approx(1 / 19)
    assert kept_threshold(some, RiskPromise("harm", 0.1, None), n_as=9).threshold == np.inf


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
    found = measure_decisions(some, np.array([2, 0, 2, 1, 0]), requirements=Requirements(ratio=4, ask_cost=0.5))

    assert found.harm.estimate == pytest.approx(1 / 2.5)
    assert found.over_refusal.estimate == pytest.approx(1 / 2.5)
    assert (found.asked.estimate, found.answered_wrongly.estimate, found.unscored.estimate) == (0.2, 0.5, 0.2)
    assert ends(found.cost)[1] == pytest.approx((1 + 4 + 0.5) / 5)
    assert ends(found.needless_ask)[1] == pytest.approx(0.5 / 2.5)
    names = ["harm", "over_refusal", "asked", "needless_ask", "answered_wrongly", "unscored"]
    assert [estimate.name for estimate in found.estimates] == names
    assert [estimate.name for estimate in replace(found, needless_ask=None).estimates] == [*names[:3], *names[4:]]
    assert measure_decisions(some, np.array([2, 0, 2, 1, 0]), requirements=Requirements(max_harm=0.1)).cost is None


@pytest.mark.parametrize(("costs", "most"), [({"ratio": 4}, 4), ({"ratio": 0.5}, 1), ({"ratio": 2, "ask_cost": 7}, 7)])
def test_an_item_costs_no_more_than_the_dearest_decision(costs: RequirementFields, most):
    found = rates(decisions_evidence(1, queries=5), np.ones(10, dtype=np.intp), requirements=Requirements(**costs))

    assert found["cost"].domain == (0, most)


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


def test_a_question_that_costs_more_than_both_errors_is_not_asked():
    some = Evidence(np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0.0, 0.0, 1.0, 1.0]), np.arange(4))
    even, dear = (
        fit_thresholds(some, Requirements(ratio=ratio, ask_cost=10), calibrator=Platt(1.0, 0.0)) for ratio in (1, 4)
    )

    assert (even.answer_above, even.refuse_up_to) == (0.5, 0.5), "at 0 both errors cost the same, and it is refused"
    assert (dear.answer_above, dear.refuse_up_to) == (1.5, 1.5), "above a chance of 4 in 5"
    assert fit_thresholds(some, Requirements(ratio=1, ask_cost=0.1)) == fit_thresholds(some, Requirements(ratio=1))


def test_a_promise_of_needless_asking_alone_refuses_nothing():
    some = decisions_evidence(1, signal=4)
    fitted = fit_thresholds(some, Requirements(max_needless_ask=0.3))

    assert fitted.answer_above == kept_threshold(some, RiskPromise("needless_ask", 0.3)).threshold
    assert fitted.refuse_up_to == -np.inf


def test_items_without_a_value_break_the_promise_that_their_decision_errs_against():
    some = decisions_evidence(1, signal=3)
    silent = replace(some, value=np.where(np.arange(600) % 4 == 1, np.nan, some.value))

    assert fit_thresholds(silent, Requirements(max_harm=0.2)).answer_above < np.inf
    with pytest.raises(StatisticsError, match="items without a value alone break it"):
        fit_thresholds(silent, Requirements(max_harm=0.2, fail="answer"))


def test_thresholds_of_a_fold_are_fitted_on_the_other_queries_and_decide_on_its_own():
    some, requirements = decisions_evidence(9, queries=40), Requirements(ratio=3)
    decisions, by_fold = held_out(some, requirements, method="platt", seed=0)
    folds = Folds.from_groups(some.cluster, n=10, seed=0)

    assert len(by_fold) == folds.n
    for fold, fitted in enumerate(by_fold):
        inside = folds.of_row == fold
        assert fitted == fit_thresholds(some.where(~inside), requirements)
        assert decisions[inside].tolist() == fitted.decide(some.value[inside], fail="refuse").tolist()
    assert decisions.tolist() == held_out(some, requirements, method="platt")[0].tolist()
    assert len(held_out(decisions_evidence(9, queries=4), requirements, method="platt")[1]) == 4


@pytest.mark.parametrize(
    ("limit", "decision"),
    [({"max_harm": 0.01}, "refuse"), ({"max_over_refusal": 0.01}, "ask"), ({"max_needless_ask": 0.01}, "ask")],
)
def test_a_fold_that_keeps_no_promise_refuses_or_asks(limit: RequirementFields, decision):
    some = decisions_evidence(9, queries=12)
    silent = replace(some, value=np.where(np.arange(24) == 0, np.nan, some.value))
    decisions, _ = held_out(silent, replace(Requirements(**limit), fail="answer"), method="platt")

    assert [DECISIONS[code] for code in decisions] == ["answer", *[decision] * 23]


def test_held_out_thresholds_ask_where_asking_has_a_cost():
    decisions, _ = held_out(decisions_evidence(9, queries=40), Requirements(ratio=4, ask_cost=0.2), method="platt")

    assert 0.1 < (decisions == DECISIONS.index("ask")).mean() < 0.9


def test_a_judge_that_knows_nothing_does_not_look_useful_on_held_out_queries():
    some = decisions_evidence(4, queries=60, signal=0)
    requirements = Requirements(ratio=1)
    own = measure_decisions(
        some, fit_thresholds(some, requirements).decide(some.value, fail="refuse"), requirements=requirements
    )
    fresh = measure_decisions(some, held_out(some, requirements, method="platt")[0], requirements=requirements)

    assert ends(own.cost)[1] < 0.5 <= ends(fresh.cost)[1] + 0.02


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({}, "--ratio"),
        ({"ask_cost": 0.1}, "--ratio"),
        ({"ask_cost": 0.1, "ratio": 2, "max_harm": 0.1}, "no promise"),
        ({"ratio": -1}, "above 0"),
        ({"ratio": 0}, "--ratio is 0"),
        ({"ratio": 1, "ask_cost": 0}, "--ask-cost is 0"),
        ({"max_harm": 0.1, "chosen_from": 0}, "--chosen-from"),
        ({"max_harm": 0.1, "chosen_from": 3, "level": None}, "best of several"),
        ({"ratio": 1, "fail": "perhaps"}, "--fail"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(wish, problem):
    with pytest.raises(ConfigurationError, match=problem):
        Requirements(**wish)


def test_a_wish_that_makes_sense_is_taken():
    Requirements(ratio=1, ask_cost=0.5, chosen_from=3, level=None)
    Requirements(max_harm=0.1, chosen_from=1, level=None)

    assert Requirements(max_harm=0.1).costs == (1, 1)
    assert Requirements(ratio=4, max_harm=0.1, fail="ask").without_promises == Requirements(ratio=4, fail="ask")
    assert [promise.level for promise in Requirements(max_harm=0.1, level=None).promises] == [None]
    assert Requirements(ratio=1, chosen_from=10).interval_level == pytest.approx(0.995)


def test_judges_that_are_compared_share_the_chance_of_breaking_a_promise():
    (one,), (of_ten,) = (Requirements(max_harm=0.1, chosen_from=n).promises for n in (1, 10))
    both = Requirements(max_harm=0.1, max_over_refusal=0.1, chosen_from=5).promises

    assert one.level == 0.95
    assert of_ten.level == pytest.approx(0.995)
    assert [promise.level for promise in both] == pytest.approx([0.995, 0.995])


def test_intervals_of_the_best_of_several_are_wider_around_the_same_number():
    some = decisions_evidence(5, queries=60)
    decisions = fit_thresholds(some, Requirements(ratio=1)).decide(some.value, fail="refuse")
    one, of_ten = (
        measure_decisions(some, decisions, requirements=Requirements(ratio=1, chosen_from=n)) for n in (1, 10)
    )

    for name in ("harm", "over_refusal", "cost"):
        (low, value, high), (lower, same, higher) = (ends(getattr(each, name)) for each in (one, of_ten))
        assert value == same
        assert lower < low < high < higher


def test_an_interval_grows_by_what_the_folds_thresholds_move_its_number():
    """Sixty queries say little of the cheapest threshold: its errors move from fold to fold, and the sum of both hardly does."""
    trial = Trial.from_evidence(decisions_evidence(6, queries=60, signal=0.6), Requirements(ratio=1), method="platt")
    bare = measure_decisions(trial.evidence, trial.decisions, requirements=trial.requirements)

    assert trial.threshold_variances["over_refusal"] > 0
    (_, value, high), (_, same, higher) = ends(bare.over_refusal), ends(trial.measured.over_refusal)
    assert value == same
    assert high < higher


def test_the_variance_of_thresholds_is_the_mean_square_from_the_final_ones():
    some = Evidence(np.array([0.1, 0.3, 0.6, 0.9]), np.array([0.0, 1.0, 0.0, 1.0]), np.arange(4))
    by_fold = tuple(FittedThresholds(cut, cut) for cut in (0.2, 0.5, np.inf))
    trial = Trial(some, Requirements(ratio=1), FittedThresholds(0.5, 0.5), np.zeros(4, dtype=np.intp), by_fold)

    found = trial.threshold_variances
    assert found["over_refusal"] == pytest.approx((0.5**2 + 0 + 0.5**2) / 3)
    assert found["harm"] == pytest.approx((0 + 0 + 0.5**2) / 3)
    assert found["answered_wrongly"] == pytest.approx((1 / 2 - 1 / 3) ** 2 / 2), "the last fold answers nothing"
    assert replace(trial, evidence=replace(some, weight=np.ones(4))).threshold_variances["harm"] == 0


def test_a_trial_that_cannot_carry_its_promise_says_so_and_minimises_cost():
    some = decisions_evidence(7, queries=20)
    trial, priced = (
        Trial.from_evidence(some, requirements, method="platt")
        for requirements in (Requirements(max_harm=0.01), Requirements(ratio=1))
    )

    assert "takes 299 queries" in str(trial.broken)
    assert trial.fitted == priced.fitted
    assert trial.requirements.promises == ()
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
    ("rate", "level", "queries"),
    [(0.05, 0.95, None), (0.0499, 0.95, None), (0.2, None, None), (0.0, None, 19), (0.04, None, 95)],
)
def test_no_number_of_queries_carries_a_promise_that_the_rate_breaks(rate, level, queries):
    assert queries_at(RiskPromise("harm", 0.05, level), rate, whole=True) == queries


def test_what_these_queries_cannot_carry_is_refused():
    with pytest.raises(StatisticsError, match=r"299 queries with an unsafe item .* here are 50\. .* 5\.82 %"):
        kept_threshold(evidence(np.random.default_rng(1), 50), RiskPromise("harm", 0.01))
    with pytest.raises(StatisticsError, match=r"on average cannot .* 99 queries .* here are 50\. .* 1\.97 %"):
        kept_threshold(evidence(np.random.default_rng(1), 50), RiskPromise("harm", 0.01, None))
    with pytest.raises(StatisticsError, match=r"a safe item .* here are 0\. .* 95 %"):
        kept_threshold(Evidence(np.ones(3), np.zeros(3), np.arange(3)), RiskPromise("over_refusal", 0.1))


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
