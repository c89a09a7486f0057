"""The keys of a plan, and a log joined with them: the same as by looking up one ask after another."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from casewise.judges.llm import LLMJudge
from casewise.judges.run import Bundles, Plan
from casewise.models.protocol import FakeModel
from casewise.records import FULL, NO_CONTEXT, Item, Judgement, Scored, Unscored, UnscoredReason
from casewise.runs.engine import Asks, RunLog, RunSession, attempts_so_far
from casewise.runs.limits import InFlight, RunProgress, Spend
from casewise.storage.columns import RecordColumns
from casewise.storage.load import load
from casewise.storage.run_folder import JUDGEMENT_LOG, judgements_in_brief

OUTCOMES = (Scored(value=1.0), Unscored(reason=UnscoredReason.EMPTY), Unscored(reason=UnscoredReason.UNAVAILABLE))


@pytest.fixture(scope="module")
def benchmark():
    return load("demo")


@pytest.fixture(scope="module")
def plan(benchmark):
    shuffled = [benchmark.items[place] for place in np.random.default_rng(3).permutation(len(benchmark.items))][:41]
    return Plan(RecordColumns.of(Item, shuffled), ("score", "binary"), (FULL, NO_CONTEXT), repeats=2, retry_unscored=1)


def log_of(path, plan, benchmark, *, seed):
    """Of half the plan one to three attempts, in no order; and lines that are no ask of the plan."""
    rng = np.random.default_rng(seed)
    written = []
    for ask in (ask for bundle in Bundles(plan, benchmark) for ask in bundle):
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


def test_the_keys_of_a_plan_are_those_of_its_asks_in_its_order(plan, benchmark):
    asks = plan.asks(benchmark, LLMJudge(FakeModel()).shared_key)
    rows = asks.keys(JUDGEMENT_LOG.key).collect().rows()

    assert rows == [(number, *ask.key) for number, bundle in enumerate(asks.bundles) for ask in bundle]
    assert rows == Asks(asks.bundles, asks.size).keys(JUDGEMENT_LOG.key).collect().rows()
    assert len(rows) == len(plan)


@pytest.mark.parametrize("seed", range(3))
def test_what_a_log_settles_of_a_plan_is_what_its_attempts_so_far_say(plan, benchmark, tmp_path, seed):
    records = log_of(tmp_path / "log", plan, benchmark, seed=seed)
    columns = judgements_in_brief(tmp_path / "log")
    asks = plan.asks(benchmark, LLMJudge(FakeModel()).shared_key)
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
    attempts = attempts_so_far(asks, columns, JUDGEMENT_LOG.key)
    assert attempts.rows() == expected

    class Nothing(RunLog):
        key, held = JUDGEMENT_LOG.key, columns

        def write(self, ask, answer):
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
