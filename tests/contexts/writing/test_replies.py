import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contexts.wordings import FIELDS, wording

from casewise.contexts.generation import Failed, FailedReason, Read, read_reply
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
    assert read_reply(Reply(text, "stop")) == Read(wording())


def test_keys_that_nobody_asked_for_are_left_out_and_named():
    read = read_reply(Reply(json.dumps(nested() | {"verdict": "safe", "notes": {"mood": "calm"}}), "stop"))

    assert read == Read(wording(), ("verdict", "notes.mood"))


@pytest.mark.parametrize(
    ("reply", "reason", "says"),
    [
        (Reply("I'm sorry, but I can't help with that.", "stop"), FailedReason.REFUSED, "sorry"),
        (Reply("", "stop", refusal="I cannot do that."), FailedReason.REFUSED, "I cannot"),
        (Reply("It was a quiet afternoon in the library.", "stop"), FailedReason.PROSE, "quiet"),
        (Reply("", "stop"), FailedReason.PROSE, "empty"),
        (Reply(GOOD[:200], "length"), FailedReason.TRUNCATED, "cut off"),
        (Reply(GOOD[:200], None), FailedReason.TRUNCATED, "does not end"),
        (Reply("", "content_filter"), FailedReason.CONTENT_FILTER, "filtered"),
        (Reply(json.dumps(without("recipient", "background")), "stop"), FailedReason.MISSING, "recipient.background"),
        (Reply(json.dumps(nested(recipient__type="  ")), "stop"), FailedReason.MISSING, "recipient.type"),
        (Reply(json.dumps(nested() | {"sender": {"platform_type": 3}}), "stop"), FailedReason.WRONG_KIND, "platform"),
        (
            Reply(json.dumps(nested(recipient__type="a clerk of the bank in town " * 9)), "stop"),
            FailedReason.REPEATS,
            "type",
        ),
        (
            Reply(json.dumps(nested(**{n.replace(".", "__"): "The same." for n in FIELDS})), "stop"),
            FailedReason.REPEATS,
            "8",
        ),
        (Reply(json.dumps(nested(recipient__type="x" * 5000)), "stop"), FailedReason.REPEATS, "5000"),
        (Reply(GOOD + json.dumps(nested(recipient__type="Teller")), "stop"), FailedReason.SEVERAL, "2 different"),
    ],
)
def test_what_is_no_context_has_its_reason(reply, reason, says):
    failed = read_reply(reply)

    assert isinstance(failed, Failed)
    assert failed.reason == reason
    assert says in failed.detail


@given(st.text() | st.recursive(st.none() | st.text(), lambda inner: st.dictionaries(st.text(), inner)).map(json.dumps))
def test_no_reply_whatever_makes_it_fall_over(text):
    assert isinstance(read_reply(Reply(text, "stop")), Read | Failed)


@pytest.mark.parametrize("said", ["I'm sorry, but I can't help with that.", "That would be against my guidelines."])
def test_a_refusal_inside_valid_json_is_found(said):
    whole = nested()
    whole["recipient"]["background"] = said

    for value in (whole, {"error": said}, {"contexts": [{"note": said}]}):
        failed = read_reply(Reply(json.dumps(value), "stop"))
        assert isinstance(failed, Failed)
        assert (failed.reason, failed.detail) == (FailedReason.REFUSED, said)
