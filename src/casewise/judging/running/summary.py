"""Where a run goes, and what came of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from casewise.judging.judge import Answer
from casewise.records import Unscored

__all__ = ["RunSummary", "Target"]


@dataclass(frozen=True)
class Target:
    """Where a run goes, and how its report finds the benchmark again."""

    folder: Path
    benchmark_source: str
    seed: int = 0
    command: str | None = None


@dataclass
class RunSummary:
    """What a session did, and what the run holds after it.

    `n_calls`, `seconds`, tokens and cost are of this session; `resumed` is how many asks of the plan the log had
    settled before it; `n_judged` (with a verdict) and `n_unscored` are of the whole plan so far.
    """

    run: Path
    n_items: int
    n_calls: int = 0
    n_judged: int = 0
    n_unscored: int = 0
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    resumed: int = 0
    n_tries: int = 0
    """Requests, with those that were tried again."""
    stopped: str | None = None
    """Why the session ended before the plan did."""
    notes: tuple[str, ...] = field(default=())
    problems: Counter[str] = field(default_factory=Counter, repr=False)
    """Why replies of this session gave no verdict, in words, and how often."""

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values; `seconds` is from the first call to the last line on disk."""
        return {
            "run": str(self.run),
            "n_items": self.n_items,
            "n_calls": self.n_calls,
            "n_judged": self.n_judged,
            "n_unscored": self.n_unscored,
            "seconds": round(self.seconds, 3),
            "calls_per_second": round(self.n_calls / self.seconds, 3) if self.seconds > 0 else None,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
            "resumed": self.resumed,
            **({"stopped": self.stopped} if self.stopped else {}),
        }

    def count_call(self, answer: Answer) -> None:
        """Take one call into account."""
        self.n_calls += 1
        self.n_tries += (answer.detail or {}).get("tries", 1)
        self.input_tokens += answer.input_tokens or 0
        self.output_tokens += answer.output_tokens or 0
        if answer.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + answer.cost_usd

    def count_outcome(self, answer: Answer, *, known: bool) -> None:
        """Take what an ask came to into account; a `known` one was unscored before and is counted anew."""
        self.n_unscored -= known
        if isinstance(answer.outcome, Unscored):
            self.n_unscored += 1
            self.problems[in_words(answer.outcome)] += 1
        else:
            self.n_judged += 1


def in_words(outcome: Unscored) -> str:
    detail = " ".join((outcome.detail or "").split())
    words = f"{outcome.reason.value.replace('_', ' ')}: {detail}" if detail else outcome.reason.value.replace("_", " ")
    return words if len(words) <= 200 else f"{words[:197]}..."
