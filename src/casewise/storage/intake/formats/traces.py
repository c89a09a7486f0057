"""Traces of agents: one row a call of a tool, with what went before it.

OpenTelemetry semantic conventions for generative AI, 1.41.0 (https://github.com/open-telemetry/semantic-conventions, docs/gen-ai): the
spans `execute_tool` and `chat` with the attributes `gen_ai.tool.*` and `gen_ai.input.messages`, as OTLP/JSON 1.x
(`resourceSpans`) or one span an object, as SDKs print them. Model Context Protocol, revision 2025-06-18
(https://modelcontextprotocol.io/specification): requests `tools/call` and their results in JSON-RPC 2.0. Logs of requests in the
forms of OpenAI's and Anthropic's interfaces (`casewise.storage.intake.chats`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.chats import AGENT, RESULT, arguments_of, call_in_words, calls_in, result_text
from casewise.storage.intake.formats.format import GivenFile, TableFormat
from casewise.storage.intake.table import Table, at, object_at, objects_at, structured

NO_CALL = "holds no tool call; casewise reads a trace for the actions of an agent"


def row_of_call(call: Mapping[str, Any], before: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    """Return the row of a call; what is not known is left out."""
    agent = more.pop("agent", None)
    stated = {name: value for name, value in {**call, "agent": agent}.items() if value is not None}
    return {
        "tool_call": stated,
        "before": before or None,
        **{name: value for name, value in more.items() if value is not None},
    }


# OpenTelemetry.


def is_spans(values: Mapping[str, Any]) -> bool:
    """Return whether an object is a batch of OTLP/JSON, or a span with attributes of generative AI."""
    attributes = values.get("attributes")
    return "resourceSpans" in values or (
        isinstance(attributes, Mapping) and any(str(name).startswith(("gen_ai.", "mcp.")) for name in attributes)
    )


def spans_in(values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the spans of an object."""
    if "resourceSpans" not in values:
        yield values
        return
    for resource in objects_at(values, "resourceSpans"):
        for scope in objects_at(resource, "scopeSpans"):
            yield from objects_at(scope, "spans")


