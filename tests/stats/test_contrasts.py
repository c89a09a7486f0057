from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.stats import pearson3
from statsmodels.stats.proportion import confint_proportions_2indep
from statsmodels.stats.weightstats import ttost_paired
from tests.support.data import REFERENCE, cases, reference

from casewise.errors import StatisticsError
from casewise.stats import CrowdDesign, CrowdModel, newcombe, simulate_ratings, two_proportion_z
from casewise.stats.arrays import cluster_variance
from casewise.stats.contrasts import (
    Difference,
    clustered_contrast,
    equivalence,
    group_difference,
    low_group_p,
    sign_flips,
)
from casewise.stats.intervals import adjust


def contrast(crowd) -> Any:
    return clustered_contrast(crowd.safe, crowd.condition == 1, query=crowd.query, annotator=crowd.annotator)


@pytest.fixture(scope="module")
def crowd():
    design = CrowdDesign(safe_rates=(0.4, 0.6), queries=40, ratings_per_item=9)
    return simulate_ratings(CrowdModel(), design, rng=np.random.default_rng(5))


def test_the_difference_is_that_of_the_rates(crowd):
    expected = crowd.safe[crowd.condition == 0].mean() - crowd.safe[crowd.condition == 1].mean()

    assert contrast(crowd).queries_like_these.estimate == pytest.approx(expected)
    assert contrast(crowd).by_query.estimate == pytest.approx(expected)  # equal numbers of ratings a query


def test_two_way_errors_are_those_of_a_regression_on_the_condition(crowd):
    x = np.column_stack([np.ones(len(crowd)), crowd.condition == 0])
    oracle = [
        sm.OLS(crowd.safe.astype(float), x).fit(cov_type="cluster", cov_kwds={"groups": ids, "use_correction": False})
        for ids in (crowd.query, crowd.annotator)
    ]
    groups = np.array([len(np.unique(crowd.query)), len(np.unique(crowd.annotator))])
    parts = np.array([fit.bse[1] ** 2 for fit in oracle]) * groups / (groups - 1)
    people = [len(np.unique(crowd.annotator[crowd.condition == c])) for c in (0, 1)]
    assert sum(people) == groups[1]  # nobody rates under both: Welch's variance of two groups of people
    influence = contrast_influence(crowd.safe, crowd.condition)
    parts[1] = sum(
        cluster_variance(influence[of], crowd.annotator[of]) for of in (crowd.condition == c for c in (0, 1))
    )
    single = sm.OLS(crowd.safe.astype(float), x).fit(cov_type="HC0").cov_params()[1, 1]

    expected = max(parts.sum() - single, *parts)
    assert contrast(crowd).queries_like_these.error == pytest.approx(np.sqrt(expected), rel=1e-9)


def contrast_influence(safe, condition):
    rate = np.array([safe[condition == c].mean() for c in (0, 1)])
    return (safe - rate[condition]) * np.where(condition, -1, 1) / np.bincount(condition)[condition]


def test_errors_agree_with_r():
    data = {name: np.array(values) for name, values in cases(REFERENCE / "clustered.json", "data")[0].items()}
    [wanted] = cases(REFERENCE / "clustered.json", "contrast")

    found: Any = clustered_contrast(
        data["safe"], data["condition"] == 1, query=data["query"], annotator=data["annotator"]
    )
    assert found.by_item.estimate == pytest.approx(wanted["first_less_second"], rel=1e-9)
    assert found.by_item.error == pytest.approx(wanted["by_item"], rel=1e-9)
    influence = contrast_influence(data["safe"], data["condition"])
    parts = [cluster_variance(influence, data[name]) for name in ("query", "annotator")]
    assert sum(parts) - (influence**2).sum() == pytest.approx(wanted["two_way"] ** 2, rel=1e-9)
    assert found.queries_like_these.error == pytest.approx(np.sqrt(max(wanted["two_way"] ** 2, *parts)), rel=1e-9)


def test_the_average_per_query_difference_is_a_paired_t_test(crowd):
    from scipy import stats

    rates = np.array(
        [[crowd.safe[(crowd.query == q) & (crowd.condition == c)].mean() for c in (0, 1)] for q in range(40)]
    )
    expected = stats.ttest_rel(rates[:, 0], rates[:, 1])

    by_query = contrast(crowd).by_query
    assert by_query.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert by_query.ci_low == pytest.approx(expected.confidence_interval().low, rel=1e-9)


