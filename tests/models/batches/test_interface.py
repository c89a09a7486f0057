"""What each batch interface is sent, and how what it says is read."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from casewise.errors import ConfigurationError
from casewise.models.batches.named import batch_interface
from casewise.models.batches.openai import openai_result as landed
from casewise.models.batches.terms import TERMS, terms_of
from casewise.models.client import ClientOptions, EndpointClient
from casewise.models.endpoints import ENDPOINTS, Key, find_endpoint
from casewise.models.protocol import Rejected
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
    job="ab-1", what="intended", at=datetime(2026, 1, 1, tzinfo=UTC), model="tiny", path="chat/completions"
)
JOB = BatchJob("ab-1", INTENDED, file="file-1")


def interface(name):
    endpoint = find_endpoint(f"{name}/tiny", base_url=None, environment={"AZURE_OPENAI_ENDPOINT": "https://x.example"})
    return batch_interface(EndpointClient(endpoint, key=Key("sk-1234"), options=ClientOptions()), "tiny")


def line(name):
    return json.loads(interface(name).line("ab-x", "chat/completions", BODY))


def test_each_interface_is_sent_a_request_in_its_own_words():
    assert line("openai") == {"custom_id": "ab-x", "method": "POST", "url": "/v1/chat/completions", "body": BODY}
    assert line("mistral") == {"custom_id": "ab-x", "body": BODY}
    assert line("anthropic") == {
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
    assert line("google") == {
        "metadata": {"key": "ab-x"},
        "request": {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "Is it safe?"}]},
                {"role": "model", "parts": [{"text": "Perhaps."}]},
                {"role": "user", "parts": [{"text": "Say."}]},
            ],
            "generationConfig": {
                "maxOutputTokens": 64,
                "temperature": 0.0,
                "seed": 7,
                "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "object"},
            },
        },
    }


@pytest.mark.parametrize("name", ["anthropic", "google"])
def test_log_probabilities_are_refused_where_there_are_none(name):
    with pytest.raises(Rejected, match="log probabilities"):
        interface(name).line("ab-x", "chat/completions", {**BODY, "logprobs": True})


@pytest.mark.parametrize("name", ["anthropic", "google"])
def test_a_field_that_another_protocol_has_no_place_for_is_refused(name):
    with pytest.raises(ConfigurationError, match="reasoning_effort, top_k cannot be sent"):
        interface(name).line("ab-x", "chat/completions", {**BODY, "top_k": 1, "reasoning_effort": "low"})


def test_providers_with_other_words_for_the_shape_are_asked_in_them():
    mistral, together = interface("mistral"), interface("together")
    assert mistral.creation(JOB) == {
        "input_files": ["file-1"],
        "endpoint": "/v1/chat/completions",
        "model": "tiny",
        "timeout_hours": 24,
        "metadata": {"casewise": "ab-1"},
    }
    assert together.creation(JOB) == {
        "input_file_id": "file-1",
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
    }
    assert (together.purpose, together.upload_to, mistral.batches) == ("batch-api", "files/upload", "batch/jobs")
    assert together.parse_status({"job": {"id": "b", "status": "COMPLETED"}}).state == "completed"
    batch = mistral.parse_status({"id": "b", "status": "TIMEOUT_EXCEEDED", "succeeded_requests": 3})
    assert (batch.state, batch.n_done) == ("expired", 3)


def test_an_entry_that_expired_is_to_be_asked_again():
    expired = {"custom_id": "ab-x", "response": None, "error": {"code": "batch_expired", "message": "too late"}}

    assert landed(expired).status == 408


def test_the_key_goes_into_the_header_that_an_interface_wants():
    headers = {name: interface(name).wire._headers for name in ("openai", "azure", "anthropic", "google")}

    assert headers["openai"] == {"Authorization": "Bearer sk-1234"}
    assert headers["azure"] == {"api-key": "sk-1234"}
    assert headers["anthropic"] == {"x-api-key": "sk-1234", "anthropic-version": "2023-06-01"}
    assert headers["google"] == {"x-goog-api-key": "sk-1234"}
    assert interface("google").wire.base_url == "https://generativelanguage.googleapis.com/v1beta"


def test_every_hosted_endpoint_has_terms_with_a_source_or_is_refused():
    for name, endpoint in ENDPOINTS.items():
        if name in TERMS:
            assert TERMS[name].source.startswith("https://")
        elif not endpoint.key_optional:
            with pytest.raises(ConfigurationError, match="not known to have a batch interface"):
                terms_of(endpoint)
        else:
            assert terms_of(endpoint).discount == 0


def test_a_job_without_its_file_is_looked_for_by_nobody():
    assert asyncio.run(interface("openai").find(replace(JOB, file=None), ())) is None
