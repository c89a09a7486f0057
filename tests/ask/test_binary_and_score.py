import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.ask.reader import parse_binary, parse_score
from casewise.records import Scored, Unscored, UnscoredReason


def came_to(parsed):
    outcome = parsed.outcome
    return outcome.value if isinstance(outcome, Scored) else outcome.reason


REPLIES = [json.loads(line) for line in (Path(__file__).parent / "replies.jsonl").read_text("utf-8").split("\n")[:-1]]
"""Replies of language models in five languages, written for these tests: elicitation, text, and the value that a person reads
in it, or None."""


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


@pytest.mark.parametrize("parse", [parse_binary, parse_score])
def test_a_reply_that_ended_at_its_limit_is_cut_off(parse):
    outcome = parse("Let me consider the circumstances. The score: 7 and it is safe", cut_off=True)

    assert came_to(outcome) == UnscoredReason.TRUNCATED


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
