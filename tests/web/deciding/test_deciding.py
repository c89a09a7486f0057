"""What goes in and out of a decider's service, who is answered, and what is counted: without a model."""

import asyncio
import hashlib
from collections import Counter, OrderedDict
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from casewise.deciding.decider import LONGEST_ID, DeciderAnswer
from casewise.deciding.monitor import ServiceOptions
from casewise.errors import ConfigurationError
from casewise.models.protocol import Message
from casewise.storage.actions import arguments_digest
from casewise.web.deciding import (
    CallIn,
    DecideIn,
    ModerationIn,
    Service,
    decide_out,
    keys_in,
    moderation_result,
    request_id_of,
    validation_problem,
)

# Keys.


def test_keys_are_kept_as_digests_one_a_line(tmp_path):
    first, second = "a" * 20, "b" * 40
    (tmp_path / "keys").write_text(f"# of the shop\n\n  {first}\n{second}\n")

    assert keys_in(tmp_path / "keys") == {hashlib.sha256(key.encode()).hexdigest() for key in (first, second)}


@pytest.mark.parametrize("words", ["", "# none\n", "a" * 19, "a" * 20 + "\nshort\n"])
def test_a_file_without_keys_or_with_a_short_one_is_refused(tmp_path, words):
    (tmp_path / "keys").write_text(words)

    with pytest.raises(ConfigurationError, match="write keys of at least 20 random characters, one a line"):
        keys_in(tmp_path / "keys")


# What is asked.


def test_a_query_keeps_its_reply_its_category_and_the_callers_id():
    asked = DecideIn(query="What now?", reply="This.", category="x", context="A nurse asks.").request("r1")

    assert (asked.query, asked.reply, asked.category, asked.id) == ("What now?", "This.", "x", "r1")
    assert DecideIn(query="What now?", id="mine").request("r1").id == "mine"


def test_a_request_is_a_query_or_a_chat():
    chat: Any = [{"role": "user", "content": "Hello"}, {"role": "user", "content": [{"type": "text", "text": "Now?"}]}]
    asked = DecideIn(messages=chat, category="x").request("r1")

    assert (asked.query, asked.category, asked.id) == ("Now?", "x", "r1")
    for wrong in ({}, {"query": "a", "messages": chat}):
        with pytest.raises(ConfigurationError, match="give either query or messages"):
            DecideIn(**wrong).request("r1")
    with pytest.raises(ConfigurationError, match="with messages, give the reply as the last message"):
        DecideIn(messages=chat, reply="This.").request("r1")


CALL: dict[str, Any] = {"caller": "an agent", "tool": "send"}


def test_a_digest_is_of_the_arguments_or_the_one_that_was_sent():
    arguments = {"to": "a nurse"}
    digest = arguments_digest(arguments)

    assert CallIn(**CALL).digest is None
    assert CallIn(**CALL, arguments_digest=digest).digest == digest
    assert CallIn(**CALL, arguments=arguments).digest == digest
    assert CallIn(**CALL, arguments=arguments, arguments_digest=digest).digest == digest
    with pytest.raises(ConfigurationError, match="arguments_digest does not match the arguments"):
        _ = CallIn(**CALL, arguments={}, arguments_digest=digest).digest


