import numpy as np
import pytest
import statsmodels.api as sm
from tests.support.data import REFERENCE, cases

from casewise.errors import StatisticsError
from casewise.stats import clustered_mean, clustered_regression


def sample(n=400, seed=3):
    rng = np.random.default_rng(seed)
    query, annotator = rng.integers(0, 40, n), rng.integers(0, 25, n)
    x = np.column_stack([np.ones(n), rng.integers(0, 2, n)])
    y = (rng.random(n) < 0.3 + 0.3 * x[:, 1] + 0.2 * (query % 2)).astype(float)
    return x, y, query, annotator


DATA = {
    name: np.array(values) for name, values in cases(REFERENCE / "clustered.json", "data")[0].items() if name != "id"
}
ONE = np.ones(len(DATA["safe"]))
TWO = np.column_stack([ONE, DATA["condition"]])
MODELS = {
    "mean": lambda labels, how: clustered_mean(DATA["safe"], *labels, adjustment=how),
    "linear": lambda labels, how: clustered_regression(TWO, DATA["safe"], *labels, adjustment=how),
}


@pytest.mark.parametrize("adjustment", ["none", "HC1"])
@pytest.mark.parametrize("case", cases(REFERENCE / "clustered.json"), ids=MODELS)
def test_errors_clustered_one_and_two_ways_agree_with_r(case, adjustment):
    for ways in case["errors"]:
        found = MODELS[case["model"]]([DATA[name] for name in ways["by"]], adjustment)

        assert found.coefficients == pytest.approx(case["coefficients"], rel=1e-9)
        assert found.errors == pytest.approx(ways[adjustment], rel=1e-9)


def test_one_way_agrees_with_statsmodels():
    x, y, query, _ = sample()
    oracle = sm.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": query})

    ours = clustered_regression(x, y, query, adjustment="HC1")
    assert ours.coefficients == pytest.approx(oracle.params, rel=1e-9)
    assert ours.errors == pytest.approx(oracle.bse, rel=1e-9)
    assert ours.p == pytest.approx(oracle.pvalues, rel=1e-6)


def test_two_ways_is_the_sum_less_that_of_the_pairs():
    x, y, query, annotator = sample()

    both = clustered_regression(x, y, query, annotator)
    parts = [clustered_regression(x, y, ids).covariance for ids in (query, annotator, query * 25 + annotator)]
    assert both.covariance == pytest.approx(parts[0] + parts[1] - parts[2], rel=1e-9)
    assert both.clusters == (40, 25)


def test_labels_may_be_words():
    x, y, query, _ = sample()

    words = clustered_regression(x, y, [f"q{i}" for i in query])
    assert words.covariance == pytest.approx(clustered_regression(x, y, query).covariance)


def test_a_negative_two_way_variance_is_replaced_and_said():
    y = np.array([1.0, -1.0, -1.0, 1.0])
    result = clustered_mean(y, [0, 0, 1, 1], [0, 1, 0, 1])

    assert result.not_positive
    assert result.covariance[0, 0] >= 0


@pytest.mark.parametrize(
    "question",
    [
        lambda: clustered_mean([1.0, 0.0], [1, 1]),
        lambda: clustered_mean([1.0, 0.0], [1, 2, 3]),
        lambda: clustered_mean([1.0, 0.0]),
        lambda: clustered_regression(np.ones((4, 2)), [1.0, 0.0, 1.0, 0.0], [1, 2, 3, 4]),
    ],
)
def test_what_has_no_answer_is_an_error(question):
    with pytest.raises(StatisticsError):
        question()
