"""Actions of agents: a part that is not stated differs from an empty one."""

import pytest
from pydantic import ValidationError

from casewise.records import Action


@pytest.mark.parametrize(
    ("stated", "information"), [("a name", ("a name",)), (["a name", "an age"], ("a name", "an age")), ([], ())]
)
def test_one_type_of_information_or_several_flow(stated, information):
    action = Action.model_validate({"tool": "send", "information": stated})

    assert action.information == information
    assert ("information" in action.as_json()) is bool(information)


def test_arguments_that_were_not_recorded_differ_from_none():
    assert Action(tool="ping").as_json() == {"tool": "ping"}
    assert Action(tool="ping", arguments={}).as_json() == {"tool": "ping", "arguments": {}}


@pytest.mark.parametrize("wrong", [{"tool": " "}, {"tool": "t", "information": 3}, {"tool": "t", "direction": "up"}])
def test_what_states_nothing_is_refused(wrong):
    with pytest.raises(ValidationError):
        Action.model_validate(wrong)
