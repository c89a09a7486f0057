"""Batches as files of JSON lines, as OpenAI, Azure, Groq, Mistral and Together have them."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.models.batches.test_interface import BODY, JOB, interface, request_line
from tests.support.path_server import Answer, PathServer, over

from casewise.models.batches.interface import BatchInterface, BatchResult
from casewise.models.batches.openai import openai_result


def test_a_request_states_its_name_its_path_and_its_body():
    assert request_line("openai") == {
        "custom_id": "ab-x",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": BODY,
    }
    assert request_line("mistral") == {"custom_id": "ab-x", "body": BODY}


def test_providers_with_other_words_for_the_shape_are_asked_in_them():
    openai, mistral, together = (interface(name) for name in ("openai", "mistral", "together"))

    window = {"input_file_id": "file-1", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    assert openai.creation(JOB) == {**window, "metadata": {"casewise": "ab-1"}}
    assert together.creation(JOB) == window
    assert mistral.creation(JOB) == {
        "input_files": ["file-1"],
        "endpoint": "/v1/chat/completions",
        "model": "tiny",
        "timeout_hours": 24,
        "metadata": {"casewise": "ab-1"},
    }
    assert (together.purpose, together.upload_to, mistral.batches) == ("batch-api", "files/upload", "batch/jobs")


def test_the_state_of_a_batch_is_read_in_each_providers_words():
    together = interface("together").parse_status({"job": {"id": "b", "status": "COMPLETED"}})
    mistral = interface("mistral").parse_status({"id": "b", "status": "TIMEOUT_EXCEEDED", "succeeded_requests": 3})
    failed = {"id": "b", "status": "failed", "errors": {"data": [{"code": "c", "message": "m"}]}, "expires_at": 0}
    openai = interface("openai").parse_status(failed | {"request_counts": {"completed": 2}})

    assert (together.state, mistral.state, mistral.n_done) == ("completed", "expired", 3)
    assert (openai.state, openai.words, openai.n_done) == ("failed", "c m", 2)
    assert openai.expires is not None
    assert openai.expires.year == 1970
    assert interface("openai").parse_status({"id": 7, "status": "failed", "error": "e"}).words == "e"


def test_requests_are_uploaded_as_a_file_and_handed_over_by_its_id():
    server = PathServer({"/v1/files": [{"id": "file-1"}], "/v1/batches": [{"id": "b", "status": "validating"}]})

    async def create(openai: BatchInterface) -> Any:
        assert await openai.upload(JOB, [b"{1}", b"{2}"]) == "file-1"
        return await openai.create(JOB, [])

    assert asyncio.run(over(server, "openai/tiny", create)).state == "waiting"
    upload, creation = server.asked
    assert b'filename="casewise-ab-1.jsonl"' in upload.body
    assert b"{1}\n{2}\n" in upload.body
    assert b'name="purpose"\r\n\r\nbatch\r\n' in upload.body
    assert b'name="file_name"\r\n\r\ncasewise-ab-1.jsonl\r\n' in upload.body
    assert json.loads(creation.body)["input_file_id"] == "file-1"


@pytest.mark.parametrize(
    ("record", "is_found"),
    [
        ({"metadata": {"casewise": "ab-1"}}, True),
        ({"input_file_id": "file-1", "metadata": None}, True),
        ({"input_files": ["file-1"]}, True),
        ({"metadata": {"casewise": "ab-2"}, "input_file_id": "file-2"}, False),
    ],
)
def test_a_job_is_found_by_its_mark_or_its_file(record, is_found):
    server = PathServer({"/v1/batches": [{"data": [{"id": "other"}, {"id": "b", "status": "completed"} | record]}]})
    batch = asyncio.run(over(server, "openai/tiny", lambda openai: openai.find(JOB, ())))

    assert getattr(batch, "id", None) == ("b" if is_found else None)


def test_a_job_without_its_file_is_not_searched_for():
    assert asyncio.run(interface("openai").find(replace(JOB, file=None), ())) is None


def test_a_listing_is_read_page_by_page():
    pages: list[Answer] = [{"data": [{"id": "b1"}], "has_more": True}, {"data": [{"id": "b2"}], "has_more": False}]
    server = PathServer({"/v1/batches": pages})

    assert asyncio.run(over(server, "openai/tiny", lambda openai: openai.find(JOB, ()))) is None
    assert [request.path for request in server.asked] == ["/v1/batches?limit=100", "/v1/batches?limit=100&after=b1"]


def test_no_more_than_twenty_pages_of_a_listing_are_read():
    server = PathServer({"/v1/batches": [{"data": [{"id": "b1"}], "has_more": True}]})

    assert asyncio.run(over(server, "openai/tiny", lambda openai: openai.find(JOB, ()))) is None
    assert len(server.asked) == 20


@pytest.mark.parametrize("keys", [("output_file_id", "error_file_id"), ("output_file", "error_file")])
def test_results_are_those_of_the_output_and_of_the_errors(keys):
    record = {"id": "b", **dict(zip(keys, ("o", "e"), strict=True))}
    server = PathServer(
        {
            "/v1/batches/b": [{"job": record}],
            "/v1/files/o/content": ['{"custom_id": "x", "response": {"status_code": 200, "body": {"a": 1}}}\n'],
            "/v1/files/e/content": ['{"custom_id": "y", "error": {"code": "batch_expired"}}\n'],
        }
    )

    async def read(openai: BatchInterface) -> list[BatchResult]:
        return [result async for result in openai.results("b")]

    assert asyncio.run(over(server, "openai/tiny", read)) == [
        ("x", 200, '{"a": 1}'),
        ("y", 408, '{"code": "batch_expired"}'),
    ]


@pytest.mark.parametrize(
    ("line", "status", "text"),
    [
        ({"response": {"status_code": 200, "body": "as it is"}}, 200, "as it is"),
        ({"response": {"body": {}}}, 200, "{}"),
        ({"response": None, "error": {"code": "batch_expired"}}, 408, '{"code": "batch_expired"}'),
        ({"response": {"status_code": 429}, "error": {"code": "c"}}, 429, '{"code": "c"}'),
        ({"error": "no words"}, 500, "no words"),
        ({"response": {"status_code": 400, "body": {"e": 1}}, "error": {"code": "c"}}, 400, '{"e": 1}'),
    ],
)
def test_a_line_of_results_has_the_status_and_the_body_of_an_answer(line, status, text):
    assert openai_result({"custom_id": "x"} | line) == ("x", status, text)