def attributes_of(span: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a span by name, of OTLP's typed values or of a plain object."""
    stated = span.get("attributes")
    if isinstance(stated, Mapping):
        return {str(name): value for name, value in stated.items()}
    return {str(pair.get("key")): plain_value(pair.get("value")) for pair in objects_at(span, "attributes")}


def plain_value(value: Any) -> Any:
    """Return a value of OTLP/JSON (`AnyValue`) as JSON."""
    if not isinstance(value, Mapping):
        return value
    for kind, inner in value.items():
        if kind == "intValue":
            return int(inner) if isinstance(inner, str) and inner.removeprefix("-").isdecimal() else inner
        if kind == "arrayValue":
            return [plain_value(part) for part in objects_at(inner, "values")]
        if kind == "kvlistValue":
            return {str(pair.get("key")): plain_value(pair.get("value")) for pair in objects_at(inner, "values")}
        return inner
    return None


def started(span: Mapping[str, Any]) -> str:
    """Return the start of a span as a text that sorts by time within a file."""
    return str(span.get("startTimeUnixNano") or span.get("start_time") or "").zfill(20)


def rows_of_spans(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield a row for each span that executes a tool, with the messages of the last chat of its trace, and the calls since."""
    traces: dict[str, list[tuple[Mapping[str, Any], Entry]]] = {}
    for entry in entries:
        for span in spans_in(entry.values):
            trace = str(span.get("traceId") or at(span, "context", "trace_id") or "")
            traces.setdefault(trace, []).append((span, entry))
    for trace, spans in traces.items():
        before: list[dict[str, str]] = []
        for span, entry in sorted(spans, key=lambda pair: started(pair[0])):
            known = attributes_of(span)
            is_call = (
                known.get("gen_ai.operation.name") == "execute_tool" or known.get("mcp.method.name") == "tools/call"
            )
            if not is_call:
                before = said_before(known) or before
                continue
            call = {
                "tool": known.get("gen_ai.tool.name"),
                "arguments": arguments_of(structured(known.get("gen_ai.tool.call.arguments"))),
            }
            yield Entry(
                entry.path,
                entry.line,
                row_of_call(
                    call,
                    list(before),
                    agent=known.get("gen_ai.agent.name") or known.get("gen_ai.agent.id"),
                    id=known.get("gen_ai.tool.call.id"),
                    cluster=known.get("gen_ai.conversation.id") or trace or None,
                ),
                entry.where,
            )
            before.append({"role": AGENT, "text": call_in_words(call)})
            if (result := structured(known.get("gen_ai.tool.call.result"))) is not None:
                before.append({"role": RESULT, "text": result_text(result)})


def said_before(known: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the turns of the messages that a chat span recorded; none where it recorded no content."""
    messages = structured(known.get("gen_ai.input.messages"))
    after = [{"type": "tool_call", "name": "end", "arguments": {}}]
    calls = calls_in([*messages, *after]) if isinstance(messages, list) else []
    return calls[-1].before if calls else []


# The Model Context Protocol.


def message_of(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON-RPC message of an object, which a transcript may wrap with its time and direction."""
    return next(
        (inner for name in ("message", "payload", "msg") if isinstance(inner := values.get(name), Mapping)), values
    )


def is_mcp(values: Mapping[str, Any]) -> bool:
    return message_of(values).get("jsonrpc") == "2.0"


def rows_of_mcp(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield a row for each `tools/call`, with the calls before it in the transcript and what they returned."""
    before: list[dict[str, str]] = []
    client, session = None, 0
    waiting: set[str] = set()
    for entry in entries:
        message = message_of(entry.values)
        params = object_at(message, "params")
        if message.get("method") == "initialize":
            client, session, before = at(params, "clientInfo", "name"), session + 1, []
        elif message.get("method") == "tools/call":
            call = {"tool": params.get("name"), "arguments": arguments_of(params.get("arguments", {}))}
            row = row_of_call(call, list(before), agent=client, id=message.get("id"), cluster=f"session {session}")
            yield Entry(entry.path, entry.line, row, entry.where)
            waiting.add(str(message.get("id")))
            before.append({"role": AGENT, "text": call_in_words(call)})
        elif str(message.get("id")) in waiting and ("result" in message or "error" in message):
            waiting.discard(str(message.get("id")))
            result = message.get("result")
            result = result.get("content") if isinstance(result, Mapping) else message.get("error")
            before.append({"role": RESULT, "text": result_text(result)})


# Logs of requests to a model.


LOGGED = {
    "messages",
    "input",
    "system",
    "instructions",
    "tools",
    "tool_choice",
    "model",
    "id",
    "metadata",
    "timestamp",
    "created",
}
"""Keys of a logged request that say nothing of what people decided: with any other key it is a table of cases."""


def is_request_log(values: Mapping[str, Any]) -> bool:
    """Return whether an object is a request to a model whose chat calls a tool, and nothing else."""
    return {str(name) for name in values} <= LOGGED and bool(calls_in(values))


def rows_of_requests(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield a row for each call of a tool in the chats."""
    for number, entry in enumerate(entries, 1):
        chat = entry.values.get("id") or f"chat {number}"
        for place, call in enumerate(calls_in(entry.values), 1):
            row = row_of_call(call.stated, call.before, id=f"{chat}-{place}", cluster=str(chat))
            yield Entry(entry.path, entry.line, row, entry.where)


def row_reader(rows: Callable[[Iterable[Entry]], Iterator[Entry]]) -> Callable[[GivenFile], Table]:
    """Return the reader of a format whose objects hold these rows."""
    return lambda given: given.table(rows(given.objects), empty=NO_CALL)


FORMATS = (
    TableFormat(
        "OpenTelemetry spans",
        "objects",
        "OpenTelemetry semantic conventions for generative AI 1.41.0, OTLP/JSON",
        is_spans,
        row_reader(rows_of_spans),
    ),
    TableFormat(
        "MCP transcript", "objects", "Model Context Protocol 2025-06-18, JSON-RPC 2.0", is_mcp, row_reader(rows_of_mcp)
    ),
    TableFormat(
        "chats with calls of tools",
        "objects",
        "OpenAI and Anthropic interfaces, 2025",
        is_request_log,
        row_reader(rows_of_requests),
    ),
)
