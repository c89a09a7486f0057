import numpy as np
import pytest
from scipy import stats
from tests.support.crowds import crowd_plan, crowd_table

from casewise.errors import StatisticsError
from casewise.stats.ratings import Flow, attrition, code_ratings, lost_by_condition


def test_the_test_is_pearsons_chi_square():
    assigned, finished = np.array([100, 120, 90]), np.array([90, 80, 85])
    expected = stats.chi2_contingency([finished, assigned - finished], correction=False)

    chi_square, df, p = lost_by_condition(assigned, finished)
    assert (chi_square, df, p) == pytest.approx((expected.statistic, expected.dof, expected.pvalue), rel=1e-9)


@pytest.mark.parametrize("finished", [[50, 60], [0, 0]])
def test_nobody_or_everybody_lost_is_no_difference(finished):
    assert lost_by_condition(np.array([50, 60]), np.array(finished)) == (0.0, 1, 1.0)


def test_bounds_hold_whatever_the_lost_would_have_said():
    ratings = code_ratings(crowd_table(crowd_plan()))
    flow = Flow(ratings.condition.names, {"assigned": (10, 10, 10, 10, 10), "finished": (10, 9, 8, 10, 5)})

    bounds = attrition(flow, ratings).bounds
    assert bounds is not None
    for row, lost in zip(bounds.to_dicts(), (0, 0.1, 0.2, 0, 0.5), strict=True):
        assert row["if_safe"] - row["if_unsafe"] == pytest.approx(lost)
        assert row["if_unsafe"] == pytest.approx((1 - lost) * row["safe_rate"])


@pytest.mark.parametrize(
    "flow",
    [
        Flow(("a", "b"), {"assigned": (10, 10)}),
        Flow(("a", "b"), {"assigned": (10, 10), "finished": (9,)}),
        Flow(("a", "b"), {"assigned": (10, 10), "finished": (9, 11)}),
    ],
)
def test_a_flow_that_cannot_be_is_an_error(flow):
    with pytest.raises(StatisticsError):
        attrition(flow)
