"""Where a run goes, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from casewise.runs.progress import RunProgress

__all__ = ["RunSummary", "Target"]


@dataclass(frozen=True)
class Target:
    """Where a run goes, and how its report finds the benchmark again."""

    folder: Path
    benchmark_source: str
    seed: int = 0
    command: str | None = None


@dataclass(kw_only=True)
class RunSummary(RunProgress):
    """What a session of judging did, and what the run holds after it."""

    unusable: ClassVar[str] = "unscored"

    run: Path
    n_items: int
    notes: tuple[str, ...] = ()
    """What a reader must know of the judge."""

    @property
    def n_judged(self) -> int:
        """Asks of the plan with a verdict so far."""
        return self.n_usable

    @property
    def n_unscored(self) -> int:
        """Asks of the plan that were answered and have none."""
        return self.n_unusable

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
            **({"pending": self.n_pending} if self.n_pending else {}),
            **({"stopped": self.stopped} if self.stopped else {}),
        }
