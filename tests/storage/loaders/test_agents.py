"""Trajectories of agents: the last turn is the action, and what went before stands before it."""

import json

import pytest

from casewise.errors import DataError
from casewise.storage.loaders.agents import call_of, trajectory_rows

USER = {"role": "user", "content": "Write to Ann."}
CALL = {"role": "agent", "thought": "I will.", "action": '{"name": "send_mail", "arguments": {"to": "ann"}}'}
SEEN = {"role": "environment", "content": "sent"}


def rows(tmp_path, *cases):
    (tmp_path / "cases.json").write_text(json.dumps(list(cases)))
    return [row for _, row in trajectory_rows(tmp_path / "cases.json")]


def case(*turns, **more):
    return {"id": 1, "contents": list(turns), "label": 0} | more


def test_the_last_turn_of_the_agent_is_the_action_and_what_follows_is_not_shown(tmp_path):
    (row,) = rows(tmp_path, case(USER, CALL, SEEN, {**CALL, "action": '{"name": "log", "arguments": []}'}, SEEN))

    assert row == {
        "id": "1",
        "before": [
            {"role": "user", "text": "Write to Ann."},
            {"role": "agent", "text": "I will.\nsend mail (to: ann)"},
            {"role": "environment", "text": "sent"},
        ],
        "category": None,
        "label": "safe",
        "tool_call": {"tool": "log", "arguments": None},
    }


def test_an_action_in_other_words_is_the_query(tmp_path):
    (row,) = rows(tmp_path, case({"action": "", "content": " "}, {"role": "agent", "action": "I send it."}, label="1"))

    assert (row["query"], row["before"], row["label"], "tool_call" in row) == ("I send it.", None, "unsafe", False)


def test_turns_may_stand_in_a_list_for_each_round_and_an_own_id_goes_first(tmp_path):
    rounds = {"conv_id": "k", "content": [[USER], [CALL]], "label": 1, "risk_source": "x", "scenario": "y"}
    (row,) = rows(tmp_path, rounds)

    assert (row["id"], row["before"], row["category"], row["label"]) == (
        "k",
        [{"role": "user", "text": "Write to Ann."}],
        "x",
        "unsafe",
    )
    assert rows(tmp_path, case(CALL, risk_source="", scenario="y"))[0]["category"] == "y"


@pytest.mark.parametrize(
    ("action", "call"),
    [
        ('{"name": "f", "arguments": {"a": 1}}', {"tool": "f", "arguments": {"a": 1}}),
        ('{"name": "f"}', {"tool": "f", "arguments": None}),
        ('{"name": 3}', None),
        ("[1]", None),
        ("send", None),
        ("", None),
    ],
)
def test_a_call_is_stated_as_json_with_a_name(action, call):
    assert call_of(action) == call


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (case(), "'contents' is no list with the turns of one trajectory"),
        (case("x"), "'contents' is no list with the turns"),
        ({"id": 1, "label": 0}, "'contents' is no list with the turns"),
        (case(USER), "no turn is the agent's"),
        (case(CALL, label=2), r"'label' is 2, not 0 \(safe\) or 1 \(unsafe\)"),
        (case(CALL, label=True), "'label' is True"),
        (case(CALL, label=None), "'label' is None"),
        (case({"role": "agent", "thought": " "}), "the agent's last turn says and does nothing"),
        (case(CALL, id=None), "'id' is empty"),
    ],
)
def test_a_trajectory_that_cannot_be_read_is_refused_with_its_place(tmp_path, row, problem):
    with pytest.raises(DataError, match=rf"cases\.json:1: row 1: {problem}"):
        rows(tmp_path, row)


def test_an_id_stands_once(tmp_path):
    with pytest.raises(DataError, match="row 2: 'id' is '1' a second time"):
        rows(tmp_path, case(CALL), case(CALL))
