"""What a grader is: a query and a reply in, what the reply does out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from casewise.models.http.prices import Prices
from casewise.models.protocol import Usage
from casewise.records import GradeOutcome, Ground, Ungraded
from casewise.runs.limits import Spend

__all__ = ["Graded", "Grader", "ToGrade"]


@dataclass(frozen=True)
class ToGrade:
    """A query and the reply to it. Graders see no context: they say what a reply does, and not whether it is right."""

    query: str
    reply: str


@dataclass(frozen=True)
class Graded:
    """What a grader found, under the names of the record; without an outcome it says why."""

    outcome: GradeOutcome | None = None
    ungraded: Ungraded | None = None
    detail: str | None = None
    ground: Ground | None = None
    raw_reply: str | None = None
    latency_s: float | None = None
    model_version: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    shared_with: str | None = None
    probabilities: dict[str, float] | None = None


class Grader(Protocol):
    """Says what replies do. `casewise.judging.judge.Costless` has a default for all but `id`, `name` and `grade`."""

    @property
    def id(self) -> str:
        """Tells this grader from every other; holds the version of its rubric."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def sends_to(self) -> str | None:
        """Whom queries and replies are sent to; None where they do not leave this machine."""

    @property
    def concurrency(self) -> int:
        """How many replies it wants to wait at least."""

    @property
    def prices(self) -> Prices | None:
        """What its tokens cost; None where nobody knows."""

    @property
    def counts_tokens(self) -> bool:
        """Whether it says how many tokens it took."""

    def settings(self) -> dict[str, Any]:
        """What its grades depend on, as JSON values."""

    def notes(self) -> tuple[str, ...]:
        """What a reader of its grades must know."""

    def usually(self, what: ToGrade) -> Usage:
        """What a call takes, roughly."""

    def at_most(self, what: ToGrade) -> Spend:
        """What a call can take at most."""

    async def grade(self, what: ToGrade) -> Graded:
        """What a reply does. It raises only where no further reply can be graded either."""

    async def close(self) -> None:
        """Let go of connections and memory."""