def test_a_call_is_an_action_in_the_circumstances_that_were_stated_and_those_of_the_context_come_last():
    asked = CallIn(
        **CALL,
        purpose="a check",
        recipient="a doctor",
        context={"recipient": {"who": "a nurse", "where": "here"}, "subject": "a patient"},
        messages=[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Send it."}],
    ).request("r1")

    assert (asked.judged, asked.id) == ("action", "r1")
    assert "send" in asked.query
    assert asked.known == {
        "sender": {"agent": "an agent"},
        "recipient": {"who": "a nurse", "where": "here"},
        "transmission_principle": {"purpose": "a check"},
        "subject": "a patient",
    }
    assert asked.earlier == (Message("assistant", "Be kind."), Message("user", "Send it."))
    assert CallIn(**CALL, id="mine").request("r1").id == "mine"


def moderated(text: Any, **more: Any) -> list[tuple[str, str]]:
    return [(asked.query, asked.id) for asked in ModerationIn(input=text, **more).requests("r1")]


def test_each_text_of_a_moderation_is_a_request_and_parts_are_one():
    assert moderated("one") == moderated(["one"]) == [("one", "r1")]
    assert moderated(["one", "two"], id="m") == [("one", "m.0"), ("two", "m.1")]
    assert moderated([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]) == [("one\n\ntwo", "r1")]
    long = "x" * LONGEST_ID
    assert [id_ for _, id_ in moderated(["one", "two"], id=long)] == [f"{'x' * 197}.0", f"{'x' * 197}.1"]
    assert moderated("one", id=long) == [("one", long)]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (DecideIn, {"query": " "}),
        (DecideIn, {"query": "a" * 200_001}),
        (DecideIn, {"query": "a", "id": "a\nb"}),
        (DecideIn, {"query": "a", "id": "a" * 201}),
        (DecideIn, {"messages": [{"role": "user", "content": "a"}] * 1001}),
        (DecideIn, {"messages": [{"role": "user", "content": []}]}),
        (DecideIn, {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}] * 33}]}),
        (CallIn, {**CALL, "arguments_digest": "sha256:0"}),
        (CallIn, {**CALL, "messages": [{"role": "user", "content": "a"}] * 1001}),
        (ModerationIn, {"input": ["a"] * 33}),
        (ModerationIn, {"input": []}),
    ],
)
def test_what_is_too_long_or_empty_is_no_request(kind, body):
    with pytest.raises(ValidationError):
        kind.model_validate(body)


def test_what_is_just_short_enough_is_a_request():
    turn = {"role": "user", "content": "a"}
    parts = [{"type": "text", "text": "a"}] * 32

    assert DecideIn.model_validate({"query": "a" * 200_000, "id": "a" * 200}).query
    assert DecideIn.model_validate({"messages": [turn] * 1000}).messages
    assert CallIn.model_validate({**CALL, "messages": [turn] * 1000}).messages
    assert ModerationIn.model_validate({"input": parts}).input
    assert ModerationIn.model_validate({"input": ["a"] * 32}).input


# What is answered.


def decided(decision="answer", **changes: Any) -> DeciderAnswer:
    return DeciderAnswer(**{"decision": decision, "id": "r1", "p_safe": 0.25, "why": "a reason", **changes})


DECIDER: Any = SimpleNamespace(hash="f00d", measured={"harm": 1})


def test_in_the_shadow_a_decision_goes_out_as_an_answer_with_what_it_was():
    out, shown = (decide_out(DECIDER, decided("refuse"), shadow=shadow) for shadow in (False, True))

    assert (out.decision, out.decided, out.shadow) == ("refuse", "refuse", False)
    assert (shown.decision, shown.decided, shown.shadow) == ("answer", "refuse", True)
    assert (out.decider, out.measured) == ("f00d", {"harm": 1})


@pytest.mark.parametrize(
    ("decision", "shadow", "ask_flags", "flagged"),
    [
        ("refuse", False, False, True),
        ("refuse", True, True, False),
        ("ask", False, True, True),
        ("ask", False, False, False),
        ("ask", True, True, False),
        ("answer", False, True, False),
    ],
)
def test_a_moderation_flags_what_is_refused_and_what_is_asked_where_that_is_wanted(
    decision, shadow, ask_flags, flagged
):
    def result(**changes):
        return moderation_result(DECIDER, decided(decision, **changes), shadow=shadow, ask_flags=ask_flags)

    assert result().flagged == flagged
    assert result(categories=("harm",)).categories == {"inappropriate_in_context": flagged, "harm": flagged}
    assert result().category_scores == {"inappropriate_in_context": 0.75}
    assert result(p_safe=None).category_scores == {"inappropriate_in_context": float(decision != "answer")}
    assert result().category_applied_input_types == {"inappropriate_in_context": ["text"]}


# Who is answered, and what is wrong with what was sent.


def service(**options: Any) -> Service:
    made = Service.__new__(Service)  # without a decider: for what it does with callers alone
    made.options, made.callers, made.keys = ServiceOptions(**options), OrderedDict(), frozenset()
    return made


def request(**headers: str) -> Any:
    return SimpleNamespace(headers=headers, client=SimpleNamespace(host="10.0.0.1"))


