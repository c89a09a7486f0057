"""Requests to a batch interface over a server on loopback: what is repeated, and what may have been accepted."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, TypeVar

import pytest
from tests.support.path_server import Answer, PathServer, client_of

from casewise.errors import ModelError, Unauthorised, Unavailable
from casewise.models.batches.wire import AcceptanceUnknown, BatchWire, ResourceGone
from casewise.models.endpoints import ApiKey, Extra
from casewise.models.protocol import Rejected

T = TypeVar("T")
BUSY: Answer = (503, {"error": {"message": "busy"}})


def wired(server: PathServer, work: Callable[[BatchWire], Awaitable[T]], *, extra: Extra = Extra()) -> T:
    """Return what comes of some work over a wire to a server."""

    async def go() -> T:
        async with server:
            client = client_of(server, "openai/tiny", extra=extra)
            wire = BatchWire(client, model="tiny", base_url=server.url, headers=client.key_header())
            try:
                return await work(wire)
            finally:
                await wire.close()

    return asyncio.run(go())


def lines_of(server: PathServer) -> list[dict[str, Any]]:
    async def read(wire: BatchWire) -> list[dict[str, Any]]:
        return [line async for line in wire.lines("r")]

    return wired(server, read)


def test_a_question_is_asked_again_until_there_is_an_answer():
    server = PathServer({"/v1/b": [BUSY, "drop", {"id": "b-1"}]})

    assert wired(server, lambda wire: wire.get("b")) == {"id": "b-1"}
    assert [(request.method, request.path) for request in server.asked] == [("GET", "/v1/b")] * 3


@pytest.mark.parametrize(("answer", "problem"), [(BUSY, "answered 503: busy"), ("<html>", "a page of HTML")])
def test_a_question_without_an_answer_is_unavailable_after_its_tries(answer, problem):
    with pytest.raises(Unavailable, match=rf"{problem}.*\(tried 3 times\)"):
        wired(PathServer({"/v1/b": [answer]}), lambda wire: wire.get("b"))


@pytest.mark.parametrize("answer", ["drop", BUSY, (200, "<html>")])
def test_a_batch_that_may_have_been_accepted_is_posted_once(answer):
    server = PathServer({"/v1/b": [answer, {"id": "b-1"}]})
    with pytest.raises(AcceptanceUnknown):
        wired(server, lambda wire: wire.post("b", {"a": 1}))

    assert [request.body for request in server.asked] == [b'{"a": 1}']
    assert server.asked[0].headers["Content-Type"] == "application/json"


def test_a_batch_that_a_busy_server_has_not_accepted_is_posted_again():
    server = PathServer({"/v1/b": [(429, {"error": {"message": "slow down"}}), {"id": "b-1"}]})

    assert wired(server, lambda wire: wire.post("b", b"{}")) == {"id": "b-1"}


def test_a_batch_that_reached_no_server_is_posted_again_and_then_unavailable():
    async def post(wire: BatchWire) -> None:
        wire.base_url = "http://127.0.0.1:9/v1"
        await wire.post("b", b"{}")

    with pytest.raises(Unavailable, match=r"openai at http://127\.0\.0\.1:9/v1: .*\(tried 3 times\)"):
        wired(PathServer({}), post)


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [(400, "too long", Rejected), (401, "wrong key", Unauthorised), (404, "no such path", Unauthorised)],
)
def test_a_refusal_is_raised_as_that_of_a_call(status, message, error):
    with pytest.raises(error, match=message):
        wired(PathServer({"/v1/b": [(status, {"error": {"message": message}})]}), lambda wire: wire.post("b", b"{}"))


@pytest.mark.parametrize("status", [404, 410])
def test_a_resource_that_no_longer_exists_is_gone(status):
    for work in (lambda wire: wire.get("r"), lambda wire: anext(wire.lines("r"))):
        with pytest.raises(ResourceGone):
            wired(PathServer({"/v1/r": [(status, {})]}), work)


def test_a_file_is_uploaded_with_its_name_and_fields_as_often_as_needed():
    server = PathServer({"/v1/files": [BUSY, {"id": "f"}]})
    upload = wired(
        server, lambda wire: wire.upload("files", name="a.jsonl", content=b"{}\n", fields={"purpose": "batch"})
    )

    assert upload == {"id": "f"}
    for request in server.asked:
        assert request.headers["Content-Type"].startswith("multipart/form-data")
        assert b'filename="a.jsonl"' in request.body
        assert b"application/jsonl" in request.body
        assert b"batch" in request.body


def test_lines_of_results_are_read_without_those_that_are_no_json():
    assert lines_of(PathServer({"/v1/r": ['{"n": 1}\n<html>\n\n{"n": 2}']})) == [{"n": 1}, {"n": 2}]
    assert lines_of(PathServer({"/v1/r": ['\ufeff{"n": 1}\n']})) == [{"n": 1}]
    assert lines_of(PathServer({"/v1/r": [""]})) == []


@pytest.mark.parametrize("text", ["<html>\n<body>\n", '{"n": 1}\n{"n": '])
def test_results_of_which_no_line_is_json_or_that_are_cut_off_are_unavailable(text):
    with pytest.raises(Unavailable, match="a line of its results is not JSON"):
        lines_of(PathServer({"/v1/r": [text]}))


def test_results_that_a_server_does_not_give_now_stay_at_the_provider():
    with pytest.raises(Unavailable, match="answered 300 for its results; they stay at the provider"):
        lines_of(PathServer({"/v1/r": [(300, {})]}))


def test_a_moment_of_the_servers_clock_is_told_by_this_machines():
    ahead = {"Date": format_datetime(datetime.now(UTC) + timedelta(hours=2))}
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)

    async def converted(wire: BatchWire) -> list[datetime | None]:
        before = wire.by_our_clock(moment)
        await wire.get("b")
        return [before, wire.by_our_clock(moment), wire.by_our_clock(None)]

    before, after, nothing = wired(PathServer({"/v1/b": [(200, {}, ahead)]}), converted)
    assert (before, nothing) == (moment, None)
    assert after is not None
    assert abs(moment - timedelta(hours=2) - after) < timedelta(seconds=5)


def test_a_request_has_the_key_and_the_further_parts_of_every_call():
    server = PathServer({"/v1/b": [{}]})
    extra = Extra({"api-version": "1"}, {}, {"X-Team": "TEAM"}, {"X-Team": ApiKey("blue")})
    wired(server, lambda wire: wire.get("b"), extra=extra)

    (request,) = server.asked
    assert request.path == "/v1/b?api-version=1"
    assert (request.headers["X-Team"], request.headers["Authorization"]) == ("blue", "Bearer sk-1234")


def test_a_key_that_a_server_repeats_is_neither_in_an_error_nor_in_a_result():
    with pytest.raises(ModelError, match=r"wrong key \[key\]"):
        wired(PathServer({"/v1/b": [(401, {"error": {"message": "wrong key sk-1234"}})]}), lambda wire: wire.get("b"))
    assert lines_of(PathServer({"/v1/r": ['{"said": "sk-1234"}\n']})) == [{"said": "[key]"}]


def test_a_redirect_is_followed_for_a_question_and_never_for_a_batch():
    server = PathServer({"/v1/b": [(302, {}, {"Location": "/v1/c"})], "/v1/c": [{"id": "c"}]})

    assert wired(server, lambda wire: wire.get("b")) == {"id": "c"}
    with pytest.raises(Unauthorised, match="answered 302"):
        wired(PathServer({"/v1/b": [(302, {}, {"Location": "/v1/c"})]}), lambda wire: wire.post("b", b"{}"))
