"""Numbers that others published, with where they come from, to set runs beside."""

from __future__ import annotations

from functools import cache

from pydantic import Field

from casewise.records.base import Record
from casewise.records.toml import shipped_toml
from casewise.storage.benchmarks.benchmark import Published

__all__ = ["PublishedJudge", "PublishedNumbers", "numbers_beside", "published_numbers"]


class PublishedJudge(Record):
    """One judge, asked one way, under both label policies where both are known."""

    name: str
    elicitation: str
    omitted: tuple[str, ...] = ()
    n_unscored: int | None = None
    published: dict[str, float]
    """Metric to value, by the paper's own rules."""
    votes: dict[str, float] = Field(default_factory=dict)
    """Metric to value, against people's votes alone; empty where only the paper's own figures are known."""
    note: str | None = None

    @property
    def title(self) -> str:
        """The judge, and how it was asked."""
        arm = f", without {', '.join(self.omitted)}" if self.omitted else ""
        return f"{self.name} ({self.elicitation}{arm})"


class PublishedNumbers(Record):
    """A table of published numbers."""

    name: str
    n_items: int
    commit: str
    source: str
    missing: tuple[str, ...]
    """What was published or could be, and is not here."""
    judges: tuple[PublishedJudge, ...]

    def best(self) -> tuple[PublishedJudge, ...]:
        """Each judge once, asked the way it was most accurate in by the paper's rules; the best first."""
        ordered = sorted(self.judges, key=lambda judge: -judge.published.get("accuracy", 0.0))
        first: dict[str, PublishedJudge] = {}
        for judge in ordered:
            first.setdefault(judge.name, judge)
        return tuple(first.values())


@cache
def published_numbers() -> PublishedNumbers:
    """The numbers of the paper's judges on the CASE-Bench release that could be checked."""
    return PublishedNumbers.model_validate(shipped_toml("casewise.evaluation.published", "numbers.toml"))


def numbers_beside(published: Published | None) -> PublishedNumbers | None:
    """The numbers to set beside a benchmark read from such a file; None where it is not of the CASE-Bench release.

    The release, or a part of it, is told by its rates: they count the author's intent as one vote more.
    """
    return published_numbers() if published is not None and published.rates_count_intent else None
