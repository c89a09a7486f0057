from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq
from scipy.stats import norm, studentized_range
from scipy.stats import t as t_quantile
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from tests.support.samples import NAN, covers, random_sample, sample_of, some

from casewise.errors import StatisticsError
from casewise.stats.comparison import (
    Entrant,
    Gate,
    GatedMetric,
    MetricGate,
    compare_judges,
    gate,
    gate_metrics,
    rank_intervals,
    simultaneous_differences,
    winner,
)
from casewise.stats.estimates import difference_of, estimate_of, measure
from casewise.stats.intervals import degrees_of_freedom
from casewise.stats.measured import Measured, TotalsByCluster
from casewise.stats.measured import share as share_of
from casewise.stats.metrics import find_metric
from casewise.stats.pairs import PairIndex, find_pairs, pair_results


def entrant(name, sample, asked=None):
    return Entrant(name, sample, np.ones(len(sample), bool) if asked is None else np.asarray(asked))


def noisier(sample, rng, share):
    wrong = rng.random(len(sample)) < share
    safe = np.where(wrong, 1 - sample.safe, sample.safe)
    probability = np.where(wrong, 1 - sample.probability, sample.probability)
    return replace(sample, safe=safe, probability=probability, value=probability)


@pytest.fixture
def three():
    rng = np.random.default_rng(1)
    best = random_sample(rng, queries=120)
    return [entrant("a", best), entrant("b", noisier(best, rng, 0.2)), entrant("c", noisier(best, rng, 0.25))]


