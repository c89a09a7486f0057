import krippendorff
import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats.agreement import alpha_by_level


@pytest.fixture
def counts():
    rng = np.random.default_rng(3)
    centre = rng.integers(0, 5, size=40)
    table = np.zeros((40, 5))
    for item, middle in enumerate(centre):
        for value in np.clip(middle + rng.integers(-1, 2, size=rng.integers(1, 7)), 0, 4):
            table[item, value] += 1
    return table


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_that_of_the_reference_library(counts, level):
    found = alpha_by_level(counts, level=level)
    reference = krippendorff.alpha(value_counts=counts, level_of_measurement=level, value_domain=np.arange(5.0))

    assert found.alpha == pytest.approx(reference)
    assert found.interval is not None
    assert found.alpha is not None
    assert found.interval[0] < found.alpha < found.interval[1]
    assert found.items == int((counts.sum(1) >= 2).sum())


def test_alpha_of_a_table_that_can_be_worked_out_by_hand():
    # Two items of two answers each, 1 1 and 1 2: one pair in two disagrees; of 4 answers 3 are 1: 1 - 3 * 2 / 6 = 0.
    found = alpha_by_level([[2, 0], [1, 1]], level="nominal")
    assert found.alpha == pytest.approx(0.0)


def test_answers_all_alike_have_no_alpha_and_single_answers_none_to_speak_of():
    assert alpha_by_level([[3, 0], [2, 0]], level="ordinal").alpha is None
    with pytest.raises(StatisticsError, match="no item has two ratings"):
        alpha_by_level([[1, 0], [0, 1]], level="nominal")
    with pytest.raises(StatisticsError):
        alpha_by_level([[2, 1], [0, 1]], level="nominal")
