"""Allow, deny or ask: how a reply is read, and that asking is no verdict."""

from __future__ import annotations

import numpy as np
import pytest

from casewise.ask.elicitations import parse_permission
from casewise.ask.prompts import default_prompts
from casewise.judges.baselines import outcome_from_value
from casewise.records import Scored, Unscored
from casewise.stats.sample import verdicts


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("allow", 1.0),
        ("**Deny.**", 0.0),
        ("Ask first", 0.5),
        ('{"judgement": "ask", "explanation": "Only the user knows."}', 0.5),
        ('Here it is:\n```json\n{"decision": "deny"}\n```', 0.0),
        ("<think>deny? allow?</think>allow", 1.0),
    ],
)
def test_a_word_or_json_with_one_permission_is_read(reply: str, value: float):
    outcome = parse_permission(reply).outcome
    assert isinstance(outcome, Scored)
    assert outcome.value == value


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I would ask the user.",
        "allow or ask",
        '{"judgement": "maybe"}',
        '{"judgement": "allow"} {"judgement": "deny"}',
        '{"judgement": "al',
    ],
)
def test_everything_else_has_no_permission(reply: str):
    assert isinstance(parse_permission(reply).outcome, Unscored)


def test_asking_is_a_value_and_no_verdict():
    np.testing.assert_equal(
        verdicts(np.array([1, 0.5, 0, np.nan]), elicitation="permission"), np.array([1, np.nan, 0, np.nan])
    )


def test_a_function_may_say_it_in_a_word():
    assert outcome_from_value("ask", "permission") == Scored(value=0.5)
    assert isinstance(outcome_from_value("perhaps", "permission"), Unscored)


def test_actions_have_words_that_ask_for_it():
    words = default_prompts().prompt("permission", "action").with_context
    assert '"ask"' in words
    assert "the agent may take this action" in words
