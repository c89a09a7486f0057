import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_paired

from casewise.errors import StatisticsError
from casewise.stats.contrasts import equivalence


def test_agrees_with_statsmodels():
    rng = np.random.default_rng(1)
    first, second = rng.normal(0, 1, 60), rng.normal(0.05, 1, 60)
    d = first - second
    expected = ttost_paired(first, second, -0.5, 0.5)

    result = equivalence(d.mean(), d.std(ddof=1) / np.sqrt(60), margin=0.5, df=59)
    assert result.p == pytest.approx(expected[0], rel=1e-9)


def test_equivalence_is_shown_exactly_where_the_limits_lie_within_the_margin():
    result = equivalence(np.linspace(-0.1, 0.1, 41), 0.02, margin=0.05)

    assert (result.equivalent == (result.p < 0.05)).all()
    assert result.equivalent.any()
    assert not result.equivalent.all()


def test_a_difference_without_error_is_equivalent_if_it_is_small():
    result = equivalence([0.0, 0.2], 0.0, margin=0.05)

    assert result.p.tolist() == [0, 1]
    assert result.equivalent.tolist() == [True, False]


@pytest.mark.parametrize("arguments", [{"margin": 0.0}, {"margin": 0.1, "alpha": 1.0}])
def test_a_margin_of_nothing_is_an_error(arguments):
    with pytest.raises(StatisticsError):
        equivalence(0.0, 0.1, **arguments)


def test_a_negative_error_is_an_error():
    with pytest.raises(StatisticsError):
        equivalence(0.0, -0.1, margin=0.1)
