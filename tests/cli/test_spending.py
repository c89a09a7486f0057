"""Every command that spends keeps to its limit, against a server that counts what it bills."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from tests.support.command import invoke
from tests.support.fault_server import FaultServer, honest, prompt_of
from tests.support.served import served

from casewise.models.client import RetryPolicy

pytestmark = pytest.mark.slow

PRICE_IN, PRICE_OUT, LIMIT, CONCURRENCY, RETRIES = 10.0, 20.0, 0.4, 2, 2


FORMS: tuple[Any, ...] = ("plain", "outside", None, "words", "late", "huge", {}, "half", "total")


class Billing(FaultServer):
    """Bills every request, and reports its tokens in another form each time."""

    def __init__(self):
        super().__init__(refuse=self.bill, keep=False)
        self.costs: list[float] = []
        self.forms: Iterator[Any] = itertools.cycle(FORMS)

    def bill(self, _request, body):
        form, sent = next(self.forms), len(prompt_of(body)) // 4
        replied = 2010 if form in ("outside", "total") else min(300, body.get("max_tokens", 300))
        self.costs.append((sent * PRICE_IN + replied * PRICE_OUT) / 1e6)
        if form == "late":
            return web.json_response({"error": {"message": "too late"}}, status=504)
        usage = {
            "plain": {"prompt_tokens": sent, "completion_tokens": replied, "total_tokens": sent + replied},
            "outside": {"prompt_tokens": sent, "completion_tokens": 10, "total_tokens": sent + replied},
            "words": {"prompt_tokens": str(sent), "completion_tokens": str(replied)},
            "huge": {"prompt_tokens": 10**400, "completion_tokens": -1},
            "half": {"prompt_tokens": sent, "completion_tokens": None},
            "total": {"total_tokens": sent + replied},
        }
        return web.json_response(honest(body) | {"usage": usage[form] if isinstance(form, str) else form})


JUDGE = ("--judge", "vllm/tiny")
CLAIM = ("--attacks", "claim:authority/user/safe", "--noise", "none")
COMMANDS: dict[str, list[tuple[Any, ...]]] = {
    "judge": [("judge", "demo", *JUDGE, "--elicit", "binary,score", "--retry-unscored", 1)],
    "second reader": [("judge", "demo", *JUDGE, "--elicit", "score", "--reader", "vllm/reader")],
    "guard": [("judge", "demo", "--judge", "guard:shieldgemma@vllm/tiny")],
    "several judges": [("judge", "demo", *JUDGE, "--judge", "vllm/other")],
    "filter": [("attack", "demo", *JUDGE, *CLAIM, "--defences", "none,filter:vllm/filter")],
    "attacker": [("attack", "demo", *JUDGE, "--attacker", "vllm/attacker", "--turns", 2)],
    "chatbot": [("attack", "demo", "--model", "vllm/tiny", "--grader", "rubric:vllm/grader", *CLAIM, "--limit", 12)],
    "replies": [("replies", "collect", "demo", "--model", "vllm/tiny")],
    "graders": [
        ("replies", "collect", "demo", "--model", "fake/rehearsal"),
        ("replies", "grade", "run", "--grader", "rubric:vllm/one", "--grader", "rubric:vllm/two"),
    ],
    "writer": [
        ("contexts", "select", "demo", "--queries-only", "--draft", "trades", "--per-category", 2),
        ("contexts", "generate", "trades", "--model", "vllm/tiny"),
    ],
    "opinions": [
        ("contexts", "select", "demo", "--queries-only", "--draft", "trades", "--per-category", 2),
        ("contexts", "generate", "trades", "--model", "fake/contexts"),
        ("contexts", "check", "trades", "--ask", "vllm/tiny"),
    ],
}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(RetryPolicy, "wait_s", lambda *_, **__: 0.001)
    with served(Billing()) as server:
        yield server


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_passes_its_limit_by_more_than_the_calls_under_way(name, server):
    *before, command = COMMANDS[name]
    for words in before:
        assert invoke(*words, *(("--out", "run") if words[0] == "replies" else ())).code == 0
    address = "--model-url" if command[0] == "contexts" else "--base-url"
    to = () if command[1] in ("grade", "generate") else ("--out", "spending")
    how = ("--max-cost", LIMIT, "--price-in", PRICE_IN, "--price-out", PRICE_OUT, "--concurrency", CONCURRENCY)
    for _ in range(3):
        done = invoke(*command, address, server.url, *to, *how, "--retries", RETRIES)

    assert "the cost limit of $0.4" in done.output, done.output
    assert 0 < sum(server.costs) <= LIMIT + CONCURRENCY * (1 + RETRIES) * max(server.costs)
