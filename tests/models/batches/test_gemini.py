"""Gemini's batches."""

import asyncio
import json
from typing import Any

import pytest
from tests.models.batches.test_interface import BODY, JOB, interface, request_line
from tests.support.path_server import Answer, PathServer, over

from casewise.models.batches.gemini import gemini_result
from casewise.models.batches.interface import BatchInterface, BatchResult
from casewise.models.protocol import Rejected
from casewise.models.wire import read_reply


def test_a_request_is_written_in_geminis_words():
    contents = [
        {"role": "user", "parts": [{"text": "Is it safe?"}]},
        {"role": "model", "parts": [{"text": "Perhaps."}]},
        {"role": "user", "parts": [{"text": "Say."}]},
    ]
    schema = {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}}
    assert request_line("google") == {
        "metadata": {"key": "ab-x"},
        "request": {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": contents,
            "generationConfig": {"maxOutputTokens": 64, "temperature": 0.0, "seed": 7, **schema},
        },
    }
    bare = {"model": "tiny", "messages": BODY["messages"][1:], "max_completion_tokens": 9, "top_p": 0.5}
    assert request_line("google", bare)["request"] == {
        "contents": contents,
        "generationConfig": {"maxOutputTokens": 9, "topP": 0.5},
    }


def test_log_probabilities_are_refused():
    with pytest.raises(Rejected, match="does not request log probabilities") as refused:
        request_line("google", {**BODY, "logprobs": True})
    assert refused.value.reason == "no_logprobs"


def test_requests_go_inline_under_the_mark_of_the_job():
    path = "/v1/models/tiny:batchGenerateContent"
    server = PathServer({path: [{"name": "batches/b", "metadata": {"state": "BATCH_STATE_PENDING"}}]})
    status = asyncio.run(over(server, "google/tiny", lambda gemini: gemini.create(JOB, [b'{"n": 1}', b'{"n": 2}'])))

    assert (status.id, status.state) == ("batches/b", "waiting")
    requests = {"requests": {"requests": [{"n": 1}, {"n": 2}]}}
    assert json.loads(server.asked[0].body) == {"batch": {"display_name": "ab-1", "input_config": requests}}


@pytest.mark.parametrize(
    ("operation", "is_found"),
    [
        ({"metadata": {"displayName": "ab-1"}}, True),
        ({"display_name": "ab-1"}, True),
        ({"metadata": {"displayName": "ab-2"}}, False),
    ],
)
def test_a_job_is_found_by_its_mark(operation, is_found):
    pages: list[Answer] = [
        {"operations": [{"name": "o"}], "nextPageToken": "t"},
        {"batches": [{"name": "b"} | operation]},
    ]
    server = PathServer({"/v1/batches": pages})
    batch = asyncio.run(over(server, "google/tiny", lambda gemini: gemini.find(JOB, ())))

    assert getattr(batch, "id", None) == ("b" if is_found else None)
    assert [request.path for request in server.asked] == [
        "/v1/batches?pageSize=100",
        "/v1/batches?pageSize=100&pageToken=t",
    ]


@pytest.mark.parametrize(
    ("record", "state", "words"),
    [
        ({"metadata": {"state": "BATCH_STATE_SUCCEEDED"}}, "completed", ""),
        ({"state": "JOB_STATE_EXPIRED"}, "expired", ""),
        ({"metadata": {"state": "BATCH_STATE_RUNNING"}}, "waiting", ""),
        ({"metadata": {}, "error": {"code": 8, "message": "too many"}}, "failed", "8 too many"),
        ({"metadata": {"state": "BATCH_STATE_CANCELLED"}, "error": {"message": "by you"}}, "cancelled", "by you"),
    ],
)
def test_the_state_of_a_batch_is_that_of_its_operation(record, state, words):
    status = interface("google").parse_status({"name": "batches/b"} | record)

    assert (status.id, status.state, status.words, status.n_done) == ("batches/b", state, words, None)


def test_the_state_has_the_number_of_answers_and_the_time_until_which_they_are_kept():
    about = {"expireTime": "2026-01-02T00:00:00Z", "batchStats": {"successfulRequestCount": "3"}}
    server = PathServer({"/v1/batches/b": [{"name": "batches/b", "metadata": about}]})
    status = asyncio.run(over(server, "google/tiny", lambda gemini: gemini.get_status("batches/b")))

    assert status.n_done == 3
    assert status.expires is not None
    assert status.expires.day == 2


ANSWERS = [{"metadata": {"key": "x"}, "error": {"code": 8, "message": "busy"}}]


@pytest.mark.parametrize(
    "operation",
    [
        {"response": {"inlinedResponses": {"inlinedResponses": ANSWERS}}},
        {"response": {"inlinedResponses": ANSWERS}},
        {"metadata": {"output": {"inlinedResponses": {"inlinedResponses": ANSWERS}}}},
        {"response": {}, "output": {"inlinedResponses": ANSWERS}},
        {"response": {"inlinedResponses": ANSWERS}, "output": {"inlinedResponses": ANSWERS}},
    ],
)
def test_results_are_found_at_each_place_where_they_stand_and_read_once(operation):
    async def read(gemini: BatchInterface) -> list[BatchResult]:
        return [result async for result in gemini.results("batches/b")]

    results = asyncio.run(over(PathServer({"/v1/batches/b": [operation]}), "google/tiny", read))
    assert [(result.name, result.status) for result in results] == [("x", 429)]


@pytest.mark.parametrize(("code", "status"), [(3, 400), ("5", 404), (7, 403), (16, 401), (13, 500), (None, 500)])
def test_an_error_has_the_status_that_a_call_would_have_had(code, status):
    answer = gemini_result({"metadata": {"key": "x"}, "error": {"code": code, "message": "m"}})

    assert (answer.name, answer.status) == ("x", status)
    assert json.loads(answer.text)["error"]["message"] == "m"
    assert "no response" in gemini_result({}).text


def response(**more: Any) -> dict[str, Any]:
    parts = [{"text": "Hm.", "thought": True}, {"text": "Sa"}, {"text": "fe"}]
    candidate = {"content": {"parts": parts}, "finishReason": "STOP"}
    return {"response": {"candidates": [candidate], "modelVersion": "gemini-x", **more}}


def test_a_response_is_read_as_a_chat_completion():
    usage = {
        "promptTokenCount": 5,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 3,
        "totalTokenCount": 10,
        "cachedContentTokenCount": 4,
    }
    reply = read_reply(gemini_result(response(usageMetadata=usage)).text)

    assert (reply.text, reply.finish_reason, reply.model_version) == ("Safe", "stop", "gemini-x")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (5, 5, 4)
    assert not read_reply(gemini_result(response()).text).usage.is_known


@pytest.mark.parametrize(
    ("candidate", "feedback", "ended"),
    [
        ({"finishReason": "SAFETY"}, {}, "content_filter"),
        ({}, {"blockReason": "OTHER"}, "content_filter"),
        ({"finishReason": "MAX_TOKENS"}, {}, "length"),
        ({"finishReason": "LANGUAGE"}, None, "language"),
    ],
)
def test_the_end_of_a_response_is_told_in_our_words(candidate, feedback, ended):
    answer = {"response": {"candidates": [candidate], "promptFeedback": feedback}}

    assert read_reply(gemini_result(answer).text).finish_reason == ended
