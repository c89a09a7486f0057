import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contexts.wordings import FIELDS, wording

from casewise.contexts.generation import WrittenContext, read_context
from casewise.models.protocol import Reply


def nested(**changes):
    value: dict[str, dict[str, str]] = {}
    for name, text in (FIELDS | {k.replace("__", "."): v for k, v in changes.items()}).items():
        group, parameter = name.split(".")
        value.setdefault(group, {})[parameter] = text
    return value


def without(group, parameter):
    value = nested()
    del value[group][parameter]
    return value


GOOD = json.dumps(nested())


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"Here you are:\n```json\n{GOOD}\n```\nTell me if you want another.",
        json.dumps({"Transmission Principle" if k == "transmission_principle" else k: v for k, v in nested().items()}),
        GOOD + "\n" + GOOD,
    ],
    ids=["bare", "in a fence", "keys as headings", "said twice"],
)
def test_a_context_is_found_in_the_reply(text):
    assert read_context(Reply(text, "stop")) == WrittenContext(wording=wording())


def test_keys_that_nobody_asked_for_are_left_out_and_named():
    read = read_context(Reply(json.dumps(nested() | {"verdict": "safe", "notes": {"mood": "calm"}}), "stop"))

    assert read == WrittenContext(wording=wording(), ignored=("verdict", "notes.mood"))


@pytest.mark.parametrize(
    ("reply", "reason", "says"),
    [
        (Reply("I'm sorry, but I can't help with that.", "stop"), "refused", "sorry"),
        (Reply("", "stop", refusal="I cannot do that."), "refused", "I cannot"),
        (Reply("It was a quiet afternoon in the library.", "stop"), "no JSON", "quiet"),
        (Reply("", "stop"), "no JSON", "empty"),
        (Reply(GOOD[:200], "length"), "truncated", "cut off"),
        (Reply(GOOD[:200], None), "truncated", "does not end"),
        (Reply("", "content_filter"), "content filter", "filtered"),
        (Reply(json.dumps(without("recipient", "background")), "stop"), "parameters missing", "recipient.background"),
        (Reply(json.dumps(nested(recipient__type="  ")), "stop"), "parameters missing", "recipient.type"),
        (Reply(json.dumps(nested() | {"sender": {"platform_type": 3}}), "stop"), "not a text", "platform"),
        (
            Reply(json.dumps(nested(recipient__type="a clerk of the bank in town " * 9)), "stop"),
            "repeats itself",
            "type",
        ),
        (
            Reply(json.dumps(nested(**{n.replace(".", "__"): "The same." for n in FIELDS})), "stop"),
            "repeats itself",
            "8",
        ),
        (Reply(json.dumps(nested(recipient__type="x" * 5000)), "stop"), "repeats itself", "5000"),
        (Reply(GOOD + json.dumps(nested(recipient__type="Teller")), "stop"), "several contexts", "2 different"),
    ],
)
def test_what_is_no_context_has_its_reason(reply, reason, says):
    failed = read_context(reply)

    assert failed.wording is None
    assert failed.reason == reason
    assert says in failed.detail


@pytest.mark.slow
@given(st.text() | st.recursive(st.none() | st.text(), lambda inner: st.dictionaries(st.text(), inner)).map(json.dumps))
def test_no_reply_whatever_makes_it_fall_over(text):
    assert read_context(Reply(text, "stop")).reason


@pytest.mark.parametrize("said", ["I'm sorry, but I can't help with that.", "That would be against my guidelines."])
def test_a_refusal_inside_valid_json_is_found(said):
    whole = nested()
    whole["recipient"]["background"] = said

    for value in (whole, {"error": said}, {"contexts": [{"note": said}]}):
        failed = read_context(Reply(json.dumps(value), "stop"))
        assert failed.wording is None
        assert (failed.reason, failed.detail) == ("refused", said)
