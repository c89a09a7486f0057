"""Requests to a batch interface. What may be repeated is repeated; of what may not, it is said whether anybody knows what became
of it."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import lazy_loader

from casewise.errors import ModelError, Unavailable
from casewise.models.http.client import EndpointClient, cannot_connect
from casewise.models.http.outage import CONNECT_WITHIN_S
from casewise.models.http.retry import Fault, meaning
from casewise.models.http.wire import WrongShape, parsed, read_error

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = lazy_loader.load("aiohttp")

__all__ = ["BatchWire", "Gone", "NobodyKnows"]

GONE = frozenset({404, 410})


class NobodyKnows(Exception):
    """A request that must not be repeated was sent, and no answer tells whether it was accepted."""


class Gone(Exception):
    """What was asked for is not there any more."""


class BatchWire:
    """A client's endpoint, key and patience, for the requests that batches take."""

    def __init__(self, client: EndpointClient, *, model: str, base_url: str, headers: Mapping[str, str]) -> None:
        self.client, self.model, self.base_url = client, model, base_url
        self._headers = dict(headers)
        self._rng = random.Random()  # noqa: S311 - spreads retries; no result depends on it
        self._session: aiohttp.ClientSession | None = None
        self._ahead = timedelta()

    def by_our_clock(self, at: datetime | None) -> datetime | None:
        """A moment of the other side's by our clock, as far as its last answer was dated."""
        return at and at - self._ahead

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON at `path`."""
        return await self._send("GET", path, repeatable=True)

    async def post(self, path: str, body: bytes | Mapping[str, Any], *, repeatable: bool = False) -> dict[str, Any]:
        """The JSON that answers a JSON `body`. Raises NobodyKnows: it is not repeatable, and may have been accepted."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self._send("POST", path, data=data, repeatable=repeatable)

    async def upload(self, path: str, *, name: str, content: bytes, fields: Mapping[str, str]) -> dict[str, Any]:
        """Upload a file. Repeated, it lies there twice and costs nothing."""
        return await self._send("POST", path, file=(name, content, fields), repeatable=True)

    async def lines(self, path: str) -> AsyncGenerator[dict[str, Any], None]:
        """A file of JSON lines, as it comes; a line among others that is no JSON is passed over, and its request not answered.

        Raises Gone: it is there no more; Unavailable: it was cut off, or none of it is JSON.
        """
        answer = await self._answer("GET", path)
        async with answer:
            if answer.status in GONE:
                raise Gone(path)
            if answer.status >= 300:
                raise Unavailable(
                    f"{self.client.endpoint.name} answered {answer.status} for its results; they stay there"
                )
            rest, good, damaged = b"", False, None
            try:
                async for piece in answer.content.iter_any():
                    *whole, rest = (rest + piece).split(b"\n")
                    for line in filter(bytes.strip, whole):
                        try:
                            found = self._read(line)
                        except Unavailable as error:
                            damaged = error
                        else:
                            good = True
                            yield found
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise Unavailable(
                    f"{self.client.endpoint.name}: its results were cut off ({error}); they stay there"
                ) from error
            if rest.strip():
                yield self._read(rest)
            elif damaged is not None and not good:
                raise damaged

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(
        self,
        method: str,
        path: str,
        *,
        data: bytes | None = None,
        file: tuple[str, bytes, Mapping[str, str]] | None = None,
        repeatable: bool,
    ) -> dict[str, Any]:
        policy, attempt = self.client.options.retry, 0
        while True:
            attempt += 1
            outcome = await self._try(method, path, data if file is None else form(*file), repeatable=repeatable)
            if not isinstance(outcome, Fault):
                return outcome
            if attempt > policy.retries:
                raise Unavailable(f"{outcome.message} (tried {attempt} times)")
            await asyncio.sleep(policy.wait_s(attempt, requested_s=outcome.wait_s, rng=self._rng))

    async def _try(
        self, method: str, path: str, data: bytes | aiohttp.FormData | None, *, repeatable: bool
    ) -> dict[str, Any] | Fault:
        try:
            async with await self._answer(method, path, data) as answer:
                status, headers = answer.status, answer.headers
                text = self.client.redact((await answer.read()).decode("utf-8", errors="replace"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if repeatable or cannot_connect(error):
                return Fault(self._said(error))
            raise NobodyKnows(self._said(error)) from error
        if method == "GET" and status in GONE:
            raise Gone(path)
        if status < 300:
            try:
                return parsed(text)
            except WrongShape as problem:
                fault: Fault | ModelError = Fault(f"{self.client.endpoint.name}: {problem}")
        else:
            fault = meaning(status, headers, read_error(text), endpoint=self.client.endpoint, model=self.model)
        if isinstance(fault, ModelError):
            raise fault
        if not repeatable and not fault.overloaded:
            raise NobodyKnows(fault.message)
        return fault

    async def _answer(
        self, method: str, path: str, data: bytes | aiohttp.FormData | None = None
    ) -> aiohttp.ClientResponse:
        address = path if path.startswith("http") else f"{self.base_url}/{path}"
        kind = {"Content-Type": "application/json"} if isinstance(data, bytes) else {}
        # To another host aiohttp takes no `Authorization` along, but every other header: a key that stands in one of those stays here.
        led_on = method == "GET" and "Authorization" in self._headers
        answer = await self._open().request(
            method, address, data=data, headers=kind, proxy=self.client.proxy, allow_redirects=led_on
        )
        with suppress(ValueError, TypeError):
            self._ahead = parsedate_to_datetime(answer.headers.get("Date", "")) - datetime.now(UTC)
        return answer

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            patience = aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_WITHIN_S, sock_read=self.client.options.timeout_s
            )
            self._session = aiohttp.ClientSession(
                timeout=patience, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            return parsed(self.client.redact(line.decode("utf-8-sig", errors="replace")))
        except WrongShape as problem:
            raise Unavailable(f"{self.client.endpoint.name}: a line of its results is no JSON ({problem})") from problem

    def _said(self, error: BaseException) -> str:
        what = "no answer" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"
        return self.client.redact(f"{self.client.endpoint.name} at {self.base_url}: {what}")


def form(name: str, content: bytes, fields: Mapping[str, str]) -> aiohttp.FormData:
    """A file with its fields; made anew for every try, since it can be sent once."""
    made = aiohttp.FormData(dict(fields))
    made.add_field("file", content, filename=name, content_type="application/jsonl")
    return made
