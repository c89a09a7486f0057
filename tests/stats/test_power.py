import math

import numpy as np
import pytest
from scipy import stats
from tests.support.data import reference

from casewise.errors import StatisticsError
from casewise.stats import (
    CrowdDesign,
    CrowdModel,
    anova_power,
    clustered_contrast,
    cohen_h,
    kruskal_wallis,
    proportions_power,
    simulate_ratings,
)
from casewise.stats.power import (
    PilotRatings,
    StudyVariance,
    detectable_shift,
    kruskal_power,
    pilot_intervals,
    study_power,
    study_queries,
)


@pytest.mark.parametrize("case", reference("power.json", "anova"))
def test_anova_agrees_with_r(case):
    found = anova_power(case["k"], case["f"], alpha=case["alpha"], power=case["power"])

    assert (found.n_per_group, found.n_total) == (case["n_per_group"], case["N_total"])
    assert (found.df_between, found.df_within) == (case["df1"], case["df2"])
    assert found.actual_power == pytest.approx(case["actual_power"], rel=1e-9)
    assert found.critical_f == pytest.approx(case["critical_F"], rel=1e-9)
    assert found.noncentrality == pytest.approx(case["ncp"], rel=1e-12)
    one_less = anova_power(case["k"], case["f"], alpha=case["alpha"], n_per_group=case["n_per_group"] - 1)
    assert one_less.actual_power == pytest.approx(case["power_at_n_minus_1"], rel=1e-9)


@pytest.mark.parametrize("case", reference("power.json", "two_proportion"))
def test_two_proportions_agree_with_r(case):
    design = proportions_power(case["p1"], case["p2"], alpha=case["alpha"], power=case["power"])

    assert design.cohen_h == pytest.approx(case["h"], rel=1e-9)
    assert design.n_per_group == case["n_per_group"] == math.ceil(case["n_two_sided"])
    assert design.actual_power == pytest.approx(case["actual_power"], rel=1e-9)


def test_a_huge_effect_needs_two_annotators_a_group():
    assert anova_power(5, 50.0).n_per_group == 2
    assert proportions_power(0.0, 1.0).n_per_group == 2


def test_a_tiny_effect_needs_the_smallest_number_that_reaches_the_power():
    found = anova_power(5, 0.001)

    assert found.n_per_group > 400_000
    assert found.actual_power >= 0.8
    assert anova_power(5, 0.001, n_per_group=found.n_per_group - 1).actual_power < 0.8
    limit = stats.ncx2.sf(stats.chi2.isf(0.05, 4), 4, found.noncentrality)
    assert found.actual_power == pytest.approx(limit, rel=1e-5)