def welch(influence, condition, annotator):
    """Variance over the people of two conditions, with Welch's degrees of freedom."""
    parts, people = [], []
    for c in (0, 1):
        sums = np.bincount(annotator[condition == c], influence[condition == c])
        people.append(len(np.unique(annotator[condition == c])))
        parts.append(people[-1] / (people[-1] - 1) * (sums**2).sum())
    return sum(parts), sum(parts) ** 2 / sum(part**2 / (n - 1) for part, n in zip(parts, people, strict=True))


def test_limits_and_p_are_students_on_satterthwaites_degrees_of_freedom(crowd):
    safe, condition, query, annotator = crowd.safe, crowd.condition, crowd.query, crowd.annotator
    found: Any = clustered_contrast(safe, condition == 1, query=query, annotator=annotator, level=0.9)
    influence, item = contrast_influence(safe, condition), query * 2 + condition
    votes = np.bincount(item)[item]
    rate = (np.bincount(item, safe) / np.bincount(item))[item]
    within = (
        (safe - rate) * np.sqrt(votes / (votes - 1)) * np.where(condition, -1, 1) / np.bincount(condition)[condition]
    )

    people, people_df = welch(influence, condition, annotator)
    by_query = cluster_variance(influence, query)
    whole = max(by_query + people - (influence**2).sum(), by_query, people)
    df = whole**2 / (by_query**2 / 39 + people**2 / people_df)
    own, own_df = welch(within, condition, annotator)
    for difference, variance, freedom in (
        (found.queries_like_these, whole, np.clip(df, *sorted((39, people_df)))),
        (found.these_queries, own, own_df),
        (found.by_item, cluster_variance(influence, item), 39),
    ):
        t, error = stats.t(freedom), np.sqrt(variance)
        assert (difference.error, difference.df) == pytest.approx((error, freedom))
        half = t.ppf(0.95) * error
        assert difference.ci_low == pytest.approx(difference.estimate - half)
        assert difference.ci_high == pytest.approx(difference.estimate + half)
        assert difference.p == pytest.approx(2 * t.sf(abs(difference.estimate) / error))
    assert (found.annotators, found.queries, found.not_positive) == (len(np.unique(annotator)), 40, False)


def test_people_who_rate_under_both_conditions_are_paired():
    query, person, side = (place.ravel() for place in np.indices((30, 6, 2)))
    safe = np.random.default_rng(4).random(360) < 0.3 + 0.08 * person + 0.1 * side
    found: Any = clustered_contrast(safe, side == 1, query=query, annotator=person)
    difference = np.array(
        [safe[(person == p) & (side == 0)].mean() - safe[(person == p) & (side == 1)].mean() for p in range(6)]
    )
    rate = (np.bincount(query * 2 + side, safe) / 6)[query * 2 + side]
    within = (safe - rate) * np.sqrt(6 / 5) * np.where(side, -1, 1) / 180
    paired = 6 / 5 * (np.bincount(person, within) ** 2).sum()

    assert found.these_queries.estimate == pytest.approx(difference.mean())
    assert (found.these_queries.error, found.these_queries.df) == pytest.approx((np.sqrt(paired), 5))


def test_a_difference_stays_within_its_range():
    found = [Difference.from_variance(d, 0.04, df=5, level=0.95) for d in (-0.9, 0.9)]

    assert [(one.ci_low, one.ci_high) for one in found] == [
        (-1, pytest.approx(-0.9 + 2.5706 * 0.2, abs=1e-4)),
        (
            pytest.approx(0.9 - 2.5706 * 0.2, abs=1e-4),
            1,
        ),
    ]
    assert Difference.from_variance(0.0, 0.04, df=5, level=0.95).p == 1


def test_swapping_the_conditions_turns_the_sign(crowd):
    swapped: Any = clustered_contrast(crowd.safe, crowd.condition == 0, query=crowd.query, annotator=crowd.annotator)

    assert swapped.queries_like_these.estimate == pytest.approx(-contrast(crowd).queries_like_these.estimate)
    assert swapped.these_queries.error == pytest.approx(contrast(crowd).these_queries.error)


