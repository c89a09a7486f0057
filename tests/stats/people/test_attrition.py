import pytest

from casewise.errors import StatisticsError
from casewise.stats.ratings import Flow, attrition


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
