"""Names of turns of an adaptive attacker."""

import pytest

from casewise.errors import ConfigurationError
from casewise.records import Arm
from casewise.transforms.catalogue import parse_arm
from casewise.transforms.texts import AdaptiveTurn


@pytest.mark.parametrize("model", ["openai/gpt-4o", "vertex/claude@20240620", "local/user/safe"])
def test_a_turn_of_an_attacker_is_named_and_read_whatever_its_model_is_called(model):
    turn = AdaptiveTurn(model, "tool", "unsafe", 12, "filter:openai/gpt-4o@1")
    (named,) = parse_arm(Arm(transforms=(turn.transform,)).name).transforms
    assert AdaptiveTurn.parse(named.rest) == turn


@pytest.mark.parametrize(
    "rest", ["", "x/user/safe/0@none", "x/post/safe/1@none", "x/user/safe/1", "x/user/safe/\u00b2@none"]
)
def test_a_turn_that_is_written_otherwise_is_refused(rest):
    with pytest.raises(ConfigurationError, match="is not adaptive:MODEL/CHANNEL/DIRECTION/TURN@DEFENCE"):
        AdaptiveTurn.parse(rest)