def test_the_detectable_effect_is_the_inverse_of_the_sample_size():
    assert anova_power(5, anova_power(5, n_per_group=16).effect_size, n_per_group=16).actual_power == pytest.approx(0.8)
    assert cohen_h(1, 0) == pytest.approx(math.pi)
    for p1 in (0.1, 0.5, 0.95):
        p2 = proportions_power(p1, n_per_group=21).p2
        assert proportions_power(p1, p2, n_per_group=21).actual_power == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (lambda: anova_power(5, 0.0), "must be positive"),
        (lambda: anova_power(5, -0.4), "must be positive"),
        (lambda: anova_power(5, 0.4, power=1.0), "power must lie"),
        (lambda: anova_power(5, 0.4, alpha=0.05, power=0.05), "no more than alpha"),
        (lambda: anova_power(1, 0.4), "nothing to compare"),
        (lambda: anova_power(5, 0.4, n_per_group=1), "n must be at least 2"),
        (lambda: anova_power(5, 0.4, n_per_group=10, alpha=0), "alpha must lie"),
        (lambda: anova_power(5, 1e-9), "no sample of up to"),
        (lambda: anova_power(5, math.nan), "must be positive"),
        (lambda: proportions_power(0.5, 0.5), "difference that is not there"),
        (lambda: proportions_power(0.5, 1.2), "p2 is a proportion"),
        (lambda: proportions_power(0.5, n_per_group=2), "no proportion is far enough|nothing up to"),
        (lambda: detectable_shift(0.5), "two people in each"),
        (lambda: anova_power(2, n_per_group=2, alpha=1e-12), "nothing up to 1000"),
        (lambda: anova_power(5, n_per_group=10**21), "n must be at most"),
        (lambda: anova_power(10**24, n_per_group=30), "at most 10,000 are compared"),
        (lambda: kruskal_power([0.5, 0.7], n_per_group=10**11), "n must be at most"),
        (lambda: proportions_power(1.2, n_per_group=30), "p1 is a proportion"),
        (lambda: kruskal_power([0.5, 0.5]), "no number of annotators finds"),
        (lambda: kruskal_power([0.5, 0.6], power=1.0), "power must lie"),
        (lambda: kruskal_power([0.5], n_per_group=5), "at least two conditions"),
        (lambda: kruskal_power([0.5, 1.5], n_per_group=5), "between 0 and 1"),
        (lambda: kruskal_power([0.5, 0.6], n_per_group=1), "n must be at least 2"),
        (lambda: PilotRatings.from_ratings([True, False], [False, False], ["a", "b"], ["x", "y"]), "both conditions"),
        (
            lambda: PilotRatings.from_ratings([True, False], [False, True], ["a", "a"], ["x", "y"]),
            "two queries, two annotators",
        ),
        (lambda: study_queries(StudyVariance(0, 0.1, 0.1, 0.1), 0.0, per_item=5, per_annotator=5), "found by no study"),
        (lambda: anova_power(5, 0.4, power=0.0), "power must lie"),
        (lambda: anova_power(5, math.inf), "must be positive"),
        (lambda: kruskal_power([-0.1, 0.5], n_per_group=5), "between 0 and 1"),
        (lambda: kruskal_power([0.1, 0.5], n_per_group=5, repeats=0), "repeats"),
        (
            lambda: PilotRatings.from_ratings([True] * 8, [0, 0, 0, 0, 1, 1, 1, 1], list("aabbaabb"), list("xyxyzzzz")),
            "two annotators",
        ),
        (
            lambda: PilotRatings.from_ratings([True] * 8, [0, 0, 0, 0, 1, 1, 1, 1], list("aaaaaabb"), list("xyxyzwzw")),
            "two queries",
        ),
        (
            lambda: PilotRatings.from_ratings([True] * 8, [0, 0, 0, 0, 1, 1, 1, 1], list("abcdaabb"), list("xyxyzwzw")),
            "item with two ratings",
        ),
        (
            lambda: PilotRatings.from_ratings([True] * 8, [0, 0, 0, 0, 1, 1, 1, 1], list("aabbccdd"), list("xyxyzwzw")),
            "under both conditions",
        ),
        (
            lambda: study_power(StudyVariance(0, 0.1, 0.1, 0.1), 1.1, queries=5, per_item=5, per_annotator=5),
            "between -1 and 1",
        ),
        (
            lambda: study_power(StudyVariance(0, 0.1, 0.1, 0.1), 0.1, queries=0, per_item=5, per_annotator=5),
            "a query at least",
        ),
        (
            lambda: study_power(StudyVariance(0, 0.1, 0.1, 0.1), 0.1, queries=5, per_item=0, per_annotator=5),
            "a query at least",
        ),
        (
            lambda: study_power(StudyVariance(0, 0.1, 0.1, 0.1), 0.1, queries=5, per_item=5, per_annotator=math.inf),
            "a query at least",
        ),
        (
            lambda: study_queries(StudyVariance(0, 0.1, 0.1, 0.1), 1e-5, per_item=5, per_annotator=5),
            "more than 1,000,000 queries",
        ),
        (
            lambda: study_queries(StudyVariance(0, 0.1, 0.1, 0.1), 0.1, per_item=5, per_annotator=5, power=1.0),
            "power must lie",
        ),
    ],
)
def test_a_question_without_an_answer_is_an_error(question, why):
    with pytest.raises(StatisticsError, match=why):
        question()


@pytest.mark.parametrize(
    ("df", "alpha", "power"), [(2, 0.05, 0.8), (24, 0.05, 0.8), (25.5, 0.01, 0.95), (900, 0.05, 0.5)]
)
def test_the_smallest_difference_found_is_where_the_noncentral_t_reaches_the_power(df, alpha, power):
    shift = detectable_shift(df, alpha=alpha, power=power)

    critical = stats.t.isf(alpha / 2, df)
    assert stats.nct.sf(critical, df, shift) + stats.nct.cdf(-critical, df, shift) == pytest.approx(power, rel=1e-6)


def enumerated_power(rates, n, alpha):
    """The power by summing over every table, without simulation."""
    counts = np.stack(np.meshgrid(*[np.arange(n + 1)] * len(rates), indexing="ij"), -1).reshape(-1, len(rates))
    chance = np.prod(stats.binom.pmf(counts, n, rates), axis=1)
    exact = kruskal_wallis(counts, np.full(len(rates), n), exact=True).p_exact
    return chance[exact <= alpha].sum()


def test_simulated_power_is_that_of_all_tables_within_its_error():
    found = kruskal_power([0.2, 0.5, 0.8], n_per_group=10)

    assert found.ci_low <= enumerated_power([0.2, 0.5, 0.8], 10, 0.05) <= found.ci_high


