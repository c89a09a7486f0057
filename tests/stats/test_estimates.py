from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy.stats import t
from tests.support.annotated import annotated_study
from tests.support.judges import wrong_at_random
from tests.support.samples import NAN, covers, named, random_sample, sample_of, some, width

from casewise.errors import StatisticsError
from casewise.stats.arrays import PerVote, Raters, widen_influence
from casewise.stats.estimates import (
    ALIKE,
    BY_PARTS,
    EXACT,
    NO_SPREAD,
    ONE_QUERY,
    OVER_WORDINGS,
    STUDENT,
    UNSEEN,
    Estimate,
    difference_of,
    error_sources,
    estimate,
    estimate_of,
    influence_of_difference,
    item_values,
    judge_noise,
    measure,
    rare_proportion_interval,
    rule_scores,
    wording_spread,
)
from casewise.stats.intervals import degrees_of_freedom
from casewise.stats.measured import TotalsByCluster, share
from casewise.stats.metrics import METRICS, all_metrics, find_metric
from casewise.stats.sample import Sample
from casewise.stats.shares import clopper_pearson


def accuracy_of(sample):
    return measure(sample, metrics=[find_metric("accuracy")])[0]


def test_a_judge_is_measured_by_every_metric_in_the_order_of_the_table():
    found = estimate(random_sample(np.random.default_rng(1)))

    assert [e.name for e in found] == [metric.name for metric in all_metrics()]
    assert all(some(e.ci_low) < some(e.estimate) < some(e.ci_high) for e in found if e.name != "unscored_rate")


@pytest.mark.parametrize("sizes", [(12, 24, 36), (6, 12, 18), (18, 54, 180, 360)])
def test_a_third_of_the_items_of_every_query_has_the_interval_of_so_many_queries(sizes):
    """The rounding of gradients is no spread between queries."""
    hits = np.concatenate([np.arange(size) % 3 == 0 for size in sizes]).astype(float)
    totals = TotalsByCluster.from_terms(
        {"hit": hits, "items": np.ones(len(hits))}, np.repeat(np.arange(len(sizes)), sizes)
    )
    found = estimate_of(totals.measure(share("hits", "hit", "items")))

    exact = clopper_pearson(len(sizes) / 3, len(sizes), level=0.95)
    assert found.limits == pytest.approx((float(exact.low), float(exact.high)))


def test_estimates_are_plain_numbers():
    first, second = (accuracy_of(random_sample(np.random.default_rng(seed))) for seed in (1, 2))

    assert "np." not in f"{estimate_of(first)} {difference_of(first, second)}"


def test_the_analytic_error_is_the_sandwich_of_statsmodels():
    sample = random_sample(np.random.default_rng(2), queries=120)
    right = sample.weight * sample.safe + (1 - sample.weight) * (1 - sample.safe)

    fit = sm.OLS(right, np.ones(len(right))).fit(
        cov_type="cluster", cov_kwds={"groups": sample.cluster, "use_correction": False}
    )
    assert accuracy_of(sample).variance * 119 / 120 == pytest.approx(fit.bse[0] ** 2, rel=1e-9)


def test_the_interval_is_students_on_logits():
    found = accuracy_of(random_sample(np.random.default_rng(4), queries=300))
    error = np.sqrt(found.variance) / (found.value * (1 - found.value))

    ends = np.log(found.value / (1 - found.value)) + np.array([-1, 1]) * t.ppf(0.975, 299) * error
    result = estimate_of(found)
    assert [result.ci_low, result.ci_high] == pytest.approx(1 / (1 + np.exp(-ends)), rel=1e-3)


def test_few_queries_that_carry_the_spread_leave_few_degrees_of_freedom():
    even, lone = np.tile([0.1, -0.1], 50), np.r_[9.9, np.full(99, -0.1)]

    assert degrees_of_freedom(even) == 99
    assert degrees_of_freedom(lone) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(("right", "inside"), [(1.0, "ci_low"), (0.0, "ci_high")])
def test_a_share_of_all_or_nothing_counts_each_query_once(right, inside):
    verdicts, query = [right] * 400, np.arange(400) // 8
    found = estimate_of(accuracy_of(sample_of([1] * 400, verdicts, cluster=query)))

    assert getattr(found, inside) == pytest.approx(abs(right - (1 - 0.025 ** (1 / 50))), rel=1e-9)


def test_balanced_accuracy_and_f1_have_intervals_where_nothing_is_wrong():
    found = named(estimate(sample_of([1, 0] * 10, [1, 0] * 10)))
    share = 0.025 ** (1 / 10)  # of the items that either calls safe

    assert found["balanced_accuracy"].estimate == some(found["balanced_accuracy"].ci_high) == 1
    assert 0.7 < some(found["balanced_accuracy"].ci_low) < 0.9
    assert found["f1_safe"].ci_low == pytest.approx(2 * share / (1 + share))