def test_without_annotators_only_the_queries_are_known(crowd):
    result: Any = clustered_contrast(crowd.safe, crowd.condition == 1, query=crowd.query)

    assert result.queries_like_these is None
    assert result.these_queries is None
    assert result.annotators is None
    assert result.by_query.p == contrast(crowd).by_query.p


def test_three_people_a_condition_do_not_reject_too_often_where_nothing_differs():
    rng, rejected = np.random.default_rng(2), 0
    second, person, query = (place.ravel() for place in np.indices((2, 3, 60)))
    for _ in range(300):
        logit = rng.normal(size=(2, 60))[:, None, :] + rng.normal(size=(2, 3))[:, :, None]
        safe = rng.random((2, 3, 60)) < 1 / (1 + np.exp(-logit))
        found: Any = clustered_contrast(safe.ravel(), second == 1, query=query, annotator=person + 3 * second)
        rejected += found.queries_like_these.p <= 0.05

    assert rejected / 300 <= 0.075


def test_a_condition_with_one_person_has_no_error_over_people():
    safe = np.array([1, 0, 1, 1, 0, 0, 0, 1], dtype=bool)
    result: Any = clustered_contrast(
        safe, [0, 0, 0, 0, 1, 1, 1, 1], query=[1, 2, 3, 4, 1, 2, 3, 4], annotator=[1, 1, 1, 1, 2, 2, 3, 3]
    )

    assert result.queries_like_these is result.these_queries is None


def unanimous(queries, people, *, first=True, second=False):
    """Ratings of conditions in which all people say the same; each person rates under one condition."""
    query, person, side = (part.ravel() for part in np.meshgrid(range(queries), range(people), (0, 1), indexing="ij"))
    safe = np.where(side == 1, second, first)
    return clustered_contrast(safe, side == 1, query=query, annotator=2 * person + side)


def test_a_thousand_unanimous_ratings_tell_all_from_none():
    found: Any = unanimous(50, 10).queries_like_these

    reach = np.sqrt(2) * (1 - 0.025 ** (1 / 10))  # dissent of both conditions, as rare as ten people show
    assert (found.estimate, found.ci_low, found.ci_high) == pytest.approx((1, 1 - reach, 1))
    assert found.p == pytest.approx(2 * (1 - 1 / np.sqrt(2)) ** 10)
    assert found.p < 0.001


@pytest.mark.parametrize("people", [2, 3])
def test_a_few_unanimous_ratings_tell_nothing_apart(people):
    found: Any = unanimous(people, people).queries_like_these

    assert found.ci_low < 0 < found.estimate
    assert found.p > 0.05


@pytest.mark.parametrize(
    ("queries", "people", "alike"), [(2, 2, False), (5, 3, False), (40, 40, False), (58, 60, False), (60, 60, True)]
)
def test_conditions_that_nobody_answers_differently_are_alike_only_where_dissent_would_have_been_seen(
    queries, people, alike
):
    found: Any = unanimous(queries, people, second=True).queries_like_these

    assert (found.estimate, found.p) == (0, 1)
    assert (found.equivalence_p(0.05) <= 0.05) == alike
    assert found.equivalence_p(0.05) == pytest.approx(0.95 ** min(queries, people))


def test_one_condition_without_dissent_is_alike_to_none_that_few_people_show():
    query, person, side = (part.ravel() for part in np.meshgrid(range(10), range(10), (0, 1), indexing="ij"))
    safe = np.ones(200, dtype=bool)
    safe[7] = False
    found: Any = clustered_contrast(safe, side == 1, query=query, annotator=2 * person + side).queries_like_these

    assert equivalence(found.estimate, found.error, margin=0.05, df=found.df) <= 0.05
    assert found.equivalence_p(0.05) == pytest.approx(0.94**10)  # the one dissent makes it 1 point
    assert found.equivalence_p(0.05) > 0.05


