"""A judge's published output, scored again: the release's numbers beside ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.records import Elicitation, Scored, ShortRepr
from casewise.stats.estimates import Estimate, estimate
from casewise.stats.metrics import metrics_named, published_cross_entropy
from casewise.stats.sample import PUBLISHED, VOTES, LabelPolicy, Sample, judged, of_raw_values
from casewise.storage.published import OutputRow, PublishedOutput, read_output

LABEL_METRICS = ("accuracy", "recall_safe", "recall_unsafe")
RATE_METRICS = ("pearson", "cross_entropy", "brier")


@dataclass(frozen=True, repr=False)
class Replay(ShortRepr):
    """The published numbers of one judge's output, and ours."""

    path: Path
    judge: str
    elicitation: Elicitation
    omitted: tuple[str, ...]
    n: int
    n_unscored: int
    votes: dict[str, Estimate]
    """Estimates against people's votes alone, with intervals; an unparsed reply counts as a miss."""
    by_papers_rules: dict[str, Estimate]
    """By the release's own rules, with intervals as far as there are some: policy `published`, an unparsed reply counts as 1.0."""
    notes: tuple[str, ...] = ()
    """What a reader must know before relying on them, such as values that look filled in by chance."""

    @property
    def published(self) -> dict[str, float]:
        """Metric to value of `by_papers_rules`."""
        estimates = self.by_papers_rules.items()
        return {name: one.estimate for name, one in estimates if one.estimate is not None and np.isfinite(one.estimate)}

    def as_json(self) -> dict[str, Any]:
        """The replay as plain JSON values; what the elicitation cannot give is absent."""
        return {
            "judge": self.judge,
            "elicitation": self.elicitation,
            "omitted": list(self.omitted),
            "n": self.n,
            "n_unscored": self.n_unscored,
            "published": self.published,
            "votes": {
                name: {
                    **found.picked(),
                    "n": int(found.n) if found.n.is_integer() else found.n,
                    "n_unscored": found.n_unscored,
                }
                for name, found in self.votes.items()
                if found.estimate is not None
            },
            "notes": list(self.notes),
        }


def replay(path: str | Path, *, elicitation: Elicitation | None = None) -> Replay:
    """Score a judge's output file of the published release, by its rules and by ours.

    `path`: `exp/safety_MODEL/output_MODE.json` of the release.
    `elicitation`: how the judge was asked, where the file's name does not say it.

    Raises DataError: the file is no such output; the message says where. ConfigurationError: neither the name nor
    `elicitation` says how the judge was asked.
    """
    output = read_output(Path(path), elicitation=elicitation)
    items = table(output)
    return Replay(
        path=output.path,
        judge=output.judge,
        elicitation=output.elicitation,
        omitted=output.arm.omitted,
        n=len(output.rows),
        n_unscored=sum(not isinstance(row.outcome, Scored) for row in output.rows),
        votes=our_numbers(output, items, VOTES),
        by_papers_rules=by_papers_rules(published_sample(output, items), output.elicitation),
        notes=notes_of(output),
    )


def notes_of(output: PublishedOutput) -> tuple[str, ...]:
    """What is odd about an output: values of another kind than its name says, or some that look filled in by chance."""
    odd = of_raw_values([row.raw for row in output.rows], output.safe_rates)
    found = (output.misnamed, odd.sentence if odd is not None and odd.suspect else None)
    return tuple(f"{output.judge}, {output.path.name}: {said}." for said in found if said)


def table(output: PublishedOutput) -> pl.DataFrame:
    rows = output.rows
    return pl.DataFrame(
        {
            "query_id": [row.query for row in rows],
            "category": [row.category for row in rows],
            "intended_safe": [row.intended_safe for row in rows],
            "n_safe": [row.votes.count(1) for row in rows],
            "n_votes": [len(row.votes) for row in rows],
            "published_rate": [row.safe_rate for row in rows],
        }
    )


def wanted(elicitation: Elicitation) -> tuple[str, ...]:
    return LABEL_METRICS if elicitation == "binary" else (*LABEL_METRICS, *RATE_METRICS)


def published_sample(output: PublishedOutput, items: pl.DataFrame) -> Sample:
    values = np.array([published_value(row) for row in output.rows])
    return judged(items, values, elicitation=output.elicitation, policy=PUBLISHED, unscored="published")


def by_papers_rules(sample: Sample, elicitation: Elicitation) -> dict[str, Estimate]:
    """Return the paper's metrics of a sample under its rules, with intervals over queries.

    The cross-entropy is the release's own formula, which has no interval.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = {one.name: one for one in estimate(sample, metrics=metrics_named(*wanted(elicitation)))}
    if "cross_entropy" in found:
        value, why = published_cross_entropy(sample), "no interval: the release's formula is not bounded"
        finite = value if np.isfinite(value) else None
        found["cross_entropy"] = replace(found["cross_entropy"], estimate=finite, ci_low=None, ci_high=None, method=why)
    return found


def published_value(row: OutputRow) -> float:
    """The value as the release's scripts see it: numbers as they are, even those out of range."""
    if isinstance(row.outcome, Scored):
        return row.outcome.value
    return float(row.raw) if isinstance(row.raw, (int, float)) else np.nan


def our_numbers(output: PublishedOutput, items: pl.DataFrame, policy: LabelPolicy) -> dict[str, Estimate]:
    sample = judged(items, np.array(output.values), elicitation=output.elicitation, policy=policy)
    metrics = metrics_named(*wanted(output.elicitation))
    return {found.name: found for found in estimate(sample, metrics=metrics)}
