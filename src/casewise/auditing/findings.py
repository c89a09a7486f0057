"""A finding: something in a benchmark that changes what its numbers mean, with its evidence and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from casewise.errors import ConfigurationError, did_you_mean
from casewise.records.base import Record

__all__ = ["ALPHA", "CODES", "EFFECTS", "Effect", "Finding", "Part", "checked_codes", "together"]

ALPHA = 0.001
"""Every finding that rests on a test is made at this level, after correction within its own test."""

Effect = Literal["label", "score", "note"]

EFFECTS: dict[Effect, float] = {"label": 1.0, "score": 0.5, "note": 0.2}
"""What a finding does to a number: it is not people's (label), it means less than it seems (score), or worth knowing."""

CODES: dict[str, str] = {
    "labels.intent-in-rates": "the stated safe rates count the author's intent as a vote",
    "labels.intent-in-votes": "a vote column is the author's intent",
    "labels.rates-disagree": "stated safe rates are not those of the votes",
    "labels.ties": "ties, whose label a rule has to settle",
    "labels.gap-at-majority": "vote counts stop at the majority line, by intent",
    "labels.unstable": "labels that may come out otherwise in a repeated study",
    "labels.votes-depend": "votes depend on each other across items",
    "labels.unrated": "items without ratings",
    "intent.not-shared": "people do not share the author's intent",
    "intent.predicts-labels": "the author's intent alone gives most labels",
    "baseline.vocabulary": "words of the context alone predict people's verdicts",
    "baseline.one-parameter": "words of one parameter alone predict people's verdicts",
    "baseline.query": "words of the query alone predict people's verdicts",
    "baseline.shortcut": "exchanged contexts keep the prediction while people change",
    "contexts.repeated": "statements that stand in many contexts word for word",
    "contexts.length": "the length of a context tells its intent",
    "contexts.missing": "parameters that not every context states",
    "contexts.missing-tells": "whether a parameter is stated tells the intent",
    "contexts.near-duplicates": "nearly the same context with different queries",
    "contexts.unmoved": "queries that no context moves: people's verdict is the same under each",
    "people.disagree": "people agree little with each other",
    "coverage.one-category": "all items are of one category",
    "coverage.thin": "categories with too few queries to say anything about",
    "coverage.unpaired": "queries without both a safe and an unsafe context",
    "coverage.one-verdict": "people's verdicts are all alike",
    "coverage.uneven-votes": "items have very different numbers of votes",
    "outputs.against-label": "items whose label the good judges among the outputs contradict",
    "outputs.filled-in": "values of a judge's output look filled in by chance",
}
"""Stable codes, for `--fail-on`: what each says."""


class Finding(Record):
    """Something that changes what a benchmark's numbers mean."""

    code: str
    title: str
    effect: Effect
    """What it does to a number: see `EFFECTS`."""
    share: float = Field(ge=0, le=1)
    """Share of items that it touches, or of the distance that it closes; between 0 and 1."""
    evidence: dict[str, Any]
    """The numbers behind it, by name."""
    advice: str
    """What to do about it."""
    items: tuple[str, ...] = ()
    """Ids of up to twenty items to look at."""

    @model_validator(mode="after")
    def _code_is_known(self) -> Finding:
        if self.code not in CODES:
            raise ValueError(f"{self.code!r} is not in CODES")
        return self

    @property
    def weight(self) -> float:
        """Rank among findings: the share touched times what the effect counts."""
        return self.share * EFFECTS[self.effect]

    @property
    def part(self) -> str:
        """The part of the audit that found it."""
        return self.code.partition(".")[0]


class Part(Record):
    """What one part of the audit measured, found, and could not look at."""

    name: str
    measured: dict[str, Any] = Field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    left_out: tuple[str, ...] = ()
    """Sentences: what was not looked at, and why."""


def together(name: str, parts: Sequence[Part]) -> Part:
    """One part of several looks."""
    return Part(
        name=name,
        measured={key: value for part in parts for key, value in part.measured.items()},
        findings=tuple(finding for part in parts for finding in part.findings),
        left_out=tuple(line for part in parts for line in part.left_out),
    )


def checked_codes(names: Iterable[str]) -> tuple[str, ...]:
    """`names`, if each is a code, a part of the audit, or `any`.

    Raises ConfigurationError: one is neither; the message lists them all.
    """
    parts = {code.partition(".")[0] for code in CODES}
    wanted = tuple(names)
    for name in wanted:
        if name not in CODES and name not in parts and name != "any":
            listed = "\n".join(f"  {code}: {what}" for code, what in CODES.items())
            raise ConfigurationError(
                f"no finding is called {name!r}{did_you_mean(name, {*CODES, *parts})}; there are any, {', '.join(sorted(parts))}, and\n{listed}"
            )
    return wanted
