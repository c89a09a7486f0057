from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.weightstats import ttost_paired
from tests.support.data import REFERENCE, cases

from casewise.errors import StatisticsError
from casewise.stats import CrowdDesign, CrowdModel, simulate_ratings, two_proportion_z
from casewise.stats.arrays import cluster_variance
from casewise.stats.contrasts import clustered_contrast, equivalence


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


def test_where_nothing_varies_no_error_is_claimed():
    safe = np.array([1, 1, 1, 1, 0, 0, 0, 0], dtype=bool)
    result: Any = clustered_contrast(safe, ~safe, query=[1, 2, 1, 2, 1, 2, 1, 2], annotator=[1, 1, 2, 2, 3, 3, 4, 4])

    assert result.queries_like_these.estimate == 1
    assert result.queries_like_these.p is None
    assert result.queries_like_these.ci_low is None


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
