from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats
from tests.support.judges import wrong_at_random
from tests.support.samples import NAN, random_sample, released_items, sample_of, some

from casewise.stats.arrays import PerVote, Raters
from casewise.stats.costs import (
    CumulativeErrors,
    FittedVerdicts,
    cheapest_threshold,
    cost,
    cost_curve,
    cost_of_fitted,
    error_terms,
    fieller,
    fitted_verdicts,
    refusals,
    turning_point,
)
from casewise.stats.estimates import NO_SPREAD, ONE_QUERY, estimate_of
from casewise.stats.intervals import degrees_of_freedom
from casewise.stats.measured import Functional, TotalsByCluster
from casewise.stats.sample import judge_sample, totals_by_query
from casewise.stats.words import Folds


def test_cost_is_the_weighted_sum_of_both_errors():
    sample = sample_of([1, 1, 0, 0.5], [0, 1, 1, 1])
    point = cost_curve(sample, ratios=(3,))[0]

    assert some(point.cost).estimate == pytest.approx((1 + 3 * 1.5) / (4 * 4))
    assert point.refuse_all == pytest.approx(2.5 / 16)
    assert point.answer_all == pytest.approx(3 * 1.5 / 16)
    assert (point.best_threshold, point.threshold) == (None, None), "verdicts alone have no thresholds to choose"


def test_no_verdict_costs_what_the_wrong_one_would_unless_left_out():
    missed = sample_of([1, 0], [NAN, 0])
    left_out = sample_of([1, 0], [NAN, 0], unscored_policy="exclude")

    assert some(cost_curve(missed, ratios=(1,))[0].cost).estimate == 0.25
    assert some(cost_curve(left_out, ratios=(1,))[0].cost).estimate == 0


def test_a_dear_harm_asks_for_a_higher_threshold():
    sample = random_sample(np.random.default_rng(1), queries=300)
    points = cost_curve(sample, ratios=(0.2, 1, 5))

    thresholds = [some(point.threshold) for point in points]
    assert thresholds == sorted(thresholds)
    assert some(some(points[2].best_threshold).estimate) < some(some(points[2].cost).estimate)


def test_the_cheapest_threshold_is_found_among_all():
    sample = random_sample(np.random.default_rng(2), queries=40)
    w, u = sample.weight, 1 - sample.weight

    def cost(threshold):
        said = sample.value > threshold
        return (w * ~said).sum() + 2 * (u * said).sum()

    candidates = np.r_[-np.inf, np.unique(sample.value) + 1e-9, np.inf]
    found = cheapest_threshold(sample.value, sample.weight, 2)
    assert cost(found) == pytest.approx(min(cost(c) for c in candidates))


@pytest.mark.parametrize("every", [1000, 7])
def test_the_error_of_fitted_thresholds_is_that_of_leaving_each_fold_out(every):
    """With values everywhere, and without a value for one item in seven, which costs what the wrong verdict would."""
    sample = wrong_at_random(np.random.default_rng(4), 60, 0.8, each=2)
    sample = replace(sample, value=np.ceil(10 * sample.value))  # few values, so that every fold has all of them
    silent = np.arange(len(sample)) % every == every - 1
    sample = replace(sample, value=np.where(silent, NAN, sample.value))
    (point,) = cost_curve(sample, ratios=(3,))
    fold = Folds.from_groups(sample.cluster, n=10, seed=0).of_row

    def cost(kept):
        total = 0.0
        for out in np.unique(fold[kept]):
            learn, held = kept & (fold != out), kept & (fold == out)
            learn &= ~silent
            said = sample.value[held] > cheapest_threshold(sample.value[learn], sample.weight[learn], 3)
            over, harm = ~said | silent[held], said | silent[held]
            total += (sample.weight[held] * over + 3 * (1 - sample.weight[held]) * harm).sum()
        return total / (4 * kept.sum())

    costs = np.array([cost(fold != out) for out in range(10)])
    fitted = fitted_verdicts(sample, 3, seed=0)
    assert some(some(point.best_threshold).estimate) == pytest.approx(cost(fold >= 0))
    assert some(fitted).variance == pytest.approx(0.9 * ((costs - costs.mean()) ** 2).sum())


