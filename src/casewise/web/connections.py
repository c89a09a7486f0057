"""Connections that are given up, and the end of a server without a connection that is reset."""

from __future__ import annotations

import asyncio
import ctypes
import socket
import struct
import sys
from contextlib import suppress
from typing import Any, cast

import uvicorn
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


ACCEPTING_S = 0.25
"""Seconds for which a server that was told to end accepts clients that had begun to connect."""

IDLE_S = 1.0
"""Seconds for which connections then stay open, so that a request on its way is answered."""


NO_SYN = ((0x30, 0, 0, 13), (0x54, 0, 0, 0x12), (0x15, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))
"""A filter of packets in Linux's classic BPF: the flags of TCP's header, without all but SYN and ACK; SYN alone is dropped."""


def drop_new_connections(listening: socket.socket) -> None:
    """Let the kernel drop new connections to a port, where it can, and keep those that had begun."""
    if sys.platform != "linux":
        return
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in NO_SYN))
    program = struct.pack("HP", len(NO_SYN), ctypes.addressof(code))
    with socket.fromfd(listening.fileno(), listening.family, listening.type) as listening_copy, suppress(OSError):
        listening_copy.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


SO_ATTACH_FILTER = 26
"""A socket option of Linux for which Python has no name."""


class GracefulServer(uvicorn.Server):
    """A server that resets no connection when it ends.

    uvicorn closes its port and idle connections at once: a client that has connected and is not accepted yet, or sends at
    that moment, gets a reset. Here the kernel drops a client that begins to connect, which tries again and is refused once the port is
    closed; those who had begun are accepted, each answer says that it is the last on its connection, and what is idle stays
    open for `IDLE_S`.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End as described, then as uvicorn does."""
        self.server_state.default_headers = [*self.server_state.default_headers, (b"connection", b"close")]
        for server in self.servers:
            for listening in server.sockets:
                drop_new_connections(listening)
        await asyncio.sleep(ACCEPTING_S)
        for server in self.servers:
            server.close()
        until = asyncio.get_running_loop().time() + IDLE_S
        while self.server_state.connections and asyncio.get_running_loop().time() < until and not self.force_exit:  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # uvicorn says in no other way when a connection ends
        await super().shutdown(sockets)
