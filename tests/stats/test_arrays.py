from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from tests.support.annotated import annotated_study
from tests.support.samples import named, some

from casewise.errors import StatisticsError
from casewise.stats.agreement import agreement_of_votes, reliability
from casewise.stats.arrays import (
    Counts,
    PerVote,
    Raters,
    annotator_covariance,
    checked_integer,
    checked_share,
    cluster_sums,
    cluster_variance,
    clusters_of,
    coded_labels,
    safe_divide,
    smallest_integer_reaching,
    widen_influence,
)
from casewise.stats.calibration import bin_terms, calibration, equal_mass_bins
from casewise.stats.ceilings import DistinctCounts, new_person_test
from casewise.stats.costs import cost_curve, refusals
from casewise.stats.estimates import difference_of, estimate, estimate_of, measure
from casewise.stats.metrics import auroc, parse_metrics, spearman
from casewise.stats.pairs import PairIndex, hard_score, pair_results
from casewise.stats.panel import panel_curve, panel_worth, prediction_powered_rate
from casewise.stats.sample import totals_by_query


def test_the_variance_of_a_mean_from_influences_is_the_regressions():
    rng = np.random.default_rng(8)
    y, who = rng.normal(size=60), rng.integers(0, 11, size=60)
    groups = {"groups": who, "use_correction": False}
    fit = sm.OLS(y, np.ones(60)).fit(cov_type="cluster", cov_kwds=groups)

    found = cluster_variance((y - y.mean()) / len(y), who)

    assert found == pytest.approx(11 / 10 * fit.cov_params()[0, 0], rel=1e-12)


def test_each_observation_is_its_own_cluster_where_none_are_named():
    y = np.random.default_rng(8).normal(size=30)

    assert cluster_variance((y - y.mean()) / 30) == pytest.approx(y.var(ddof=1) / 30, rel=1e-12)


def test_one_cluster_shows_no_variance():
    assert np.isnan(cluster_variance([0.1, -0.1], ["a", "a"]))


def test_terms_are_summed_within_clusters():
    sums = cluster_sums(np.array([[1.0, 2, 4], [10, 20, 40]]), np.array([0, 1, 0]), n_clusters=2)

    assert sums.tolist() == [[5, 50], [2, 20]]


@pytest.mark.parametrize("codes", [[], [3], [7, 2, 7, 0], [10**9, 5, 10**9], [-1, 4, -1]])
def test_integers_are_numbered_anew_in_their_order(codes):
    expected = np.unique(np.array(codes, dtype=int), return_inverse=True)[1]

    assert coded_labels(np.array(codes, dtype=int)).tolist() == expected.tolist()


@pytest.mark.parametrize("times", [1, 40])
def test_kinds_of_items_are_the_same_whether_counted_or_sorted(times):
    safe, votes = np.tile([2, 0, 5, 2], times), np.tile([3, 3, 5, 5], times)

    found = DistinctCounts.from_counts(safe, votes)

    assert list(zip(found.safe, found.votes, found.times, strict=True)) == [
        (0, 3, times),
        (2, 3, times),
        (2, 5, times),
        (5, 5, times),
    ]
    assert found.safe[found.which].tolist() == safe.tolist()
    assert found.votes[found.which].tolist() == votes.tolist()


def test_queries_and_annotators_together_are_the_two_way_variance():
    rng = np.random.default_rng(0)
    query, who = np.arange(300) // 5, rng.permuted(np.tile(np.arange(30), (10, 1)), axis=1).ravel()
    safe = rng.random(300) < 0.3 + 0.4 * (who % 2)
    n, rate = len(safe), safe.mean()
    unsafe, one = np.full(60, -rate / n), np.full(60, (1 - rate) / n)
    people = PerVote(Raters(query, who, safe), one, unsafe).variance

    def clustered(groups: np.ndarray) -> float:
        fit = sm.OLS(safe.astype(float), np.ones(n)).fit(
            cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
        )
        return float(fit.cov_params()[0, 0])

    two_way = clustered(query) + clustered(who) - clustered(query * 30 + who)
    by_query = cluster_variance((safe - rate) / n, query) * 59 / 60
    by_annotator = cluster_variance((safe - rate) / n, who) * 29 / 30
    assert people - by_annotator / 29 == pytest.approx(two_way - by_query)


def test_annotators_who_do_not_differ_add_next_to_nothing():
    rng = np.random.default_rng(1)
    found = annotated_study(rng, queries=200, votes=10, items_each=20, annotator_sd=0.0)
    with_them = named(estimate(found.sample()))["brier"]
    without = named(estimate(found.sample(known=False)))["brier"]

    assert with_them.estimate == without.estimate
    assert width(with_them) == pytest.approx(width(without), rel=0.1)


