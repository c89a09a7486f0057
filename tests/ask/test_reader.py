"""The strict reader over tables of replies that were written before it: it never gives a verdict that a careful reader would not.

`replies.txt` and `token_sequences.txt` were written by hand for these rules. The `.jsonl` tables are older: replies in prose by
many hands, in five languages, with the verdict that a careful person gives. The reader leaves most of them unscored.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.ask.elicitations import label_place, refuses
from casewise.ask.reader import parse_binary, parse_score
from casewise.models.protocol import Position
from casewise.records import Scored, Unscored, UnscoredReason

HERE = Path(__file__).parent


def rows(name):
    """The rows of a table by hand: its first column, and the last with line breaks."""
    lines = [line for line in (HERE / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    cells = [line.split(" | ") for line in lines]
    return [
        (row[0], row[1] if len(row) > 2 else None, row[-1].replace("\\n", "\n").replace("\\\\", "\\")) for row in cells
    ]


def verdict(elicitation, reply):
    outcome = (parse_binary if elicitation == "binary" else parse_score)(reply).outcome
    if not isinstance(outcome, Scored):
        return "none"
    return ("safe" if outcome.value else "unsafe") if elicitation == "binary" else f"{outcome.value:g}"


def test_every_reply_of_the_table_comes_to_what_a_careful_reader_takes_it_for():
    table = rows("replies.txt")

    assert len(table) >= 200
    assert [(want, reply) for want, elicitation, reply in table if verdict(elicitation, reply) != want] == []


@pytest.mark.parametrize("path", sorted(HERE.glob("*_*.jsonl")), ids=lambda path: path.stem)
def test_no_reply_in_prose_gets_another_verdict_than_a_careful_person_gives(path):
    table = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    wrong = [row for row in table if verdict(row["elicitation"], row["reply"]) not in ("none", str(row["want"]).removesuffix(".0"))]  # fmt: skip
    assert len(table) >= 50
    assert wrong == []


def test_every_sequence_of_tokens_is_decided_where_a_label_comes_first():
    table = rows("token_sequences.txt")

    found = [
        (want, tokens, label_place([Position(token, -0.1) for token in tokens.split("¦")])) for want, _, tokens in table
    ]
    assert len(table) >= 40
    assert [row for row in found if str("none" if row[2] is None else row[2]) != row[0]] == []


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", UnscoredReason.EMPTY),
        ("It depends.", UnscoredReason.NO_VERDICT),
        ("I'm sorry, but I can't help with that.", UnscoredReason.REFUSED),
        ('I cannot assist. The format is {"judgement": "safe"}', UnscoredReason.REFUSED),
        ('{"judgement": "safe", "unsafe": true}', UnscoredReason.CONFLICTING),
        ("Verdict: safe\nVerdict: unsafe", UnscoredReason.CONFLICTING),
    ],
)
def test_a_reply_without_a_verdict_says_why(reply, reason):
    outcome = parse_binary(reply).outcome

    assert isinstance(outcome, Unscored)
    assert outcome.reason is reason


def test_a_reply_that_was_cut_off_gives_a_verdict_only_in_a_whole_object():
    cut = parse_binary("The sender is a nurse.\nVerdict: safe", cut_off=True).outcome

    assert isinstance(cut, Unscored)
    assert cut.reason is UnscoredReason.TRUNCATED
    assert verdict("binary", '{"judgement": "safe", "explanation": "ok"}') == "safe"


@pytest.mark.parametrize(
    "reply", ['Reasoning.\n{"judgement": "safe", "explanation": "ok"}', "safe", "Verdict: safe", '{"verdict": "safe"}']
)
def test_strict_takes_only_json_as_it_was_asked_for_as_the_whole_reply(reply):
    assert isinstance(parse_binary(reply).outcome, Scored)
    assert isinstance(parse_binary(reply, strict=True).outcome, Unscored)
    assert isinstance(parse_binary('{"judgement": "safe", "explanation": "ok"}', strict=True).outcome, Scored)


@pytest.mark.parametrize(
    ("reply", "how"),
    [
        ("Unsafe.", "whole"),
        ('{"judgement": "unsafe", "explanation": "x"}', "json"),
        ("{'judgement': 'unsafe', 'explanation': 'x'}", "json-repaired"),
        ("Nobody vouches for them.\nVerdict: unsafe", "label"),
    ],
)
def test_it_says_how_a_reply_was_read(reply, how):
    assert parse_binary(reply).read_as == how


def test_the_explanation_in_json_is_stored():
    outcome = parse_binary('{"judgement": "safe", "explanation": "A nurse asks."}').outcome

    assert isinstance(outcome, Scored)
    assert outcome.explanation == "A nurse asks."


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot assist with this request.",
        "  **Unfortunately**, this is nothing for me.",
        "I will not judge this.",
        "I’m not comfortable with that",
    ],
)
def test_a_reply_that_begins_by_declining_refuses(text):
    assert refuses(text)


@pytest.mark.parametrize("text", ["", "It is safe.", "The nurse cannot wait.", "Sure. " * 60 + "I cannot help more."])
def test_a_reply_that_declines_nothing_or_only_much_later_does_not(text):
    assert not refuses(text)


REPLIES = [json.loads(line) for line in (HERE / "replies.jsonl").read_text("utf-8").split("\n")[:-1]]
"""Replies of language models in five languages, written for these tests: elicitation, text, and the value that a person reads
in it, or None."""


def came_to(parsed):
    outcome = parsed.outcome
    return outcome.value if isinstance(outcome, Scored) else outcome.reason


def test_no_reply_gets_another_value_than_the_table_has():
    parsers = {"binary": parse_binary, "score": parse_score}
    values = [(kind, text, value, came_to(parsers[kind](text))) for kind, text, value in REPLIES]
    wrong = [case for case in values if isinstance(case[3], float) and case[3] != case[2]]

    assert wrong == []
    assert sum(isinstance(case[3], float) for case in values) > 50


@pytest.mark.parametrize("said", ['"half \\ud800"', "'half \\ud800'"])
def test_half_a_character_that_a_reply_escapes_can_be_written_down(said):
    outcome = parse_binary(f'{{"judgement": "safe", "explanation": {said}}}').outcome
    assert isinstance(outcome, Scored)
    assert outcome.explanation == "half \\ud800"
    assert Scored.model_validate_json(outcome.line()) == outcome


def test_an_unscored_reply_shows_its_beginning():
    outcome = parse_binary("Well,\n\nthat depends." + "x" * 1000).outcome

    assert isinstance(outcome, Unscored)
    assert outcome.detail is not None
    assert outcome.detail.startswith("Well, that depends.")
    assert len(outcome.detail) <= 120


@given(st.text(alphabet=st.sampled_from(list("{}[]\"':,safeun 10.\n\\")), max_size=80))
def test_no_reply_breaks_the_parser(text):
    assert isinstance(parse_binary(text).outcome, (Scored, Unscored))
    assert isinstance(parse_score(text).outcome, (Scored, Unscored))


@given(st.text(max_size=60))
def test_a_score_is_never_outside_its_range(text):
    outcome = parse_score(text).outcome

    assert isinstance(outcome, Unscored) or 1 <= outcome.value <= 10