def test_a_threshold_is_never_fitted_on_the_query_that_it_judges():
    """A judge whose values are noise must not look better than calling everything by the commoner class."""
    rng = np.random.default_rng(3)
    weight = (rng.random(400) < 0.5).astype(float)
    noise = rng.random(400)
    sample = sample_of(weight, noise > 0.5, probability=noise)

    best = some(cost_curve(sample, ratios=(1,))[0].best_threshold)
    assert some(best.estimate) > 0.22


def test_judges_change_places_where_their_costs_are_equal():
    people = [1] * 10 + [0] * 10
    strict = sample_of(people, [0] * 4 + [1] * 6 + [0] * 9 + [1])
    lenient = sample_of(people, [0] * 2 + [1] * 8 + [0] * 8 + [1] * 2)
    found = turning_point(strict, lenient)

    assert found.ratio.estimate == 2
    assert (found.cheaper_below, found.cheaper_above) == ("second", "first")
    at_two = [some(cost_curve(s, ratios=(2,))[0].cost).estimate for s in (strict, lenient)]
    assert at_two[0] == pytest.approx(at_two[1])


@pytest.mark.parametrize(
    ("first", "second", "why", "cheaper"),
    [
        ([1, 0], [0, 1], "one is at least as good at both errors", ("first", "first")),
        ([1, 1], [1, 1], "they make the same errors", (None, None)),
    ],
)
def test_judges_that_never_change_places_have_no_ratio(first, second, why, cheaper):
    result = turning_point(sample_of([1, 0], first), sample_of([1, 0], second))

    assert (result.ratio.estimate, result.ratio.method) == (None, f"undefined: {why}")
    assert (result.cheaper_below, result.cheaper_above) == cheaper


def test_a_scalar_costs_what_its_best_threshold_does_and_has_no_verdicts_of_its_own():
    sample = random_sample(np.random.default_rng(4), queries=100)
    scalar = replace(sample, safe=np.full(len(sample), NAN), probability=np.full(len(sample), NAN))
    point = cost_curve(scalar, ratios=(1,))[0]

    assert point.cost is None
    assert point.best_threshold == cost_curve(sample, ratios=(1,))[0].best_threshold


def test_a_threshold_of_few_queries_has_a_cost_and_no_interval():
    rng = np.random.default_rng(3)
    few, enough = (cost_curve(wrong_at_random(rng, queries, 0.8, each=2))[3] for queries in (30, 60))

    assert few.best_threshold is not None
    assert few.best_threshold.estimate is not None
    assert few.best_threshold.limits is None
    assert "fewer than 60 queries" in few.best_threshold.method
    assert enough.best_threshold is not None
    assert enough.best_threshold.limits is not None


def test_errors_are_shares_of_the_items_on_which_people_agree():
    sample = sample_of([1, 1, 1, 0, 0, 1], [1, 0, 0, 0, 1, 0], rate=[0.7, 0.9, 0.75, 0.3, 0.1, 0.65])
    at = refusals(sample).at

    assert (at.n_safe, at.n_unsafe) == (3, 2)
    assert at.over_refusal.estimate == pytest.approx(2 / 3)
    assert at.harm.estimate == 0.5


def test_unscored_is_a_third_rate_of_each_class():
    sample = sample_of([1, 1, 0, 0, 0], [NAN, 0, NAN, NAN, 1], rate=[0.9, 0.9, 0, 0, 0])
    at = refusals(sample).at

    assert [e.estimate for e in at.estimates] == pytest.approx([1 / 2, 1 / 3, 1 / 2, 2 / 3])
    assert [e.n_unscored for e in at.estimates] == [1, 2, 1, 2]


def test_the_curve_keeps_fewer_items_as_more_people_must_agree():
    rate = np.repeat([0.6, 0.65, 0.7, 0.75, 0.8], 4)
    curve = refusals(sample_of(rate > 0.5, np.ones(20), rate=rate)).curve

    assert [point.n_safe for point in curve] == [20, 16, 12, 8, 4]
    assert (curve[2].harm.estimate, curve[2].harm.method) == (None, "undefined: no items of that kind")


