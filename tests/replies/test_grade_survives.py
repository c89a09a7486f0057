"""Collecting and grading are killed again and again, and end as if nothing had happened."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aiohttp import web
from tests.support.fault_server import FaultServer, completion, prompt_of, share_of
from tests.support.served import served

from casewise.errors import ExitCode

CONCURRENCY = 8


def graded_or_replied(_request, body):
    """A grade where one is asked for, else a reply; the same for the same prompt."""
    prompt = prompt_of(body)
    if "<reply>" not in prompt:
        return web.json_response(completion(body, f"Reply {share_of(prompt):.9f} {body['seed']}"))
    outcome = ("answers", "partly", "refuses")[int(share_of(prompt) * 3)]
    return web.json_response(completion(body, json.dumps({"outcome": outcome, "ground": "none"})))


def program(server, *words):
    command = [sys.executable, "-c", "from casewise.cli.app import main; main()", "replies", *words]
    command += ["--base-url", server.url, "--concurrency", str(CONCURRENCY), "--json"]
    environment = {**os.environ, "VLLM_API_KEY": "none"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def collecting(server, out):
    return program(server, "collect", "demo", "--model", "vllm/tiny", "--repeats", "12", "--seed", "3", "--out", out)


def grading(server, folder):
    return program(server, "grade", folder, "--grader", "rubric:vllm/tiny")


def finish(process):
    stdout, stderr = process.communicate(timeout=120)
    found = json.loads(stdout)
    unanswered = sum(one.get("unavailable", 0) for one in (found if isinstance(found, list) else [found]))
    assert process.returncode == (ExitCode.STOPPED if unanswered else ExitCode.DONE), stderr
    return found


def lines(log):
    return log.read_bytes().count(b"\n") if log.exists() else 0


def killed_again_and_again(start, log, *, times, rng):
    """Start it and kill it once it has written something more, until it was killed so often or has ended; how often."""
    for kill in range(times):
        process = start()
        before = lines(log())
        while lines(log()) == before and process.poll() is None:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.05))
        if process.poll() is not None:
            process.communicate()
            return kill
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return times


def kept(log, *names):
    found = [json.loads(line) for line in Path(log).read_text().splitlines()]
    return sorted(json.dumps([one.get(name) for name in names]) for one in found)


@pytest.mark.slow
def test_replies_that_are_killed_again_and_again_are_each_collected_and_graded_once():
    rng, kills = random.Random(9), 20
    reply, grade = ("item_id", "arm", "repeat", "attempt", "text"), ("item_id", "repeat", "attempt", "outcome")

    def grades(folder):
        return next(Path(folder).glob("grades/*/grades.jsonl"), Path(folder) / "none")

    with served(FaultServer(latency_s=0.01, refuse=graded_or_replied)) as server:
        finish(collecting(server, "whole"))
        finish(grading(server, "whole"))
    with served(FaultServer(latency_s=0.05, refuse=graded_or_replied)) as server:
        killed = killed_again_and_again(
            lambda: collecting(server, "cut"), lambda: Path("cut/replies.jsonl"), times=kills, rng=rng
        )
        collected = finish(collecting(server, "cut"))
        asked_for_replies = sum(server.prompts.values())
        killed_grading = killed_again_and_again(
            lambda: grading(server, "cut"), lambda: grades("cut"), times=kills, rng=rng
        )
        (graded,) = finish(grading(server, "cut"))
        asked_for_grades = sum(server.prompts.values()) - asked_for_replies

    assert killed > 10
    assert killed_grading > 10
    assert collected["n_replies"] == graded["n_graded"] == 90 * 12
    assert kept("cut/replies.jsonl", *reply) == kept("whole/replies.jsonl", *reply)
    assert kept(grades("cut"), *grade) == kept(grades("whole"), *grade)
    assert asked_for_replies - 90 * 12 <= kills * CONCURRENCY
    assert asked_for_grades - 90 * 12 <= kills * CONCURRENCY