def width(found):
    return found.ci_high - found.ci_low


@pytest.mark.slow
def test_intervals_of_a_judges_numbers_know_that_annotators_differ():
    rng = np.random.default_rng(2)
    names = ("accuracy", "cross_entropy", "brier")
    two_way: list[list[tuple[float | None, ...]]] = []
    one_way: list[list[tuple[float | None, ...]]] = []
    for _ in range(150):
        found = annotated_study(rng, queries=225, votes=10, items_each=40)
        for rows, known in ((two_way, True), (one_way, False)):
            numbers = named(estimate(found.sample(known=known)))
            rows.append([(numbers[name].estimate, numbers[name].ci_low, numbers[name].ci_high) for name in names])
    truth = np.array(two_way, dtype=float)[:, :, 0].mean(0)

    held = [
        ((np.array(rows, dtype=float)[:, :, 1] <= truth) & (truth <= np.array(rows, dtype=float)[:, :, 2])).mean(0)
        for rows in (two_way, one_way)
    ]
    assert (held[0] >= 0.9).all(), held
    assert (held[0] >= held[1]).all(), held
    assert held[1].min() < 0.92, held


def widths_of_agreement(found, raters):
    agreement = agreement_of_votes(*found.counts, clusters=found.query, raters=raters)
    return [np.diff(some(interval)) for interval in (agreement.raw_interval, agreement.alpha_interval)]


def widths_beside_people(found, raters):
    counts, query, said = found.counts, found.query, (found.values > 0.5).astype(float)
    reliable = reliability(*counts, rng=np.random.default_rng(0), clusters=query, splits=1, raters=raters)
    curve = panel_curve(*counts, clusters=query, largest=3, raters=raters)
    worth = panel_worth(said, *counts, clusters=query, raters=raters)
    new = new_person_test(said, *counts, clusters=query, raters=raters)
    panels = [(curve.ci_high - curve.ci_low)[0], worth.ci_high - worth.ci_low]
    return [np.diff(some(reliable.analytic_interval)), *panels, new.difference - new.low]


def widths_of_a_judge(found, raters):
    pairs = PairIndex(np.arange(0, len(found.values), 2), np.arange(1, len(found.values), 2), 0)
    judge, other = (one.sample(known=raters is not None) for one in (found, replace(found, values=found.others)))
    flips, (point,) = some(pair_results(judge, pairs)), cost_curve(judge, ratios=(5.0,))
    first, second = (measure(one, metrics=parse_metrics("accuracy", "spearman", "auroc")) for one in (judge, other))
    numbers = [*map(estimate_of, first), *map(difference_of, first, second)]
    return [width(one) for one in (*numbers, some(point.cost), flips.right_flips, flips.person_right_flips)]


def widths_of_parts(found, raters):
    sample, words = found.sample(known=raters is not None), (found.others > 0.5).astype(float)
    fits, errors = calibration(sample), refusals(sample).at
    hard = hard_score(*found.counts, baseline=words, judge=sample.safe, cluster=found.query, raters=raters)
    parts = [fits.calibration_part, fits.refinement_part, fits.noise_floor]
    return [
        width(one) for one in (*(b.rate for b in fits.curve), *parts, errors.over_refusal, errors.harm, hard.accuracy)
    ]


@pytest.mark.parametrize(
    ("widths", "study", "narrower", "wider"),
    [
        (widths_of_agreement, {"seed": 3, "queries": 60, "annotator_sd": 1.5}, 0, 2),
        (widths_beside_people, {"seed": 0, "queries": 60, "votes": 12, "annotator_sd": 1.5}, 0, 3),
        (widths_of_a_judge, {"seed": 5, "queries": 60, "annotator_sd": 2.0}, 0, 3),
        (widths_of_parts, {"seed": 5, "queries": 120, "annotator_sd": 2.0}, 4, 12),
    ],
)
def test_numbers_are_known_less_well_where_it_is_known_who_voted(widths, study, narrower, wider):
    """Some happen not to move."""
    drawn = {"votes": 10, "items_each": 40, **study}
    found = annotated_study(np.random.default_rng(drawn.pop("seed")), **drawn)
    people, alone = (
        np.array([float(np.squeeze(one)) for one in widths(found, raters)]) for raters in (found.raters, None)
    )

    assert (people < alone - 1e-12).sum() <= narrower
    assert (people > alone).sum() >= wider


