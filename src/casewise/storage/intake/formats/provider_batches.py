"""Output files of OpenAI's and Anthropic's batch interfaces.

OpenAI: the request output object of the API reference, and public output files of 2025 and 2026 with chat completions; other
providers write the same without `error`. Completions and responses are read as their own interfaces return them. Anthropic:
`MessageBatchResult` in `src/anthropic/types/messages` of github.com/anthropics/anthropic-sdk-python (commit 32169b41), whose
results are `succeeded`, `errored`, `canceled` or `expired`, and a public file of results of 2025.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.chats import text_of
from casewise.storage.intake.formats.format import TableFormat, reader
from casewise.storage.intake.table import at, object_at, objects_at


def openai_reply(body: Mapping[str, Any]) -> str | None:
    """Return the text of a chat completion, of a completion or of a response; None where there is none."""
    if choice := object_at(body, "choices", 0):
        text, content = choice.get("text"), at(choice, "message", "content")
        return text if isinstance(text, str) else None if content is None else text_of(content)
    messages = [part for part in objects_at(body, "output") if part.get("type") == "message"]
    return "\n".join(filter(None, (text_of(part.get("content")) for part in messages))) if messages else None


def openai_cells(entry: Entry) -> Iterator[dict[str, Any]]:
    body = object_at(entry.values, "response", "body")
    yield {
        "id": entry.name("custom_id"),
        "reply": openai_reply(body),
        "refusal": at(body, "choices", 0, "message", "refusal"),
        "model": body.get("model"),
        "stop_reason": at(body, "choices", 0, "finish_reason") or at(body, "incomplete_details", "reason"),
        "error": failure(entry.values.get("error")) or failure(body.get("error")),
    }


def failure(*stated: Any) -> str | None:
    """Return what a provider says of a call that failed, from its words and from objects with a type, a code and a message."""
    words = [
        str(word)
        for part in stated
        for word in ([part.get(name) for name in ("type", "code", "message")] if isinstance(part, Mapping) else [part])
        if word
    ]
    return ": ".join(dict.fromkeys(words)) or None


def anthropic_cells(entry: Entry) -> Iterator[dict[str, Any]]:
    ended = entry.entry("result")
    kind, result = ended.name("type"), ended.values
    message, error = object_at(result, "message"), result.get("error")
    content, stop = message.get("content"), message.get("stop_reason")
    inner = at(error, "error")  # {"type": "error", "error": {…}}
    yield {
        "id": entry.name("custom_id"),
        "reply": None if content is None else text_of(content),
        "refusal": "the model declined" if stop == "refusal" else None,
        "model": message.get("model"),
        "stop_reason": stop,
        "error": None if kind == "succeeded" else failure(kind, inner or error),
    }


FORMATS = (
    TableFormat(
        "OpenAI batch output",
        "objects",
        "OpenAI, Batch API, request output object",
        lambda seen: "custom_id" in seen and ("error" in seen or isinstance(seen.get("response"), Mapping)),
        reader(openai_cells),
    ),
    TableFormat(
        "Anthropic batch output",
        "objects",
        "Anthropic, Message Batches API, Python SDK",
        lambda seen: "custom_id" in seen and isinstance(seen.get("result"), Mapping) and "type" in seen["result"],
        reader(anthropic_cells),
    ),
)
