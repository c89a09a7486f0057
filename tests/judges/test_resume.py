import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

import casewise
from casewise.api import RunOptions
from casewise.errors import RunConflict, Unauthorised
from casewise.judges.baselines import ConstantJudge
from casewise.judges.judge import Answer
from casewise.records import Scored
from casewise.runs.limits import Limits

DEMO = casewise.load("demo")


class Counting(ConstantJudge):
    """Counts what it is asked, and stops the run at the n-th ask."""

    def __init__(self, *, stop_at=None):
        super().__init__("safe")
        self.asked: Counter[tuple[str | int, ...]] = Counter()
        self.stop_at = stop_at

    async def answer(self, ask):
        if self.stop_at is not None and self.asked.total() >= self.stop_at:
            raise Unauthorised("the key is wrong")
        self.asked[*ask.key, ask.attempt] += 1
        return Answer(Scored(value=1.0))


def test_every_item_is_asked_once(tmp_path):
    judge = Counting()
    run = casewise.judge("demo", judge, out=tmp_path / "run")

    assert len(judge.asked) == judge.asked.total() == 90
    assert run.summary.n_judged == 90


def test_a_run_that_stopped_goes_on_and_asks_nothing_twice(tmp_path):
    first, second = Counting(stop_at=33), Counting()
    with pytest.raises(Unauthorised, match="the key is wrong"):
        casewise.judge("demo", first, out=tmp_path / "run", options=RunOptions(limits=Limits(concurrency=1)))
    run = casewise.judge("demo", second, out=tmp_path / "run")

    assert first.asked.total() == 33
    assert run.summary.resumed == 33
    assert second.asked.total() == 57
    assert not first.asked.keys() & second.asked.keys()
    assert run.judgements["item_id"].n_unique() == len(run.judgements) == 90


def test_a_finished_run_asks_nothing(tmp_path):
    casewise.judge("demo", Counting(), out=tmp_path / "run")
    idle = Counting()
    run = casewise.judge("demo", idle, out=tmp_path / "run")

    assert idle.asked.total() == 0
    assert (run.summary.resumed, run.summary.n_calls) == (90, 0)


def test_a_finished_run_reads_no_context_again(tmp_path, monkeypatch):
    casewise.judge("demo", ConstantJudge("safe"), out=tmp_path / "run")
    monkeypatch.setattr("casewise.storage.benchmark.Benchmark.context_of", None)

    again = casewise.judge("demo", ConstantJudge("safe"), out=tmp_path / "run")

    assert (again.summary.n_calls, again.summary.resumed) == (0, again.summary.n_items)


def test_a_plan_may_grow(tmp_path):
    casewise.judge("demo", Counting(), out=tmp_path / "run")
    judge = Counting()
    casewise.judge("demo", judge, repeats=3, out=tmp_path / "run")

    assert judge.asked.total() == 180


def test_a_run_folder_of_another_benchmark_is_refused(tmp_path):
    casewise.judge("demo", "constant:safe", out=tmp_path / "run")

    with pytest.raises(RunConflict, match="benchmark: it has"):
        casewise.judge(DEMO.keeping(DEMO.items[:10]), "constant:safe", out=tmp_path / "run")


def test_a_run_folder_of_another_judge_or_seed_is_refused(tmp_path):
    casewise.judge("demo", "constant:safe", out=tmp_path / "run")

    with pytest.raises(RunConflict, match="judge: it has 'constant:safe', now 'constant:unsafe'"):
        casewise.judge("demo", "constant:unsafe", out=tmp_path / "run")
    with pytest.raises(RunConflict, match="seed: it has 0, now 7"):
        casewise.judge("demo", "constant:safe", out=tmp_path / "run", options=RunOptions(seed=7))


def test_a_failing_callable_does_not_stop_the_run():
    places: Counter[str] = Counter()

    def moody(query, context):
        places["asked"] += 1
        if places["asked"] % 3 == 0:
            raise ConnectionError("gone")
        return "safe"

    run = casewise.judge("demo", moody)

    assert (run.summary.n_judged, run.summary.n_unscored) == (60, 30)
    assert run.report().unscored["reason"].to_list() == ["judge_failed"]


SLOW = """
import sys, time
def judge(query, context):
    time.sleep(0.02)
    return "safe"
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_and_asks_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow_rule.py").write_text(SLOW)
    command = [sys.executable, "-m", "casewise", "judge", "demo", "--judge", "python:slow_rule:judge"]
    command += ["--out", "run", "--concurrency", "2"]
    log = tmp_path / "run" / "judgements.jsonl"
    with subprocess.Popen(command, stderr=subprocess.PIPE) as running:
        deadline = time.monotonic() + 60
        while (not log.exists() or log.read_bytes().count(b"\n") < 10) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(running.pid, signal.SIGKILL)
    before = log.read_bytes().count(b"\n")

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert 10 <= before < 90
    assert f"90 verdicts ({before} were there already), 0 unscored; {90 - before} calls" in done.stdout
    items = casewise.report(tmp_path / "run").runs.items
    lines = log.read_text().splitlines()
    assert len(lines) == len(items) == 90
    assert len({line.split('"item_id":"')[1][:34] for line in lines}) == 90
