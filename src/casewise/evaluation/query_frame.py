"""What is known of each query before a judge is asked: for sampling until precise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casewise.auditing.subject import Subject
from casewise.errors import BenchmarkError
from casewise.stats.agreeing.adaptive_sampling import QueryFrame, size_weights
from casewise.stats.core.arrays import BoolArray, FloatArray

__all__ = ["KnownQueries", "known_queries"]


@dataclass(frozen=True)
class KnownQueries:
    """The frame to sample from, and which items and queries its rows are.

    Attributes
    ----------
    labelled : (items,)
        Items with a label; only these count in accuracy, and only they are asked.
    """

    frame: QueryFrame
    query_ids: tuple[str, ...]
    place: np.ndarray[tuple[int], np.dtype[np.intp]]
    """(items,) the row of each item's query; meaningless where it has no label."""
    labelled: BoolArray

    def by_query(self, value: FloatArray) -> FloatArray:
        """`value` of the labelled items, summed within queries."""
        rows = self.labelled
        found: FloatArray = np.bincount(self.place[rows], weights=value[rows], minlength=len(self.query_ids)).astype(
            np.float64
        )
        return found


def known_queries(subject: Subject) -> KnownQueries:
    """The queries with labelled items, with people's margin, the intent and the classifier's probability as known.

    Raises
    ------
    BenchmarkError
        No item has a label.
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
    words = subject.baseline if subject.why_no_baseline is None else np.full(len(ids), 0.5)
    agreement = label * words + (1 - label) * (1 - words)
    features = np.column_stack([margin, label, np.abs(label - intended), agreement])
    counts = np.bincount(place).astype(float)
    summed = [np.bincount(place, weights=column[labelled]) for column in features.T]
    # A judge errs more where people are divided: so much is known before it is asked.
    chance = 0.55 + 0.4 * margin[labelled]
    spread = np.sqrt(np.bincount(place, weights=chance * (1 - chance)))
    frame = QueryFrame(counts, np.column_stack(summed) / counts[:, None], size_weights(spread))
    return KnownQueries(frame, tuple(names.tolist()), whole, labelled)