def test_a_metric_of_values_is_as_uncertain_as_queries_unseen():
    values = np.tile([0.9, 0.1, 0.8, 0.2], 5)
    sample = sample_of(values > 0.5, values > 0.5, rate=np.abs(values - 0.01), probability=values)
    found = named(estimate(sample))

    unseen = 1 - 0.025 ** (1 / 20)
    wrong = np.r_[np.full(20, 1 - unseen), np.full(20, unseen)]
    both, rate = np.r_[values, 1 - values], np.tile(np.abs(values - 0.01), 2)
    centred = [x - np.average(x, weights=wrong) for x in (both, rate)]
    r = np.sum(wrong * centred[0] * centred[1]) / np.sqrt(np.prod([np.sum(wrong * x * x) for x in centred]))
    assert found["pearson"].ci_low == pytest.approx(r)
    assert found["brier"].ci_high == pytest.approx(np.average((both - rate) ** 2, weights=wrong))


def test_one_query_has_no_interval_and_says_so():
    found = estimate(sample_of([1, 0], [1, 1], cluster=[0, 0]), metrics=[find_metric("accuracy")])

    assert (found[0].estimate, found[0].ci_low) == (0.5, None)
    assert found[0].method == "no interval: one query only"


def test_what_is_undefined_has_no_number_and_says_why():
    found = named(estimate(sample_of([1, 1, 1], [1, 0, 1])))

    assert found["recall_unsafe"].estimate is None
    assert found["recall_unsafe"].method == "undefined: no items of that kind"
    assert found["balanced_accuracy"].method == "undefined: a class is missing"


def test_a_judge_without_any_verdict_is_wrong_throughout_and_only_what_is_given_is_measured():
    found = named(estimate(sample_of([1, 0] * 20, [NAN] * 40, probability=[NAN] * 40)))
    binary = named(estimate(sample_of([1, 0, 1], [1, 0, 0])))

    assert (found["accuracy"].estimate, found["unscored_rate"].estimate) == (0, 1)
    assert not {*found, *binary} & {"pearson", "spearman", "auroc", "cross_entropy", "brier"}
    assert estimate(sample_of([], [])) == estimate(sample_of([1, 0, 1], [1, 0, 0]), metrics=()) == ()


def test_a_scalar_has_ranks_and_nothing_that_needs_a_verdict():
    sample = random_sample(np.random.default_rng(10))
    scalar = replace(sample, safe=np.full(120, NAN), probability=np.full(120, NAN), value=7 * sample.value)

    found = named(estimate(scalar))
    assert [*found] == ["spearman", "auroc", "unscored_rate"]
    assert found["unscored_rate"].estimate == 0
    assert found["auroc"].n_unscored == 0


def test_no_estimate_is_ever_nan():
    corners = [
        sample_of([1, 0], [1, 1]),
        sample_of([1] * 40, [1] * 40, probability=[0.9] * 40),
        sample_of([0.5] * 40, [1, 0] * 20, probability=[0.9, 0.1] * 20),
        sample_of([NAN, 1, 0], [1, 1, NAN], probability=[0.2, 0.3, NAN], rate=[NAN, 0.8, 0.1]),
    ]
    for sample in corners:
        for found in estimate(sample):
            numbers = [found.estimate, found.ci_low, found.ci_high, found.n]
            assert not any(number is not None and np.isnan(number) for number in numbers)
            assert found.ci_low is not None or found.method.startswith(("no interval: ", "undefined: "))


def test_a_difference_is_narrower_than_its_parts_where_judges_agree():
    sample = random_sample(np.random.default_rng(6), queries=200)
    other = replace(sample, safe=np.where(np.arange(400) % 40 == 0, 1 - sample.safe, sample.safe))

    first, second = accuracy_of(sample), accuracy_of(other)
    apart = difference_of(first, second)
    alone = estimate_of(first)
    assert apart.estimate == pytest.approx(first.value - second.value)
    assert width(apart) < width(alone) / 2


@pytest.mark.parametrize("metric", ["pearson", "spearman", "brier", "cross_entropy"])
def test_a_difference_allows_for_queries_that_one_of_the_two_judges_wrongly_and_nobody_saw(metric):
    rng = np.random.default_rng(12)
    first = wrong_at_random(rng, 20, 1.0)
    changed = np.clip(np.where(np.arange(len(first)) == 3, first.value - 0.02, first.value), 0, 1)
    second = replace(first, probability=changed, value=changed)
    (a,), (b,) = (measure(sample, metrics=[find_metric(metric)]) for sample in (first, second))

    found = difference_of(a, b)
    assert some(found.ci_low) <= min(some(a.unseen) - b.value, a.value - some(b.unseen))
    assert some(found.ci_high) >= max(some(a.unseen) - b.value, a.value - some(b.unseen))


