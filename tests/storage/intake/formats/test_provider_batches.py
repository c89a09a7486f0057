"""Batch interfaces: replies, refusals and failures."""

from typing import Any

import pytest
from tests.support.outputs import OPENAI, table_of_file


def test_batches_with_completions_refused_requests_and_thoughts_give_the_text_or_nothing(tmp_path):
    completion = {"status_code": 200, "request_id": "r", "body": {"model": "m", "choices": [{"text": "unsafe"}]}}
    wrong = {"status_code": 400, "request_id": "r", "body": {"error": {"message": "too long"}}}
    rows = [OPENAI[0] | {"response": completion}, OPENAI[1] | {"response": wrong, "error": None}]
    assert table_of_file(tmp_path / "openai", rows).columns["reply"] == ["unsafe", None]

    content = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "unsafe"}]
    kinds: dict[str, dict[str, Any]] = {"errored": {"error": {"type": "error"}}, "canceled": {}, "expired": {}}
    message = {"model": "m", "content": content}
    ended: list[dict[str, Any]] = [{"custom_id": "c1", "result": {"type": "succeeded", "message": message}}]
    ended += [{"custom_id": kind, "result": {"type": kind, **more}} for kind, more in kinds.items()]
    assert table_of_file(tmp_path / "anthropic", ended).columns["reply"] == ["unsafe", None, None, None]


def cells(tmp_path, *rows):
    return table_of_file(tmp_path / "batch", [*rows, rows[0]])


def openai(body, **more):
    return {"custom_id": "c1", "response": {"status_code": 200, "body": body}, "error": None} | more


@pytest.mark.parametrize(
    ("body", "reply", "stop", "refusal"),
    [
        (
            {"choices": [{"message": {"content": "safe", "refusal": None}, "finish_reason": "stop"}]},
            "safe",
            "stop",
            None,
        ),
        ({"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]}}]}, "a\nb", None, None),
        ({"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}, None, "stop", "No."),
        ({"choices": [{"text": "safe", "finish_reason": "length"}]}, "safe", "length", None),
        ({"choices": []}, None, None, None),
        ({"output": [{"type": "message", "content": "safe"}, {"type": "message"}]}, "safe", None, None),
        ({"choices": [3]}, None, None, None),
        (
            {
                "output": [{"type": "reasoning"}, {"type": "message", "content": [{"text": "a"}, {"text": "b"}]}],
                "incomplete_details": {"reason": "max_output_tokens"},
            },
            "a\nb",
            "max_output_tokens",
            None,
        ),
        ({"output": [{"type": "message"}]}, None, None, None),
        ({"output": [{"type": "reasoning"}]}, None, None, None),
        (None, None, None, None),
    ],
)
def test_a_row_of_openai_has_the_reply_of_its_interface_and_how_it_ended(tmp_path, body, reply, stop, refusal):
    table = cells(tmp_path, openai(body))

    assert table.format == "OpenAI batch output"
    assert {name: table.columns[name][0] for name in ("id", "reply", "stop_reason", "refusal", "error")} == {
        "id": "c1",
        "reply": reply,
        "stop_reason": stop,
        "refusal": refusal,
        "error": None,
    }


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"error": {"code": "batch_expired", "message": "Late."}}, "batch_expired: Late."),
        ({"error": "late"}, "late"),
        (
            {"error": {}, "response": {"body": {"error": {"type": "server_error", "code": "server_error"}}}},
            "server_error",
        ),
        ({"error": {}}, None),
    ],
)
def test_a_failure_of_openai_is_said_in_its_own_words_and_each_word_once(tmp_path, more, error):
    assert cells(tmp_path, openai({"model": "m"}) | more).columns["error"][0] == error


def anthropic(kind, **more):
    return {"custom_id": "c1", "result": {"type": kind, **more}}


@pytest.mark.parametrize(
    ("row", "reply", "refusal", "error"),
    [
        (anthropic("succeeded", message={"content": [{"type": "text", "text": "safe"}]}), "safe", None, None),
        (anthropic("succeeded", message={"content": [], "stop_reason": "refusal"}), None, "the model declined", None),
        (anthropic("canceled"), None, None, "canceled"),
        (
            anthropic("errored", error={"type": "overloaded_error", "message": "Busy."}),
            None,
            None,
            "errored: overloaded_error: Busy.",
        ),
        (
            anthropic("errored", error={"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}),
            None,
            None,
            "errored: overloaded_error: Busy.",
        ),
    ],
)
def test_a_row_of_anthropic_has_the_reply_of_its_message_or_why_there_is_none(tmp_path, row, reply, refusal, error):
    table = cells(tmp_path, row)

    assert table.format == "Anthropic batch output"
    found = [table.columns[name][0] for name in ("reply", "refusal", "error")]
    assert found == [reply, refusal, error]


@pytest.mark.parametrize(
    "row", [{"custom_id": "c1"}, {"custom_id": "c1", "result": {}}, {"error": None, "response": {}}]
)
def test_a_row_without_an_id_or_an_end_is_of_no_batch(tmp_path, row):
    assert cells(tmp_path, row).format == "JSON"