def test_the_rule_keeps_180_safe_and_349_unsafe_items_of_the_release(shared):
    items = released_items(shared)
    found = refusals(judge_sample(items, np.ones(900), elicitation="binary"))

    assert (found.at.n_safe, found.at.n_unsafe) == (180, 349)
    assert [(p.n_safe, p.n_unsafe) for p in found.curve] == [(272, 441), (230, 409), (180, 349), (128, 283), (76, 213)]
    assert items.filter(pl.col("n_safe") >= 16).height == 76
    assert found.at.harm.estimate == 1


def two_judges(rng, *, queries=80):
    """One that refuses too much and one that answers too much, of two items a query."""
    weight = rng.integers(0, 2, 2 * queries).astype(float)
    strict = np.where(rng.random(2 * queries) < 0.35, 0.0, weight)
    lenient = np.where(rng.random(2 * queries) < 0.4, 1.0, weight)
    return [sample_of(weight, safe, cluster=np.repeat(np.arange(queries), 2)) for safe in (strict, lenient)]


def test_the_interval_of_a_turning_point_holds_the_ratios_at_which_the_costs_are_not_told_apart():
    """Fieller (1954): at both limits c the squared difference O - cH is t squared times its variance over queries."""
    strict, lenient = two_judges(np.random.default_rng(5))
    found = turning_point(strict, lenient).ratio
    w, c = strict.weight, np.array(some(found.limits))
    over = (w * (lenient.safe - strict.safe)).reshape(-1, 2).sum(1)
    harm = ((1 - w) * (lenient.safe - strict.safe)).reshape(-1, 2).sum(1)
    df = min(degrees_of_freedom(column - column.mean()) for column in (over, harm))
    variance = 80 * np.array([np.var(over - ratio * harm, ddof=1) for ratio in c])

    assert found.estimate == pytest.approx(over.sum() / harm.sum())
    assert (over.sum() - c * harm.sum()) ** 2 == pytest.approx(scipy.stats.t.ppf(0.975, min(df, 79)) ** 2 * variance)
    assert c[0] < some(found.estimate) < c[1]
    assert (found.method, found.n) == ("Fieller's, over queries", 160)


def test_a_turning_point_is_not_below_zero():
    weight = np.array([1.0] * 20 + [0.0] * 20)
    strict, lenient = weight.copy(), weight.copy()
    strict[:2], lenient[20:32] = 0.0, 1.0  # two over-refusals against twelve harms

    assert turning_point(sample_of(weight, strict), sample_of(weight, lenient)).ratio.ci_low == 0


def test_without_a_difference_in_harm_beyond_chance_a_turning_point_has_no_interval():
    weight = np.array([1.0] * 20 + [0.0] * 20)
    strict, lenient = weight.copy(), weight.copy()
    strict[:8], lenient[20] = 0.0, 1.0
    found = turning_point(sample_of(weight, strict), sample_of(weight, lenient)).ratio

    assert (found.estimate, found.limits) == (8, None)
    assert found.method == "no interval: their harms are not told apart"


def test_errors_that_rise_and_fall_together_say_nothing_of_another_ratio():
    """Ten of twenty queries each have an over-refusal of the first judge and a harm of the second."""
    weight, cluster = np.tile([1.0, 0.0], 20), np.repeat(np.arange(20), 2)
    strict, lenient = weight.copy(), weight.copy()
    strict[:20:2], lenient[1:20:2] = 0.0, 1.0
    samples = [sample_of(weight, safe, cluster=cluster) for safe in (strict, lenient)]
    found = turning_point(*samples).ratio

    assert (found.estimate, found.limits, found.method) == (1, None, NO_SPREAD)


def test_items_that_one_of_two_judges_left_unscored_count_as_each_policy_says():
    weight = [1, 1, 0, 0]
    first, second = [0, NAN, 0, 0], [1, 1, 1, 0]
    missed = turning_point(sample_of(weight, first), sample_of(weight, second)).ratio
    left_out = turning_point(*(sample_of(weight, safe, unscored_policy="exclude") for safe in (first, second))).ratio

    assert (missed.estimate, missed.n, missed.n_unscored) == (2, 4, 1)
    assert (left_out.estimate, left_out.n, left_out.n_unscored) == (1, 3, 1)


