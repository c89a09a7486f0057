"""A stand-in for Prolific's API: it keeps studies, submissions and bonuses, and errs as the documented one does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps, loads
from typing import Any


@dataclass
class StandIn:
    """What it has been told."""

    url: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    bonuses: dict[str, str] = field(default_factory=dict)
    paid: list[str] = field(default_factory=list)
    returns: dict[str, list[str]] = field(default_factory=dict)
    breaks_after_paying: bool = False
    """Whether a payment is made and then answered with 502, as a broken line would."""

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        match path.strip("/").split("/"):
            case ["messages"]:
                self.messages.append(body)
                return 201, {}
            case ["submissions", "bonus-payments"]:
                name = f"bonus-{len(self.bonuses)}"
                self.bonuses[name] = body["csv_bonuses"]
                return 201, {"id": name, "total_amount": 1}
            case ["bulk-bonus-payments", name, "pay"] if name in self.bonuses:
                self.paid.append(name)
                return (502, {"error": "bad gateway"}) if self.breaks_after_paying else (202, {})
            case ["submissions", submission, "request-return"]:
                if submission in self.returns:
                    return 400, {"error": {"detail": "a return was requested already"}}
                self.returns[submission] = body["request_return_reasons"]
                return 200, {"id": submission}
        return 404, {"error": {"title": "Not found"}}


@contextmanager
def stand_in(token: str) -> Iterator[StandIn]:
    """The stand-in on a free port of loopback, which takes `token` and no other."""
    state = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
            known = self.headers["Authorization"] == f"Token {token}"
            status, said = state.answer(self.path, body) if known else (401, {"error": "Authentication failed"})
            text = dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_said: object) -> None:
            """Quietly."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