@pytest.mark.parametrize("metric", ["accuracy", "pearson", "brier"])
def test_a_difference_over_few_queries_stays_within_what_it_can_be(metric):
    rng = np.random.default_rng(11)
    truth = rng.integers(0, 2, 12).astype(float)
    values = np.where(rng.random(12) < 0.9, 0.05 + 0.9 * truth, 0.5)
    best, worst = (sample_of(truth, q > 0.5, rate=truth, probability=q) for q in (values, 1 - values))
    found, other = (measure(sample, metrics=[find_metric(metric)])[0] for sample in (best, worst))

    reach = 2 if metric == "pearson" else 1
    result = difference_of(found, other)
    assert -reach <= some(result.ci_low) < some(result.estimate) < some(result.ci_high) <= reach


@pytest.mark.slow
@pytest.mark.parametrize(("accuracy", "together"), [(0.98, 1), (0.9, 2), (0.5, 2)])
def test_intervals_of_fifteen_queries_hold_the_truth(accuracy, together):
    """150 studies of 15 queries of 8 items: fewer than 92 % less three errors of the simulation would be too narrow."""
    rng = np.random.default_rng(9)
    names = {metric.name for metric in METRICS} - {"unscored_rate"}
    truth = {
        e.name: some(e.estimate) for e in estimate(wrong_at_random(rng, 5_000, accuracy, together)) if e.name in names
    }
    held = dict.fromkeys(names, 0)
    for _ in range(150):
        for found in estimate(wrong_at_random(rng, 15, accuracy, together)):
            if found.name in names:
                held[found.name] += covers(found, truth[found.name])

    assert {name: n / 150 for name, n in held.items() if n / 150 < 0.92 - 3 * np.sqrt(0.92 * 0.08 / 150)} == {}


def proportion(top, bottom) -> Any:
    totals = TotalsByCluster.from_terms(
        {"top": np.asarray(top, float), "bottom": np.asarray(bottom, float)},
        np.arange(len(top)),
        n_clusters=len(top),
    )
    return estimate_of(totals.measure(share("p", "top", "bottom")))


def test_a_proportion_that_one_cluster_carries_is_bounded_by_the_clusters_and_not_by_a_t_of_one_degree():
    found = proportion([1] + [0] * 34, [1] * 35)
    high = clopper_pearson(1, 35).high

    assert found.ci_high <= float(high) + 1e-12
    assert 0 < found.ci_low < 1 / 35


def test_what_is_rare_the_other_way_round_has_the_mirrored_interval():
    rare, common = proportion([1] + [0] * 34, [1] * 35), proportion([0] + [1] * 34, [1] * 35)

    assert (common.ci_low, common.ci_high) == pytest.approx((1 - rare.ci_high, 1 - rare.ci_low))


@pytest.mark.parametrize(
    ("clusters", "items", "together"), [(35, 1, False), (45, 2, True), (120, 2, True), (30, 8, True)]
)
def test_intervals_of_rare_proportions_cover_and_are_no_wider_than_the_clusters_ask(clusters, items, together):
    rng = np.random.default_rng(clusters * items)
    covered, widths = 0, []
    for _ in range(400):
        bottom = np.full(clusters, items)
        top = (rng.random(clusters) < 0.04) * items if together else rng.binomial(bottom, 0.04)
        found = proportion(top, bottom)
        covered += found.ci_low <= 0.04 <= found.ci_high
        widths.append(found.ci_high - found.ci_low)

    assert covered / 400 >= 0.93
    assert max(widths) <= 0.32


@pytest.mark.parametrize("queries", [2, 10, 60])
def test_a_difference_that_is_the_same_on_every_query_is_as_uncertain_as_what_none_of_them_need_show(queries):
    weight = np.tile([1.0, 0.0, 0.0, 0.0], queries)
    cluster = np.repeat(np.arange(queries), 4)
    (right,), (refusing,), (wrong,) = (
        measure(sample_of(weight, verdict, cluster=cluster), metrics=[find_metric("accuracy")])
        for verdict in (weight, 0 * weight, 1 - weight)
    )
    unseen = float(clopper_pearson(0, queries).high)

    ahead, furthest, same = (difference_of(right, other) for other in (refusing, wrong, right))

    assert (ahead.estimate, ahead.method) == (0.25, UNSEEN)
    assert ahead.limits == pytest.approx((0.25 - 1.25 * unseen, 0.25 + 0.75 * unseen))
    assert furthest.limits == pytest.approx((1 - 2 * unseen, 1))
    assert same.limits == pytest.approx((-unseen, unseen))
    assert same.method == UNSEEN


THREE = pl.DataFrame(
    {"item_id": ["a", "a", "a", "b", "b", "c"], "value": [7.0, 4.0, 7.0, 3.0, None, None]},
    schema={"item_id": pl.String, "value": pl.Float64},
)


def test_an_items_value_is_the_mean_of_its_scored_judgements():
    found = item_values(THREE, elicitation="score")

    assert found.columns == ["item_id", "value", "n_repeats", "n_scored", "n_safe", "sum_squares"]
    assert found["value"].to_list() == [6, 3, None]
    assert found["n_repeats"].to_list() == [3, 2, 1]
    assert found["n_scored"].to_list() == [3, 1, 0]
    assert found["n_safe"].to_list() == [2, 0, 0]
    assert found["sum_squares"].to_list() == [6, 0, 0]


