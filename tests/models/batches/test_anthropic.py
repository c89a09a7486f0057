"""Anthropic's Message Batches."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from tests.models.batches.test_interface import BODY, JOB, interface, request_line
from tests.support.path_server import Answer, PathServer, over

from casewise.models.batches.anthropic import anthropic_result
from casewise.models.batches.interface import BatchStatus
from casewise.models.protocol import Rejected
from casewise.models.wire import read_reply
from casewise.storage.batch_jobs import BatchJob

CREATED = JOB.intended.at


def test_a_request_is_a_message_in_anthropics_words():
    assert request_line("anthropic") == {
        "custom_id": "ab-x",
        "params": {
            "model": "tiny",
            "max_tokens": 64,
            "temperature": 0.0,
            "system": "Be brief.",
            "messages": BODY["messages"][1:],
            "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
        },
    }
    bare = {"model": "tiny", "messages": BODY["messages"][1:], "max_completion_tokens": 9, "top_p": 0.5}
    params = {"model": "tiny", "max_tokens": 9, "messages": BODY["messages"][1:], "top_p": 0.5}
    assert request_line("anthropic", bare)["params"] == params


def test_log_probabilities_are_refused():
    with pytest.raises(Rejected, match="Anthropic gives no log probabilities") as refused:
        request_line("anthropic", {**BODY, "logprobs": True})
    assert refused.value.reason == "no_logprobs"


def record(**more: Any) -> dict[str, Any]:
    counts = {"processing": 0, "succeeded": 2, "errored": 1}
    return {
        "id": "b",
        "processing_status": "ended",
        "request_counts": counts,
        "created_at": CREATED.isoformat(),
        **more,
    }


def test_the_state_of_a_batch_has_its_size_and_its_times():
    expires = CREATED + timedelta(days=1)
    status = interface("anthropic").parse_status(record(expires_at=expires.isoformat()))

    assert status == BatchStatus("b", "completed", expires, n_done=2, size=3, created=CREATED)
    bare = interface("anthropic").parse_status({"id": "b", "processing_status": "in_progress"})
    assert (bare.state, bare.size, bare.n_done) == ("waiting", 0, None)


def test_requests_go_inline():
    server = PathServer({"/v1/messages/batches": [record()]})
    asyncio.run(over(server, "anthropic/tiny", lambda batches: batches.create(JOB, [b'{"n": 1}', b'{"n": 2}'])))

    assert json.loads(server.asked[0].body) == {"requests": [{"n": 1}, {"n": 2}]}


def found(*records: dict[str, Any], results: Answer = "", others: tuple[str, ...] = ()) -> Any:
    """Return the batch that is found for a job of three requests, and the requests of the search."""
    server = PathServer(
        {"/v1/messages/batches": [{"data": list(records)}], "/v1/messages/batches/b/results": [results]}
    )
    job = BatchJob(JOB.mark, JOB.intended.model_copy(update={"names": ("ab-1", "ab-2", "ab-3")}))
    batch = asyncio.run(over(server, "anthropic/tiny", lambda batches: batches.find(job, others)))
    return getattr(batch, "id", batch), len(server.asked)


OWN = '{"custom_id": "ab-2", "result": {"type": "expired"}}\n'


def test_a_job_is_found_by_the_name_of_a_request_of_its_size():
    assert found(record(), results=OWN) == ("b", 2)
    assert found(record(), results=OWN.replace("ab-2", "cd-1")) == (None, 2)
    assert found(record(request_counts={"succeeded": 4}), results=OWN) == (None, 1)


def test_a_batch_of_another_job_is_not_taken_for_this_one():
    assert found(record(), results=OWN, others=("b",)) == (None, 1)


def test_a_batch_that_has_not_ended_may_be_the_one():
    waiting = record(id="w", processing_status="in_progress")

    assert found(waiting) == ("perhaps", 1)
    assert found(waiting, record(), results=OWN) == ("b", 2)


@pytest.mark.parametrize(("minutes", "is_looked_at"), [(4, True), (6, False)])
def test_the_search_ends_at_batches_that_are_older_than_the_job(minutes, is_looked_at):
    created = (JOB.intended.at - timedelta(minutes=minutes)).isoformat()

    assert found(record(created_at=created), results=OWN) == (("b", 2) if is_looked_at else (None, 1))


@pytest.mark.parametrize(
    ("result", "status", "message"),
    [
        ({"type": "errored", "error": {"error": {"type": "invalid_request_error", "message": "m"}}}, 400, "m"),
        ({"type": "errored", "error": {"type": "overloaded_error", "message": "m"}}, 529, "m"),
        ({"type": "errored", "error": {"type": "api_error", "message": "m"}}, 500, "m"),
        ({"type": "expired"}, 408, "the request was expired"),
        ({}, 408, "the request was not answered"),
    ],
)
def test_a_request_without_a_message_has_the_status_that_a_call_would_have_had(result, status, message):
    read = anthropic_result({"custom_id": "x", "result": result})

    assert (read.name, read.status) == ("x", status)
    assert json.loads(read.text)["error"]["message"] == message


def test_a_message_is_read_as_a_chat_completion():
    content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Sa"}, {"type": "text", "text": "fe"}]
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 3, "output_tokens": 7}
    message = {"model": "claude", "content": content, "usage": usage, "stop_reason": "max_tokens"}
    result = anthropic_result({"custom_id": "x", "result": {"type": "succeeded", "message": message}})
    reply = read_reply(result.text)

    assert result.status == 200
    assert (reply.text, reply.reasoning, reply.finish_reason, reply.model_version) == (
        "Safe",
        "Hm.",
        "length",
        "claude",
    )
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (10, 7, 3)


@pytest.mark.parametrize(("said", "ended"), [("end_turn", "stop"), ("refusal", "content_filter"), ("pause", "pause")])
def test_the_end_of_a_message_is_told_in_our_words(said, ended):
    message = {"content": [{"type": "text", "text": "."}], "stop_reason": said}
    reply = read_reply(anthropic_result({"result": {"type": "succeeded", "message": message}}).text)

    assert reply.finish_reason == ended
    assert not reply.usage.is_known
    assert reply.reasoning is None
