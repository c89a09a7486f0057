"""A judge's run: its plan and its selection, calls that are shared, and what stops it."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.demo import DEMO

import casewise
from casewise.api import PlannedRun, RunOptions
from casewise.ask.elicitations import AskOptions
from casewise.errors import ConfigurationError, RunConflict, Unavailable
from casewise.judges.judge import Ask
from casewise.judges.llm import LLMJudge
from casewise.judges.plan import Bundles, Plan, Selection, ablation_arms, select
from casewise.models.prices import Prices, Spend
from casewise.models.protocol import FakeModel, Reply, Usage
from casewise.records import FULL, NO_CONTEXT, Arm, Item, Judgement, Scored, Unscored, UnscoredReason
from casewise.runs.engine import Asks, RunLog, RunSession, plan_attempts
from casewise.runs.limits import InFlight, Limits, RunObserver, RunProgress
from casewise.storage.columns import RecordColumns
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import JUDGEMENT_LOG, judgement_summaries

SAFE = '{"judgement": "safe"}'
FIRST = Selection(limit=8)


@pytest.fixture
def go(tmp_path):
    def run(judge, *, limits=Limits(), watch=None, folder="run", **plan):
        options = RunOptions(limits=limits, watch=watch)
        planned = PlannedRun(tmp_path / folder, DEMO, judge, Plan.for_benchmark(DEMO, judge, **plan), options)
        return asyncio.run(planned.perform()).summary

    return run


def log(summary):
    return list(read_jsonl(summary.run / "judgements.jsonl", Judgement))


def outcomes(summary):
    return sorted(
        (j.item_id, j.elicitation, j.arm, j.repeat, j.attempt, j.outcome.model_dump_json()) for j in log(summary)
    )


def test_results_do_not_depend_on_the_order_of_completion(go):
    def late(messages, options):
        return SAFE if len(messages[0].content) % 2 else '{"judgement": "unsafe"}'

    class Slow(FakeModel):
        async def reply(self, messages, options):
            await asyncio.sleep(random.random() / 200)
            return await super().reply(messages, options)

    alone = go(LLMJudge(FakeModel(late)), folder="one", selection=FIRST, limits=Limits(1))
    many = go(LLMJudge(Slow(late)), folder="many", selection=FIRST, limits=Limits(8))

    assert outcomes(alone) == outcomes(many)


def test_a_plan_is_the_product_of_its_parts_and_may_grow(go):
    first = go(LLMJudge(FakeModel()), selection=FIRST)
    model = FakeModel()
    grown = go(
        LLMJudge(model),
        selection=Selection(limit=10),
        arms=(FULL, NO_CONTEXT),
        elicitations=("binary", "score"),
        repeats=2,
    )
    keys = [(j.item_id, j.elicitation, j.arm, j.repeat) for j in log(grown)]

    assert (first.n_calls, first.n_judged) == (8, 8)
    assert (grown.resumed, grown.n_judged, grown.n_calls) == (8, 80, len(model.calls))
    assert len(keys) == len(set(keys)) == 80


def test_a_finished_run_asks_nothing_and_reads_no_context_again(tmp_path, monkeypatch):
    casewise.judge("demo", "constant:safe", out=tmp_path / "run")
    monkeypatch.setattr("casewise.storage.benchmark.Benchmark.context_of", None)

    again = casewise.judge("demo", "constant:safe", out=tmp_path / "run").summary

    assert (again.n_calls, again.resumed) == (0, 90)


def test_another_benchmark_judge_seed_or_setting_is_another_run(go, tmp_path):
    out = tmp_path / "run"
    casewise.judge("demo", "constant:safe", out=out)

    with pytest.raises(RunConflict, match="benchmark: it has"):
        casewise.judge(DEMO.restricted_to(DEMO.items[:10]), "constant:safe", out=out)
    with pytest.raises(RunConflict, match="judge: it has 'constant:safe', now 'constant:unsafe'"):
        casewise.judge("demo", "constant:unsafe", out=out)
    with pytest.raises(RunConflict, match="seed: it has 0, now 7"):
        casewise.judge("demo", "constant:safe", out=out, options=RunOptions(seed=7))
    go(LLMJudge(FakeModel()), selection=FIRST, folder="model")
    with pytest.raises(RunConflict, match=r"setting 'temperature': it has 0\.0, now 1\.0"):
        go(LLMJudge(FakeModel(), options=AskOptions(temperature=1.0)), selection=FIRST, folder="model")


def test_one_prompt_is_one_call(go):
    """Both items of a pair without their context are one prompt."""
    model = FakeModel()
    summary = go(LLMJudge(model), arms=(NO_CONTEXT,), selection=FIRST)
    by_item = {j.item_id: j for j in log(summary)}
    copies = [j for j in by_item.values() if j.shared_with]

    assert (len(model.calls), summary.n_calls, summary.n_judged, len(copies)) == (4, 4, 8, 4)
    assert all(copy.outcome == by_item[copy.shared_with].outcome for copy in copies)
    assert {copy.input_tokens for copy in copies} == {None}


@pytest.mark.parametrize(
    ("arms", "n_calls"), [((FULL, Arm.without("subject")), 8), (ablation_arms("groups"), 7 * 8 + 4)]
)
def test_arms_that_show_the_same_are_one_call(go, arms, n_calls):
    summary = go(LLMJudge(FakeModel()), arms=arms, selection=FIRST)

    assert (summary.n_calls, summary.n_judged) == (n_calls, 8 * len(arms))


def test_an_ablation_over_parameters_leaves_each_out_alone():
    arms = ablation_arms("parameters")

    assert (arms[0], len(ablation_arms("groups"))) == (FULL, 8)
    assert {arm.omitted for arm in arms[1:]} == {(name,) for name in casewise.load("demo").parameters.names}
    with pytest.raises(ConfigurationError, match="'groups' or 'parameters'"):
        ablation_arms("everything")


def test_a_retry_of_a_shared_call_is_shared_and_every_attempt_is_kept(go):
    replies = iter(["That depends.", SAFE])
    summary = go(
        LLMJudge(FakeModel(lambda *_: next(replies))),
        arms=(NO_CONTEXT,),
        retry_unscored=2,
        selection=Selection(limit=2),
    )

    attempts = sorted((j.attempt, bool(j.shared_with)) for j in log(summary))
    assert attempts == [(0, False), (0, True), (1, False), (1, True)]
    assert (summary.n_judged, summary.n_unscored, summary.n_calls) == (2, 0, 2)


def test_a_cost_limit_is_kept_over_all_sessions(go):
    reply = Reply(SAFE, "stop", usage=Usage(400, 20))
    judge = LLMJudge(FakeModel(reply), prices=Prices(1000.0, 1000.0), options=AskOptions(max_tokens=50))
    first, second = (go(judge, selection=Selection(limit=40), limits=Limits(4, max_cost=6.0)) for _ in range(2))

    spent = sum(j.cost_usd or 0 for j in log(second))
    assert first.stopped == second.stopped == "the cost limit of $6"
    assert 4.0 < spent <= 6.0


def test_an_endpoint_that_stays_away_stops_the_run(go):
    model = FakeModel(lambda messages, options: Unavailable("down"))
    with pytest.raises(Unavailable, match="5 calls in a row failed"):
        go(LLMJudge(model, patience=5), limits=Limits(1))

    assert len(model.calls) == 5


def test_what_failed_because_an_endpoint_was_down_is_asked_again_by_the_next_session_without_a_flag(go):
    down: Iterator[str | Exception] = iter([Unavailable("down"), SAFE, "It depends."])
    first = go(LLMJudge(FakeModel(lambda messages, options: next(down, SAFE))), selection=FIRST, limits=Limits(1))
    model = FakeModel(SAFE)
    second = go(LLMJudge(model), selection=FIRST)

    assert (first.n_judged, first.n_unscored) == (6, 2)
    assert (second.n_judged, second.n_unscored, len(model.calls)) == (7, 1, 1)


def test_progress_is_told_before_the_first_answer_and_after_every_one(go):
    counts: list[tuple[int, int]] = []
    watch = RunObserver(lambda summary, total: counts.append((summary.n_usable, total)))
    go(LLMJudge(FakeModel()), selection=FIRST, watch=watch)

    assert counts == [(n, 8) for n in range(9)]


def test_a_sample_keeps_queries_whole_and_depends_on_its_seed():
    drawn = select(DEMO, Selection(sample=20, seed=1))

    assert len(drawn) == 20
    assert len({item.query_id for item in drawn}) == 10
    assert drawn == select(DEMO, Selection(sample=20, seed=1))
    assert drawn != select(DEMO, Selection(sample=20, seed=2))
    assert list(drawn) == [item for item in DEMO.items if item in drawn]


def test_a_category_is_found_by_name_and_a_wrong_one_is_named():
    name = DEMO.queries[0].category
    selected = select(DEMO, Selection(categories=(name,)))

    assert {DEMO.query[item.query_id].category for item in selected} == {name}
    with pytest.raises(ConfigurationError, match="no category is called 'nonsense'"):
        select(DEMO, Selection(categories=("nonsense",)))
    with pytest.raises(ConfigurationError, match="no item is left"):
        select(DEMO, Selection(limit=0))


def test_the_session_says_how_it_was_done(go):
    summary = go(LLMJudge(FakeModel()), selection=FIRST, limits=Limits(3, max_tokens_total=10**9))
    session = json.loads((summary.run / "sessions.jsonl").read_text())

    assert (session["options"]["concurrency"], session["options"]["max_tokens_total"]) == (3, 10**9)
    assert (session["planned_items"], session["planned_asks"]) == (8, {"binary full": 8})


SLOW = """
import time
def judge(query, context):
    time.sleep(0.02)
    return "safe"