def test_a_rate_with_a_judges_help_is_known_less_well_where_it_is_known_who_voted():
    found = annotated_study(np.random.default_rng(6), queries=60, votes=10, items_each=40, annotator_sd=1.5)
    rate = found.counts[0] / found.counts[1]
    few = np.where(found.query < 20, rate, np.nan)
    there = found.item < 40
    raters = Raters(found.item[there], found.annotator[there], found.safe[there])

    people, alone = (
        prediction_powered_rate(found.values, few, clusters=found.query, raters=one) for one in (raters, None)
    )
    assert people.estimate == alone.estimate
    assert people.error > alone.error
    own = np.where(raters.safe, 1 - rate[raters.item], -rate[raters.item]) / (10 * 40)
    by_person = np.bincount(np.unique(raters.annotator, return_inverse=True)[1], weights=own)
    more = len(by_person) / (len(by_person) - 1) * (by_person**2).sum() - (own**2).sum()
    assert people.error**2 - alone.error**2 == pytest.approx(more, rel=1e-3)


def test_bins_rates_are_two_way_clustered_means_of_votes():
    found = annotated_study(np.random.default_rng(4), queries=60, votes=10, items_each=30)
    sample = found.sample()
    bins = equal_mass_bins(sample.probability, 7)
    totals = totals_by_query(sample, lambda one: bin_terms(one, bins, 7))
    gap = np.zeros((len(totals.names), 7))
    gap[[totals.names.index(f"gap{b}") for b in range(7)], range(7)] = 1
    more = np.diag(totals.added_by_annotators(gap))

    for b in range(7):
        inside = bins[found.item] == b
        votes, item, who = found.safe[inside], found.item[inside], found.annotator[inside]
        own = np.where(votes, 1 - sample.rate[item], -sample.rate[item]) / 9
        by_person = np.bincount(who, weights=own, minlength=found.annotator.max() + 1)
        people = len(by_person)
        assert more[b] == pytest.approx(people / (people - 1) * (by_person**2).sum() - (own**2).sum(), rel=0.02)


@pytest.mark.parametrize("statistic", [auroc, spearman])
def test_what_a_vote_adds_to_an_order_is_what_the_order_loses_without_it(statistic):
    sample = annotated_study(np.random.default_rng(3), queries=60, votes=10, items_each=40).sample()
    whole = statistic(sample)
    assert whole.votes is not None
    assert sample.without is not None
    for adds, fewer in zip((whole.votes.of_safe, whole.votes.of_unsafe), sample.without, strict=True):
        for item in range(0, 120, 7):
            weight, rate = sample.weight.copy(), sample.rate.copy()
            weight[item], rate[item] = fewer.weight[item], fewer.rate[item]
            lost = whole.value - statistic(replace(sample, weight=weight, rate=rate)).value
            assert adds[item] == pytest.approx(lost, abs=5e-5)


def test_what_a_vote_adds_by_exchange_is_what_a_mean_loses_without_it():
    raters = Raters(np.array([0, 0, 0, 1, 1]), np.arange(5), np.array([True, False, False, True, True]))
    safe, votes = np.array([1, 2]), np.array([3, 2])

    terms = PerVote.from_counts(lambda s, m: (s / m)[:, None], safe, votes, raters)

    assert terms.of_safe[:, 0] == pytest.approx([1 / 3 - 0, 0])
    assert terms.of_unsafe[:, 0] == pytest.approx([1 / 3 - 1 / 2, 0])


def test_a_vote_that_is_half_safe_adds_half_of_both():
    item, annotator = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0])
    adds = PerVote(Raters(item, annotator, np.array([1, 0, 1, 0, 0.5])), np.array([3.0, 2, 5]), np.array([-1.0, 0, 1]))
    same = adds._replace(of_safe=np.array([3.0, 2, 3]), of_unsafe=np.array([-1.0, 0, 3]))

    assert adds.variance == pytest.approx(same.variance)
    assert adds.variance > 0


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1.1, float("nan"), "0.5", None])
def test_a_share_lies_strictly_between_0_and_1(value):
    with pytest.raises(StatisticsError, match="margin must lie strictly between 0 and 1, not"):
        checked_share(value, "margin")
    assert checked_share(np.float64(0.25), "margin") == 0.25


@pytest.mark.parametrize("value", [True, 2.0, "3", 1, None])
def test_a_whole_number_is_one_and_no_smaller_than_its_least(value):
    with pytest.raises(StatisticsError, match="n must be a whole number of at least 2, not"):
        checked_integer(value, "n", minimum=2)
    assert checked_integer(np.int64(2), "n", minimum=2) == 2


@pytest.mark.parametrize("leap", [1, 3, 4, 6, 7, 13, 95, 96])
def test_the_smallest_number_is_found_that_reaches_a_target(leap):
    found = smallest_integer_reaching(1.0, lambda n: float(n >= leap), start=3, largest=96)

    assert found == max(leap, 3)


def test_a_target_beyond_the_largest_number_is_not_reached():
    assert smallest_integer_reaching(1.0, lambda n: float(n >= 96), start=3, largest=95) is None
    assert smallest_integer_reaching(1.0, lambda n: float(n >= 49), start=3, largest=48) is None


