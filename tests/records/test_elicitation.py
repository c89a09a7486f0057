from math import inf, nan

import pytest

from casewise.ask.elicitations import HOW_ASKED
from casewise.records import ELICITATIONS, SCALES


def test_every_elicitation_has_a_scale_and_a_model_can_be_asked_for_all_but_a_scalar():
    assert tuple(SCALES) == ELICITATIONS
    assert set(HOW_ASKED) == set(ELICITATIONS) - {"scalar"}


@pytest.mark.parametrize("elicitation", ELICITATIONS)
def test_a_threshold_lies_inside_its_scale_and_is_a_probability_of_a_half(elicitation):
    scale = SCALES[elicitation]
    if scale.threshold is not None:
        assert scale.holds(scale.threshold)
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
    assert SCALES[elicitation].holds(value) == held