def test_a_scalar_has_no_verdicts():
    assert item_values(THREE, elicitation="scalar")["n_safe"].to_list() == [None, None, None]


def test_noise_is_pooled_within_items():
    noise = some(judge_noise(item_values(THREE, elicitation="score"), np.array([0, 1, 2])))

    assert (noise.n_items, noise.n_judgements) == (1, 6)
    assert noise.deviation.estimate == pytest.approx(np.sqrt(6 / 2))
    assert noise.changes.estimate == pytest.approx(2 * 2 * 1 / (3 * 2))
    assert noise.deviation.n_unscored == 2


def test_noise_has_an_interval_over_queries():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"item_id": np.repeat(np.arange(200), 5).astype(str), "value": rng.normal(5.5, 2, 1000)})
    noise = some(judge_noise(item_values(table, elicitation="score"), np.arange(200)))

    assert covers(noise.deviation, 2)
    assert covers(noise.changes, 0.5)


def test_without_repeats_there_is_no_noise_to_report():
    once = item_values(THREE.unique("item_id"), elicitation="score")

    assert judge_noise(once, np.array([0, 1, 2])) is None


def test_repeats_that_all_failed_have_no_number_and_say_why():
    failed = THREE.with_columns(value=pl.lit(None, dtype=pl.Float64))
    noise = some(judge_noise(item_values(failed, elicitation="score"), np.array([0, 1, 2])))

    assert noise.deviation.estimate is None
    assert noise.deviation.method == "undefined: no item has two judgements with a value"


TEN = frozenset(range(1, 11))


def test_scores_are_those_computed_by_hand():
    predicted = [{1, 2}, {1, 3}, TEN - {1}, TEN | {11, 12}, set(), None]
    violated = [{1, 2}, {1, 2}, TEN, TEN, set(), {1}]
    result = rule_scores(predicted, violated, clusters=[1, 1, 2, 3, 3, 4])

    assert {name: score.estimate for name, score in result.scores.items()} == pytest.approx(
        {
            "RMR": (2 + 3 + 4 + 4) / 20,
            "RMR@1": 2 / 5,
            "RMR@0.9": 3 / 5,
            "RMR@0.8": 4 / 5,
            "RMR@0.7": 4 / 5,
            "RDR": 5 / 27,  # errors 0, 2, 1, 2, 0; unions 2, 3, 10, 12, 0
            "unpredicted": 1 / 6,
        }
    )
    assert (result.cases, result.clusters) == (6, 4)
    low, high = result.scores["RMR"].limits or (1, 0)
    assert low < 13 / 20 < high


