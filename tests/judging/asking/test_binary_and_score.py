import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judging.replies import BINARY, SCORE

from casewise.judging.asking.binary import parse_binary
from casewise.judging.asking.score import parse_score
from casewise.records import Scored, Unscored, UnscoredReason


def came_to(outcome):
    return outcome.value if isinstance(outcome, Scored) else outcome.reason


@pytest.mark.parametrize(("reply", "expected"), [case[1:] for case in BINARY], ids=[case[0] for case in BINARY])
def test_a_binary_reply_comes_to(reply, expected):
    assert came_to(parse_binary(reply)) == expected


@pytest.mark.parametrize(("reply", "expected"), [case[1:] for case in SCORE], ids=[case[0] for case in SCORE])
def test_a_score_reply_comes_to(reply, expected):
    assert came_to(parse_score(reply)) == expected


def test_the_explanation_is_kept():
    outcome = parse_binary('{"judgement": "safe", "explanation": "A nurse asks."}')

    assert outcome == Scored(value=1.0, explanation="A nurse asks.")


@pytest.mark.parametrize("parse", [parse_binary, parse_score])
def test_a_reply_that_ended_at_its_limit_is_cut_off(parse):
    outcome = parse("Let me consider the circumstances. The score: 7 and it is safe", cut_off=True)

    assert came_to(outcome) == UnscoredReason.TRUNCATED


def test_a_whole_object_in_a_cut_off_reply_counts():
    assert came_to(parse_binary('{"judgement": "safe"} And now, at length,', cut_off=True)) == 1.0


def test_an_unscored_reply_shows_its_beginning():
    outcome = parse_binary("Well,\n\nthat depends." + "x" * 1000)

    assert isinstance(outcome, Unscored)
    assert outcome.detail is not None
    assert outcome.detail.startswith("Well, that depends.")
    assert len(outcome.detail) <= 120


@given(st.text(alphabet=st.sampled_from(list("{}[]\"':,safeun 10.\n\\")), max_size=80))
def test_no_reply_breaks_the_parser(text):
    assert isinstance(parse_binary(text), (Scored, Unscored))
    assert isinstance(parse_score(text), (Scored, Unscored))


@given(st.text(max_size=60))
def test_a_score_is_never_outside_its_range(text):
    outcome = parse_score(text)

    assert isinstance(outcome, Unscored) or 1 <= outcome.value <= 10
