"""A judge's published output, scored again: the release's numbers beside ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.records import Elicitation, Scored, ShortRepr
from casewise.stats.estimates import Estimate, estimate
from casewise.stats.labels import PUBLISHED, VOTES
from casewise.stats.metrics import parse_metrics, published_cross_entropy
from casewise.stats.sample import Sample, filled_in_test, judge_sample
from casewise.storage.files import json_fields
from casewise.storage.published import PublishedOutput, read_output

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
    """Numbers by the release's own rules, with intervals as far as there are some: policy `published`, an unparsed reply counts as 1.0."""
    notes: tuple[str, ...] = ()
    """Sentences that a reader must know before relying on them, such as that values look filled in by chance."""

    @property
    def published(self) -> dict[str, float]:
        """Metric to value of `by_papers_rules`."""
        values = {name: number.estimate for name, number in self.by_papers_rules.items()}
        return {name: value for name, value in values.items() if value is not None and np.isfinite(value)}

    def as_json(self) -> dict[str, Any]:
        """Return the replay as plain JSON values; what the elicitation cannot give is absent."""
        return {
            **json_fields(self, without=("path", "votes", "by_papers_rules")),
            "published": self.published,
            "votes": {
                name: {
                    **number.fields(),
                    "n": int(number.n) if number.n.is_integer() else number.n,
                    "n_unscored": number.n_unscored,
                }
                for name, number in self.votes.items()
                if number.estimate is not None
            },
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
    # The release's scripts see numbers as they are, even those out of range.
    scored = zip(output.outcomes, output.raw, strict=True)
    raw = [outcome.value if isinstance(outcome, Scored) else value for outcome, value in scored]
    as_published = np.array([float(value) if isinstance(value, (int, float)) else np.nan for value in raw])
    sample = judge_sample(items, np.array(output.values), elicitation=output.elicitation, policy=VOTES)
    published = judge_sample(
        items, as_published, elicitation=output.elicitation, policy=PUBLISHED, unscored="published"
    )
    metrics = parse_metrics(*metric_names(output.elicitation))
    return Replay(
        path=output.path,
        judge=output.judge,
        elicitation=output.elicitation,
        omitted=output.arm.omitted,
        n=len(output.rows),
        n_unscored=sum(not isinstance(outcome, Scored) for outcome in output.outcomes),
        votes={number.name: number for number in estimate(sample, metrics=metrics)},
        by_papers_rules=by_papers_rules(published, output.elicitation),
        notes=notes_of(output),
    )


def table(output: PublishedOutput) -> pl.DataFrame:
    """Return an output's items with their votes, a row each."""
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


def notes_of(output: PublishedOutput) -> tuple[str, ...]:
    """Return notes on an output: values of another kind than its name says, or values that look filled in by chance."""
    odd = filled_in_test(output.raw, output.safe_rates)
    oddities = (output.misnamed, odd.sentence if odd is not None and odd.suspect else None)
    return tuple(f"{output.judge}, {output.path.name}: {oddity}." for oddity in oddities if oddity)


def metric_names(elicitation: Elicitation) -> tuple[str, ...]:
    return LABEL_METRICS if elicitation == "binary" else (*LABEL_METRICS, *RATE_METRICS)


def by_papers_rules(sample: Sample, elicitation: Elicitation) -> dict[str, Estimate]:
    """Return the paper's metrics of a sample under its rules, with intervals over queries.

    The cross-entropy is the release's own formula, which has no interval.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = {
            number.name: number for number in estimate(sample, metrics=parse_metrics(*metric_names(elicitation)))
        }
    if "cross_entropy" in numbers:
        value = float(np.mean([published_cross_entropy(answer) for answer in sample.each_answer]))
        reason = "no interval: the release's formula is not bounded"
        finite = value if np.isfinite(value) else None
        numbers["cross_entropy"] = replace(
            numbers["cross_entropy"], estimate=finite, ci_low=None, ci_high=None, method=reason
        )
    return numbers
