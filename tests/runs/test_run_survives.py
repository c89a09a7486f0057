"""A run through the command line that meets every fault, is killed, and goes on."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.support.fault_server import FaultServer, prompt_of
from tests.support.served import served

from casewise.api.judging import PlannedRun, RunOptions
from casewise.judges.llm import LiveOptions, live_judge
from casewise.judges.plan import Plan
from casewise.models.client import ClientOptions, RetryPolicy
from casewise.models.load import ModelOptions
from casewise.runs.limits import Limits
from casewise.storage.load import load

SECRET = "sk-never-to-be-seen-0123456789"
CONCURRENCY = 8


def program(server, *more, out="run", **settings):
    environment = {**os.environ, "VLLM_API_KEY": SECRET, "PYTHONWARNINGS": "default"}
    command = [sys.executable, "-m", "casewise", "judge", "demo", "--judge", "vllm/tiny", "--base-url", server.url]
    command += ["--concurrency", str(CONCURRENCY), "--out", out, *more]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, text=True, stdout=pipe, stderr=pipe, **settings)


def finish(process, *, code=0):
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == code, stderr
    return json.loads(stdout) if stdout.startswith("{") else stdout


def lines(folder):
    log = Path(folder) / "judgements.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def judged(folder):
    """What a run came to, without what differs from one time to the next."""
    records = [json.loads(line) for line in (Path(folder) / "judgements.jsonl").read_text().splitlines()]
    names = ("item_id", "elicitation", "arm", "repeat", "attempt", "raw_reply", "outcome")
    return sorted(json.dumps({name: record.get(name) for name in names}, sort_keys=True) for record in records)


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_ends_as_if_nothing_had_happened():
    plan = ("--elicit", "binary,probability", "--repeats", "12", "--json")
    rng = random.Random(5)
    with served(FaultServer(latency_s=0.01)) as server:
        undisturbed = finish(program(server, *plan, out="whole"))
    kills = 0
    with served(FaultServer(latency_s=0.01)) as server:
        while kills < 21:
            process = program(server, *plan)
            before = lines("run")
            while lines("run") == before and process.poll() is None:
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.1))
            assert process.poll() is None, process.communicate()
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
        rest = finish(program(server, *plan))
        answered = sum(server.prompts.values())

    assert undisturbed["n_judged"] == rest["n_judged"] == 90 * 2 * 12
    assert rest["resumed"] > 0
    assert rest["resumed"] + rest["n_calls"] == 90 * 2 * 12
    assert judged("run") == judged("whole")
    assert answered - 90 * 2 * 12 <= kills * CONCURRENCY


@pytest.mark.slow
def test_ctrl_c_finishes_what_is_in_flight_and_the_same_command_goes_on():
    plan = ("--repeats", "10", "--json")
    with served(FaultServer(latency_s=0.1)) as server:
        process = program(server, *plan)
        while lines("run") < 20 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        first = finish(process, code=4)
        answered = sum(server.prompts.values())
        held = lines("run")
        second = finish(program(server, *plan))

    assert first["stopped"] == "interrupted"
    assert first["n_calls"] == held == answered
    assert second["resumed"] == held
    assert second["n_judged"] == 900
    assert len(set(judged("run"))) == 900


@pytest.mark.slow
def test_a_run_that_meets_every_fault_ends_with_every_ask_judged_or_unscored_once(tmp_path):
    benchmark = load("demo")

    async def go(server):
        async with server:
            client = ClientOptions(100, 0.5, RetryPolicy(retries=3, first_wait_s=0.01, longest_wait_s=0.1))
            judge = live_judge("vllm/tiny", LiveOptions(model=ModelOptions(server.url, client=client)), environment={})
            plan = Plan.for_benchmark(benchmark, judge, elicitations=("binary", "score", "probability"), repeats=8)
            planned = PlannedRun(tmp_path / "run", benchmark, judge, plan, RunOptions(limits=Limits(100)))
            return plan, (await planned.perform()).summary

    server = FaultServer(fail=0.3, slow_s=1.0, seed=3)
    plan, summary = asyncio.run(go(server))

    logged = [json.loads(line) for line in (tmp_path / "run" / "judgements.jsonl").read_text().splitlines()]
    keys = Counter((record["item_id"], record["elicitation"], record["repeat"]) for record in logged)
    reasons = Counter(record["outcome"].get("reason") for record in logged)
    assert len(plan) == 2160 == len(logged) == len(keys)
    assert summary.n_judged + summary.n_unscored == 2160
    assert reasons[None] > 1500
    assert {"empty", "truncated", "content_filter", "refused", "bad_request", "no_logprobs", "no_label_first"} <= set(
        reasons
    )
    assert len(server.thrown) == 22


@pytest.mark.slow
@pytest.mark.parametrize("fail", [0.0, 1.0], ids=["well", "badly"])
def test_a_key_is_in_no_file_and_in_nothing_that_is_printed(fail):
    def echo(request, body):
        from aiohttp import web

        if not fail:
            return None
        return web.json_response({"error": {"message": f"bad key {request.headers['Authorization']}"}}, status=401)

    with served(FaultServer(refuse=echo)) as server:
        process = program(server, "--limit", "4")
        stdout, stderr = process.communicate(timeout=60)
        assert all(SECRET in headers["Authorization"] for headers in server.headers)

    assert process.returncode == (2 if fail else 0)
    assert SECRET not in stdout + stderr
    assert not [path for path in Path("run").rglob("*") if SECRET in path.read_text(errors="replace")]
    if fail:
        assert stderr.startswith("error: vllm answered 401: bad key Bearer [key]. Check VLLM_API_KEY")
        assert "Traceback" not in stderr


def billed(server):
    """Tokens of every call that the server answered, or was answering when its client died."""
    return sum(len(prompt_of(body)) // 4 + 10 for body in server.bodies)


@pytest.mark.slow
def test_a_budget_is_kept_over_sessions_that_are_killed(tmp_path):
    server = FaultServer(latency_s=0.3)
    limit = 30_000
    with served(server):
        for _ in range(3):
            process = program(server, "--max-tokens-total", str(limit), "--json", cwd=tmp_path)
            n_before = len(server.bodies)
            while len(server.bodies) == n_before and process.poll() is None:
                time.sleep(0.01)
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=30)
        held = json.loads((tmp_path / "run" / "in_flight.json").read_text())
        assert held["unknown"]["tokens"] > 0
        server.latency_s = 0.0
        process = program(server, "--max-tokens-total", str(limit), cwd=tmp_path)
        _, messages = process.communicate(timeout=60)

    assert "calls that the log does not hold, of a killed session" in messages
    assert process.returncode == 4
    assert billed(server) <= limit


@pytest.mark.slow
def test_a_session_that_ends_in_good_order_leaves_nothing_unknown(tmp_path):
    server = FaultServer()
    with served(server):
        finish(program(server, "--max-tokens-total", "10000000", "--json", cwd=tmp_path))
        held = json.loads((tmp_path / "run" / "in_flight.json").read_text())
        assert {tokens for part in held.values() for tokens in part.values()} == {0}
