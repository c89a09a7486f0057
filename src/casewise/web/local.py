"""The app in a thread of this process, for as long as a command needs it: small rehearsals, and walking through a study."""

from __future__ import annotations

import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import uvicorn

from casewise import database as databases
from casewise.errors import ConfigurationError
from casewise.settings import Settings
from casewise.studies.running.plan import open_plan, read_plan
from casewise.web.app import create_app

__all__ = ["free_port", "previewing", "serving"]

PATIENCE_S = 30


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(settings: Settings, *, port: int) -> Iterator[None]:
    """Have the app answer on loopback at `port` while the block runs."""
    config = uvicorn.Config(create_app(settings), host="127.0.0.1", port=port, log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise ConfigurationError(f"the app does not start on port {port}; is something else listening there?")
        time.sleep(0.02)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def previewing(study: str | Path, *, port: int = 0) -> Iterator[str]:
    """The address at which a study can be looked at, for as long as this context is open.

    `study`: the study's TOML file.
    `port`: where the app listens; 0 takes a free port.
    """
    plan, port = read_plan(Path(study)), port or free_port()
    with tempfile.TemporaryDirectory(prefix="casewise-preview-") as folder:
        settings = Settings(
            database=str(Path(folder) / "study.db"),
            secret_key=secrets.token_urlsafe(48),
            site_url=f"http://127.0.0.1:{port}",
        )
        with databases.open(settings.database) as store, store.write() as connection:
            study_id = open_plan(connection, plan, phase="preview", now=datetime.now(UTC))
        with serving(settings, port=port):
            yield f"{settings.site_url}/study/{study_id}"
