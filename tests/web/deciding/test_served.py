"""`casewise serve` as a program: started, asked, and ended while a request is under way."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.support.postgres import free_port

from casewise.api import judge
from casewise.api.deciding import Wanted, fit_decider

SLOW = """
import asyncio
import pathlib

async def judge(query, context):
    if query == "slowly":
        pathlib.Path("asked").touch()
        while not pathlib.Path("go").exists():
            await asyncio.sleep(0.01)
    return 0.9

judge.elicitation = "probability"
"""


def post(port: int, query: str) -> dict[str, object]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/decide",
        json.dumps({"query": query}).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, object] = json.load(answer)
    return found


def wait_for(there, *, patience_s: float = 60) -> None:
    deadline = time.monotonic() + patience_s
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def answers(port: int) -> bool:
    try:
        return bool(post(port, "quickly"))
    except (urllib.error.URLError, ConnectionError):
        return False


@pytest.mark.slow
def test_a_service_that_is_told_to_end_finishes_what_it_has_begun(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("slow_judge_of_tests.py").write_text(SLOW)
    fit_decider(judge("demo", "python:slow_judge_of_tests:judge", out="run"), Wanted(ratio=1)).write("decider.json")
    port, said = free_port(), []
    served = ["serve", "decider.json", "--port", str(port), "--timeout", "60"]
    command = [sys.executable, "-m", "casewise", *served]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as service:
        wait_for(lambda: answers(port))
        under_way = threading.Thread(target=lambda: said.append(post(port, "slowly")))
        under_way.start()
        wait_for(Path("asked").exists)
        service.send_signal(signal.SIGTERM)
        Path("go").touch()
        under_way.join(timeout=60)
        service.wait(timeout=60)
        assert service.stderr is not None
        written = service.stderr.read().decode()

    assert said[0]["value"] == 0.9
    assert f"answers POST http://127.0.0.1:{port}/v1/decide" in written
    assert "slowly" not in written
    assert "Traceback" not in written


@pytest.mark.slow
def test_a_port_that_others_reach_needs_keys(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "casewise", "serve", "none.json", "--host", "0.0.0.0"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "give --keys FILE" in done.stderr