def test_an_id_comes_from_the_header_or_is_new():
    assert request_id_of(request(**{"x-request-id": "mine"})) == "mine"
    first, second = (request_id_of(request()) for _ in range(2))
    assert (len(first), first != second) == (24, True)


def wrong(kind: str, *loc: Any, msg: str = "what pydantic says") -> HTTPException:
    return validation_problem(RequestValidationError([{"type": kind, "loc": ("body", *loc), "msg": msg}]))


def test_a_problem_names_the_field_and_repeats_nothing_of_what_was_sent():
    assert (wrong("json_invalid").status_code, wrong("string_unicode").detail) == (400, "Invalid JSON")
    assert (wrong("missing", "query").status_code, wrong("missing", "query").detail) == (
        422,
        "query: what pydantic says",
    )
    assert wrong("missing", "messages", 2, "a secret", "content").detail == "messages.2.content: what pydantic says"
    assert wrong("value_error", "a secret").detail.startswith("a parameter is a text, a number, true or false")
    assert wrong("missing", "a secret").detail == "what pydantic says"


def test_an_unknown_field_is_named_where_it_can_be_a_name_with_the_nearest_one():
    assert wrong("extra_forbidden", "quary").detail == "'quary' is an unknown field (did you mean 'query'?)"
    assert wrong("extra_forbidden", "messages", 2, "rol").detail == (
        "messages.2: 'rol' is an unknown field (did you mean 'role'?)"
    )
    assert wrong("extra_forbidden", "a" * 41).detail == "the request has an unknown field"
    assert wrong("extra_forbidden", "two words").detail == "the request has an unknown field"
    both = RequestValidationError(
        [
            {"type": "missing", "loc": ("body", "query"), "msg": "missing"},
            {"type": "extra_forbidden", "loc": ("body", "zebra"), "msg": "extra"},
        ]
    )
    assert validation_problem(both).detail.startswith("'zebra' is an unknown field")


@pytest.mark.parametrize(
    ("sent", "status"), [("", 401), ("Bearer wrong", 401), ("Bearer " + "k" * 20, None), ("k" * 20, None)]
)
def test_only_a_listed_key_lets_in_and_each_key_has_its_own_limit(tmp_path, sent, status):
    (tmp_path / "keys").write_text("k" * 20)
    made = service(per_minute=1)
    made.keys = keys_in(tmp_path / "keys")
    if status:
        with pytest.raises(HTTPException) as refused:
            asyncio.run(made.admit(request(authorization=sent)))
        assert (refused.value.status_code, refused.value.detail) == (
            401,
            "give one of this service's keys as a bearer token",
        )
        return
    asyncio.run(made.admit(request(authorization=sent)))
    with pytest.raises(HTTPException) as refused:
        asyncio.run(made.admit(request(authorization=sent)))
    assert (refused.value.status_code, refused.value.detail) == (429, "too many requests; wait a minute")
    assert refused.value.headers == {"Retry-After": "60"}


def test_without_keys_or_a_limit_everybody_is_answered_and_an_address_is_a_caller():
    for _ in range(3):
        asyncio.run(service().admit(request()))
    made = service(per_minute=2)
    for _ in range(2):
        asyncio.run(made.admit(request()))
    with pytest.raises(HTTPException):
        asyncio.run(made.admit(request()))
    assert list(made.callers) == ["10.0.0.1"]


def test_a_bucket_fills_evenly_and_no_further_than_a_minutes_worth():
    made = service(per_minute=6)

    assert [made.takes_token("a", 0.0) for _ in range(7)] == [True] * 6 + [False]
    assert [made.takes_token("a", 10.0), made.takes_token("a", 10.0)] == [True, False]
    assert Counter(made.takes_token("a", 1000.0) for _ in range(8)) == {True: 6, False: 2}


def test_the_caller_who_was_silent_for_longest_is_forgotten_first(monkeypatch):
    monkeypatch.setattr("casewise.web.deciding.MOST_CALLERS", 2)
    made = service(per_minute=1)
    for caller, now in (("a", 0.0), ("b", 1.0), ("a", 2.0), ("c", 3.0)):
        made.takes_token(caller, now)

    assert list(made.callers) == ["a", "c"]
