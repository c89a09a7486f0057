"""The real app under uvicorn on a free port of loopback: in a process of its own, to be killed, or in a thread."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.postgres import free_port

from casewise.settings import Settings
from casewise.web.app import serving

KEY = "a key for tests only, long enough to be one"
SOURCE = Path(__file__).parents[2]
PROGRAM = """
import sys, uvicorn
from casewise.settings import Settings
from casewise.web import create_app
database, port = sys.argv[1], int(sys.argv[2])
settings = Settings(database=database, secret_key=sys.argv[3], site_url=f"http://127.0.0.1:{port}")
uvicorn.run(create_app(settings), host="127.0.0.1", port=port, log_level="warning", access_log=False)
"""


class Server:
    """A running app that can be killed and started again on the same database and port."""

    def __init__(self, database: str, log: Path) -> None:
        self.database, self.log, self.port = database, log, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, self.database, str(self.port), KEY],
                cwd=SOURCE,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": str(SOURCE / "src")},
            )
        self.wait_until_up()

    def wait_until_up(self, *, patience_s: float = 60) -> None:
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is not None:
                raise RuntimeError(f"the server ended: {self.log.read_text()}")
            try:
                with urllib.request.urlopen(f"{self.url}/sign-in", timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.05)
        raise RuntimeError(f"the server does not answer: {self.log.read_text()}")

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        self.stop(signal.SIGKILL)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=30)
            self._process = None


@contextmanager
def running_server(database: str, log: Path) -> Iterator[Server]:
    """The app over `database`, started and in the end stopped; what it printed is in `log`."""
    server = Server(database, log)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@dataclass(frozen=True)
class Served:
    """A running app."""

    url: str


@contextmanager
def served_app(database: str) -> Iterator[Served]:
    """The app over `database` in a thread of this process, which starts at once."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with serving(Settings(database=database, secret_key=KEY, site_url=url), port=port):
        yield Served(url)
