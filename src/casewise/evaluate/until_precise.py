"""Sampling until precise: what is known of each query before a judge is asked, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from casewise.audits.subject import Subject
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.evaluate.judged_runs import read_runs
from casewise.stats.adaptive import FIRST_LOOK, PreciseEstimate, QueryFrame, size_weights
from casewise.stats.arrays import BoolArray, FloatArray
from casewise.stats.sample import right as right_part


@dataclass(frozen=True)
class KnownQueries:
    """The frame to sample from, and which items and queries its rows are."""

    frame: QueryFrame
    query_ids: tuple[str, ...]
    place: np.ndarray[tuple[int], np.dtype[np.intp]]
    """(items,) the row of each item's query; meaningless where it has no label."""
    labelled: BoolArray
    """(items,): items with a label; only these count in accuracy, and only they are asked."""

    def by_query(self, value: FloatArray) -> FloatArray:
        """`value` of the labelled items, summed within queries."""
        rows = self.labelled
        return np.bincount(self.place[rows], weights=value[rows], minlength=len(self.query_ids)).astype(np.float64)


def known_queries(subject: Subject) -> KnownQueries:
    """The queries with labelled items, with people's margin, the intent and the classifier's probability as known.

    Raises BenchmarkError: no item has a label.
    """
    labelled = ~np.isnan(subject.label)
    if not labelled.any():
        raise BenchmarkError(f"{subject.benchmark.name!r} has no ratings, so there is no accuracy to be precise about")
    ids = subject.items["query_id"].to_numpy().astype(str)
    names, place = np.unique(ids[labelled], return_inverse=True)
    whole = np.zeros(len(ids), dtype=np.intp)
    whole[labelled] = place
    label = np.where(labelled, subject.label, 0.5)
    margin = np.abs(2 * subject.n_safe / np.maximum(subject.n_votes, 1) - 1)
    intended = np.nan_to_num(subject.intended, nan=0.5)
    words = np.full(len(ids), 0.5) if subject.why_no_baseline else np.nan_to_num(subject.baseline, nan=0.5)
    agreement = label * words + (1 - label) * (1 - words)
    features = np.column_stack([margin, label, np.abs(label - intended), agreement])
    counts = np.bincount(place).astype(float)
    summed = [np.bincount(place, weights=column[labelled]) for column in features.T]
    # A judge errs more where people are divided: so much is known before it is asked.
    chance = 0.55 + 0.4 * margin[labelled]
    spread = np.sqrt(np.bincount(place, weights=chance * (1 - chance)))
    frame = QueryFrame(counts, np.column_stack(summed) / counts[:, None], size_weights(spread))
    return KnownQueries(frame, tuple(names.tolist()), whole, labelled)


@dataclass(frozen=True)
class PreciseRun:
    """A run over as many queries as its accuracy needed."""

    path: Path
    found: PreciseEstimate
    half_width: float
    seed: int

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values; the inclusion probabilities stand in the run's `sampling.json`."""
        one = self.found
        return {
            "run": str(self.path),
            "accuracy": {"estimate": one.estimate, "ci_low": one.low, "ci_high": one.high},
            "half_width": self.half_width,
            "reached": one.reached,
            "queries": one.queries,
            "of_queries": one.of_queries,
            "items": one.items,
            "of_items": one.of_items,
            "calls_saved": one.saved,
            "looks": one.look,
            "seed": self.seed,
        }

    def sentence(self) -> str:
        """What was found, and what it saved."""
        one = self.found
        if one.queries == one.of_queries:
            why = (
                f"sampling starts at {FIRST_LOOK} queries, and there are {one.of_queries}"
                if one.of_queries <= FIRST_LOOK
                else f"no smaller sample told it to within {self.half_width:g}"
            )
            return f"Accuracy on all {one.of_items:,} labelled items: {one.estimate:.3f}. All were asked: {why}."
        return (
            f"Accuracy on all {one.of_items:,} labelled items: {one.estimate:.3f} [{one.low:.3f}, {one.high:.3f}], from "
            f"{one.items:,} of them ({one.saved:.0%} of the calls saved), at look {one.look}."
        )


def right(subject: Subject, folder: Path) -> FloatArray:
    """How much of each item was judged rightly: 1, 0, or a half at a tie.

    Raises ConfigurationError: the judge was asked in several ways: there is then no one accuracy.
    """
    found = read_runs([folder], benchmark=subject.benchmark)
    if len(found.series) != 1:
        raise ConfigurationError("--until-precise needs one elicitation and one arm; name them, and another --out")
    sample = found.whole_sample(found.series[0])
    return np.nan_to_num(right_part(sample.safe, sample.weight))


def sampling(run: PreciseRun, known: KnownQueries) -> dict[str, Any]:
    """What a reader needs to weight the run's items."""
    inclusion = run.found.sample.inclusion.tolist()
    return {**run.as_json(), "inclusion": dict(zip(known.query_ids, inclusion, strict=True))}