def test_a_difference_that_is_the_same_on_every_query_has_the_interval_of_so_many_queries():
    safe = np.array([1, 1, 0, 0] * 6, dtype=bool)
    side = np.array([0, 0, 0, 1] * 6, dtype=bool)
    found: Any = clustered_contrast(safe, side, query=np.arange(24) // 4).by_query

    unseen = 1 - 0.025 ** (1 / 6)
    assert found.estimate == pytest.approx(2 / 3)
    assert (found.ci_low, found.ci_high) == pytest.approx((2 / 3 - unseen * 5 / 3, 2 / 3 + unseen / 3))


def test_queries_rated_under_one_condition_only_have_no_difference_of_their_own():
    result = clustered_contrast([True, False, True, False], [False, False, True, True], query=[1, 2, 3, 4])

    assert result.by_query is None
    assert result.by_item.estimate == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"second": [False] * 4, "query": [1, 2, 1, 2]},
        {"second": [False, False, True, True], "query": [1, 1, 1, 1]},
        {"second": [False, False, True, True], "query": [1, 2, 1, 2], "annotator": [1, 1, 1, 1]},
    ],
)
def test_what_cannot_be_compared_is_an_error(arguments):
    with pytest.raises(StatisticsError):
        clustered_contrast([True, False, True, False], **arguments)


def test_equivalence_agrees_with_statsmodels():
    rng = np.random.default_rng(1)
    first, second = rng.normal(0, 1, 60), rng.normal(0.05, 1, 60)
    d = first - second

    p = equivalence(d.mean(), d.std(ddof=1) / np.sqrt(60), margin=0.5, df=59)
    assert p == pytest.approx(ttost_paired(first, second, -0.5, 0.5)[0], rel=1e-9)
    assert [equivalence(difference, 0.0, margin=0.05) for difference in (0.0, 0.2)] == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("annotator_sd", [0.5, 1.0])
def test_under_a_true_null_only_two_way_errors_keep_their_size(annotator_sd):
    rng, repeats = np.random.default_rng(11), 400
    design = CrowdDesign(safe_rates=(0.5, 0.5), queries=150)
    rejected = np.zeros(3)
    for _ in range(repeats):
        crowd = simulate_ratings(CrowdModel(annotator_sd=annotator_sd), design, rng=rng)
        result = contrast(crowd)
        sides = [crowd.safe[crowd.condition == c] for c in (0, 1)]
        z = two_proportion_z(sides[0].sum(), len(sides[0]), sides[1].sum(), len(sides[1]))
        rejected += [z.p < 0.05, result.by_query.p < 0.05, result.queries_like_these.p < 0.05]

    pooled, by_query, two_way = rejected / repeats
    monte_carlo = np.sqrt(0.05 * 0.95 / repeats)
    assert pooled > 0.15
    assert by_query > 0.05 + 2 * monte_carlo
    assert abs(two_way - 0.05) < 3 * monte_carlo


@pytest.mark.slow
def test_intervals_cover_what_they_are_of():
    rng, repeats = np.random.default_rng(12), 400
    design = CrowdDesign(safe_rates=(0.35, 0.65), queries=150)
    model = CrowdModel()
    truths, covered = [], np.zeros(2)
    results = []
    for _ in range(repeats):
        crowd = simulate_ratings(model, design, rng=rng)
        shifts = np.random.default_rng(0).normal(0, model.annotator_sd, 4000)
        rates = (1 / (1 + np.exp(-(crowd.logits[:, :, None] + shifts)))).mean((0, 2))
        truths.append(rates[0] - rates[1])
        results.append(contrast(crowd))
    kind = np.mean(truths)
    for truth, result in zip(truths, results, strict=True):
        these, like = result.these_queries, result.queries_like_these
        covered += [these.ci_low <= truth <= these.ci_high, like.ci_low <= kind <= like.ci_high]

    assert (np.abs(covered / repeats - 0.95) < 0.03).all()


def group_difference_crowd(seed=3, people=24, queries=12):
    rng = np.random.default_rng(seed)
    item = np.array([rng.permutation(queries)[:8] for _ in range(people)])
    member = np.repeat((np.arange(people) < 9)[:, None], 8, 1)
    safe = rng.random(item.shape) < 0.2 + 0.04 * item + 0.2 * member
    return safe.ravel(), member.ravel(), item.ravel(), np.repeat(np.arange(people), 8)


def test_by_hand() -> None:
    """Two items, each rated by two people of the group and two others: 1 and ½ of the group, ½ and 0 of the others."""
    safe = [1, 1, 1, 0, 1, 0, 0, 0]
    found = group_difference(
        safe,
        [1, 1, 0, 0, 1, 1, 0, 0],
        item=[0, 0, 0, 0, 1, 1, 1, 1],
        query=[0, 0, 0, 0, 1, 1, 1, 1],
        annotator=[0, 1, 2, 3, 0, 1, 2, 3],
    )
    assert found.estimate == pytest.approx(0.5)


