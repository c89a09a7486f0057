"""What a run of a judge would take, before the first call."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from casewise.judging.judge import Judge
from casewise.judging.running.plan import Plan
from casewise.runs.estimate import CallEstimate, estimate_calls
from casewise.storage.benchmarks.benchmark import Benchmark

__all__ = ["RunEstimate", "estimate_run"]


@dataclass(frozen=True, kw_only=True)
class RunEstimate(CallEstimate):
    """Calls, tokens and cost of a plan as a whole, as if nothing were judged yet."""

    n_items: int
    n_asks: int

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"n_items": self.n_items, "n_asks": self.n_asks} | asdict(self)


def estimate_run(benchmark: Benchmark, judge: Judge, plan: Plan) -> RunEstimate:
    """What `plan` would take. No call is made."""
    calls = estimate_calls(
        plan.asks(benchmark, judge), usually=judge.usually, at_most=judge.at_most, prices=judge.prices
    )
    return RunEstimate(n_items=len(plan.items), n_asks=len(plan), **vars(calls))
