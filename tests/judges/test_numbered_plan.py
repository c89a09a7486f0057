"""A plan by its numbers, and a log in columns held against it: the same as by keys, one after another."""

from typing import Any

import numpy as np
import pytest

from casewise.judges.judge import Answer
from casewise.judges.llm import LLMJudge
from casewise.judges.run import JudgingKind, NumberedPlan, Plan
from casewise.models.protocol import FakeModel
from casewise.records import FULL, NO_CONTEXT, Judgement, Scored, Unscored, UnscoredReason
from casewise.runs.limits import RunProgress
from casewise.runs.run import HeldByKey, HeldInColumns, LastAttempt
from casewise.storage.load import load_benchmark
from casewise.storage.run_folder import LastAttempts, judgements_in_brief

OUTCOMES = (
    Scored(value=1.0),
    Unscored(reason=UnscoredReason.EMPTY),
    Unscored(reason=UnscoredReason.UNAVAILABLE),
)

KIND = JudgingKind("j@1")


@pytest.fixture(scope="module")
def benchmark():
    return load_benchmark("demo")


@pytest.fixture(scope="module")
def plan(benchmark):
    shuffled = [benchmark.items[place] for place in np.random.default_rng(3).permutation(len(benchmark.items))][:41]
    return Plan(tuple(shuffled), ("score", "binary"), (FULL, NO_CONTEXT), repeats=2, retry_unscored=1)


def log_of(path, plan, benchmark, *, seed):
    """Of half the plan one to three attempts, in no order; and lines that are no ask of the plan."""
    rng = np.random.default_rng(seed)
    written = []
    for ask in plan.asks(benchmark, LLMJudge(FakeModel())):
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
    written += [written[0].model_copy(update=one) for one in strangers]
    order = rng.permutation(len(written))
    path.write_text("".join(written[place].line() + "\n" for place in order))
    return [written[place] for place in order]


def test_numbers_go_through_a_plan_in_its_order(plan, benchmark, tmp_path):
    numbered = NumberedPlan(plan, benchmark)
    judge = LLMJudge(FakeModel())

    bundles = list(plan.asks(benchmark, judge).bundles())
    assert [numbered.bundle(place) for place in range(len(bundles))] == bundles
    assert numbered.ends.tolist() == np.cumsum([len(one) for one in bundles]).tolist()
    asks = [ask for bundle in bundles for ask in bundle]
    lines = [KIND.record(ask, Answer(OUTCOMES[0])) for ask in asks]
    (tmp_path / "log").write_text("".join(one.line() + "\n" for one in lines))
    assert numbered.numbers(judgements_in_brief(tmp_path / "log")).tolist() == list(range(len(plan)))


@pytest.mark.parametrize("seed", range(3))
def test_a_log_in_columns_leaves_what_the_same_log_by_keys_leaves(plan, benchmark, tmp_path, seed):
    records = log_of(tmp_path / "log", plan, benchmark, seed=seed)
    columns = judgements_in_brief(tmp_path / "log")
    known: LastAttempts[tuple[str, ...], LastAttempt] = LastAttempts(lambda last: last.attempt)
    for place, record in zip(columns["place"], records, strict=True):
        known.note(KIND.log.key(record), LastAttempt(place, record.attempt, KIND.usable(record), KIND.passing(record)))
    asks = plan.asks(benchmark, LLMJudge(FakeModel()))

    by_key = HeldByKey(asks, KIND.key, known.by_key.get)
    at_once = HeldInColumns(NumberedPlan(plan, benchmark), columns, plan.retry_unscored)

    counted = [RunProgress(), RunProgress()]
    by_key.count(counted[0])
    at_once.count(counted[1])
    assert counted[0] == counted[1]
    assert 0 < counted[0].resumed < counted[0].n_done < len(plan)
    left = list(at_once.left())
    assert left == list(by_key.left())
    assert 0 < len(left) <= len(NumberedPlan(plan, benchmark).ends)
