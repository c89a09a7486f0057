"""`deploy/ray_serve.py`: a replica is killed while a run goes on, and the run ends with each item judged once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from tests.support.postgres import free_port

from casewise.storage.run_folder import JUDGEMENTS

pytest.importorskip("ray.serve", reason="needs Ray Serve: pip install 'ray[serve]'")

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow
WITHIN_S = 120


@pytest.fixture
def served(tmp_path):
    """A fake model with two replicas; its process and its address."""
    port = free_port()
    command = [sys.executable, str(ROOT / "deploy" / "ray_serve.py"), "--model", "fake/rehearsal"]
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}
    with (tmp_path / "served.txt").open("w+") as printed:
        process = subprocess.Popen(
            [*command, "--replicas", "2", "--port", str(port)], stdout=printed, stderr=printed, env=environment
        )
        try:
            wait_for(lambda: "serving at" in (tmp_path / "served.txt").read_text(encoding="utf-8"))
            yield process, f"http://127.0.0.1:{port}/v1"
        finally:
            for child in [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]:
                child.kill()
            process.wait()


def wait_for(holds):
    end = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def replicas(process):
    every = psutil.Process(process.pid).children(recursive=True)
    return [child for child in every if "ServeReplica" in " ".join(child.cmdline())]


def test_a_replica_is_killed_and_the_run_ends_exact(served, tmp_path):
    process, address = served
    run = tmp_path / "run"
    judge = [sys.executable, "-m", "casewise", "judge", "demo", "--judge", "vllm/fake", "--base-url", address]
    options = ["--elicit", "binary", "--repeats", "20", "--concurrency", "4", "--out", str(run), "--yes"]
    with subprocess.Popen([*judge, *options], stdout=subprocess.DEVNULL) as driver:
        log = run / JUDGEMENTS
        wait_for(lambda: log.is_file() and log.read_bytes().count(b"\n") > 100)
        killed = replicas(process)[0]
        killed.send_signal(signal.SIGKILL)
        assert driver.poll() is None
        assert driver.wait(WITHIN_S) == 0

    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    scored = Counter((line["item_id"], line["repeat"]) for line in lines)
    assert len(scored) == 90 * 20
    assert set(scored.values()) == {1}
    assert all(line["outcome"]["kind"] == "scored" for line in lines)
