from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from tests.support.annotated import annotated_study
from tests.support.samples import named

from casewise.stats.agreement import agreement_of_votes, reliability
from casewise.stats.arrays import Raters, annotators_variance, cluster_variance
from casewise.stats.calibration import bin_terms, calibration, equal_mass_bins
from casewise.stats.ceilings import against_new_person
from casewise.stats.costs import cost_curve, refusals
from casewise.stats.estimates import Estimate, difference_of, estimate, estimate_of, influence_of_difference, measure
from casewise.stats.measured import VotesTerms
from casewise.stats.metrics import auroc, metrics_named, spearman
from casewise.stats.pairs import PairIndex, hard_score, pair_results
from casewise.stats.panel import panel_curve, panel_worth, prediction_powered_rate
from casewise.stats.sample import totals_by_query


def test_queries_and_annotators_together_are_the_two_way_variance():
    rng = np.random.default_rng(0)
    query, who = np.arange(300) // 5, rng.permuted(np.tile(np.arange(30), (10, 1)), axis=1).ravel()
    safe = rng.random(300) < 0.3 + 0.4 * (who % 2)
    n, rate = len(safe), safe.mean()
    unsafe, one = np.full(60, -rate / n), np.full(60, (1 - rate) / n)
    people = annotators_variance(one, unsafe, Raters(query, who, safe))

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


def test_agreement_is_known_less_well_where_it_is_known_who_voted():
    found = annotated_study(np.random.default_rng(3), queries=60, votes=10, items_each=40, annotator_sd=1.5)
    alone = agreement_of_votes(*found.counts, clusters=found.query)
    people = agreement_of_votes(*found.counts, clusters=found.query, raters=found.raters)

    assert (people.alpha, people.ac1) == (alone.alpha, alone.ac1)
    assert people.alpha_interval is not None
    assert alone.alpha_interval is not None
    assert people.alpha_interval[0] < alone.alpha_interval[0]
    assert people.alpha_interval[1] > alone.alpha_interval[1]


def test_reliability_and_panels_are_known_less_well_where_it_is_known_who_voted():
    found = annotated_study(np.random.default_rng(0), queries=60, votes=12, items_each=40, annotator_sd=1.5)
    counts, query, said = found.counts, found.query, (found.values > 0.5).astype(float)

    def widths(raters: Raters | None) -> np.ndarray:
        reliable = reliability(*counts, rng=np.random.default_rng(0), clusters=query, splits=1, raters=raters)
        curve = panel_curve(*counts, clusters=query, largest=3, raters=raters)
        worth = panel_worth(said, *counts, clusters=query, raters=raters)
        assert reliable.analytic_interval
        return np.array(
            [np.diff(reliable.analytic_interval)[0], (curve.ci_high - curve.ci_low)[0], worth.ci_high - worth.ci_low]
        )

    assert (widths(found.raters) >= widths(None)).all()
    assert (widths(found.raters) > widths(None)).sum() == 2  # this judge's agreement happens not to move


def test_a_new_person_is_known_less_well_where_it_is_known_who_voted():
    found = annotated_study(np.random.default_rng(0), queries=60, votes=12, items_each=40, annotator_sd=1.5)
    verdict = (found.values > 0.5).astype(float)

    def lead(raters: Raters | None) -> float:
        new = against_new_person(verdict, *found.counts, clusters=found.query, raters=raters)
        return new.difference - new.low

    assert lead(found.raters) > lead(None)


def test_every_number_of_a_judge_is_known_less_well_where_it_is_known_who_voted():
    found = annotated_study(np.random.default_rng(5), queries=60, votes=10, items_each=40, annotator_sd=2.0)
    items = np.arange(120)
    pairs = PairIndex(items[::2], items[1::2], 0)

    def widths(known: bool) -> np.ndarray:
        judge, other = (one.sample(known=known) for one in (found, replace(found, values=found.others)))
        flips, (point,) = pair_results(judge, pairs), cost_curve(judge, ratios=(5.0,)).points
        assert flips is not None
        assert point.cost is not None
        first, second = (measure(one, metrics=metrics_named("accuracy", "spearman", "auroc")) for one in (judge, other))
        estimates = [*map(estimate_of, first), *map(difference_of, first, second)]
        estimates += [point.cost, flips.right_flips, flips.person_right_flips]
        return np.array([width(one) for one in estimates])

    assert (widths(True) >= widths(False)).all()
    assert (widths(True) > widths(False)).sum() >= 3  # the others happen not to move


def test_calibration_refusals_and_hard_items_are_known_less_well_where_it_is_known_who_voted():
    found = annotated_study(np.random.default_rng(5), queries=120, votes=10, items_each=40, annotator_sd=2.0)
    words = (found.others > 0.5).astype(float)

    def numbers(known: bool) -> list[Estimate]:
        sample, raters = found.sample(known=known), found.raters if known else None
        fits, errors = calibration(sample), refusals(sample).at
        hard = hard_score(*found.counts, baseline=words, judge=sample.safe, cluster=found.query, raters=raters)
        bins = [one.rate for one in fits.curve]
        parts = [fits.calibration_part, fits.refinement_part, fits.noise_floor]
        return [*bins, *parts, errors.over_refusal, errors.harm, hard.accuracy]

    wider = [width(two) > width(one) for two, one in zip(numbers(True), numbers(False), strict=True)]
    assert sum(wider) >= len(wider) - 4, wider  # the others happen not to move


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


def test_ranks_are_known_less_well_where_it_is_known_who_voted():
    found = annotated_study(np.random.default_rng(2), queries=60, votes=10, items_each=40, annotator_sd=2.0)

    def more(known: bool) -> float:
        judges = (replace(found, values=values).sample(known=known) for values in (found.values, found.others))
        first, second = (measure(one, metrics=metrics_named("accuracy"))[0] for one in judges)
        return cluster_variance(influence_of_difference(first, second))

    assert more(True) > more(False)


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

    terms = VotesTerms.of_counts(lambda s, m: (s / m)[:, None], safe, votes, raters)

    assert terms.of_safe[:, 0] == pytest.approx([1 / 3 - 0, 0])
    assert terms.of_unsafe[:, 0] == pytest.approx([1 / 3 - 1 / 2, 0])
