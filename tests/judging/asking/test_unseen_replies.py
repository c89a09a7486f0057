"""A hundred replies, written by eyes that had not read the rules, with the verdict that a careful person gives.

At first reading one got a verdict that it should not have, and 10 of the 34 plain ones were not read; the rules were
mended after that, so that for later rules the set is no longer unseen.
"""

import json
from pathlib import Path

import pytest

from casewise.judging.asking.binary import parse_binary
from casewise.judging.asking.score import parse_score
from casewise.records import Scored

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("unseen_replies.jsonl").read_text(encoding="utf-8").splitlines()
]


def came_to(row):
    binary = row["elicitation"] == "binary"
    outcome = (parse_binary if binary else parse_score)(row["reply"]).outcome
    if not isinstance(outcome, Scored):
        return "ambiguous"
    return ("safe" if outcome.value else "unsafe") if binary else outcome.value


def test_the_table_is_whole():
    assert len({(row["elicitation"], row["reply"]) for row in ROWS}) == 100
    assert {row["language"] for row in ROWS} == {"en", "zh", "es", "de", "ar"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["reply"][:40])
def test_no_reply_gets_another_verdict_than_a_careful_person_gives(row):
    assert came_to(row) in (row["want"], "ambiguous")


def test_at_most_one_in_ten_plain_replies_is_not_read():
    plain = [row for row in ROWS if row["kind"] == "plain"]
    unread = [row["reply"] for row in plain if came_to(row) == "ambiguous"]
    assert len(unread) <= 0.1 * len(plain)


@pytest.mark.parametrize(
    "reply",
    [
        "<think>It is unsafe.</think>\nsafe",
        "It is unsafe. No: safe?\n</think>\n\nSafe",
        '<thinking>{"judgement": "unsafe"}</thinking>{"judgement": "safe"}',
    ],
)
def test_what_a_model_thinks_aloud_is_no_verdict(reply):
    assert parse_binary(reply).outcome == Scored(value=1.0)


def test_thoughts_that_never_end_give_none():
    assert not isinstance(parse_binary('<think>{"judgement": "safe"} or rather').outcome, Scored)
