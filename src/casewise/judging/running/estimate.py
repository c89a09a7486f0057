"""What a run would take, before the first call."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from casewise.judging.judge import Judge
from casewise.judging.running.plan import Plan, shared
from casewise.models.protocol import Usage
from casewise.runs.limits import Spend
from casewise.storage.benchmarks.benchmark import Benchmark

__all__ = ["RunEstimate", "estimate_run"]


@dataclass(frozen=True)
class RunEstimate:
    """Calls, tokens and cost of a plan as a whole, as if nothing were judged yet.

    Tokens in are estimated from the prompts' length, tokens out from what such replies usually take; `at_most` is the
    bound that `--max-cost` reckons with. Costs are None where nobody knows the price.
    """

    n_items: int
    n_asks: int
    n_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    cost_at_most_usd: float | None

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def estimate_run(benchmark: Benchmark, judge: Judge, plan: Plan) -> RunEstimate:
    """What `plan` would take. No call is made."""
    n_calls, sent, replied, at_most = 0, 0, 0, Spend()
    for bundle in plan.bundles(benchmark):
        for first, *_ in shared(bundle, judge):
            n_calls += 1
            usual = judge.usually(first)
            sent, replied = sent + (usual.input_tokens or 0), replied + (usual.output_tokens or 0)
            at_most += judge.at_most(first)
    prices = judge.prices
    return RunEstimate(
        n_items=len(plan.items),
        n_asks=len(plan),
        n_calls=n_calls,
        input_tokens=sent,
        output_tokens=replied,
        cost_usd=prices.of(Usage(sent, replied)) if prices else None,
        cost_at_most_usd=at_most.cost_usd if prices else None,
    )
