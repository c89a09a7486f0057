"""Output files of OpenAI's and Anthropic's batch interfaces.

OpenAI: the request output object of the API reference (an undated copy, with chat completions; `BatchRequestOutput` in its
OpenAPI document). Not checked against that page: completions and responses, which are read as their own interfaces return
them. Anthropic: `MessageBatchResult` in `src/anthropic/types/messages` of github.com/anthropics/anthropic-sdk-python (commit
32169b41), whose results are `succeeded`, `errored`, `canceled` or `expired`. Neither was checked on a file that a provider
wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.chats import text_of
from casewise.storage.intake.formats.format import Format, GivenFile, rows_of
from casewise.storage.intake.table import Table


def reply_of_openai(body: Mapping[str, Any]) -> str | None:
    """Return the text of a chat completion, of a completion or of a response; None where there is none."""
    if isinstance(choices := body.get("choices"), list) and choices and isinstance(choices[0], Mapping):
        if isinstance(text := choices[0].get("text"), str):
            return text
        message = choices[0].get("message")
        content = message.get("content") if isinstance(message, Mapping) else None
        return None if content is None else text_of(content)
    messages = [
        part for part in body.get("output") or () if isinstance(part, Mapping) and part.get("type") == "message"
    ]
    return text_of([part for message in messages for part in message.get("content") or ()]) if messages else None


def openai_cells(entry: Entry) -> Iterator[dict[str, Any]]:
    response = entry.values.get("response")
    body = response.get("body") if isinstance(response, Mapping) else None
    body = body if isinstance(body, Mapping) else {}
    choices = body.get("choices")
    ended = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    incomplete = body.get("incomplete_details")
    reason = incomplete.get("reason") if isinstance(incomplete, Mapping) else None
    yield {
        "id": entry.name("custom_id"),
        "reply": reply_of_openai(body),
        "model": body.get("model"),
        "stop_reason": ended.get("finish_reason") or reason,
    }


def anthropic_cells(entry: Entry) -> Iterator[dict[str, Any]]:
    message = entry.entry("result").values.get("message")
    message = message if isinstance(message, Mapping) else {}
    content = message.get("content")
    yield {
        "id": entry.name("custom_id"),
        "reply": None if content is None else text_of(content),
        "model": message.get("model"),
        "stop_reason": message.get("stop_reason"),
    }


def is_anthropic(seen: Mapping[str, Any]) -> bool:
    return "custom_id" in seen and isinstance(seen.get("result"), Mapping) and "type" in seen["result"]


FORMATS = (
    Format(
        "OpenAI batch output",
        "objects",
        "OpenAI, Batch API, request output object",
        lambda seen: {"custom_id", "response", "error"} <= set(seen),
        lambda given: read(given, openai=True),
    ),
    Format(
        "Anthropic batch output",
        "objects",
        "Anthropic, Message Batches API, Python SDK",
        is_anthropic,
        lambda given: read(given, openai=False),
    ),
)


def read(given: GivenFile, *, openai: bool) -> Table:
    """Return a row a request; one without a message has no reply."""
    return given.table(rows_of(given, openai_cells if openai else anthropic_cells))
