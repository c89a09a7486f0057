"""`casewise serve` as a program: started, asked, and ended while a request is under way."""

from __future__ import annotations

import http.client
import json
import secrets
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.fault_server import FaultServer
from tests.support.postgres import free_port
from tests.support.served import served

from casewise.api import judge
from casewise.api.deciding import Requirements, fit_decider
from casewise.deciding.monitor import read_traffic
from casewise.stats.thresholds import FittedThresholds

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
        assert time.monotonic() < deadline, "waited in vain"
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
    fit_decider(judge("demo", "python:slow_judge_of_tests:judge", out="run"), Requirements(ratio=1)).save(
        "decider.json"
    )
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


# What befalls a service while it decides: its log moved, removed or full, and its end.


@contextmanager
def serving(*options: str, before: str = "", source: str = SLOW) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A service of a judge that answers at once, as a process of a shell that has done something before."""
    module = f"judge_{secrets.token_hex(8)}"  # a name of its own: what one test has imported stays for the next
    Path(f"{module}.py").write_text(source.replace("slow", "fast"))
    fit = fit_decider(judge("demo", f"python:{module}:judge", out="run"), Requirements(ratio=1))
    fit.decider.model_copy(update={"thresholds": FittedThresholds(0.5, 0.5)}).save("decider.json")
    with serving_file(*options, before=before) as there:
        yield there


@contextmanager
def serving_file(*options: str, before: str = "") -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The service of `decider.json`."""
    port = free_port()
    command = [sys.executable, "-m", "casewise", "serve", "decider.json", "--port", str(port), *options]
    shell = f"{before} exec {shlex.join(command)}"
    with subprocess.Popen(["bash", "-c", shell], stderr=subprocess.PIPE) as service:
        try:
            wait_for(lambda: service.poll() is not None or answers(port))
            assert service.poll() is None, "the service ended by itself"
            yield port, service
        finally:
            service.terminate()
            service.wait(timeout=60)


def state(port: int, path: str = "/healthz") -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        found = answer.read().decode()
    return json.loads(found) if path == "/healthz" else found


@contextmanager
def load(port: int, *, keep_alive: bool, callers: int = 4) -> Iterator[Counter[str]]:
    """Callers who ask one request after another; what came of these: answers by decision, refused connections, faults."""
    came, end = Counter[str](), threading.Event()

    def ask() -> bool:
        """Ask until the end, or as often as one connection serves; whether to connect again."""
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            try:
                connection.connect()
            except ConnectionRefusedError:
                came["refused connection"] += 1
                return False
            while not end.is_set():
                try:
                    connection.request("POST", "/v1/decide", b'{"query": "q"}', {"content-type": "application/json"})
                    answer = connection.getresponse()
                    came[json.loads(answer.read())["decision"]] += 1
                except (OSError, http.client.HTTPException) as error:
                    came[f"fault: {error!r}"] += 1
                    return False
                if not keep_alive or answer.will_close:
                    return True
        return False

    def call() -> None:
        while not end.is_set() and ask():
            pass

    threads = [threading.Thread(target=call) for _ in range(callers)]
    for thread in threads:
        thread.start()
    try:
        yield came
    finally:
        end.set()
        for thread in threads:
            thread.join(timeout=60)


def more(came: Counter[str], n: int = 100) -> None:
    """Wait for so many further answers."""
    before = came.total()
    wait_for(lambda: came.total() >= before + n)


@pytest.mark.slow
def test_a_log_that_is_rotated_under_load_loses_no_decision(tmp_path, monkeypatch):
    """Moved and SIGHUP, as logrotate does; then moved without a signal."""
    monkeypatch.chdir(tmp_path)
    log = Path("log.jsonl")
    with serving("--capture", str(log)) as (port, service), load(port, keep_alive=True) as came:
        more(came)
        log.rename("log.1")
        service.send_signal(signal.SIGHUP)
        more(came)
        log.rename("log.2")
        more(came)
        assert state(port)["status"] == "ok", state(port)
    kept = [line.id for part in ("log.1", "log.2", log) for line in read_traffic(Path(part)).lines]

    assert all(answer in ("answer", "refuse") for answer in came), came
    assert len(kept) == len(set(kept)) == came.total() + 1


