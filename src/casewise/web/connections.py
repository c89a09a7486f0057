"""Connections that are given up: a request's headers have to come within a time, as its body has."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from casewise.web.security import PATIENCE_S


class HeaderTimeout(HttpToolsProtocol):
    """HTTP/1.1 as uvicorn speaks it; a connection whose headers are not complete within `PATIENCE_S` is closed.

    uvicorn closes a connection that is idle between two requests by itself, and `BodyLimit` one that stops in a body.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()  # a whole request is here
        elif self._waiting is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = asyncio.get_running_loop().call_later(PATIENCE_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
