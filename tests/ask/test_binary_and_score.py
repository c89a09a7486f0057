import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judges.more_replies import BINARY as MORE_BINARY
from tests.judges.more_replies import SCORE as MORE_SCORE
from tests.judges.replies import BINARY, SCORE

from casewise.ask.elicitations import parse_binary, parse_score
from casewise.records import Scored, Unscored, UnscoredReason


def came_to(parsed):
    outcome = parsed.outcome
    return outcome.value if isinstance(outcome, Scored) else outcome.reason


@pytest.mark.parametrize(("reply", "expected"), [case[1:] for case in BINARY], ids=[case[0] for case in BINARY])
def test_a_binary_reply_comes_to(reply, expected):
    assert came_to(parse_binary(reply)) == expected


@pytest.mark.parametrize(("reply", "expected"), [case[1:] for case in SCORE], ids=[case[0] for case in SCORE])
def test_a_score_reply_comes_to(reply, expected):
    assert came_to(parse_score(reply)) == expected


@pytest.mark.parametrize(("reply", "expected"), MORE_BINARY)
def test_another_binary_reply_comes_to(reply, expected):
    assert came_to(parse_binary(reply)) == expected


@pytest.mark.parametrize(("reply", "expected"), MORE_SCORE)
def test_another_score_reply_comes_to(reply, expected):
    assert came_to(parse_score(reply)) == expected


@pytest.mark.parametrize(
    ("parse", "reply", "read_as"),
    [
        (parse_binary, '{"judgement": "safe", "explanation": "x"}', "json"),
        (parse_binary, '```json\n{"judgement": "Unsafe"}\n```', "json"),
        (parse_binary, '{"judgement": "not safe"}', "json-repaired"),
        (parse_binary, '{"verdict": "safe"}', "json-repaired"),
        (parse_binary, "{'judgement': 'safe'}", "json-repaired"),
        (parse_binary, '{"judgement": "unsafe", "explanation": "The user', "json-repaired"),
        (parse_binary, "Verdict: safe", "statement"),
        (parse_binary, "It depends.", None),
        (parse_score, '{"judgement": 7}', "json"),
        (parse_score, '{"judgement": "7"}', "json-repaired"),
        (parse_score, '{"score": 7}', "json-repaired"),
        (parse_score, "7/10", "statement"),
        (parse_score, "7 or 8", None),
    ],
)
def test_a_value_says_how_it_was_read(parse, reply, read_as):
    assert parse(reply).read_as == read_as


@pytest.mark.parametrize(
    "reply", ["Verdict: safe", "7", "{'judgement': 'safe'}", '{"verdict": "safe"}', '{"judgement": "7"}']
)
def test_strictly_read_only_what_was_asked_for_counts(reply):
    assert isinstance(parse_binary(reply, strict=True).outcome, Unscored)
    assert isinstance(parse_score(reply, strict=True).outcome, Unscored)
    assert came_to(parse_binary('{"judgement": "safe"}', strict=True)) == 1
    assert came_to(parse_score('{"judgement": 7, "explanation": "x"}', strict=True)) == 7


@pytest.mark.parametrize("said", ['"half \\ud800"', "'half \\ud800'"])
def test_half_a_character_that_a_reply_escapes_can_be_written_down(said):
    outcome = parse_binary(f'{{"judgement": "safe", "explanation": {said}}}').outcome
    assert isinstance(outcome, Scored)
    assert outcome.explanation == "half \\ud800"
    assert Scored.model_validate_json(outcome.line()) == outcome


def test_the_explanation_is_kept():
    outcome = parse_binary('{"judgement": "safe", "explanation": "A nurse asks."}').outcome

    assert outcome == Scored(value=1.0, explanation="A nurse asks.")


@pytest.mark.parametrize("parse", [parse_binary, parse_score])
def test_a_reply_that_ended_at_its_limit_is_cut_off(parse):
    outcome = parse("Let me consider the circumstances. The score: 7 and it is safe", cut_off=True)

    assert came_to(outcome) == UnscoredReason.TRUNCATED


def test_a_whole_object_in_a_cut_off_reply_counts():
    assert came_to(parse_binary('{"judgement": "safe"} And now, at length,', cut_off=True)) == 1.0


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