def test_cases_of_one_conversation_say_less_than_as_many_conversations():
    predicted = [{1}] * 30 + [{2}] * 30
    apart = rule_scores(predicted, [{1}] * 60).scores["RMR"]
    together = rule_scores(predicted, [{1}] * 60, clusters=[place // 6 for place in range(60)]).scores["RMR"]

    assert apart.estimate == together.estimate == 0.5
    wide, narrow = together.limits or (0, 0), apart.limits or (0, 1)
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_a_perfect_score_has_an_interval_and_no_prediction_has_a_reason():
    perfect = rule_scores([{1}, {2}, set()], [{1}, {2}, set()]).scores
    assert perfect["RMR"].limits == pytest.approx((0.025 ** (1 / 3), 1))
    without = rule_scores([{1}, {2}, None], [{1}, {2}, {3}]).scores
    assert without["RMR"].limits == pytest.approx((0.025 ** (1 / 2), 1))
    assert without["RDR"].limits == pytest.approx((0, 1 - 0.025 ** (1 / 2)))
    silent = rule_scores([None, None], [{1}, {2}]).scores["RMR"]
    assert (silent.estimate, silent.method) == (None, "undefined: no case has a prediction")
    with pytest.raises(StatisticsError, match="give one prediction a case"):
        rule_scores([None], [{1}, {2}])


def mean_of(values, *, kind="mean", sizes=None):
    """A mean of one number a cluster."""
    values = np.asarray(values, dtype=float)
    sizes = np.ones(len(values)) if sizes is None else np.asarray(sizes, dtype=float)
    totals = TotalsByCluster.from_terms({"top": values * sizes, "n": sizes}, np.arange(len(values)))
    return totals.measure(share("m", "top", "n", kind=kind))


def test_a_mean_that_is_alike_everywhere_is_as_uncertain_as_queries_that_need_not_be_seen():
    found = estimate_of(mean_of([0.25] * 10))
    unseen = 1 - 0.025 ** (1 / 10)

    assert found.method == UNSEEN
    assert found.limits == pytest.approx((0.25 - unseen * 0.25, 0.25 + unseen * 0.75))
    assert estimate_of(mean_of([0.25] * 8, kind="share")).method == EXACT


def test_a_wider_level_gives_a_wider_interval_of_a_number_and_of_a_difference():
    first, second = mean_of([0.2, 0.4, 0.9, 0.7]), mean_of([0.1, 0.5, 0.8, 0.9])
    alone = [width(estimate_of(first, level=level)) for level in (0.8, 0.95, 0.99)]
    apart = [width(difference_of(first, second, level=level)) for level in (0.8, 0.95, 0.99)]

    assert alone == sorted(alone)
    assert apart == sorted(apart)
    assert alone[0] < alone[2]
    assert apart[0] < apart[2]


def test_a_difference_beyond_chance_has_no_0_in_its_interval():
    def made(low, high):
        return Estimate("accuracy", 0.1, low, high, 10, 0, "made up")

    beyond = [made(*limits).beyond_chance for limits in ((0.1, 0.2), (-0.2, -0.1), (0, 0.2), (-0.2, 0), (None, None))]
    assert beyond == [True, True, False, False, False]
    assert made(None, None).limits is None


def test_the_fields_of_an_estimate_are_picked_by_name():
    found = Estimate("accuracy", 0.5, 0.4, 0.6, 10, 2, "made up")

    assert found.fields("n") == {"estimate": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n": 10}
    assert list(found.cells) == ["accuracy", 0.5, 0.4, 0.6, 10, 2, "made up"]
    assert found.as_share == "50.0 % [40.0, 60.0]"


def test_nothing_is_measured_of_no_items():
    assert measure(sample_of([], [])) == ()


def test_the_parts_of_a_mean_that_do_not_vary_are_not_taken_to_vary_with_the_others():
    """Influences of 1e-12 are rounding: their correlation with another part says nothing."""
    varying = mean_of([1, 0, 1, 1, 1, 0, 1, 1], kind="share")
    constant = replace(mean_of([1] * 8, kind="share"), influence=-1e-12 * varying.influence)
    clean = replace(constant, influence=np.zeros(8))
    whole = replace(varying, name="balanced", value=(varying.value + 1) / 2, kind="mean")
    noisy, exact = (
        estimate_of(replace(whole, influence=varying.influence / 2, shares=(varying, part)))
        for part in (constant, clean)
    )

    assert noisy.method == BY_PARTS
    assert noisy.limits == pytest.approx(exact.limits)
    below = np.hypot(varying.value - some(estimate_of(varying).ci_low), 1 - 0.025 ** (1 / 8)) / 2
    assert noisy.ci_low == pytest.approx(some(noisy.estimate) - below)


def test_one_of_two_numbers_that_is_undefined_leaves_no_difference_and_says_why():
    number, nothing = (
        mean_of([0.2, 0.4]),
        replace(mean_of([0.2, 0.4]), value=np.nan, undefined="undefined: for a reason"),
    )

    for pair in ((number, nothing), (nothing, number)):
        found = difference_of(*pair)
        assert (found.estimate, found.limits, found.method) == (None, None, "undefined: for a reason")


def test_a_difference_over_one_query_has_no_interval():
    found = difference_of(replace(mean_of([0.2, 0.4]), at_risk=1), mean_of([0.1, 0.1]))

    assert found.estimate == pytest.approx(0.2)
    assert (found.limits, found.method) == (None, ONE_QUERY)


def test_numbers_of_other_kinds_that_do_not_vary_say_so():
    one, other = (replace(mean_of([value] * 6, kind="other"), unseen=None) for value in (0.2, 0.5))

    assert difference_of(one, other).method == NO_SPREAD
    assert difference_of(one, one).method == ALIKE
    assert estimate_of(one).method == NO_SPREAD


# A judge that was asked several times: where the error of its accuracy comes from.


def three_answers() -> Sample:
    """Two queries of two items, all of them safe; the second query's items are answered rightly in one and two of three times."""
    answers = [[1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 0, 0]]
    together = sample_of([1] * 4, [1, 1, 0, 1], cluster=[0, 0, 1, 1])
    return replace(together, answers=tuple(replace(together, safe=np.array(row, float)) for row in answers))


def test_the_error_of_an_accuracy_is_split_into_queries_and_answers():
    sample = three_answers()
    # Being right varies by 1/3 within the third and within the fourth item; four items, three answers.
    per_answer = (1 / 3 + 1 / 3) / 4**2
    # The accuracy is 3/4; the queries add 2 (1 - 3/4) / 4 = 1/8 and -1/8, so that the variance is 2 (1/64 + 1/64).
    whole = 2 * 2 / 64

    sources = error_sources(sample)

    assert sources is not None
    assert sources.one_answer == pytest.approx(np.sqrt(per_answer))
    assert sources.answers == pytest.approx(np.sqrt(per_answer / 3))
    assert sources.queries == pytest.approx(np.sqrt(whole - per_answer / 3))
    assert sources.annotators is None
    assert error_sources(sample.together) is None


def test_what_wordings_differ_by_is_beyond_chance_in_the_answers():
    right_always = sample_of([1] * 8, [1] * 8)
    right_half = sample_of([1] * 8, [1, 0] * 4)
    asked_once, asked_twice = (
        wording_spread([replace(sample, answers=(sample,) * times) for sample in (right_always, right_half)])
        for times in (0, 2)
    )

    assert asked_once is not None
    assert asked_twice is not None
    assert asked_once.mean.estimate == pytest.approx(0.75)
    assert asked_once.seen == pytest.approx(np.std([1, 0.5], ddof=1))
    assert asked_once.deviation is None
    assert asked_twice.deviation == pytest.approx(asked_twice.seen)


# Proportions that few clusters carry, and what annotators add.


def rare(top, **changes):
    return rare_proportion_interval(replace(mean_of(top, kind="share"), **changes), level=0.95)


def test_limits_of_a_rare_proportion_are_those_of_its_clusters_widened_by_what_annotators_add():
    top, limit = [1] + [0] * 34, float(clopper_pearson(1, 35, level=0.95).high)
    quantile = t.ppf(0.975, 34)

    assert rare(top) == pytest.approx((0, limit))
    assert rare(top, threshold_variance=4e-4) == pytest.approx((0, 1 / 35 + np.hypot(limit - 1 / 35, quantile * 0.02)))
    assert rare([1 - value for value in top], threshold_variance=4e-4)[0] == pytest.approx(
        1 - rare(top, threshold_variance=4e-4)[1]
    )
    assert rare(top, threshold_variance=9.0) == (0, 1)


def test_a_proportion_is_rare_up_to_ten_clusters_and_not_where_none_carries_it():
    assert rare([1] * 10 + [0] * 30)[1] < 1
    assert rare([1] * 11 + [0] * 29) == rare([0] * 40) == (0, 1)
    assert rare([1] + [0] * 34, cluster_shares=None) is None
    assert rare([1] + [0] * 34, kind="mean") is None


def test_a_proportion_above_that_of_its_clusters_is_its_own_limit():
    heavy = mean_of([1] + [0] * 34, kind="share", sizes=[100] + [1] * 34)

    assert some(rare_proportion_interval(heavy, level=0.95)).high == pytest.approx(heavy.value)


def test_what_annotators_add_widens_influences_and_leaves_no_bound_that_does_not_know_of_it():
    found = mean_of([0.2, 0.4, 0.9, 0.7])
    wide = replace(found, influence=found.influence * np.sqrt(1 + 0.01 / found.variance))
    part = mean_of([1] + [0] * 34, kind="share")
    moved = replace(part, threshold_variance=0.001)
    widened = replace(part, influence=widen_influence(part.influence, 0.001), cluster_shares=None)

    assert estimate_of(replace(found, threshold_variance=0.01)).limits == pytest.approx(estimate_of(wide).limits)
    assert mean_of_two(part, part).limits == pytest.approx(estimate_of(part).limits)
    assert mean_of_two(moved, moved).limits == pytest.approx(estimate_of(widened).limits)


def test_limits_without_spread_are_those_of_so_many_clusters_widened_by_what_annotators_add():
    share = mean_of([0.5] * 12, kind="share")
    low, high = some(estimate_of(share).limits)
    reach = t.ppf(0.975, 11) * 0.1
    third = clopper_pearson(4, 12, level=0.95)  # a harmonic mean of 0.5 is 2 J / (1 + J) of a third

    assert estimate_of(replace(share, threshold_variance=0.01)).limits == pytest.approx(
        (0.5 - np.hypot(0.5 - low, reach), 0.5 + np.hypot(high - 0.5, reach))
    )
    assert estimate_of(replace(share, kind="harmonic")).limits == pytest.approx(
        tuple(float(2 * end / (1 + end)) for end in (third.low, third.high))
    )


def mean_of_two(first, second):
    value, influence = (first.value + second.value) / 2, (first.influence + second.influence) / 2
    return estimate_of(
        replace(first, value=value, influence=influence, kind="mean", threshold_variance=0.0, shares=(first, second))
    )


def test_a_difference_is_as_uncertain_as_a_part_without_spread_whatever_kinds_its_parts_are():
    constant, varied = mean_of([0.5] * 9, kind="share"), mean_of(0.5 + np.arange(-4, 5) * 1e-4)
    reach = 0.5 * (1 - 0.025 ** (1 / 9))

    for first, second in ((constant, varied), (varied, constant), (replace(constant, kind="mean"), varied)):
        assert difference_of(first, second).limits == pytest.approx((-reach, reach))


def test_an_estimate_has_its_limits_or_none_at_either_end():
    found = estimate_of(mean_of([0.2, 0.4]))

    assert found.ends == (found.ci_low, found.ci_high)
    assert replace(found, ci_low=None).ends == (None, None)


def test_two_queries_are_enough_for_an_interval():
    assert estimate_of(mean_of([0.2, 0.4])).limits is not None
    assert difference_of(mean_of([0.2, 0.4]), mean_of([0.1, 0.5])).limits is not None


def test_an_interval_reaches_what_may_be_unseen_where_that_is_known():
    found = replace(mean_of([0.4, 0.41, 0.4, 0.41]), kind="other")
    alone = some(estimate_of(found).limits)
    constant = replace(mean_of([0.2] * 6), kind="other", unseen=0.1)

    assert estimate_of(replace(found, unseen=NAN)).limits == alone
    assert estimate_of(replace(found, unseen=0.1)).limits == (0.1, alone[1])
    assert estimate_of(replace(found, unseen=0.9)).limits == (alone[0], 0.9)
    assert estimate_of(constant).limits == pytest.approx((0.1, 0.2 + 0.8 * (1 - 0.025 ** (1 / 6))))
    assert estimate_of(replace(constant, domain=(0.0, np.inf))).limits == pytest.approx((0.1, 0.2))
    assert estimate_of(constant).method == UNSEEN
    assert estimate_of(replace(constant, unseen=0.3)).ci_high == 0.3


def test_an_interval_says_whether_it_is_over_wordings():
    found = mean_of([0.2, 0.4, 0.9, 0.7])

    assert [estimate_of(replace(found, wordings=n)).method for n in (1, 2)] == [STUDENT, OVER_WORDINGS]


def test_a_difference_reaches_what_may_be_unseen_of_either_side():
    first, second = (replace(mean_of(values), kind="other") for values in ([0.5, 0.51] * 4, [0.4, 0.42, 0.4, 0.41] * 2))
    alone = some(difference_of(first, second).limits)

    def limits(one=None, other=None):
        return some(difference_of(replace(first, unseen=one), replace(second, unseen=other)).limits)

    assert limits(NAN, NAN) == alone
    assert limits(one=0.05) == pytest.approx((0.05 - second.value, alone[1]))
    assert limits(other=0.9) == pytest.approx((first.value - 0.9, alone[1]))
    assert limits(one=0.95) == pytest.approx((alone[0], 0.95 - second.value))
    assert limits(other=0.0) == pytest.approx((alone[0], first.value))


def test_a_difference_counts_the_fewer_items_and_the_more_unscored_ones():
    first, second = replace(mean_of([0.2, 0.4]), n=7, n_unscored=1), replace(mean_of([0.1, 0.5]), n=9, n_unscored=3)

    for pair in ((first, second), (second, first)):
        assert (difference_of(*pair).n, difference_of(*pair).n_unscored) == (7, 3)


def test_a_share_and_a_mean_that_do_not_vary_differ_by_what_need_not_be_seen():
    assert difference_of(mean_of([0.5] * 6, kind="share"), mean_of([0.25] * 6)).method == UNSEEN


def test_annotators_add_to_a_difference_what_they_do_not_share():
    first, second = mean_of([0.2, 0.4, 0.9, 0.7]), mean_of([0.1, 0.5, 0.8, 0.6])
    raters = Raters(np.repeat(np.arange(4), 2), np.tile([0, 1], 4), np.tile([True, False], 4))
    votes = PerVote(raters, np.full(4, 0.03), np.full(4, -0.03))
    apart = votes._replace(of_safe=-votes.of_safe, of_unsafe=-votes.of_unsafe)
    between = first.influence - second.influence

    assert influence_of_difference(first, second) == pytest.approx(between)
    same = influence_of_difference(replace(first, votes=votes), replace(second, votes=votes))
    assert same == pytest.approx(between)
    opposite = influence_of_difference(replace(first, votes=votes), replace(second, votes=apart))
    assert votes.variance > 0
    assert opposite == pytest.approx(widen_influence(between, 4 * votes.variance))


def test_losses_are_measured_where_they_are_asked_for():
    (without,), (given,) = (
        measure(sample_of([1, 0], [1, 1]), metrics=[find_metric("accuracy")], **asked)
        for asked in ({}, {"losses": True})
    )

    assert without.loss is None
    assert given.loss is not None


# More of a judge that is asked several times.


def test_items_keep_the_order_of_their_first_judgements():
    ids = [f"i{number}" for number in np.random.default_rng(1).permutation(500)]
    table = pl.DataFrame({"item_id": [*ids, *ids], "value": 1.0})

    assert item_values(table, elicitation="score")["item_id"].to_list() == ids


def test_two_judgements_of_an_item_are_enough_and_a_small_noise_is_not_rounded_up():
    table = pl.DataFrame({"item_id": ["a", "a", "b", "b", "b"], "value": [0.5, 0.7, 0.2, 0.2, 0.2]})
    noise = some(judge_noise(item_values(table, elicitation="probability"), np.array([0, 1])))

    assert noise.n_items == 2
    assert noise.deviation.estimate == pytest.approx(np.sqrt(0.02 / 3))
    assert noise.changes.estimate == pytest.approx(1 / 2)


def test_what_the_answers_alone_explain_is_no_error_of_the_queries():
    answers = [[1, 0, 1, 0], [0, 1, 0, 1]]
    together = sample_of([1] * 4, [NAN] * 4, cluster=[0, 0, 1, 1])
    sample = replace(together, answers=tuple(replace(together, safe=np.array(row, float)) for row in answers))

    sources = some(error_sources(sample))
    assert sources.queries == 0
    assert sources.answers == pytest.approx(np.sqrt(4 * 0.5 / 16 / 2))


def test_on_one_query_or_without_a_label_the_error_has_no_sources():
    sample = three_answers()

    assert error_sources(sample.where(sample.cluster == 0)) is None
    unlabelled = replace(sample, weight=np.full(4, NAN), rate=np.full(4, NAN))
    answers = tuple(replace(one, weight=np.full(4, NAN), rate=np.full(4, NAN)) for one in sample.answers)
    assert error_sources(replace(unlabelled, answers=answers)) is None


def test_what_annotators_add_is_a_source_where_it_is_known_who_voted():
    known = annotated_study(np.random.default_rng(1), queries=30, votes=5, items_each=10, annotator_sd=2.0).sample()
    sources = some(error_sources(replace(known, answers=(known, known))))

    votes = some(accuracy_of(replace(known, answers=(known, known))).votes)
    assert sources.annotators == pytest.approx(np.sqrt(votes.variance))
    spread = some(wording_spread([known, known]))
    assert spread.mean.limits == pytest.approx(estimate_of(accuracy_of(known)).limits)


def test_chance_in_the_answers_is_taken_off_the_spread_of_wordings_down_to_nothing():
    steady = replace(sample_of([1] * 4, [0] * 4, cluster=[0, 0, 1, 1]))
    sample, once = three_answers(), replace(steady, answers=(steady, steady))
    chance = some(error_sources(sample)).answers ** 2 / 2

    apart = some(wording_spread([sample, once]))
    assert apart.seen == pytest.approx(np.std([0.75, 0], ddof=1))
    assert apart.deviation == pytest.approx(np.sqrt(apart.seen**2 - chance))
    assert some(wording_spread([sample, sample])).deviation == 0
    assert some(wording_spread([sample, steady])).deviation is None


def test_one_wording_or_one_without_an_accuracy_has_no_spread():
    sample, nothing = sample_of([1, 0], [1, 1]), sample_of([NAN, NAN], [1, 1])

    assert wording_spread([sample]) is None
    assert wording_spread([sample, nothing]) is None
    assert wording_spread([sample, sample_of([], []), sample]) is None


def test_shares_that_make_up_for_each_other_throughout_are_as_uncertain_as_a_share_that_does_not_vary():
    first, second = (mean_of(values * 10, kind="share") for values in ([1, 0], [0, 1]))
    exact = clopper_pearson(10, 20, level=0.95)
    found = mean_of_two(first, second)

    assert found.limits == pytest.approx((float(exact.low), float(exact.high)))
    assert found.method == BY_PARTS


def test_shares_that_make_up_for_each_other_beside_one_that_does_not_vary_have_no_narrower_interval():
    parts = [mean_of(values * 10, kind="share") for values in ([1, 0], [0, 1], [1, 1])]
    influence = np.mean([part.influence for part in parts], axis=0)
    mean = replace(parts[0], value=2 / 3, influence=influence, kind="mean", shares=tuple(parts))
    exact = clopper_pearson(20 * 2 / 3, 20, level=0.95)
    low, high = some(estimate_of(mean).limits)

    assert low <= float(exact.low)
    assert high >= float(exact.high)


def test_a_judge_without_an_error_in_few_clusters_is_not_better_than_its_unseen_errors_allow():
    """Four clusters of many items: one judge is right on all, the other on about 60 % in each."""
    perfect, other = mean_of([1.0] * 4, kind="share"), mean_of([0.6, 0.58, 0.62, 0.6], kind="share")
    difference = difference_of(perfect, other)
    unseen = 1 - 0.025 ** (1 / 4)

    assert difference.ci_low == pytest.approx(0.4 - unseen)
    assert difference_of(other, perfect).ci_high == pytest.approx(unseen - 0.4)
    assert not difference.beyond_chance


def test_two_judgements_of_one_item_are_enough_to_see_a_judges_noise():
    """Half of them safe: the spread is the root of .5 / 1, and the two always differ."""
    values = pl.DataFrame({"n_repeats": [2, 1], "n_scored": [2, 1], "n_safe": [1, 0], "sum_squares": [0.5, 0.0]})
    noise = some(judge_noise(values, np.array([0, 1])))

    assert noise.deviation.estimate == pytest.approx(np.sqrt(0.5))
    assert noise.changes.estimate == 1.0
    assert judge_noise(values[1:], np.array([0])) is None