@pytest.mark.slow
def test_a_log_that_is_removed_under_load_is_begun_anew_and_the_loss_is_said_until_a_signal_acknowledges_it(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with serving("--capture", "log.jsonl") as (port, service), load(port, keep_alive=True) as came:
        more(came)
        Path("log.jsonl").unlink()
        wait_for(lambda: state(port)["status"] == "degraded")
        (problem,) = state(port)["problems"]
        more(came)
        lost = state(port, "/metrics").partition("\ncasewise_capture_lost_total ")[2].partition("\n")[0]
        service.send_signal(signal.SIGHUP)
        wait_for(lambda: state(port)["status"] == "ok")

    assert problem.startswith("another program removed the log (")
    assert len(read_traffic(Path("log.jsonl")).lines) + float(lost) == came.total() + 1


@pytest.mark.slow
@pytest.mark.parametrize("on_full", ["answer", "refuse"])
def test_a_full_disk_under_load_ends_no_service_and_each_decision_is_as_was_said(tmp_path, monkeypatch, on_full):
    """A limit on the size of files, which a write meets as it meets the end of a disk."""
    monkeypatch.chdir(tmp_path)
    options = ("--capture", "log.jsonl", "--on-full", on_full)
    with serving(*options, before="ulimit -f 64;") as (port, _), load(port, keep_alive=True) as came:
        wait_for(lambda: state(port)["status"] == "degraded")
        given = came.copy()
        more(came)
        counted = state(port, "/metrics").partition("\ncasewise_capture_errors_total ")[2].partition("\n")[0]
    written = read_traffic(Path("log.jsonl"))

    assert written.torn == 0
    assert Path("log.jsonl").stat().st_size <= 64 * 1024
    assert float(counted) >= 90
    assert all(answer in ("answer", "refuse") for answer in came), came
    assert (came["refuse"] > given["refuse"]) == (on_full == "refuse")


@pytest.mark.slow
@pytest.mark.parametrize("keep_alive", [True, False])
def test_a_service_that_ends_under_load_resets_no_connection(tmp_path, monkeypatch, keep_alive):
    monkeypatch.chdir(tmp_path)
    with serving() as (port, service), load(port, keep_alive=keep_alive, callers=16) as came:
        more(came)
        service.send_signal(signal.SIGTERM)
        wait_for(lambda: service.poll() is not None)

    assert [what for what in came if what.startswith("fault")] == []
    assert came["refused connection"] == 16


@pytest.mark.slow
def test_without_a_log_a_signal_to_reopen_it_ends_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with serving() as (port, service):
        service.send_signal(signal.SIGHUP)
        assert [answers(port) for _ in range(5)] == [True] * 5


@pytest.mark.slow
@pytest.mark.parametrize("timeout_s", [1, 2])
def test_a_judge_that_does_not_answer_is_waited_for_as_long_as_was_said(tmp_path, monkeypatch, timeout_s):
    monkeypatch.chdir(tmp_path)
    with serving("--timeout", str(timeout_s)) as (port, _):
        began = time.monotonic()
        said = post(port, "fastly")
        took = time.monotonic() - began

    assert said["failed"] == "timeout"
    assert timeout_s <= took <= 1.1 * timeout_s + 0.1


@pytest.mark.slow
def test_a_model_that_does_not_answer_is_not_tried_again_beyond_the_limit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with served(FaultServer()) as model:
        fit_decider(judge("demo", "vllm/m", base_url=model.url, out="run"), Requirements(ratio=1)).save("decider.json")
        with serving_file("--timeout", "2") as (port, _):
            model.latency_s = 60.0
            began = time.monotonic()
            said = post(port, "quickly")
            took = time.monotonic() - began

    assert said["failed"] == "timeout"
    assert 2 <= took < 4, "a second try would take as long again"


@pytest.mark.slow
def test_a_service_whose_keys_cannot_be_read_names_no_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("keys").write_text("short\n")
    fit_decider(judge("demo", "constant:safe", out="run"), Requirements(ratio=1)).save("decider.json")
    command = [sys.executable, "-m", "casewise", "serve", "decider.json", "--port", str(free_port()), "--keys", "keys"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "at least 20" in done.stderr
    assert "answers POST" not in done.stderr
