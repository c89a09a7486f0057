"""What a run asks, from words; prompts and reading for a client of one's own."""

import json

import pytest

import casewise
from casewise.api import parse_arms, parse_elicitations, read_reply
from casewise.api.judging import ids_in
from casewise.errors import ConfigurationError
from casewise.records import FULL, NO_CONTEXT, Arm, Scored, Unscored


def test_elicitations_are_named_in_a_text_or_one_by_one():
    assert parse_elicitations("binary, score") == parse_elicitations(["binary", "score"]) == ("binary", "score")
    assert parse_elicitations(None) == parse_elicitations("") == parse_elicitations(()) == ()


def test_an_elicitation_that_is_none_is_refused():
    with pytest.raises(ConfigurationError, match="did you mean 'score'"):
        parse_elicitations("scroe")


def test_arms_are_named_in_any_way_and_each_stands_once():
    assert parse_arms("full none") == parse_arms([FULL, "none"]) == (FULL, NO_CONTEXT)
    assert parse_arms(NO_CONTEXT) == (NO_CONTEXT,)
    assert parse_arms("none", no_context=True, omit=["sender", "sender"]) == (NO_CONTEXT, Arm.parse("without:sender"))
    assert len(parse_arms(ablate="groups")) == 8
    assert parse_arms() == ()


def test_an_arm_that_goes_by_a_file_is_named_with_its_digest_and_day(tmp_path):
    facts = tmp_path / "facts.jsonl"
    facts.write_text(
        json.dumps(
            {"subject": "*", "field": "recipient.type", "value": "A chatbot", "source": "x", "issued": "2026-01-01"}
        )
    )
    full, shown = parse_arms(["full", f"verified:{facts}"])

    assert full == FULL
    assert shown.transforms[0].kind == "verified"
    assert parse_arms([shown.name]) == (shown,)


def test_a_run_takes_both_as_a_text():
    run = casewise.judge("demo", "fake/rehearsal", elicitations="binary", arms="none")

    assert run.judgements.select("elicitation", "arm").unique().rows() == [("binary", "none")]


def test_a_subset_is_the_ids_of_its_items():
    demo = casewise.load("demo")

    found = ids_in(demo, "clear")
    assert found
    assert found < {item.id for item in demo.items}
    assert ids_in(demo, None) is None


def test_what_a_client_is_told_to_ask_is_what_a_judge_asks():
    demo = casewise.load("demo")
    item = demo.items[0]
    context = demo.context_of(item)
    assert context is not None

    asked = casewise.messages(demo.query[item.query_id].text, context.shown())

    assert [message["role"] for message in asked] == ["user"]
    assert demo.query[item.query_id].text in asked[0]["content"]
    assert context.recipient is not None
    assert str(context.recipient.type) in asked[0]["content"]


@pytest.mark.parametrize(
    ("text", "elicitation", "value"), [('{"judgement": "unsafe"}', "binary", 0.0), ('{"judgement": 7}', "score", 7.0)]
)
def test_a_reply_is_read_as_every_judges_is(text, elicitation, value):
    found = read_reply(text, elicitation=elicitation)

    assert isinstance(found, Scored)
    assert found.value == value


def test_a_reply_without_a_verdict_is_unscored_also_from_a_function():
    assert isinstance(read_reply("I would rather not say."), Unscored)

    run = casewise.judge("demo", lambda query, context: casewise.read_reply("I would rather not say."))

    assert (run.summary.n_judged, run.summary.n_unscored) == (0, 90)


def test_a_probability_is_not_read_from_text():
    with pytest.raises(ConfigurationError, match="not read from a reply's text"):
        read_reply("0.5", elicitation="probability")
