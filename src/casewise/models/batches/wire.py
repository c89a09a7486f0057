"""Requests to a batch interface: a repeatable one is tried again, and of another the provider may have accepted it."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import lazy_loader

from casewise.errors import ModelError, Unavailable
from casewise.models.client import CONNECT_WITHIN_S, EndpointClient, Fault, interpret_failure, is_unreachable
from casewise.models.consent import require_consent
from casewise.models.wire import InvalidResponse, parse_json, read_error

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = lazy_loader.load("aiohttp")

GONE = frozenset({404, 410})


class AcceptanceUnknown(Exception):
    """A request that must not be repeated was sent, and no answer tells whether it was accepted."""


class ResourceGone(Exception):
    """The requested resource no longer exists."""


class BatchWire:
    """The requests of a batch interface, with the endpoint, key and retries of a client."""

    def __init__(self, client: EndpointClient, *, model: str, base_url: str, headers: Mapping[str, str]) -> None:
        self.client, self.model, self.base_url = client, model, base_url
        self.name = client.endpoint.name
        self._headers = {**client.extra.revealed(), **headers}
        self._rng = random.Random()  # noqa: S311 - spreads retries; no result depends on it
        self._session: aiohttp.ClientSession | None = None
        self._ahead = timedelta()

    def by_our_clock(self, at: datetime | None) -> datetime | None:
        """Convert a moment of the server's clock to this machine's, by the date of its last answer."""
        return at and at - self._ahead

    async def get(self, path: str) -> dict[str, Any]:
        """Return the JSON at `path`."""
        return await self._send("GET", path, repeatable=True)

    async def post(self, path: str, body: bytes | Mapping[str, Any]) -> dict[str, Any]:
        """Post a JSON `body` once, and return the JSON answer. Raises AcceptanceUnknown: it may have been accepted."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self._send("POST", path, data, repeatable=False)

    async def upload(self, path: str, *, name: str, content: bytes, fields: Mapping[str, str]) -> dict[str, Any]:
        """Upload a file of JSON lines. A repeated upload costs nothing."""

        def form() -> aiohttp.FormData:  # it can be sent once
            form_data = aiohttp.FormData(dict(fields))
            form_data.add_field("file", content, filename=name, content_type="application/jsonl")
            return form_data

        return await self._send("POST", path, form, repeatable=True)

    async def lines(self, path: str) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the records of a file of JSON lines as they arrive. A line that is not JSON is skipped if others are JSON.

        Raises ResourceGone: the file no longer exists; Unavailable: it was cut off, or none of it is JSON.
        """
        async with await self._answer("GET", path) as answer:
            if answer.status in GONE:
                raise ResourceGone(path)
            if answer.status >= 300:
                raise Unavailable(f"{self.name} answered {answer.status} for its results; they stay at the provider")
            rest, has_good, damaged = b"", False, None
            try:
                async for piece in answer.content.iter_any():
                    *whole, rest = (rest + piece).split(b"\n")
                    for line in filter(bytes.strip, whole):
                        try:
                            record = self._read(line)
                        except Unavailable as error:
                            damaged = error
                        else:
                            has_good = True
                            yield record
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise Unavailable(
                    f"{self.name}: its results were cut off ({error}); they stay at the provider"
                ) from error
            if rest.strip():
                yield self._read(rest)
            elif damaged is not None and not has_good:
                raise damaged

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(
        self, method: str, path: str, data: bytes | Callable[[], aiohttp.FormData] | None = None, *, repeatable: bool
    ) -> dict[str, Any]:
        policy, attempt = self.client.options.retry, 0
        while True:
            attempt += 1
            outcome = await self._try(method, path, data() if callable(data) else data, repeatable=repeatable)
            if not isinstance(outcome, Fault):
                return outcome
            if attempt > policy.retries:
                raise Unavailable(f"{outcome.message} (tried {attempt} times)")
            wait = policy.wait_s(attempt, requested_s=outcome.wait_s, rng=self._rng)
            self.client.report_wait(outcome.wait_s, wait)
            await asyncio.sleep(wait)

    async def _try(
        self, method: str, path: str, data: bytes | aiohttp.FormData | None, *, repeatable: bool
    ) -> dict[str, Any] | Fault:
        try:
            async with await self._answer(method, path, data) as answer:
                status, headers = answer.status, answer.headers
                text = self.client.redact((await answer.read()).decode("utf-8", errors="replace"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            detail = "no answer" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"
            problem = self.client.redact(f"{self.name} at {self.base_url}: {detail}")
            if repeatable or is_unreachable(error):
                return Fault(problem)
            raise AcceptanceUnknown(problem) from error
        if method == "GET" and status in GONE:
            raise ResourceGone(path)
        if status < 300:
            try:
                return parse_json(text)
            except InvalidResponse as error:
                fault: Fault | ModelError = Fault(f"{self.name}: {error}")
        else:
            fault = interpret_failure(
                status, headers, read_error(text), endpoint=self.client.endpoint, model=self.model
            )
        if isinstance(fault, ModelError):
            raise fault
        if not repeatable and not fault.overloaded:
            raise AcceptanceUnknown(fault.message)
        return fault

    async def _answer(
        self, method: str, path: str, data: bytes | aiohttp.FormData | None = None
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            patience = aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_WITHIN_S, sock_read=self.client.options.timeout_s
            )
            require_consent(self.client.endpoint.receiver)
            self._session = aiohttp.ClientSession(
                timeout=patience, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar()
            )
        answer = await self._session.request(
            method,
            path if path.startswith("http") else f"{self.base_url}/{path}",
            params=self.client.extra.query,
            data=data,
            headers={"Content-Type": "application/json"} if isinstance(data, bytes) else {},
            proxy=self.client.proxy,
            # aiohttp removes only `Authorization` on a redirect to another host: no other key may be redirected.
            allow_redirects=method == "GET" and "Authorization" in self._headers,
        )
        with suppress(ValueError, TypeError):
            self._ahead = parsedate_to_datetime(answer.headers.get("Date", "")) - datetime.now(UTC)
        return answer

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            return parse_json(self.client.redact(line.decode("utf-8-sig", errors="replace")))
        except InvalidResponse as problem:
            raise Unavailable(f"{self.name}: a line of its results is not JSON ({problem})") from problem