"""


@pytest.mark.slow
def test_a_killed_run_of_a_function_goes_on_and_asks_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow_rule.py").write_text(SLOW)
    command = [sys.executable, "-m", "casewise", "judge", "demo", "--judge", "python:slow_rule:judge"]
    command += ["--out", "run", "--concurrency", "2"]
    judgements = tmp_path / "run" / "judgements.jsonl"
    with subprocess.Popen(command, stderr=subprocess.PIPE) as running:
        deadline = time.monotonic() + 60
        while (not judgements.exists() or judgements.read_bytes().count(b"\n") < 10) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(running.pid, signal.SIGKILL)
    before = judgements.read_bytes().count(b"\n")

    resumed = subprocess.run(command, capture_output=True, text=True, check=True)

    assert 10 <= before < 90
    assert f"90 verdicts ({before} from earlier sessions), 0 unscored; {90 - before} calls" in resumed.stdout
    ids = [json.loads(line)["item_id"] for line in judgements.read_text().splitlines()]
    assert len(ids) == len(set(ids)) == 90


# The keys of a plan, and a log joined with them: the same as by looking up one ask after another.

OUTCOMES = (Scored(value=1.0), Unscored(reason=UnscoredReason.EMPTY), Unscored(reason=UnscoredReason.UNAVAILABLE))


@pytest.fixture(scope="module")
def plan():
    shuffled = [DEMO.items[place] for place in np.random.default_rng(3).permutation(len(DEMO.items))][:41]
    return Plan(
        RecordColumns.from_records(Item, shuffled), ("score", "binary"), (FULL, NO_CONTEXT), repeats=2, retry_unscored=1
    )


def log_of(path, plan, *, seed):
    """Of half the plan one to three attempts, in no order; and lines that are no ask of the plan."""
    rng = np.random.default_rng(seed)
    written = []
    for ask in (ask for bundle in Bundles(plan, DEMO) for ask in bundle):
        for attempt in range(rng.integers(0, 4) if rng.random() < 0.7 else 0):
            which = {"item_id": ask.item.id, "elicitation": ask.elicitation, "arm": ask.arm.name, "repeat": ask.repeat}
            outcome = OUTCOMES[rng.integers(len(OUTCOMES))]
            written.append(
                Judgement.model_validate({"judge_id": "j@1", "attempt": attempt, "outcome": outcome, **which})
            )
    strangers: list[dict[str, Any]] = [
        {"item_id": "i_0"},
        {"arm": "without:recipient"},
        {"repeat": 2},
        {"elicitation": "probability"},
    ]
    written += [written[0].model_copy(update=changes) for changes in strangers]
    order = rng.permutation(len(written))
    path.write_text("".join(written[place].line() + "\n" for place in order))
    return [written[place] for place in order]


def test_the_keys_of_a_plan_are_those_of_its_asks_in_its_order(plan):
    asks = plan.asks(DEMO, LLMJudge(FakeModel()).shared_key)
    rows = asks.keys(JUDGEMENT_LOG.key).collect().rows()

    assert rows == [(number, *ask.key) for number, bundle in enumerate(asks.bundles) for ask in bundle]
    assert rows == Asks(asks.bundles, asks.size).keys(JUDGEMENT_LOG.key).collect().rows()
    assert len(rows) == len(plan)


@pytest.mark.parametrize("seed", range(3))
def test_what_a_log_settles_of_a_plan_is_what_its_attempts_so_far_say(plan, tmp_path, seed):
    records = log_of(tmp_path / "log", plan, seed=seed)
    columns = judgement_summaries(tmp_path / "log")
    asks = plan.asks(DEMO, LLMJudge(FakeModel()).shared_key)
    last: dict[tuple[str | int, ...], tuple[int, Judgement]] = {}
    for place, record in zip(columns["place"], records, strict=True):
        key = (record.item_id, record.elicitation, record.arm, record.repeat)
        if key not in last or record.attempt >= last[key][1].attempt:
            last[key] = (place, record)

    expected: list[tuple[Any, ...]] = []
    for number, bundle in enumerate(asks.bundles):
        for ask in bundle:
            if ask.key not in last:
                expected.append((number, None, None, None, None))
                continue
            place, record = last[ask.key]
            usable = record.outcome == OUTCOMES[0]
            settled = usable or (record.outcome != OUTCOMES[2] and record.attempt >= plan.retry_unscored)
            expected.append((number, place, record.attempt, usable, settled))
    attempts = plan_attempts(asks, columns, JUDGEMENT_LOG.key)
    assert attempts.rows() == expected

    class Nothing(RunLog[Ask, Judgement]):
        key, earlier_answers = JUDGEMENT_LOG.key, columns

        def write(self, ask: Ask, answer: Judgement) -> None:
            raise AssertionError("nothing is copied: no two asks share a call")

    progress = RunProgress()
    alone = replace(asks, shared_key=lambda _ask: None)
    run = RunSession(alone, Nothing(tmp_path, InFlight()), lambda _ask: Spend(), progress)
    groups = list(run.calls)
    assert 0 < progress.resumed < progress.n_done < len(plan)
    assert [group.asks[0].key for group in groups] == [
        ask.key
        for ask, row in zip((ask for bundle in asks.bundles for ask in bundle), expected, strict=True)
        if not row[4]
    ]
    assert {group.asks[0].attempt for group in groups} >= {0, 1}