def test_at_few_successes_the_chi_square_p_rejects_far_more_often_than_the_exact_one():
    exact = kruskal_power([0.02] * 5, n_per_group=21, alpha=0.02)
    approximate = kruskal_power([0.02] * 5, n_per_group=21, alpha=0.02, exact=False)

    assert approximate.actual_power > 5 * exact.actual_power


def test_equal_rates_are_rejected_no_more_often_than_alpha():
    assert kruskal_power([0.5] * 5, n_per_group=21).ci_low <= 0.05


@pytest.mark.slow
def test_the_sample_size_reaches_the_power():
    found = kruskal_power([0.3, 0.5, 0.5, 0.5, 0.8], repeats=2000)

    assert found.actual_power >= 0.8
    assert kruskal_power(found.safe_rates, n_per_group=found.n_per_group - 1, repeats=2000).actual_power < 0.8


MODEL = CrowdModel(query_sd=1.2, query_condition_sd=0.6, annotator_sd=1.0)


def crowd(*, queries, seed, rates=(0.5, 0.6), per_item=10):
    design = CrowdDesign(safe_rates=rates, queries=queries, ratings_per_item=per_item, items_per_annotator=20)
    return simulate_ratings(MODEL, design, rng=np.random.default_rng(seed))


def pilot(drawn):
    return PilotRatings.from_ratings(drawn.safe, drawn.condition == 1, drawn.query, drawn.annotator)


def test_the_parts_of_the_variance_are_those_of_the_crowd():
    # Truths by integration over a very large crowd drawn from the same model.
    rng = np.random.default_rng(1)
    big = crowd(queries=20_000, seed=5, per_item=1)
    shift = rng.normal(0, MODEL.annotator_sd, 4000)
    true = 1 / (1 + np.exp(-(big.logits[:400, :, None] + shift)))
    by_query = true.mean(2)
    truth_difference = (by_query[:, 0] - by_query[:, 1]).var(ddof=1)
    truth_annotators = true.mean(0).var(axis=1, ddof=1).mean()
    found = [pilot(crowd(queries=60, seed=seed)).variance() for seed in range(60)]
    assert np.mean([one.of_annotators for one in found]) == pytest.approx(truth_annotators, rel=0.1)
    assert np.mean([one.of_difference for one in found]) == pytest.approx(truth_difference, rel=0.2)


def test_the_power_that_is_planned_is_the_power_that_is_had():
    found = pilot(crowd(queries=800, seed=3)).variance()
    planned = study_power(found, found.difference, queries=40, per_item=10, per_annotator=20)
    reached = 0
    for seed in range(150):
        drawn = crowd(queries=40, seed=100 + seed)
        result = clustered_contrast(
            drawn.safe, drawn.condition == 1, query=drawn.query, annotator=drawn.annotator
        ).queries_like_these
        assert result is not None
        reached += result.p is not None and result.p <= 0.05
    assert reached / 150 == pytest.approx(
        planned, abs=0.12
    )  # two and a half standard errors of 150 studies, and t for z


def test_the_queries_that_are_needed_are_the_fewest_that_do():
    variance = StudyVariance(0.1, of_difference=0.02, of_annotators=0.03, of_ratings=0.15)
    size = {"per_item": 5, "per_annotator": 20}
    queries = study_queries(variance, 0.05, **size)
    assert study_power(variance, 0.05, queries=queries, **size) >= 0.8
    assert study_power(variance, 0.05, queries=queries - 1, **size) < 0.8
    # By hand: error^2 = (0.02 + 2 * (20 * 0.03 + 0.15) / 5) / Q, (1.95996 + 0.84162)^2 * 0.32 / 0.05^2 = 1004.6.
    assert queries == 1005


def test_the_interval_lies_around_what_queries_differ_by():
    some = pilot(crowd(queries=60, seed=2))
    parts, limits = some.variance(), pilot_intervals(some, rng=np.random.default_rng(1), draws=200)

    assert limits.low < parts.of_difference < limits.high


def moments(safe, second, query, annotator):
    """Mean products of pairs of ratings of a condition: of one query, of one annotator, and of neither; and across conditions."""
    first, other = np.triu_indices(len(safe), 1)
    product = (safe[first] & safe[other]).astype(float)
    same_query, same_person = query[first] == query[other], annotator[first] == annotator[other]
    by_condition = []
    for condition in (0, 1):
        both = (second[first] == condition) & (second[other] == condition)
        kinds = (same_query, ~same_query & same_person, ~same_query & ~same_person)
        by_condition.append([product[both & kind].mean() for kind in kinds])
    across = second[first] != second[other]
    return by_condition, product[across & same_query].mean() - product[across & ~same_query].mean()


