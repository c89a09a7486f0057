"""A run pauses where hardly one of its first replies gives a verdict, and ends with 4 where items got no answer."""

import json

import pytest
from aiohttp import web
from tests.support.command import invoke as command
from tests.support.fault_server import FaultServer, completion, honest
from tests.support.served import served

SILLY = "<|endoftext|>"


def judging(command, server, folder, *more):
    with served(server):
        return command(
            "judge",
            "demo",
            "--judge",
            "vllm/tiny",
            "--base-url",
            server.url,
            "--out",
            folder,
            "--concurrency",
            4,
            *more,
        )


def saying(text, *, but=()):
    """Says `text`, other than at calls with these numbers."""
    calls = iter(range(10**6))
    return FaultServer(
        refuse=lambda _request, body: web.json_response(honest(body) if next(calls) in but else completion(body, text))
    )


def test_a_server_that_says_nothing_readable_costs_some_fifty_calls(tmp_path):
    server = saying(SILLY)
    result = judging(command, server, tmp_path / "run")

    assert result.code == 4
    assert 50 <= len(server.bodies) < 60
    assert result.err.count(json.dumps(SILLY)) == 3
    assert "0 of the first 50 replies could be read" in result.err
    assert "--structured" in result.err
    assert "--reader" in result.err
    server = saying(SILLY)
    assert judging(command, server, tmp_path / "run").code == 5, "the same command asks for the rest and pauses no more"
    assert 30 < len(server.bodies) <= 40


@pytest.mark.parametrize(("n_read", "code"), [(4, 4), (5, 0)])
def test_it_pauses_below_five_of_fifty(tmp_path, n_read, code):
    result = judging(command, saying(SILLY, but=range(n_read)), tmp_path / "run")

    assert result.code == code


def test_a_plan_of_fewer_calls_is_asked_to_its_end(tmp_path):
    server = saying(SILLY)
    result = judging(command, server, tmp_path / "run", "--limit", 20)

    assert (result.code, len(server.bodies)) == (5, 20)


@pytest.mark.slow
def test_items_that_got_no_answer_end_the_command_with_4_and_are_asked_by_the_next(tmp_path):
    server = FaultServer(refuse=failing(times=3))
    result = judging(command, server, tmp_path / "run", "--retries", 0)
    assert result.code == 4
    assert "3 items got no answer; the same command asks for them again" in result.err

    again = FaultServer()
    result = judging(command, again, tmp_path / "run", "--json")
    assert (result.code, len(again.bodies)) == (0, 3)
    assert "unavailable" not in json.loads(result.out)


def failing(times):
    left = iter(range(times))
    return lambda _request, _body: (
        web.json_response({"error": {"message": "overloaded"}}, status=503) if next(left, None) is not None else None
    )
