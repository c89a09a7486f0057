from math import inf, nan

import pytest

from casewise.ask.elicitations import ELICITATIONS, names_asked, names_read
from casewise.records import elicitation_names, scale_of


def test_a_model_can_be_asked_for_all_but_a_scalar_and_a_probability_is_not_read_from_text():
    assert elicitation_names() == tuple(ELICITATIONS) == ("binary", "score", "probability", "permission", "scalar")
    assert names_asked() == ("binary", "score", "probability", "permission")
    assert names_read() == ("binary", "score", "permission")


@pytest.mark.parametrize("elicitation", ELICITATIONS)
def test_a_threshold_lies_inside_its_scale_and_is_a_probability_of_a_half(elicitation):
    scale = scale_of(elicitation)
    if scale.threshold is not None:
        assert scale.contains(scale.threshold)
    if scale.threshold is not None and scale.probability is not None:
        offset, width = scale.probability
        assert (scale.threshold - offset) / width == 0.5


@pytest.mark.parametrize(
    ("elicitation", "value", "held"),
    [
        ("score", 1, True),
        ("score", 10.0, True),
        ("score", 0.99, False),
        ("probability", 1.01, False),
        ("scalar", -1e300, True),
        ("scalar", inf, False),
        ("scalar", -inf, False),
        ("scalar", nan, False),
        ("score", nan, False),
    ],
)
def test_a_scale_holds_what_lies_in_it(elicitation, value, held):
    assert scale_of(elicitation).contains(value) == held