def test_it_is_the_coefficient_beside_a_dummy_an_item() -> None:
    safe, member, item, who = group_difference_crowd()
    found = group_difference(safe, member, item=item, query=item, annotator=who)
    design = np.column_stack([member, item[:, None] == np.unique(item)]).astype(float)
    fit = sm.OLS(safe.astype(float), design).fit()
    assert found.estimate == pytest.approx(fit.params[0])

    # The sandwich, with each residual scaled for its item's mean and each side's people for theirs.
    bread, k = np.linalg.inv(design.T @ design), np.bincount(item)[item]
    part = (design @ bread[:, 0]) * fit.resid * np.sqrt(k / (k - 1))
    people = np.array([part[who == person].sum() for person in np.unique(who)])
    inside = np.array([member[who == person].all() for person in np.unique(who)])
    of_people = sum((people[side] ** 2).sum() * side.sum() / (side.sum() - 1) for side in (inside, ~inside))
    of_queries = sum(part[item == q].sum() ** 2 for q in np.unique(item)) * 12 / 11
    expected = max(of_people + of_queries - (part**2).sum(), of_people, of_queries)
    assert found.error**2 == pytest.approx(expected)


def test_neither_the_condition_nor_an_items_own_rate_takes_part() -> None:
    safe, member, item, who = group_difference_crowd()
    where = item % 2 == 0
    one = group_difference(safe[where], member[where], item=item[where], query=item[where], annotator=who[where])
    more = np.concatenate([safe[where], np.ones(40, dtype=bool)])
    found = group_difference(  # an item that the group alone rates says nothing of the difference
        more,
        np.concatenate([member[where], np.ones(40, dtype=bool)]),
        item=np.concatenate([item[where], np.full(40, 99)]),
        query=np.concatenate([item[where], np.full(40, 99)]),
        annotator=np.concatenate([who[where], np.arange(40) % 9]),
    )
    assert found.estimate == pytest.approx(one.estimate)


def test_what_cannot_be_compared_is_refused() -> None:
    safe, member, item, who = group_difference_crowd()
    with pytest.raises(StatisticsError, match="no item has ratings of the group and of others"):
        group_difference(safe, member, item=item + 100 * member, query=item, annotator=who)
    with pytest.raises(StatisticsError, match="two people each"):
        group_difference(safe, who == 0, item=item, query=item, annotator=who)


def test_p_is_that_of_all_ways_to_draw_a_group():
    rng = np.random.default_rng(5)
    values = rng.gamma(2.0, size=16)
    values[:6] *= 0.7
    group = np.array([0] * 6 + [1] * 10)
    sums = [values[list(rows)].sum() for rows in combinations(range(16), 6)]

    exact = np.mean(np.array(sums) <= values[:6].sum() + 1e-12)

    assert low_group_p(values, group)[0] == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_p_is_the_lower_tail_of_scipys_pearson_iii(rate):
    rng = np.random.default_rng(7)
    group = np.arange(9).repeat(rng.integers(5, 40, 9))
    values = (rng.random(len(group)) < rate).astype(float)
    total, n = len(values), np.bincount(group)
    z = (np.bincount(group, values) - n * values.mean()) / np.sqrt(n * (total - n) / (total - 1) * values.var())
    skewness = np.mean((values - values.mean()) ** 3) / values.std() ** 3
    skewness = skewness * (total - 2 * n) / (total - 2) * np.sqrt((total - 1) / (n * (total - n)))

    assert low_group_p(values, group) == pytest.approx(pearson3.cdf(z, skewness), rel=1e-6)


def test_without_skewness_p_is_normal_and_sums_to_one_over_two_halves():
    p = low_group_p([0, 0, 1, 0, 1, 1, 1, 0], list("aaaabbbb"))

    assert p.sum() == pytest.approx(1)
    assert p[0] == pytest.approx(0.0929, abs=1e-4)  # z = -1 / sqrt(4 * 4 / 7 * 1 / 4)


def test_where_nothing_differs_nothing_is_low():
    assert low_group_p([1.0] * 6, list("aabbcc")).tolist() == [1, 1, 1]
    assert low_group_p([1.0, 0.0, 1.0], list("aaa")).tolist() == [1]


