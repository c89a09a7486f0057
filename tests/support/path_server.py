"""A server on loopback that answers each path from a script, and keeps what it was asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from aiohttp import web
from tests.support.fault_server import FaultServer

from casewise.models.batches.interface import BatchInterface
from casewise.models.batches.named import batch_interface
from casewise.models.client import ClientOptions, EndpointClient, RetryPolicy
from casewise.models.endpoints import ApiKey, Extra, find_endpoint

T = TypeVar("T")

Answer = dict[str, Any] | str | tuple[int, Any] | tuple[int, Any, dict[str, str]]
"""JSON or a text, perhaps with a status and headers; `drop` ends the connection without an answer."""


@dataclass(frozen=True)
class Asked:
    """A request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class PathServer(FaultServer):
    """Answers each path by its list of answers, the last one again and again."""

    def __init__(self, answers: dict[str, list[Answer]]) -> None:
        super().__init__()
        self.answers = {path: list(listed) for path, listed in answers.items()}
        self.asked: list[Asked] = []

    def add_routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/{path:.*}", self.handle)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(Asked(request.method, request.path_qs, dict(request.headers), await request.read()))
        answers = self.answers[request.path]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == "drop":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        status, payload, headers = (*answer, {})[:3] if isinstance(answer, tuple) else (200, answer, {})
        if isinstance(payload, str):
            return web.Response(text=payload, status=status, headers=headers)
        return web.json_response(payload, status=status, headers=headers)


def client_of(server: PathServer, name: str, *, extra: Extra = Extra()) -> EndpointClient:
    """Return a quick client of a server that stands for the endpoint of the model called `name`."""
    endpoint = find_endpoint(name, base_url=server.url, environment={})
    options = ClientOptions(timeout_s=5.0, retry=RetryPolicy(2, 0.001, 0.001))
    return EndpointClient(endpoint, key=ApiKey("sk-1234"), options=options, extra=extra)


async def over(server: PathServer, name: str, work: Callable[[BatchInterface], Awaitable[T]]) -> T:
    """Return what comes of some work over the batch interface of an endpoint whose server this is."""
    async with server:
        interface = batch_interface(client_of(server, name), "tiny")
        try:
            return await work(interface)
        finally:
            await interface.wire.close()
