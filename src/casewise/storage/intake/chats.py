"""Chats as lists of messages, in the forms that model providers and data sets write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from casewise.storage.actions import argument_in_words, tool_in_words

ROLES = ("role", "from", "speaker")
TEXTS = ("content", "text", "value")

SPEAKERS = {"human": "user", "gpt": "assistant", "ai": "assistant", "bot": "assistant", "developer": "system"}
"""Names of roles in data sets, and what they are called here. https://github.com/lm-sys/FastChat (ShareGPT): human, gpt."""


def turns_of(cell: Any) -> list[dict[str, str]] | None:
    """Return the turns of a chat, each with `role` and `text`; None where the cell is no chat.

    A message has a role (`role`, `from` or `speaker`) and a text (`content`, `text` or `value`), which may be a list of
    parts with texts. Messages without a text, such as calls of tools, are left out.
    """
    if isinstance(cell, Mapping) and isinstance(cell.get("messages"), list):
        cell = cell["messages"]
    if not isinstance(cell, list) or not cell:
        return None
    turns = []
    for message in cell:
        if not isinstance(message, Mapping):
            return None
        role = next((message[name] for name in ROLES if isinstance(message.get(name), str)), None)
        if role is None or not any(name in message for name in TEXTS):
            return None
        text = next((text_of(message[name]) for name in TEXTS if name in message), "")
        if text.strip():
            turns.append({"role": SPEAKERS.get(role, role), "text": text})
    return turns


def text_of(content: Any) -> str:
    """Return the text of a message: a text, or the texts among its parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = (
            part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, (str, Mapping))
        )
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def system_apart(turns: list[dict[str, str]]) -> tuple[str | None, list[dict[str, str]]]:
    """Return the system message with which a chat begins, or None, and the other turns."""
    if turns and turns[0]["role"] == "system":
        return turns[0]["text"], turns[1:]
    return None, turns


# Calls of tools among the messages of a chat, as agents' programs keep them.
#
# OpenAI chat completions (API of 2025): `tool_calls` of an assistant's message, results in messages of the role `tool`.
# OpenAI responses (2025): items `function_call` and `function_call_output`. Anthropic messages (2023-06-01): parts `tool_use` and
# `tool_result`. OpenTelemetry GenAI 1.41: parts `tool_call` and `tool_call_response` under `parts`.


class ToolCall(NamedTuple):
    """A call of a tool as its file states it, with the turns before it."""

    stated: Any
    """The fields of an action, not checked."""
    before: list[dict[str, str]]


AGENT, RESULT = "agent", "tool"
"""The roles of a turn that calls a tool, and of one that holds what the tool returned."""

CALLS = ("function", "tool_use", "function_call", "tool_call")
RESULTS = ("tool_result", "function_call_output", "tool_call_response")
"""The types of parts that call a tool, and of those that hold what it returned."""


def calls_in(cell: Any) -> list[ToolCall]:
    """Return the calls of tools in a chat, each with what went before it; none where the cell is no chat, or calls no tool."""
    messages = cell
    if isinstance(cell, Mapping):
        messages = next((cell[name] for name in ("messages", "input") if isinstance(cell.get(name), list)), None)
    if not isinstance(messages, list):
        return []
    before: list[dict[str, str]] = []
    calls: list[ToolCall] = []
    for message in messages:
        for step in steps_of(message) if isinstance(message, Mapping) else ():
            if "tool" in step:
                calls.append(ToolCall(step, list(before)))
                before.append({"role": AGENT, "text": call_in_words(step)})
            else:
                before.append(step)
    return calls


def steps_of(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the turns of a message, each with `role` and `text`, and its calls, each with `tool` and `arguments`."""
    role = next((message[name] for name in ROLES if isinstance(message.get(name), str)), AGENT)
    role = SPEAKERS.get(role, role)
    content = next(
        (message[name] for name in ("content", "parts", "text", "value") if message.get(name) is not None), None
    )
    parts = (
        [message] if message.get("type") in (*CALLS, *RESULTS) else content if isinstance(content, list) else [content]
    )
    for part in parts:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if isinstance(part, Mapping) and kind in CALLS:
            yield stated_call(part)
        elif isinstance(part, Mapping) and kind in RESULTS:
            result = next(
                (part[name] for name in ("content", "output", "response", "result") if part.get(name) is not None), None
            )
            yield {"role": RESULT, "text": result_text(result)}
        elif text := text_of([part]).strip() or part_content(part).strip():
            yield {"role": role, "text": text}
    for call in message.get("tool_calls") or ():
        if isinstance(call, Mapping):
            yield stated_call(call)


def stated_call(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an action that a call states; arguments that are no JSON object are one argument, as they are."""
    function = part.get("function") if isinstance(part.get("function"), Mapping) else part
    assert isinstance(function, Mapping)
    stated = next((function[name] for name in ("arguments", "input", "args") if name in function), None)
    return {"tool": function.get("name"), "arguments": arguments_of(stated)}


def arguments_of(stated: Any) -> Any:
    """Return the arguments that a call states as an object or as its JSON; None where none were recorded."""
    if isinstance(stated, str):
        try:
            stated = json.loads(stated) if stated.strip() else {}
        except ValueError:
            return {"arguments": stated}
    return stated if stated is None or isinstance(stated, Mapping) else {"arguments": stated}


def call_in_words(call: Mapping[str, Any]) -> str:
    """Return a call in one line."""
    words = [
        f"{tool_in_words(str(name))}: {argument_in_words(value)}" for name, value in (call["arguments"] or {}).items()
    ]
    return f"{tool_in_words(str(call['tool']))} ({'; '.join(words)})" if words else tool_in_words(str(call["tool"]))


def part_content(part: Any) -> str:
    content = part.get("content") if isinstance(part, Mapping) and part.get("type") == "text" else None
    return content if isinstance(content, str) else ""


def result_text(result: Any) -> str:
    """Return what a tool returned as text."""
    return text_of(result) or (
        "(nothing)" if result is None else result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    )