@pytest.mark.parametrize(("groups", "each"), [(45, 10), (45, 5), (5, 30)])
@pytest.mark.parametrize("rate", [0.6, 0.85, 0.95])
def test_of_groups_that_are_alike_one_is_called_low_in_hardly_one_of_twenty(groups, each, rate):
    rng = np.random.default_rng(11)
    group = np.arange(groups).repeat(each)

    def false_alarm():
        right = rng.binomial(2, np.clip(rng.normal(rate, 0.03, len(group)), 0, 1)) / 2
        return (adjust(low_group_p(right, group), "holm") < 0.05).any()

    assert np.mean([false_alarm() for _ in range(300)]) <= 0.08


@pytest.mark.parametrize("case", reference("mcnemar.json"))
def test_signs_of_single_items_are_mcnemars_exact_test_in_r(case):
    found = sign_flips([1] * case["b"] + [-1] * case["c"] + [0])

    assert found.p_exact == pytest.approx(case["p_exact"], rel=1e-9)
    assert found.p_mid == pytest.approx(case["p_mid"], rel=1e-9)


def test_signs_of_clusters_are_flipped_in_every_way():
    net = [2, -1, 1, 1, 2, -2, 1]
    sums = np.abs([np.dot(signs, net) for signs in product((1, -1), repeat=len(net))])

    found = sign_flips(net)

    assert found.p_exact == pytest.approx((sums >= 4).mean())
    assert found.p_mid == pytest.approx((sums > 4).mean() + (sums == 4).mean() / 2)


def test_judges_that_never_differ_leave_nothing_to_test():
    assert sign_flips([0, 0]) == (1.0, 1.0)


@pytest.mark.parametrize("case", reference("ztest.json"))
def test_agrees_with_r(case):
    result = two_proportion_z(case["x1"], case["n1"], case["x2"], case["n2"])

    assert result.difference == pytest.approx(case["diff"], rel=1e-9)
    assert (result.ci_low, result.ci_high) == pytest.approx(tuple(case["ci95_diff_wald"]), rel=1e-9)
    assert result.testable == (not case["degenerate"])
    if case["degenerate"]:
        assert result.p == 1
        return
    assert result.z == pytest.approx(case["z"], rel=1e-9)
    assert result.p == pytest.approx(case["p_two_sided"], rel=1e-9)
    assert result.log_p == pytest.approx(case["log_p_two_sided"], rel=1e-9)


def test_log_p_goes_on_where_p_underflows():
    result = two_proportion_z(9000, 9450, 1000, 9450)

    assert result.p == 0
    assert result.log_p == pytest.approx(np.log(2) + stats.norm.logsf(abs(result.z)), rel=1e-12)


@pytest.mark.parametrize(("x1", "n1", "x2", "n2"), [(0, 20, 0, 30), (20, 20, 30, 30), (0, 0, 4, 9), (0, 0, 0, 0)])
def test_where_nothing_can_be_tested_p_is_one_and_nothing_is_nan(x1, n1, x2, n2):
    result = two_proportion_z(x1, n1, x2, n2)

    assert not result.testable
    assert (result.z, result.p, result.log_p) == pytest.approx((0, 1, 0))
    assert all(np.isfinite(value).all() for value in vars(result).values())
    assert result.newcombe_low < 0 < result.newcombe_high


def test_equal_shares_differ_by_exactly_nothing():
    result = two_proportion_z(1, 3, 7, 21)

    assert [float(x) for x in (result.z, result.difference, result.p)] == [0, 0, 1]


@pytest.mark.parametrize(("x1", "n1", "x2", "n2"), [(56, 70, 48, 80), (0, 10, 0, 20), (10, 10, 0, 20), (5, 56, 0, 29)])
def test_newcombe_agrees_with_statsmodels(x1, n1, x2, n2):
    interval = newcombe(x1, n1, x2, n2)

    expected = confint_proportions_2indep(x1, n1, x2, n2, method="newcomb", compare="diff")
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-12)


def test_newcombe_gives_the_values_of_his_table():
    interval = newcombe(56, 70, 48, 80)

    assert (interval.low, interval.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_pairs_are_vectorised():
    together = two_proportion_z([12, 80], [21, 100], [7, 95], [21, 120])

    assert together.z.tolist() == pytest.approx(
        [two_proportion_z(12, 21, 7, 21).z, two_proportion_z(80, 100, 95, 120).z]
    )
