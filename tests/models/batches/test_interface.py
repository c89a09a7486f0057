"""What all batch interfaces have in common: how the words of providers are read."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from casewise.errors import ConfigurationError, Unavailable
from casewise.models.batches.interface import (
    BatchResult,
    BatchStatus,
    completion,
    documented_shape,
    failure_words,
    join_texts,
    optional_count,
    parse_time,
    read_result,
    split_system,
    state_of,
)
from casewise.models.batches.named import batch_interface
from casewise.models.client import ClientOptions, EndpointClient
from casewise.models.endpoints import ApiKey, find_endpoint
from casewise.storage.batch_jobs import BatchJob, JobEvent

BODY: dict[str, Any] = {
    "model": "tiny",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Is it safe?"},
        {"role": "assistant", "content": "Perhaps."},
        {"role": "user", "content": "Say."},
    ],
    "max_tokens": 64,
    "temperature": 0.0,
    "seed": 7,
    "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": {"type": "object"}}},
}
INTENDED = JobEvent(
    job="ab-1", stage="intended", at=datetime(2026, 1, 1, tzinfo=UTC), model="tiny", path="chat/completions"
)
JOB = BatchJob("ab-1", INTENDED, file="file-1")


def interface(name):
    endpoint = find_endpoint(f"{name}/tiny", base_url=None, environment={"AZURE_OPENAI_ENDPOINT": "https://x.example"})
    return batch_interface(EndpointClient(endpoint, key=ApiKey("sk-1234"), options=ClientOptions()), "tiny")


def request_line(name, body=None):
    """A request in the form of an interface."""
    return json.loads(interface(name).line("ab-x", "chat/completions", body or BODY))


@pytest.mark.parametrize("name", ["anthropic", "google"])
def test_a_field_that_another_protocol_has_no_place_for_is_refused(name):
    with pytest.raises(ConfigurationError, match="reasoning_effort, top_k cannot be sent"):
        request_line(name, {**BODY, "top_k": 1, "reasoning_effort": "low"})


def test_system_messages_stand_apart_from_the_turns():
    turns, system = split_system(BODY)

    assert (turns, system) == (BODY["messages"][1:], ["Be brief."])


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("completed", "completed"),
        ("ended", "completed"),
        ("SUCCESS", "completed"),
        ("BATCH_STATE_SUCCEEDED", "completed"),
        ("JOB_STATE_CANCELLED", "cancelled"),
        ("TIMEOUT_EXCEEDED", "expired"),
        ("failed", "failed"),
        ("in_progress", "waiting"),
        ("finalizing", "waiting"),
        (None, "waiting"),
    ],
)
def test_a_word_that_is_not_known_is_no_end(word, state):
    assert state_of(word) == state
    assert BatchStatus("b", state_of(word)).has_ended == (state != "waiting")


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (None, ""),
        ("full", "full"),
        ({"data": [{"code": "c", "message": "m"}, {"message": "n"}]}, "c m"),
        ({"message": "m"}, "m"),
        ([], ""),
        ({"data": []}, ""),
        ([{"code": 7}], "7"),
        ({"message": "m" * 400}, "m" * 300),
        ("m" * 400, "m" * 300),
    ],
)
def test_a_failure_is_told_by_the_first_error(errors, words):
    assert failure_words(errors) == words


@pytest.mark.parametrize(
    ("value", "count"), [(3, 3), ("12", 12), (0, 0), (-1, None), ("", None), (None, None), (2.5, None)]
)
def test_a_count_may_be_written_as_text(value, count):
    assert optional_count(value) == count


@pytest.mark.parametrize(
    ("value", "hour"),
    [(3600, 1), (3600.5, 1), ("1970-01-01T01:00:00", 1), ("1970-01-01T03:00:00+02:00", 1), ("1970-01-01T01:00:00Z", 1)],
)
def test_a_time_is_in_utc_unless_it_says_otherwise(value, hour):
    at = parse_time(value)

    assert at is not None
    assert at.astimezone(UTC).replace(minute=0, second=0, microsecond=0) == datetime(1970, 1, 1, hour, tzinfo=UTC)
    assert at.utcoffset() in (timedelta(), timedelta(hours=2))


@pytest.mark.parametrize("value", [None, "soon", 1e30, float("nan"), [], {}])
def test_what_is_no_time_is_none(value):
    assert parse_time(value) is None


def test_an_answer_of_another_shape_is_an_error_that_names_the_provider():
    with (
        pytest.raises(
            Unavailable, match=r"acme sent an answer that does not match its documentation \(KeyError: 'id'\)"
        ),
        documented_shape("acme"),
    ):
        BODY["id"]
    with pytest.raises(ZeroDivisionError), documented_shape("acme", ZeroDivisionError):
        int("x")


def test_a_line_that_cannot_be_read_is_a_fault_of_its_own_request_alone():
    def results(status: int) -> BatchResult:
        return read_result(lambda line: BatchResult(line["name"], status, "t"), {"name": "x"})

    assert [results(status).status for status in (199, 200, 599, 600)] == [500, 200, 599, 500]
    assert read_result(lambda line: line["name"], {"other": 1}) == ("", 500, '{"other": 1}')


def test_a_chat_completion_has_its_reasoning_only_where_there_is_some():
    plain, reasoned = completion("m", "t", "stop", {"a": 1}), completion("m", "t", "stop", {}, "r")

    assert plain == {
        "model": "m",
        "choices": [{"message": {"content": "t"}, "finish_reason": "stop"}],
        "usage": {"a": 1},
    }
    assert reasoned["choices"][0]["message"] == {"content": "t", "reasoning": "r"}
    assert join_texts([{"text": "a"}, {"text": None}, {}, {"text": 3}]) == "a3"