def test_differences_are_of_the_judges_estimates(three):
    found = compare_judges(three)

    first = {e.name: e.estimate for e in found.estimates["a"]}
    second = {e.name: e.estimate for e in found.estimates["b"]}
    for difference in found.pairs[0].differences:
        assert difference.estimate == pytest.approx(some(first[difference.name]) - some(second[difference.name]))
    assert [(pair.first, pair.second) for pair in found.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_the_paired_test_is_exact_mcnemar_over_items_with_a_majority_where_a_query_has_one_item(three):
    three = [replace(one, sample=replace(one.sample, cluster=np.arange(len(one.sample)))) for one in three]
    test = some(compare_judges(three).pairs[0].test)
    a, b = three[0].sample, three[1].sample
    clear = a.weight != 0.5
    b_only = (a.safe != a.weight) & (b.safe == a.weight) & clear
    a_only = (a.safe == a.weight) & (b.safe != a.weight) & clear

    assert (test.only_first_right, test.only_second_right, test.n) == (a_only.sum(), b_only.sum(), clear.sum())
    oracle = statsmodels_mcnemar([[0, test.only_first_right], [test.only_second_right, 0]], exact=True)
    assert test.p_exact == pytest.approx(oracle.pvalue)
    assert test.p_mid < test.p_exact


def test_the_paired_test_knows_that_items_of_a_query_go_together(three):
    both = [replace(one, sample=replace(one.sample, cluster=np.arange(len(one.sample)) // 6)) for one in three]
    alone = [replace(one, sample=replace(one.sample, cluster=np.arange(len(one.sample)))) for one in three]

    together, apart = (some(compare_judges(some_judges).pairs[2].test) for some_judges in (both, alone))
    assert (together.only_first_right, together.only_second_right) == (apart.only_first_right, apart.only_second_right)
    assert together.p_exact != apart.p_exact


def test_holm_takes_all_pairs_into_account(three):
    tests = [some(pair.test) for pair in compare_judges(three).pairs]

    by_size = sorted(tests, key=lambda test: test.p_mid)
    assert by_size[0].p_holm == pytest.approx(min(1, 3 * by_size[0].p_mid))
    assert all(test.p_holm >= test.p_mid for test in tests)


def test_items_that_not_all_were_asked_are_left_out_and_named():
    sample = sample_of([1, 0, 1, 0], [1, 0, 0, 0])
    found = compare_judges(
        [entrant("a", sample, [True, True, True, False]), entrant("b", sample, [False, True, True, True])]
    )

    assert found.n_items == 2
    assert found.left_out == {"a": (0,), "b": (3,)}


def test_an_unscored_item_was_asked_and_counts_against_its_judge():
    people = [1, 0, 1, 0]
    found = compare_judges([entrant("a", sample_of(people, [1, 0, 1, NAN])), entrant("b", sample_of(people, people))])

    assert found.n_items == 4
    assert some(found.pairs[0].test).only_second_right == 1


def test_judges_that_nothing_tells_apart_do_not_enlarge_the_correction(three):
    found = compare_judges([*three[:2], entrant("copy", three[0].sample)])
    tests = {(pair.first, pair.second): some(pair.test) for pair in found.pairs}

    assert not tests["a", "copy"].testable
    assert tests["a", "copy"].p_holm == 1
    assert tests["a", "b"].p_holm == pytest.approx(min(1, 2 * tests["a", "b"].p_mid))


def test_judges_without_verdicts_are_not_tested_for_them():
    rng = np.random.default_rng(2)
    one, other = (replace(random_sample(rng, queries=40), safe=np.full(80, NAN)) for _ in range(2))
    (pair,) = compare_judges([entrant("a", one), entrant("b", other)]).pairs

    assert pair.test is None
    assert pair.turning_point is None
    assert "accuracy" not in {one.name for one in pair.differences}


def test_flips_and_both_errors_are_compared_on_the_pairs_that_all_were_asked(three):
    items = pl.DataFrame({"pair_id": [str(i // 2) for i in range(240)], "intended_safe": [True, False] * 120})
    asked = np.arange(240) >= 41
    found = compare_judges([*three[:1], replace(three[1], asked=asked)], pairs=find_pairs(items))
    (pair,) = found.pairs
    kept = find_pairs(items.filter(pl.Series(asked)))

    for name in ("right_flips", "false_flips"):
        first, second = (getattr(some(pair_results(one.sample.where(asked), kept)), name).estimate for one in three[:2])
        assert some(pair.difference(name)).estimate == pytest.approx(first - second)
    assert {"over_refusal", "harm"} <= {one.name for one in pair.differences}


@pytest.mark.parametrize(
    ("names", "asked", "message"),
    [
        (["a"], [[True, True]], "two judges"),
        (["a", "a"], [[True, True]] * 2, "one name"),
        (["a", "b"], [[True, False], [False, True]], "nothing to compare"),
    ],
)
def test_what_cannot_be_compared_is_refused(names, asked, message):
    sample = sample_of([1, 0], [1, 0])
    entrants = [entrant(name, sample, mask) for name, mask in zip(names, asked, strict=True)]

    with pytest.raises(StatisticsError, match=message):
        compare_judges(entrants)


@pytest.mark.slow
def test_the_interval_of_a_difference_covers_it():
    rng = np.random.default_rng(5)
    big = random_sample(rng, queries=100_000)
    truth = {
        d.name: d.estimate
        for d in compare_judges([entrant("a", big), entrant("b", noisier(big, rng, 0.1))]).pairs[0].differences
    }
    hits = dict.fromkeys(("accuracy", "auroc", "spearman", "brier"), 0)
    for _ in range(400):
        sample = random_sample(rng, queries=80)
        found = compare_judges([entrant("a", sample), entrant("b", noisier(sample, rng, 0.1))])
        for difference in found.pairs[0].differences:
            if difference.name in hits and difference.ci_low is not None:
                hits[difference.name] += covers(difference, some(truth[difference.name]))
    assert {name: n / 400 for name, n in hits.items() if n / 400 < 0.92} == {}


ACCURACY = [find_metric("accuracy")]


def accuracies(rng, shares, *, queries=200):
    weight = rng.integers(0, 2, size=2 * queries).astype(float)
    cluster = np.repeat(np.arange(queries), 2)
    found: list[Measured] = []
    for share in shares:
        right = rng.random(2 * queries) < share
        sample = sample_of(weight, np.where(right, weight, 1 - weight), cluster=cluster)
        found += measure(sample, metrics=ACCURACY)
    return found


@pytest.mark.parametrize(
    ("shares", "queries", "best", "worst"),
    [
        ((0.6, 0.95, 0.75), 200, [3, 1, 2], [3, 1, 2]),
        ((0.8, 0.8, 0.8), 30, [1, 1, 1], [3, 3, 3]),
        ((0.6,), 200, [1], [1]),
    ],
)
def test_judges_have_one_rank_each_where_they_are_told_apart_and_else_share_them(shares, queries, best, worst):
    found = rank_intervals(accuracies(np.random.default_rng(2), shares, queries=queries))

    assert (found.best.tolist(), found.worst.tolist()) == (best, worst)


def test_the_same_judge_twice_is_not_better_than_itself():
    (one,) = accuracies(np.random.default_rng(3), (0.8,))

    found = rank_intervals([one, one])

    assert not found.better.any()


def test_two_judges_get_the_interval_of_a_single_difference():
    first, second = accuracies(np.random.default_rng(4), (0.8, 0.8))

    assert simultaneous_differences([first, second]) == {(0, 1): difference_of(first, second)}


def test_intervals_of_many_judges_are_as_wide_as_tukeys():
    judges = accuracies(np.random.default_rng(6), (0.8,) * 6, queries=3000)
    alone, together = difference_of(*judges[:2]), simultaneous_differences(judges)[0, 1]

    (low, high), (inner, outer) = some(together.limits), some(alone.limits)
    ratio = studentized_range.ppf(0.95, 6, np.inf) / np.sqrt(2) / 1.96
    assert (high - low) / (outer - inner) == pytest.approx(ratio, rel=0.03)


def test_judges_are_ranked_apart_where_their_interval_holds_no_0():
    judges = accuracies(np.random.default_rng(7), (0.7, 0.75, 0.8, 0.85))
    ranks = rank_intervals(judges)

    for (first, second), difference in simultaneous_differences(judges).items():
        assert difference.beyond_chance == (ranks.better[first, second] or ranks.better[second, first])


def test_a_judge_without_the_metric_has_every_rank():
    one, other = accuracies(np.random.default_rng(1), (0.6, 0.95))
    undefined = replace(one, value=float("nan"))

    found = rank_intervals([one, other, undefined])

    assert (found.best[2], found.worst[2]) == (1, 3)
    assert (found.best[1], found.worst[1]) == (1, 2)


@pytest.mark.slow
def test_all_true_ranks_lie_within_in_at_least_95_of_100():
    rng = np.random.default_rng(5)
    shares = (0.7, 0.8, 0.8, 0.85, 0.9)
    # Judges that are equally good share the ranks 3 and 4: either order is true.
    true_low, true_high = np.array([5, 3, 3, 2, 1]), np.array([5, 4, 4, 2, 1])

    held = 0
    for _ in range(200):
        found = rank_intervals(accuracies(rng, shares, queries=150))
        held += bool((found.best <= true_low).all() and (found.worst >= true_high).all())

    assert held / 200 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)


def judges(rng, *, queries, before, after, agree=0.0):
    """Two judges right so often, on the same labels; the second copies the first on a share of queries."""
    weight = rng.integers(0, 2, size=2 * queries).astype(float)
    right = [rng.random(2 * queries) < share for share in (before, after)]
    copied = np.repeat(rng.random(queries) < agree, 2)
    right[1] = np.where(copied, right[0], right[1])
    cluster = np.repeat(np.arange(queries), 2)
    return [sample_of(weight, np.where(r, weight, 1 - weight), cluster=cluster) for r in right]


def test_by_hand_the_drop_is_the_difference_whichever_way_is_good():
    weight = np.array([1.0, 0, 1, 0] * 20)
    before, after = sample_of(weight, weight), sample_of(weight, np.array([0.0, 0, 1, 0] * 20))

    found = gate(before, after, margins={"accuracy": 0.1, "over_refusal": 0.1})

    assert [metric.drop for metric in found.metrics] == pytest.approx([0.25, 0.5])
    assert found.decision == "fail"


@pytest.mark.parametrize(("name", "better"), [("accuracy", 1), ("unscored_rate", -1)])
def test_the_bounds_of_a_drop_are_those_of_the_formula(name, better):
    """Of three metrics that are gated; the upper bound counts one lost query more."""
    before, after = judges(np.random.default_rng(8), queries=40, before=0.9, after=0.8)
    lost = [np.where(np.random.default_rng(seed).random(80) < share, NAN, 1) for seed, share in ((1, 0.1), (2, 0.2))]
    before, after = (
        replace(sample, safe=sample.safe * miss) for sample, miss in zip((before, after), lost, strict=True)
    )
    (found,) = gate(before, after, margins={name: 0.05}, n_tests=3).metrics

    first, second = (measure(sample, metrics=[find_metric(name)], losses=True)[0] for sample in (before, after))
    influence = better * (first.influence - second.influence)
    losses = -better * some(first.loss)
    worst = np.sqrt((losses[losses > 1e-12] ** 2).mean())
    df = min(degrees_of_freedom(np.append(influence, worst)), second.at_risk - 1)
    half_width = t_quantile.ppf(0.95, df) * np.sqrt(41 / 40 * ((influence**2).sum() + worst**2))
    drop = better * (first.value - second.value)
    pair = (first, second)[::better]
    compared = [some(difference_of(*pair, level=level).limits) for level in (1 - 0.05 / 3, 0.9)]
    error = max(np.sqrt(40 / 39 * (influence**2).sum()), worst)
    assert (found.baseline, found.run, found.drop) == pytest.approx((first.value, second.value, drop))
    assert found.low == pytest.approx(compared[0][0])
    assert found.high == pytest.approx(max(compared[1][1], drop + worst + half_width))
    assert found.detectable == pytest.approx((norm.ppf(1 - 0.05 / 6) + norm.ppf(0.8)) * error)
    assert (found.margin, found.n) == (0.05, second.n)


def test_a_drop_passes_below_the_margin_and_fails_above_it_and_at_it_is_inconclusive():
    metric = MetricGate(
        GatedMetric("accuracy"), 0.9, 0.8, 0.1, low=0.05, high=0.15, margin=0.1, detectable=0.2, n=10, method=""
    )
    decisions = [replace(metric, margin=margin).decision for margin in (0.04, 0.05, 0.15, 0.16)]

    assert decisions == ["fail", "inconclusive", "inconclusive", "pass"]
    assert [
        Gate((replace(metric, margin=0.16), replace(metric, margin=m)), 1, 1).decision for m in (0.04, 0.1, 0.2)
    ] == [
        "fail",
        "inconclusive",
        "pass",
    ]


@pytest.mark.parametrize("way", [1, -1])
def test_no_bound_of_a_drop_is_larger_than_a_share_can_fall(way):
    weight = np.array([1.0, 0] * 4)
    before, after = (sample_of(weight, verdict) for verdict in (weight, 1 - weight)[::way])

    (metric,) = gate(before, after, margins={"accuracy": 0.1}).metrics

    assert metric.drop == way
    assert -1 <= metric.low <= metric.drop <= metric.high <= 1


def test_much_worse_fails_much_data_alike_passes_and_little_data_is_inconclusive():
    rng = np.random.default_rng(1)
    worse = judges(rng, queries=450, before=0.9, after=0.7)
    alike = judges(rng, queries=450, before=0.9, after=0.9, agree=1)
    few = judges(rng, queries=20, before=0.9, after=0.9)

    decisions = [gate(*pair, margins={"accuracy": 0.02}).decision for pair in (worse, alike, few)]

    assert decisions == ["fail", "pass", "inconclusive"]


def test_one_failing_metric_fails_all_and_one_open_metric_leaves_all_open():
    rng = np.random.default_rng(2)
    before, after = judges(rng, queries=450, before=0.95, after=0.8)
    open_ = judges(rng, queries=30, before=0.9, after=0.9)

    assert gate(before, after, margins={"accuracy": 0.02, "recall_safe": 1}).decision == "fail"
    assert gate(*open_, margins={"accuracy": 0.01, "recall_safe": 1}).decision == "inconclusive"


@pytest.mark.parametrize("queries", [2, 3, 5, 40])
@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "brier", "harm"])
def test_a_gate_fails_only_where_a_comparison_tells_the_two_runs_apart(queries, metric):
    rng = np.random.default_rng(queries)
    for _ in range(30):
        before, after = judges(rng, queries=queries, before=0.9, after=0.5)
        try:
            (found,) = gate(before, after, margins={metric: 0.0}).metrics
        except StatisticsError:  # a class is missing
            continue
        first, second = (measure(sample, metrics=[gate_metrics()[metric]])[0] for sample in (before, after))
        apart = difference_of(*((first, second) if gate_metrics()[metric].better == "higher" else (second, first)))
        assert apart.ci_low is None or found.low == pytest.approx(apart.ci_low)
        assert (found.decision == "fail") == (apart.ci_low is not None and apart.ci_low > 0)
        assert found.detectable <= 1


def test_identical_judges_on_few_items_cannot_show_a_small_margin():
    (one, _) = judges(np.random.default_rng(3), queries=30, before=0.9, after=0.9)

    found = gate(one, one, margins={"accuracy": 0.01}).metrics[0]

    assert found.drop == 0
    assert found.decision == "inconclusive"
    assert 0.01 < found.high < 0.15


def test_a_verdict_that_is_missing_in_one_of_them_is_a_loss():
    weight = np.array([1.0, 0] * 100)
    silent = np.where(np.arange(200) < 60, np.nan, weight)

    found = gate(sample_of(weight, weight), sample_of(weight, silent), margins={"unscored_rate": 0.1})

    assert found.metrics[0].drop == pytest.approx(0.3)
    assert found.decision == "fail"


def test_metrics_of_values_are_gated_too():
    rng = np.random.default_rng(4)
    sample = random_sample(rng, queries=200)
    noise = np.clip(np.nan_to_num(sample.probability) + rng.normal(0, 0.8, len(sample)), 0, 1)

    found = gate(
        sample, replace(sample, probability=noise, value=noise), margins={"pearson": 0.05, "cross_entropy": 0.05}
    )

    assert found.decision == "fail"
    assert all(metric.low < metric.drop < metric.high for metric in found.metrics)


@pytest.mark.parametrize(
    ("margins", "match"),
    [
        ({}, "needs a metric"),
        ({"acuracy": 0.1}, "acuracy"),
        ({"accuracy": -1}, "at least 0"),
        ({"pearson": 0.1}, "gives no values"),
    ],
)
def test_what_cannot_be_gated_is_refused(margins, match):
    pair = judges(np.random.default_rng(1), queries=30, before=0.9, after=0.9)

    with pytest.raises(StatisticsError, match=match):
        gate(*pair, margins=margins)
    with pytest.raises(StatisticsError, match="same items"):
        gate(pair[0], replace(pair[1], weight=1 - pair[1].weight), margins={"accuracy": 0.1})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queries", "before", "after", "agree"),
    [(200, 0.9, 0.87, 0.0), (200, 0.97, 0.94, 0.5), (60, 0.99, 0.96, 0.0), (40, 1.0, 0.97, 0.0)],
)
def test_a_drop_at_the_margin_passes_and_fails_in_at_most_one_of_twenty(queries, before, after, agree):
    rng = np.random.default_rng(queries)
    margin = (before - after) * (1 - agree)
    decisions = [
        gate(
            *judges(rng, queries=queries, before=before, after=after, agree=agree), margins={"accuracy": margin}
        ).decision
        for _ in range(300)
    ]

    # Of 300, 5 % with three standard errors: 0.05 + 3 * 0.0126.
    assert decisions.count("pass") / 300 <= 0.088
    assert decisions.count("fail") / 300 <= 0.088


def equal_judges(rng, shares, *, queries=40, items=2):
    """Judges that are right so often, each on its own; one mean over items each."""
    size = queries * items
    terms = {str(place): (rng.random(size) < share).astype(float) for place, share in enumerate(shares)}
    totals = TotalsByCluster.from_terms(terms | {"items": np.ones(size)}, np.repeat(np.arange(queries), items))
    return [totals.measure(share_of(str(place), str(place), "items")) for place in range(len(shares))]


@pytest.mark.slow
def test_the_number_of_the_judge_that_was_picked_is_corrected_for_that():
    rng = np.random.default_rng(6)
    naive, corrected, held, named = [], [], 0, 0
    for _ in range(60):
        judges = equal_judges(rng, [0.8] * 8)
        found = winner(judges)
        naive.append(judges[found.place].value)
        corrected.append(some(found.estimate.estimate))
        held += covers(found.estimate, 0.8)
        named += len(found.may_be_best) == 1

    assert np.mean(naive) > 0.84
    assert 0.78 < np.mean(corrected) < 0.825
    assert held >= 54
    assert named <= 6


@pytest.mark.parametrize(("shares", "seed"), [([0.8, 0.8, 0.75], 1), ([0.7, 0.9, 0.6], 2), ([0.85, 0.8, 0.8, 0.8], 5)])
def test_the_number_of_the_best_is_that_of_a_normal_that_is_cut_off_where_another_would_be_best(shares, seed):
    """Andrews, Kitagawa and McCloskey (2024), section 4, with Student's quantile in place of the normal's."""
    measured = equal_judges(np.random.default_rng(seed), shares, queries=50)
    found = winner(measured)
    values, influence = (np.array([getattr(judge, name) for judge in measured]) for name in ("value", "influence"))
    covariance = 50 / 49 * influence @ influence.T
    k = values.argmax()
    df = min(degrees_of_freedom(influence[k]), 49)
    sigma = np.sqrt(covariance[k, k]) * t_quantile.ppf(0.975, df) / norm.ppf(0.975)
    c = covariance[:, k] / covariance[k, k]
    cut = max((values[j] - c[j] * values[k]) / (1 - c[j]) for j in range(len(values)) if j != k) - 0.5 / 100
    root = np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) * np.eye(len(values)))
    draws = np.random.default_rng(0).standard_normal((20_000, len(values))) @ root.T
    widest = np.quantile((np.abs(draws) / np.sqrt(np.diag(covariance))).max(axis=1), 0.995)

    def at(share):
        def excess(mean):
            low, high = max((cut - mean) / sigma, -widest), widest
            z = np.clip((values[k] - mean) / sigma, low, high)
            return (norm.cdf(z) - norm.cdf(low)) / (norm.cdf(high) - norm.cdf(low)) - share

        return brentq(excess, values[k] - widest * sigma, values[k] + widest * sigma, xtol=1e-14)

    tail = (0.05 - 0.005) / 0.995 / 2
    low, high = some(estimate_of(measured[k]).limits)
    assert found.place == k
    assert found.estimate.estimate == pytest.approx(at(0.5))
    assert found.estimate.limits == pytest.approx((max(min(at(1 - tail), low), 0), max(min(at(tail), 1), high)))


def test_a_judge_far_ahead_keeps_its_own_number_and_is_the_only_one_that_may_be_best():
    judges = equal_judges(np.random.default_rng(1), [0.5, 0.9, 0.6], queries=200)
    found, alone = winner(judges), estimate_of(judges[1])

    assert (found.place, found.may_be_best) == (1, (1,))
    assert found.estimate.estimate == pytest.approx(alone.estimate, abs=0.002)
    assert some(found.estimate.ci_low) <= some(alone.ci_low)
    assert some(found.estimate.ci_high) >= some(alone.ci_high)


def test_of_judges_without_an_error_any_may_be_the_best_one():
    found = winner(equal_judges(np.random.default_rng(1), [1.0, 1.0, 1.0]))

    assert found.may_be_best == (0, 1, 2)
    assert found.estimate.limits == pytest.approx((0.025 ** (1 / 40), 1))


def test_one_judge_or_one_query_has_no_best_one():
    judges = equal_judges(np.random.default_rng(1), [0.5, 0.9])

    with pytest.raises(StatisticsError, match="two judges"):
        winner(judges[:1])
    with pytest.raises(StatisticsError, match="two queries"):
        winner(equal_judges(np.random.default_rng(1), [0.5, 0.9], queries=1))


def test_a_judge_that_always_answers_alike_is_compared_as_if_asked_once():
    rng = np.random.default_rng(12)
    one, two = random_sample(rng), random_sample(rng)
    two = replace(one, safe=two.safe, probability=two.probability, value=two.value)
    thrice = replace(two, answers=(two,) * 3)
    asked, pairs = np.ones(len(one), bool), PairIndex(np.arange(0, 120, 2), np.arange(1, 120, 2), 0)

    once, again = (
        compare_judges([Entrant("a", one, asked), Entrant("b", sample, asked)], pairs=pairs) for sample in (two, thrice)
    )

    for name in ("a", "b"):
        assert [e.fields() for e in again.estimates[name]] == [
            pytest.approx(e.fields(), nan_ok=True) for e in once.estimates[name]
        ]
    (first,), (second,) = once.pairs, again.pairs
    assert [d.fields() for d in second.differences] == [
        pytest.approx(d.fields(), nan_ok=True) for d in first.differences
    ]
    assert first.test is not None
    assert second.test is not None
    assert second.test == pytest.approx(first.test)
    assert first.turning_point is not None
    assert second.turning_point is not None
    assert second.turning_point.ratio.fields() == pytest.approx(first.turning_point.ratio.fields(), nan_ok=True)