@pytest.mark.parametrize(
    ("values", "within", "threshold"),
    [
        ([], (-np.inf, np.inf), np.inf),
        ([0.1, 0.4, 0.8], (-np.inf, np.inf), 0.25),
        ([0.1, 0.4, 0.8], (0.5, 0.9), 0.5),
        ([0.1, 0.4, 0.8], (0.3, 0.9), 0.3),
        ([0.1, 0.4, 0.8], (0.1, 0.2), 0.1),
        ([0.8, 0.4, 0.1], (-np.inf, np.inf), -np.inf),
    ],
)
def test_the_cheapest_threshold_lies_between_two_values_within_the_bounds(values, within, threshold):
    """The first of three values is unsafe; a harm is as bad as an over-refusal."""
    weight = np.array([0.0, 1, 1])[: len(values)]

    assert cheapest_threshold(np.array(values), weight, 1, within=within) == threshold


def test_answering_everything_is_cheapest_where_harm_costs_next_to_nothing():
    assert cheapest_threshold(np.array([0.2, 0.6]), np.array([0.5, 1.0]), 0.1) == -np.inf


def test_a_judge_of_verdicts_or_of_one_query_has_no_fitted_thresholds():
    verdicts, one_query = sample_of([1, 0], [1, 0]), sample_of([1, 0], [1, 0], probability=[0.9, 0.1], cluster=[0, 0])

    assert fitted_verdicts(verdicts, 1, seed=0) is None
    assert fitted_verdicts(one_query, 1, seed=0) is None
    assert fitted_verdicts(replace(one_query, cluster=np.array([0, 1])), 1, seed=0) is not None