def test_a_quotient_has_its_default_where_the_denominator_is_nought():
    assert safe_divide([1, 2, -3], [2, 0, -1]).tolist() == [0.5, 0, 3]
    assert safe_divide(1, [0, 4], default=7.0).tolist() == [7, 0.25]


def test_counts_are_whole_numbers_of_one_shape():
    counts = Counts.from_arrays([1, 2], 5)

    assert (counts.successes.tolist(), counts.sizes.tolist()) == ([1, 2], [5, 5])
    assert counts.sizes.dtype == np.int64
    assert clusters_of(None, 3).tolist() == [0, 1, 2]
    assert clusters_of(["b", "a", "b"], 3).tolist() == [1, 0, 1]


ITEM, PERSON = (place.ravel() for place in np.indices((12, 4)))


def test_annotators_add_their_covariance_less_that_of_their_votes():
    rng = np.random.default_rng(3)
    raters = Raters(ITEM, PERSON, rng.random(48) < np.array([0.9, 0.8, 0.2, 0.1])[PERSON])
    of_safe, of_unsafe = rng.uniform(0.5, 1, (12, 2)), -rng.uniform(0.5, 1, (12, 2))
    found = annotator_covariance(of_safe, of_unsafe, raters)

    influence = np.where(raters.safe[:, None], of_safe[ITEM], of_unsafe[ITEM])
    influence -= influence.mean(axis=0)
    sums = np.array([influence[person == PERSON].sum(axis=0) for person in range(4)])
    raw = 4 / 3 * sums.T @ sums - influence.T @ influence
    assert np.linalg.eigvalsh(raw).min() < 0 < np.diag(raw).min()
    assert np.diag(found) == pytest.approx(np.diag(raw)), "variances stay as they are"
    values, vectors = np.linalg.eigh(raw)
    lifted = (vectors * np.maximum(values, 0)) @ vectors.T
    assert found[0, 1] / np.sqrt(np.diag(found).prod()) == pytest.approx(lifted[0, 1] / np.sqrt(np.diag(lifted).prod()))
    one = annotator_covariance(of_safe, of_unsafe, raters._replace(annotator=np.zeros(48, dtype=int)))
    assert one.tolist() == [[0, 0], [0, 0]]


def test_two_people_are_enough_to_differ():
    raters = Raters(np.repeat(np.arange(3), 2), np.tile([0, 1], 3), np.tile([True, False], 3))

    assert PerVote(raters, np.ones(3), -np.ones(3)).variance == pytest.approx(2 * (3**2 + 3**2) - 6)


def test_votes_of_chosen_items_are_numbered_anew():
    raters = Raters(np.array([0, 1, 2, 2]), np.array([5, 6, 7, 8]), np.array([True, False, True, False]))
    found = raters.where(np.array([True, False, True]))

    assert [column.tolist() for column in found] == [[0, 1, 1], [5, 7, 8], [True, True, False]]


def test_influences_of_votes_add_up_with_their_weights_where_all_are_known():
    raters = Raters(np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp), np.ones(1, dtype=bool))
    first, second = (
        PerVote(raters, np.array([1.0]), np.array([2.0])),
        PerVote(raters, np.array([5.0]), np.array([-1.0])),
    )
    found = PerVote.weighted([(1.0, first), (-2.0, second)])

    assert found is not None
    assert (found.of_safe.tolist(), found.of_unsafe.tolist()) == ([-9], [4])
    assert PerVote.weighted([(1.0, first), (1.0, None)]) is None
    assert PerVote.weighted([(1.0, first), (1.0, first._replace(of_safe=np.ones(2)))]) is None


def test_a_vote_that_is_exchanged_for_another_of_its_item_by_hand():
    """Of 2 of 3 votes, and of a single vote, which has no other."""
    raters = Raters(np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp), np.ones(1, dtype=bool))
    found = PerVote.from_counts(lambda s, m: (s / m)[:, None], np.array([2, 1]), np.array([3, 1]), raters)

    assert found.of_safe.ravel().tolist() == pytest.approx([3 / 2 * 1 / 3 * (2 / 3 - 1 / 3), 0])
    assert found.of_unsafe.ravel().tolist() == pytest.approx([3 / 2 * 2 / 3 * (2 / 3 - 1), 0])


def test_influences_are_widened_to_a_larger_variance():
    influence = np.array([0.3, -0.1, -0.2])

    assert cluster_variance(widen_influence(influence, 0.05)) == pytest.approx(cluster_variance(influence) + 0.05)
    assert widen_influence(influence, 0.0) is influence
    assert widen_influence(np.zeros(3), 0.05).tolist() == [0, 0, 0]
