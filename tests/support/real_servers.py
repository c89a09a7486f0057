"""Servers of others, started as their users start them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("CASEWISE_TEST_SERVERS", "build/servers/bin")).absolute()
"""Where `tests/models/servers/requirements.txt` is installed; read once at import, before tests isolate the environment."""

STARTS_WITHIN_S = 180.0


def program(name: str) -> str:
    """Return the path of a server's program; a test without it is skipped."""
    path = FOLDER / name
    found = str(path) if path.is_file() else shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}: see tests/models/servers/requirements.txt")
    return found


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def running(*command: str, port: int, ready: str, log: Path, **environment: str) -> Iterator[str]:
    """Run a server until the end of the block; yield its address once `ready` answers there."""
    address = f"http://127.0.0.1:{port}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **environment}, cwd=log.parent
        )
    try:
        ends = time.monotonic() + STARTS_WITHIN_S
        while not answers(f"{address}/{ready}"):
            if process.poll() is not None or time.monotonic() > ends:
                pytest.fail(f"{command[0]} did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def answers(address: str) -> bool:
    """Return whether a server answers at an address, whatever it says."""
    try:
        with urllib.request.urlopen(address, timeout=2):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
