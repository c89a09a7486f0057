"""A chat-completions server on loopback that can throw every fault a real one does.

    python -m tests.support.fault_server --port 8123 --fail 0.3 --latency 0.05

starts one to try casewise against, without a key: `--base-url http://127.0.0.1:8123/v1`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import math
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from time import time
from typing import Any, Self

from aiohttp import web

Body = dict[str, Any]
Fault = Callable[[web.Request, Body], Awaitable[web.StreamResponse]]


def prompt_of(body: Body) -> str:
    return "\n".join(message["content"] for message in body["messages"])


def share_of(prompt: str) -> float:
    return int.from_bytes(hashlib.blake2b(prompt.encode(), digest_size=4).digest(), "big") / 2**32


def completion(body: Body, content: str | None, **choice: Any) -> Body:
    prompt = prompt_of(body) + "".join(map(str, body.get("chat_template_kwargs", {}).values()))
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": f"{body['model']}-2026-01-01",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content},
                "finish_reason": "stop",
                "logprobs": None,
                **choice,
            }
        ],
        "usage": {
            "prompt_tokens": len(prompt) // 4,
            "completion_tokens": 10,
            "total_tokens": len(prompt) // 4 + 10,
        },
    }


def honest(body: Body) -> Body:
    """A well-formed answer to any of our elicitations that hangs on the prompt alone."""
    prompt = prompt_of(body)
    share = share_of(prompt)
    verdict = "safe" if share > 0.5 else "unsafe"
    if body.get("logprobs"):
        safe = min(max(share, 0.001), 0.999) * 0.98
        listed = sorted({"safe": safe, "unsafe": 0.98 - safe, "The": 0.01}.items(), key=lambda pair: -pair[1])
        top = [{"token": token, "logprob": math.log(p), "bytes": None} for token, p in listed]
        content = [{**top[0], "top_logprobs": top[: body.get("top_logprobs", 0)]}]
        return completion(body, listed[0][0], logprobs={"content": content}, finish_reason="length")
    value: Any = 1 + int(share * 10) if "between 1 and 10" in prompt else verdict
    return completion(body, json.dumps({"judgement": value, "explanation": "As the circumstances say."}))


def status(code: int, message: str, **headers: str) -> Fault:
    async def fault(request: web.Request, body: Body) -> web.StreamResponse:
        return web.json_response(
            {"error": {"message": message, "type": f"e{code}", "code": None}}, status=code, headers=headers
        )

    return fault


async def later_as_date(request: web.Request, body: Body) -> web.StreamResponse:
    return web.json_response(
        {"error": {"message": "slow down"}},
        status=429,
        headers={"Retry-After": formatdate(time() + 1, usegmt=True)},
    )


async def slow(request: web.Request, body: Body) -> web.StreamResponse:
    await asyncio.sleep(request.app[SERVER].slow_s)
    return web.json_response(honest(body))


async def reset(request: web.Request, body: Body) -> web.StreamResponse:
    """Half a body, then the connection is gone."""
    text = json.dumps(honest(body)).encode()
    response = web.StreamResponse(headers={"Content-Length": str(len(text)), "Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(text[: len(text) // 2])
    assert request.transport is not None
    request.transport.abort()
    return response


async def torn_json(request: web.Request, body: Body) -> web.StreamResponse:
    text = json.dumps(honest(body))
    return web.Response(text=text[: len(text) // 2], content_type="application/json")


async def wrong_shape(request: web.Request, body: Body) -> web.StreamResponse:
    return web.json_response({"result": "ok", "choices": []})


def content(text: str | None, **choice: Any) -> Fault:
    async def fault(request: web.Request, body: Body) -> web.StreamResponse:
        return web.json_response(completion(body, text, **choice))

    return fault


async def html(request: web.Request, body: Body) -> web.StreamResponse:
    return web.Response(text="<html><body><h1>Bad gateway</h1></body></html>", status=502, content_type="text/html")


async def html_as_success(request: web.Request, body: Body) -> web.StreamResponse:
    return web.Response(text="<!doctype html><title>Sign in</title>", content_type="text/html")


SORRY = {"token": "Sorry", "logprob": -0.01, "bytes": None}


async def moderate(request: web.Request) -> web.StreamResponse:
    share = share_of((await request.json())["input"])
    return web.json_response(
        {"model": "mod-1", "results": [{"category_scores": {"violence": share, "illicit": share / 2}}]}
    )


async def list_models(request: web.Request) -> web.StreamResponse:
    return web.json_response({"object": "list", "data": [{"id": "tiny", "object": "model"}]})


FAULTS: dict[str, Fault] = {
    "429": status(429, "slow down"),
    "429 retry-after": status(429, "slow down", **{"Retry-After": "0.05"}),
    "429 date": later_as_date,
    "500": status(500, "internal error"),
    "502": status(502, "bad gateway"),
    "503": status(503, "overloaded"),
    "slow": slow,
    "reset": reset,
    "torn json": torn_json,
    "wrong shape": wrong_shape,
    "empty": content(""),
    "null": content(None),
    "length": content('{"judgement": "sa', finish_reason="length"),
    "content filter": content("", finish_reason="content_filter"),
    "html": html,
    "html as success": html_as_success,
    "no logprobs": content("safe"),
    "no label token": content(
        "Sorry", logprobs={"content": [{**SORRY, "top_logprobs": [SORRY]}]}, finish_reason="length"
    ),
    "refusal": content("I'm sorry, but I can't help with that."),
    "400": status(400, "the prompt is too long"),
    "400 filter": status(400, "blocked by the content management policy"),
}


@dataclass
class FaultServer:
    """A server that answers honestly, but for a share `fail` of its answers.

    `script` gives the first answers one by one (a fault's name, or `ok`); `refuse` looks at each body first and may
    return an answer of its own. `prompts` counts how often each prompt was answered.
    """

    fail: float = 0.0
    latency_s: float = 0.0
    slow_s: float = 5.0
    seed: int = 0
    faults: Sequence[str] = tuple(FAULTS)
    script: list[str] = field(default_factory=list)
    refuse: Callable[[web.Request, Body], web.Response | None] | None = None
    bodies: list[Body] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    thrown: Counter[str] = field(default_factory=Counter)
    prompts: Counter[str] = field(default_factory=Counter)
    most_in_flight: int = 0
    keep: bool = True

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._in_flight = 0
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def start(self, port: int = 0) -> None:
        app = web.Application(client_max_size=2**24)
        app[SERVER] = self
        self.add_routes(app)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/chat/completions", self._answer)
        app.router.add_post("/v1/moderations", moderate)
        app.router.add_get("/v1/models", list_models)

    async def stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            if self.keep:
                self.bodies.append(body)
                self.headers.append(dict(request.headers))
            if self.refuse is not None and (refused := self.refuse(request, body)) is not None:
                return refused
            if self.latency_s:
                await asyncio.sleep(self.latency_s)
            return await self._fault_or_answer(request, body)
        finally:
            self._in_flight -= 1

    async def _fault_or_answer(self, request: web.Request, body: Body) -> web.StreamResponse:
        name = self._next()
        self.thrown[name] += 1
        if name != "ok":
            return await FAULTS[name](request, body)
        if self.keep:
            self.prompts[prompt_of(body)] += 1
        return web.json_response(honest(body))

    def _next(self) -> str:
        if self.script:
            return self.script.pop(0)
        if self.fail and self._rng.random() < self.fail:
            return self._rng.choice(list(self.faults))
        return "ok"


SERVER = web.AppKey("server", FaultServer)


def replying(text: str | Callable[[Body], str], **choice: Any) -> FaultServer:
    """A server that replies a text, or what a function makes of each request's body."""

    def reply(_request: web.Request, body: Body) -> web.Response:
        return web.json_response(completion(body, text(body) if callable(text) else text, **choice))

    return FaultServer(refuse=reply)


def refusing(message: str, status: int = 400, *, field: str | None = None, code: str | None = None) -> FaultServer:
    """A server that refuses every body, or every one that holds a field."""

    def refuse(_request: web.Request, body: Body) -> web.Response | None:
        if field is not None and field not in body:
            return None
        return web.json_response({"error": {"message": message, "code": code}}, status=status)

    return FaultServer(refuse=refuse)


async def serve(arguments: argparse.Namespace) -> None:
    server = FaultServer(fail=arguments.fail, latency_s=arguments.latency, seed=arguments.seed, keep=False)
    await server.start(arguments.port)
    print(f"answering at {server.url}, failing {server.fail:.0%} of the time", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description="A chat-completions server that can throw every fault a real one does."
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--fail", type=float, default=0.0, help="share of answers that are faulty")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds before each answer")
    parser.add_argument("--seed", type=int, default=0)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