@pytest.mark.parametrize("seed", [1, 2, 3, 9])
def test_the_parts_of_the_variance_are_differences_of_mean_products(seed):
    rng = np.random.default_rng(seed)
    query, second = (place.ravel() for place in np.indices((8, 2, 5))[:2])
    annotator = (query + np.tile(np.arange(5), 16)) % 7 + 7 * second
    rated = rng.random(80) < 0.8
    query, second, annotator = query[rated], second[rated], annotator[rated]
    logit = rng.normal(0, 1, 8)[query] + rng.normal(0, 1, (8, 2))[query, second] + rng.normal(0, 1, 14)[annotator]
    safe = rng.random(len(query)) < 1 / (1 + np.exp(-logit))
    found = PilotRatings.from_ratings(safe, second == 1, query, annotator).variance()

    by_condition, across = moments(safe, second, query, annotator)
    rates = [safe[second == condition].mean() for condition in (0, 1)]
    between = [own - neither for own, _, neither in by_condition]
    people = [max(0, own - neither) for _, own, neither in by_condition]
    rest = [
        max(0, rate - neither - max(0, b) - p)
        for rate, (_, _, neither), b, p in zip(rates, by_condition, between, people, strict=True)
    ]
    assert found.difference == pytest.approx(rates[0] - rates[1])
    assert found.of_difference == pytest.approx(max(0, sum(between) - 2 * across))
    assert found.of_annotators == pytest.approx(np.mean(people))
    assert found.of_ratings == pytest.approx(np.mean(rest))


def test_a_query_that_counts_twice_is_two_queries_with_the_same_ratings():
    drawn = crowd(queries=20, seed=2)
    some, weight = pilot(drawn), np.resize([1.0, 2.0, 0.0], 20)
    times = weight[drawn.query].astype(int)
    copies = [np.repeat(column, times) for column in (drawn.safe, drawn.condition == 1, drawn.query, drawn.annotator)]
    copy = np.concatenate([np.arange(n) for n in times])
    doubled = PilotRatings.from_ratings(copies[0], copies[1], copies[2] * 2 + copy, copies[3])

    for name in ("difference", "of_difference", "of_annotators", "of_ratings"):
        assert getattr(some.variance(weight), name) == pytest.approx(getattr(doubled.variance(), name))


def test_the_interval_is_that_of_resampled_queries():
    some, rng = pilot(crowd(queries=15, seed=4)), np.random.default_rng(6)
    drawn = [
        some.variance(np.bincount(rng.integers(0, 15, 15), minlength=15).astype(float)).of_difference
        for _ in range(500)
    ]

    assert pilot_intervals(some, rng=np.random.default_rng(6)) == pytest.approx(np.quantile(drawn, [0.025, 0.975]))


def test_the_power_of_a_study_by_hand():
    variance, size = StudyVariance(0.1, 0.02, 0.03, 0.15), {"queries": 40, "per_item": 5, "per_annotator": 20}
    error = np.sqrt((0.02 + 2 * (20 * 0.03 + 0.15) / 5) / 40)

    assert variance.error(**size) == pytest.approx(error)
    for difference in (0.1, -0.1):
        z, shift = stats.norm.isf(0.01), 0.1 / error
        expected = stats.norm.sf(z - shift) + stats.norm.sf(z + shift)
        assert study_power(variance, difference, **size, alpha=0.02) == pytest.approx(expected)
    sure = StudyVariance(0.1, 0.0, 0.0, 0.0)
    assert (study_power(sure, 0.1, **size), study_power(sure, 0.0, **size)) == (1, 0.05)


def test_a_design_says_what_it_is_of():
    found = anova_power(3, 0.3, n_per_group=20, alpha=0.1)
    assert (found.groups, found.effect_size, found.alpha, found.n_total) == (3, 0.3, 0.1, 60)
    rates = kruskal_power([0.0, 1.0, 0.5], n_per_group=2, alpha=0.2, repeats=50, seed=3)
    assert (rates.n_per_group, rates.n_total, rates.alpha, rates.exact) == (2, 6, 0.2, True)
    assert (rates.repeats, rates.seed) == (50, 3)
    assert rates.ci_low < rates.actual_power < rates.ci_high
    pair = proportions_power(0.4, 0.7, n_per_group=30, alpha=0.1)
    z, shift = stats.norm.isf(0.05), abs(pair.cohen_h) * np.sqrt(15)
    assert pair.actual_power == pytest.approx(stats.norm.sf(z - shift) + stats.norm.sf(z + shift))
    assert (pair.n_total, pair.alpha, pair.p1, pair.p2) == (60, 0.1, 0.4, 0.7)
    assert proportions_power(0.95, n_per_group=21).p2 < 0.95, "no rate above is far enough"
