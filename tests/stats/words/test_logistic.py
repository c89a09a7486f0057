import numpy as np
import pytest
from scipy.sparse import random as random_rows
from sklearn.linear_model import LogisticRegression

from casewise.stats.words import fit_logistic


def drawn(seed, *, n=120, columns=900):
    rng = np.random.default_rng(seed)
    rows = random_rows(n, columns, density=0.05, format="csr", rng=rng, data_rvs=rng.standard_normal)
    return rows, rng


@pytest.mark.parametrize("c", [0.1, 3.0, 300.0])
def test_rows_with_one_label_give_the_coefficients_of_scikit_learn_to_rounding(c):
    rows, rng = drawn(1)
    safe = (rng.random(120) < 0.7).astype(float)

    found = fit_logistic(rows, safe, c=c)

    reference = LogisticRegression(C=c, max_iter=1000).fit(rows, safe)
    assert found.coefficients == pytest.approx(reference.coef_[0], abs=1e-8)
    assert found.intercept == pytest.approx(reference.intercept_[0], abs=1e-8)
    assert found.probability(rows) == pytest.approx(reference.predict_proba(rows)[:, 1], abs=1e-8)


@pytest.mark.parametrize("c", [0.1, 3.0, 300.0])
def test_a_share_of_safe_is_a_row_of_each_label_with_its_weight(c):
    rows, rng = drawn(2)
    safe = rng.integers(0, 6, 120) / 5

    found = fit_logistic(rows, safe, c=c)

    some, rest = safe > 0, safe < 1
    twice = rows[np.r_[np.flatnonzero(some), np.flatnonzero(rest)]]
    label = np.r_[np.ones(some.sum()), np.zeros(rest.sum())]
    reference = LogisticRegression(C=c, max_iter=1000).fit(
        twice, label, sample_weight=np.r_[safe[some], 1 - safe[rest]]
    )
    assert found.coefficients == pytest.approx(reference.coef_[0], abs=1e-8)
    assert found.intercept == pytest.approx(reference.intercept_[0], abs=1e-8)
