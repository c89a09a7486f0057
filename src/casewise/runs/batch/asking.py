"""One call at a time through a client that does not post: written down as a request, or answered by what has come of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from casewise.errors import LeftUnanswered
from casewise.models.batch.interface import BatchInterface
from casewise.models.http.capabilities import Capabilities
from casewise.models.http.client import Collected, EndpointClient, Exchange, Request, ToAskAgain

__all__ = ["Answered", "ThroughClient", "Written"]

A = TypeVar("A")
B = TypeVar("B")


class Written(Exception):
    """A request, as its interface wants it: raised where the client would have posted it."""

    def __init__(self, path: str, model: str, line: bytes) -> None:
        super().__init__(path)
        self.path, self.model, self.line = path, model, line


@dataclass(frozen=True)
class Answered(Generic[B]):
    """An answer."""

    value: B


@dataclass(frozen=True)
class ThroughClient(Generic[A, B]):
    """How an ask is answered, and the client through which that goes."""

    answer: Callable[[A], Awaitable[B]]
    client: EndpointClient
    interface: BatchInterface

    async def write(self, ask: A, name: str) -> Written | Answered[B]:
        """The request of `ask`; or its answer, where none is needed or the interface cannot be asked so."""

        def written(client: EndpointClient, request: Request[Any]) -> Collected:
            raise Written(
                request.path, request.model, self.interface.line(name, request.path, request.body(client.can))
            )

        try:
            return Answered(await self.through(written, ask))
        except Written as request:
            return request

    async def read(self, ask: A, *, status: int, text: str, can: dict[str, Any]) -> Answered[B] | None:
        """The answer that a result holds; None where it is none, and another try may bring one."""

        def come(_client: EndpointClient, _request: Request[Any]) -> Collected:
            return Collected(Exchange(status, {}, text, 0.0), Capabilities(**can))

        try:
            return Answered(await self.through(come, ask))
        except ToAskAgain:
            return None

    async def give_up(self, ask: A, why: str) -> Answered[B]:
        """The answer to an ask that no batch brought an answer to."""

        def failed(_client: EndpointClient, _request: Request[Any]) -> Collected:
            raise LeftUnanswered(why)

        return Answered(await self.through(failed, ask))

    async def through(self, instead: Callable[[EndpointClient, Request[Any]], Collected], ask: A) -> B:
        self.client.instead = instead
        try:
            return await self.answer(ask)
        finally:
            self.client.instead = None
