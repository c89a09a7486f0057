"""Traces of agents: one row a call of a tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from casewise.errors import CasewiseError
from casewise.storage.benchmark import Benchmark
from casewise.storage.intake.cells import Policies
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.formats.traces import plain_value
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.load import import_cases


def otlp(span: str, start: int, **attributes: object) -> dict[str, Any]:
    pairs = [{"key": name, "value": {"stringValue": value}} for name, value in attributes.items()]
    return {"traceId": "t1", "spanId": span, "name": span, "startTimeUnixNano": str(start), "attributes": pairs}


ASKED = [{"role": "user", "parts": [{"type": "text", "content": "Tell Ann about Friday"}]}]

SPANS = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        otlp("b", 200, **{
                            "gen_ai.operation.name": "execute_tool",
                            "gen_ai.tool.name": "send_email",
                            "gen_ai.tool.call.id": "c1",
                            "gen_ai.tool.call.arguments": '{"to": "ann@example.org"}',
                            "gen_ai.tool.call.result": '{"sent": true}',
                            "gen_ai.agent.name": "desk",
                        }),
                        otlp("a", 100, **{"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(ASKED)}),
                        otlp("c", 300, **{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "log_out"}),
                    ]
                }
            ]
        }
    ]
}  # fmt: skip

MCP = [
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"clientInfo": {"name": "desk"}}},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "read", "arguments": {"day": "Friday"}}},
    {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "dentist"}]}},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "send", "arguments": {}}},
]

OPENAI = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "Tell Ann"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "send", "arguments": '{"to": "ann"}'}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    ],
}

ANTHROPIC = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "Tell Ann"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I will."},
                {"type": "tool_use", "id": "t", "name": "send", "input": {"to": "ann"}},
                {"type": "tool_use", "id": "u", "name": "log", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "ok"}]}],
        },
    ],
}


def read(
    tmp_path: Path, *objects: object, columns: CaseColumns = CaseColumns(), keep_secrets: bool = False
) -> Benchmark:
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(f"{json.dumps(value)}\n" for value in objects))
    return import_cases(file, columns=columns, policies=Policies(keep_secrets=keep_secrets))


def turns(benchmark: Benchmark, place: int) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in benchmark.queries[place].before or ()]


def test_spans_become_actions_with_the_conversation_before_them(tmp_path: Path):
    benchmark = read(tmp_path, SPANS)
    first, second = (query.action for query in benchmark.queries)
    assert first is not None
    assert second is not None
    assert (first.tool, first.arguments, first.agent) == ("send_email", {"to": "ann@example.org"}, "desk")
    assert turns(benchmark, 0) == [("user", "Tell Ann about Friday")]
    assert turns(benchmark, 1)[1:] == [("agent", "send email (to: ann@example.org)"), ("tool", '{"sent": true}')]
    assert second.arguments is None
    assert [item.cluster for item in benchmark.items] == ["t1", "t1"]


def test_a_span_that_an_sdk_prints_is_read_too(tmp_path: Path):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "send", "gen_ai.conversation.id": "c9"}
    benchmark = read(tmp_path, {"name": "execute_tool send", "context": {"trace_id": "0x1"}, "attributes": attributes})
    assert benchmark.queries[0].category == "send"
    assert benchmark.items[0].cluster == "c9"


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_transcript_of_mcp_becomes_actions(tmp_path: Path, *, wrapped: bool):
    benchmark = read(tmp_path, *({"ts": 1, "message": message} if wrapped else message for message in MCP))
    assert [query.action and query.action.arguments for query in benchmark.queries] == [{"day": "Friday"}, {}]
    assert turns(benchmark, 1) == [("agent", "read (day: Friday)"), ("tool", "dentist")]
    assert benchmark.about.receipt is not None
    assert benchmark.about.receipt.format == "MCP transcript"


def test_calls_in_a_chat_of_openais_form_are_actions(tmp_path: Path):
    benchmark = read(tmp_path, OPENAI)
    assert [query.action and query.action.arguments for query in benchmark.queries] == [{"to": "ann"}]
    assert turns(benchmark, 0) == [("system", "Help."), ("user", "Tell Ann")]


def test_calls_in_a_chat_of_anthropics_form_are_actions(tmp_path: Path):
    benchmark = read(tmp_path, ANTHROPIC)
    assert [query.text.split("“")[1].split("”")[0] for query in benchmark.queries] == ["send", "log"]
    assert turns(benchmark, 1) == [("user", "Tell Ann"), ("assistant", "I will."), ("agent", "send (to: ann)")]


def test_a_labelled_chat_is_judged_by_its_last_call(tmp_path: Path):
    benchmark = read(tmp_path, {**OPENAI, "label": "unsafe"}, columns=CaseColumns(judged="action"))
    assert benchmark.queries[0].action is not None
    assert benchmark.votes[benchmark.items[0].id].total == 1


def test_a_table_states_actions_in_a_column(tmp_path: Path):
    call = {
        "tool": "pay",
        "arguments": {"amount": 3},
        "recipient": "a shop",
        "information": "a price",
        "direction": "outward",
    }
    benchmark = read(tmp_path, {"tool_call": call, "label": "safe", "context": "It is agreed."})
    action = benchmark.queries[0].action
    assert action is not None
    assert (action.information, action.direction) == (("a price",), "outward")
    assert benchmark.contexts


def test_an_action_without_a_tool_is_refused(tmp_path: Path):
    with pytest.raises(CasewiseError, match="'tool'"):
        read(tmp_path, {"tool_call": {"arguments": {}}, "label": "safe"})


def test_secrets_are_masked_and_the_receipt_says_so(tmp_path: Path):
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "f", "arguments": {"password": "hunter2"}},
    }
    said = {**call, "id": 2, "params": {"name": "g", "arguments": {}}}
    masked, kept = read(tmp_path, call, said), read(tmp_path, call, said, keep_secrets=True)
    whole = "".join(query.line() for query in masked.queries)
    assert "hunter2" not in whole
    assert "hunter2" in "".join(query.line() for query in kept.queries)
    assert masked.about.receipt is not None
    assert any("masked" in note for note in masked.about.receipt.notes)


def test_a_trace_without_a_call_says_so(tmp_path: Path):
    with pytest.raises(CasewiseError, match="no tool call"):
        read(tmp_path, MCP[0])


# Tables of traces, as the formats read them.


def rows(tmp_path: Path, *objects: object) -> list[dict[str, Any]]:
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(f"{json.dumps(value)}\n" for value in objects))
    return [dict(row.values) for row in read_any_table(file).rows]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"stringValue": "a"}, "a"),
        ({"intValue": "7"}, 7),
        ({"intValue": "-7"}, -7),
        ({"intValue": "seven"}, "seven"),
        ({"intValue": None}, None),
        ({"boolValue": False}, False),
        ({"doubleValue": 0.5}, 0.5),
        ({"arrayValue": {"values": [{"intValue": 1}, {"stringValue": "b"}]}}, [1, "b"]),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"intValue": 1}}]}}, {"k": 1}),
        ({}, None),
        ("a", "a"),
    ],
)
def test_a_typed_value_of_otlp_is_its_json(value: object, plain: object):
    assert plain_value(value) == plain


def test_a_call_knows_the_last_chat_of_its_own_trace_and_the_calls_since(tmp_path: Path):
    def span(start: int, trace: str = "t1", **attributes: Any) -> dict[str, Any]:
        names = {name.replace("__", "."): value for name, value in attributes.items()}
        return {"traceId": trace, "startTimeUnixNano": str(start), "attributes": names}

    messages = [{"role": "user", "parts": [{"type": "text", "content": "Hello"}]}]
    tool = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "send"}
    found = rows(
        tmp_path,
        span(9, **tool, gen_ai__agent__id="a7", gen_ai__tool__call__id="c2"),
        span(10, gen_ai__operation__name="chat"),
        span(1, gen_ai__operation__name="chat", gen_ai__input__messages=messages),
        span(2, mcp__method__name="tools/call", gen_ai__tool__name="read", gen_ai__tool__call__result="done"),
        span(3, "t2", **tool, gen_ai__conversation__id="k"),
        span(11, **tool),
    )
    by_start = {(row["cluster"], row["tool_call"]["tool"]): row for row in found}

    assert [row["tool_call"] for row in found] == [
        {"tool": "read"},
        {"tool": "send", "agent": "a7"},
        {"tool": "send"},
        {"tool": "send"},
    ]
    said = {"role": "user", "text": "Hello"}
    read_before = [{"role": "agent", "text": "read"}, {"role": "tool", "text": "done"}]
    assert (found[0]["before"], found[1]["before"], found[1]["id"]) == ([said], [said, *read_before], "c2")
    assert found[2]["before"] == [said, *read_before, {"role": "agent", "text": "send"}]
    assert (by_start["k", "send"]["before"], by_start["k", "send"]["cluster"]) == (None, "k")


def test_a_client_that_connects_again_begins_a_new_session_of_mcp(tmp_path: Path):
    again = {"jsonrpc": "2.0", "id": 0, "method": "initialize"}
    failed = {"jsonrpc": "2.0", "id": 3, "error": {"code": -1, "message": "no"}}
    call = {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "read"}}
    found = rows(tmp_path, *MCP, failed, call, again, call | {"id": 5})

    assert [(row["id"], row["cluster"]) for row in found] == [
        *((2, "session 1"), (3, "session 1"), (4, "session 1")),
        (5, "session 2"),
    ]
    assert found[2]["before"][-1] == {"role": "tool", "text": '{"code": -1, "message": "no"}'}
    assert (found[3]["before"], "agent" in found[3]["tool_call"]) == (None, False)
    assert found[0]["tool_call"]["agent"] == "desk"


def test_calls_of_logged_chats_have_the_id_of_their_chat_or_its_number(tmp_path: Path):
    found = rows(tmp_path, OPENAI, ANTHROPIC | {"id": "log-7"})

    assert [(row["id"], row["cluster"]) for row in found] == [
        ("chat 1-1", "chat 1"),
        ("log-7-1", "log-7"),
        ("log-7-2", "log-7"),
    ]


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (OPENAI, "chats with calls of tools"),
        (OPENAI | {"label": "safe"}, "JSON"),
        ({"messages": [{"role": "user", "content": "Who?"}]}, "JSON"),
        ({"attributes": {"mcp.method.name": "tools/call", "gen_ai.tool.name": "f"}}, "OpenTelemetry spans"),
        ({"attributes": {"http.url": "x"}}, "JSON"),
        ({"attributes": [{"key": "gen_ai.tool.name"}]}, "JSON"),
        ({"payload": MCP[3]}, "MCP transcript"),
        ({"msg": MCP[3]}, "MCP transcript"),
        (MCP[3] | {"jsonrpc": "1.0"}, "JSON"),
    ],
)
def test_a_trace_is_recognised_by_its_first_object(tmp_path: Path, values: dict[str, Any], name: str):
    (tmp_path / "trace").write_text(json.dumps([values, values]))
    assert read_any_table(tmp_path / "trace").format == name