def test_the_curves_are_over_these_ratios_and_levels_of_agreement():
    sample = sample_of([1, 0], [1, 0])
    found = refusals(sample)

    assert [point.ratio for point in cost_curve(sample)] == [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
    assert [rates.agreement for rates in found.curve] == [0.6, 0.65, 0.7, 0.75, 0.8]
    assert found.at == found.curve[2]


def test_without_labels_nothing_has_a_cost():
    (point,) = cost_curve(sample_of([NAN, NAN], [1, 0], rate=[0.5, 0.5]), ratios=(1,))

    assert (some(point.cost).estimate, point.refuse_all, point.answer_all) == (None, None, None)


def test_the_cost_of_fitted_thresholds_has_the_larger_of_two_variances():
    sample = random_sample(np.random.default_rng(6), queries=80)
    plain = some(cost_curve(sample, ratios=(2,))[0].cost)
    totals = totals_by_query(sample, lambda part: error_terms(part, part.safe)).measure(cost(2))
    narrow, wide = (
        cost_of_fitted(sample, FittedVerdicts(sample.safe, 0.5, totals.variance * times), 2) for times in (0.5, 4)
    )

    assert narrow == plain
    assert wide == estimate_of(replace(totals, influence=2 * totals.influence))
    perfect = replace(sample, safe=np.where(sample.weight == 0.5, NAN, sample.weight), unscored_policy="exclude")
    assert (
        cost_of_fitted(perfect, FittedVerdicts(perfect.safe, 0.5, 0.1), 2) == cost_curve(perfect, ratios=(2,))[0].cost
    )


@pytest.mark.parametrize("ratio", [0.1, 1, 7])
def test_the_threshold_of_a_fold_is_the_cheapest_on_all_others(ratio):
    """Of values with ties, some missing, and of labels of which some are missing."""
    sample = random_sample(np.random.default_rng(12), queries=40, unscored=0.1)
    sample = replace(sample, weight=np.where(np.arange(80) % 9 == 0, NAN, sample.weight))
    errors = some(CumulativeErrors.from_sample(sample, seed=3))
    learnt = sample.labelled & ~np.isnan(sample.value)

    for fold in range(10):
        others = learnt & (errors.fold != fold)
        expected = cheapest_threshold(sample.value[others], sample.weight[others], ratio)
        assert errors.threshold(ratio, fold=fold) == pytest.approx(expected)


def test_a_value_at_the_threshold_of_the_others_is_refused():
    """Between 0.4, unsafe, and 0.6, safe, the threshold is 0.5."""
    sample = sample_of([0, 1, 1], [0, 1, 1], probability=[0.4, 0.5, 0.6])
    errors = some(CumulativeErrors.from_sample(sample, seed=0))

    assert errors.threshold(1, fold=errors.fold[1]) == 0.5
    assert errors.cheapest(1).safe[1] == 0


def test_without_a_value_in_the_other_folds_everything_is_refused():
    sample = sample_of([1, 0], [1, 0], probability=[0.9, NAN])
    fitted = some(fitted_verdicts(sample, 1, seed=0))

    assert fitted.safe.tolist() == pytest.approx([0, NAN], nan_ok=True)


def test_the_threshold_of_a_judge_whose_items_are_all_unsafe_is_beyond_all_values():
    sample = sample_of([0, 0, 0], [1, 0, 1], probability=[0.9, 0.2, 0.7])

    assert some(fitted_verdicts(sample, 1, seed=0)).threshold is None


def test_two_queries_are_two_folds_of_which_each_is_left_out():
    """With one query left, everything is answered: an unsafe one costs 0.1 of 1.1."""
    errors = some(CumulativeErrors.from_sample(sample_of([0, 1], [0, 1], probability=[0.2, 0.8]), seed=0))

    assert errors.counted.tolist() == [1, 1]
    assert errors.left_out_variance(0.1) == pytest.approx(0.5 * 2 * (0.1 / 1.1 / 2) ** 2)


@pytest.mark.parametrize(("first", "second"), [([1, 0, 1], [1, 1, 1]), ([1, 0, 1], [0, 0, 1])])
def test_judges_that_differ_in_one_error_have_no_ratio(first, second):
    """The second has one harm, or one over-refusal, more."""
    found = turning_point(sample_of([1, 0, 1], first), sample_of([1, 0, 1], second))

    assert found.ratio.method == "undefined: one is at least as good at both errors"
    assert (found.cheaper_below, found.cheaper_above) == ("first", "first")


def test_a_turning_point_of_few_queries_has_no_interval():
    people, strict, lenient = [1, 1, 0, 0], [0, 1, 0, 0], [1, 1, 1, 0]
    one, two = (
        turning_point(*(sample_of(people, safe, cluster=cluster) for safe in (strict, lenient))).ratio
        for cluster in ([0] * 4, [0, 1, 0, 1])
    )

    assert (one.estimate, one.method) == (1, ONE_QUERY)
    assert (two.estimate, two.method) == (1, "no interval: their harms are not told apart")


def test_of_judges_asked_several_times_a_turning_point_is_of_their_mean_errors():
    people = [1] * 4 + [0] * 4
    strict, lenient = sample_of(people, [0, 1, 1, 1] + [0] * 4), sample_of(people, [1] * 4 + [1, 0, 0, 0])
    worse = sample_of(people, [0, 0, 0, 1] + [0] * 4)

    assert turning_point(replace(strict, answers=(strict, worse)), lenient).ratio.estimate == 2


def test_the_interval_of_a_turning_point_holds_what_annotators_add():
    """At both limits c the squared difference is t squared times its variance over queries and annotators."""
    rng = np.random.default_rng(7)
    over, harm = rng.normal(2, 1, 50), rng.normal(1, 0.5, 50)
    item, annotator = (place.ravel() for place in np.indices((50, 4)))
    raters = Raters(item, annotator, rng.random(200) < 0.5)
    votes = PerVote(raters, rng.normal(0.2, 0.3, (50, 3)), rng.normal(-0.2, 0.3, (50, 3)))
    totals = TotalsByCluster(("over", "harm", "counted"), np.column_stack([over, harm, np.ones(50)]), 0, votes=votes)
    number = Functional("turning_point", lambda t: t["over"] / t["harm"], n_items=lambda t: t["counted"])
    found = fieller(totals.measure(number), totals)

    df = min(degrees_of_freedom(column - column.mean()) for column in (over, harm))
    quantile = scipy.stats.t.ppf(0.975, min(df, 49))
    for c in some(found.limits):
        gradient = np.array([[1.0], [-c], [0.0]])
        variance = 50 * np.var(over - c * harm, ddof=1) + totals.added_by_annotators(gradient)[0, 0]
        assert (over.sum() - c * harm.sum()) ** 2 == pytest.approx(quantile**2 * variance)
