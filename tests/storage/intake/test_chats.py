"""Chats as lists of messages, and the calls of tools in them, in the forms of several programs."""

import json
from typing import Any

import pytest

from casewise.storage.intake.chats import (
    arguments_of,
    call_in_words,
    calls_in,
    result_text,
    system_apart,
    text_of,
    turns_of,
)

USER = {"role": "user", "text": "Who?"}


@pytest.mark.parametrize("role", ["role", "from", "speaker"])
@pytest.mark.parametrize("text", ["content", "text", "value"])
def test_a_message_has_a_role_and_a_text_under_any_of_their_names(role, text):
    assert turns_of([{role: "user", text: "Who?"}]) == [USER]


@pytest.mark.parametrize(
    ("role", "known"),
    [
        ("human", "user"),
        ("gpt", "assistant"),
        ("ai", "assistant"),
        ("bot", "assistant"),
        ("developer", "system"),
        ("x", "x"),
    ],
)
def test_speakers_have_one_name_each(role, known):
    assert turns_of([{"role": role, "content": "Who?"}]) == [{"role": known, "text": "Who?"}]


@pytest.mark.parametrize(
    "cell",
    [
        None,
        "Who?",
        [],
        {},
        {"messages": "x"},
        ["x"],
        [{"content": "x"}],
        [{"role": 3, "content": "x"}],
        [{"role": "user"}],
    ],
)
def test_what_is_no_chat_has_no_turns(cell):
    assert turns_of(cell) is None


def test_messages_without_a_text_are_no_turns_and_an_object_may_hold_the_messages():
    messages = [
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "content": None},
        {"role": "tool", "content": " "},
    ]
    assert turns_of({"messages": messages, "model": "m"}) == [USER]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, "b", {"text": 3}, 4], "a\nb"),
        ([], ""),
        (None, ""),
        (3, ""),
    ],
)
def test_the_text_of_a_message_is_that_of_its_parts(content, text):
    assert text_of(content) == text


def test_a_system_message_stands_apart_only_at_the_beginning():
    system = {"role": "system", "text": "Help."}

    assert system_apart([system, USER]) == ("Help.", [USER])
    assert system_apart([USER, system]) == (None, [USER, system])
    assert system_apart([]) == (None, [])


# Calls of tools.


CALL = {"tool": "send", "arguments": {"to": "ann"}}
DONE = {"role": "agent", "text": "send (to: ann)"}
ASKED = {"role": "user", "content": "Who?"}

FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "chat completions": (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": "send", "arguments": '{"to": "ann"}'}}, "x"],
        },
        {"role": "tool", "content": "ok"},
    ),
    "responses": (
        {"type": "function_call", "name": "send", "arguments": '{"to": "ann"}'},
        {"type": "function_call_output", "output": "ok"},
    ),
    "Anthropic messages": (
        {"role": "assistant", "content": [{"type": "tool_use", "name": "send", "input": {"to": "ann"}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "ok"}]}]},
    ),
    "OpenTelemetry": (
        {"role": "assistant", "parts": [{"type": "tool_call", "name": "send", "arguments": {"to": "ann"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "response": "ok"}]},
    ),
    "a function among the parts": (
        {"role": "assistant", "content": [{"type": "function", "function": {"name": "send", "args": {"to": "ann"}}}]},
        {"role": "tool", "content": [{"type": "tool_result", "result": "ok"}]},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_call_is_found_in_each_form_with_what_went_before_it(form):
    call, result = FORMS[form]
    first, second = calls_in([ASKED, call, result, call])

    assert (first.stated, first.before) == (CALL, [USER])
    assert second.before == [USER, DONE, {"role": "tool", "text": "ok"}]


def test_calls_of_one_message_follow_its_text_and_each_other():
    parts = [{"type": "text", "content": "I will."}, {"type": "tool_use", "name": "send", "input": {"to": "ann"}}]
    more = [{"function": {"name": "log", "arguments": ""}}]
    first, second = calls_in({"messages": [{"role": "assistant", "content": parts, "tool_calls": more}]})

    assert first.before == [{"role": "assistant", "text": "I will."}]
    assert (second.stated, second.before[1:]) == ({"tool": "log", "arguments": {}}, [DONE])
    assert calls_in({"input": [FORMS["responses"][0]]})[0].stated == CALL


@pytest.mark.parametrize("cell", [None, "x", {}, {"messages": "x"}, [], ["x", 3], [ASKED]])
def test_what_calls_no_tool_has_no_calls(cell):
    assert calls_in(cell) == []


def test_a_message_without_a_role_is_the_agents():
    assert calls_in([{"content": "Hm."}, FORMS["responses"][0]])[0].before == [{"role": "agent", "text": "Hm."}]


@pytest.mark.parametrize(
    ("stated", "arguments"),
    [
        (None, None),
        ("", {}),
        (" ", {}),
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("ls -l", {"arguments": "ls -l"}),
        ("[1]", {"arguments": [1]}),
        ([1], {"arguments": [1]}),
    ],
)
def test_arguments_are_an_object_and_anything_else_is_one_argument(stated, arguments):
    assert arguments_of(stated) == arguments


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(None, "send mail"), ({}, "send mail"), ({"to_whom": "ann", "n": 2}, "send mail (to whom: ann; n: 2)")],
)
def test_a_call_is_one_line_of_words(arguments, words):
    assert call_in_words({"tool": "send_mail", "arguments": arguments}) == words


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("ok", "ok"),
        ([{"type": "text", "text": "ok"}], "ok"),
        (None, "(nothing)"),
        ("", ""),
        ({"sent": True, "to": "Ä"}, '{"sent": true, "to": "Ä"}'),
        ([{"id": 1}], json.dumps([{"id": 1}])),
    ],
)
def test_what_a_tool_returned_is_its_text_or_its_json(result, text):
    assert result_text(result) == text
