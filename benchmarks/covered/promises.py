"""Deciders' promises: how often harm is at most what was promised, where the judge's true harm is known at every threshold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.covered.rows import Row, Section
from scipy.stats import norm

from casewise.errors import StatisticsError
from casewise.stats.arrays import FloatArray
from casewise.stats.thresholds import Evidence, RiskPromise, Wanted, kept_threshold

__all__ = ["SECTIONS"]

GAP = 2.0
"""How far a judge's values of safe and unsafe items lie apart, in their own spread."""

EDGES = np.linspace(-3.0, 3.0, 9)
"""Where values become scores of 1 to 10."""


def seen(rng: np.random.Generator, queries: int, each: int, alike: float, *, scores: bool) -> Evidence:
    """`each` safe and `each` unsafe items a query, whose values share the part `alike` of their spread."""
    weight = np.tile(np.repeat([1.0, 0.0], each), queries)
    cluster = np.repeat(np.arange(queries), 2 * each)
    noise = np.sqrt(alike) * rng.normal(size=queries)[cluster] + np.sqrt(1 - alike) * rng.normal(size=len(cluster))
    value = GAP * (weight - 0.5) + noise
    return Evidence(scored(value) if scores else value, weight, cluster)


def scored(value: FloatArray) -> FloatArray:
    found: FloatArray = (1 + np.searchsorted(EDGES, value)).astype(np.float64)
    return found


def true_harm(threshold: float, *, scores: bool) -> float:
    """The chance that an unsafe item is answered."""
    if not np.isfinite(threshold):
        return 0.0 if threshold > 0 else 1.0
    if scores:
        lowest = int(np.floor(threshold))  # the scores above it begin at this edge
        threshold = float(EDGES[lowest - 1]) if lowest >= 1 else -np.inf
    return float(norm.sf(threshold, loc=-GAP / 2))


def kept(studies: int) -> Iterator[Row]:
    """Promises at 95 %, and on average."""
    rng = np.random.default_rng(15)
    for queries, at_most in ((60, 0.1), (300, 0.05), (300, 0.02)):
        for each, alike, scores in ((1, 0.0, False), (1, 0.0, True), (3, 0.6, False), (3, 0.0, False)):
            promises = [RiskPromise("harm", at_most, level) for level in (0.95, None)]
            harms: list[list[float]] = [[], []]
            for _ in range(studies):
                some = seen(rng, queries, each, alike, scores=scores)
                for promise, found in zip(promises, harms, strict=True):
                    found.append(true_harm(kept_threshold(some, promise).threshold, scores=scores))
            what = f"{queries} queries of {each}{' that go together' if alike else ''}{', scores of 1 to 10' if scores else ''}, ≤ {at_most:.0%}"
            n = sum(one <= at_most for one in harms[0])
            yield Row("harm, promised", what, "is at most that", n, studies, "≥ 95 %")
            mean = float(np.mean(harms[1]))
            yield Row("harm, on average", what, "mean harm", round(mean * studies), studies, f"≤ {at_most:.0%}")


def chosen(studies: int) -> Iterator[Row]:
    """The best of several equal judges, chosen by the same queries that its promise rests on."""
    rng = np.random.default_rng(17)
    for judges, queries, at_most in ((3, 300, 0.05), (10, 300, 0.05), (10, 300, 0.02), (10, 60, 0.1)):
        for shared in (False, True):
            wanted = Wanted(max_harm=at_most, chosen_from=judges if shared else 1)
            held = promised = 0
            for _ in range(studies):
                harms = []
                for _ in range(judges):
                    some = seen(rng, queries, 1, 0.0, scores=False)
                    try:
                        cut = kept_threshold(some, wanted.promises[0]).threshold
                    except StatisticsError:
                        continue
                    harms.append((float((some.value[some.weight == 1] <= cut).mean()), true_harm(cut, scores=False)))
                promised += bool(harms)
                held += bool(harms) and min(harms)[1] <= at_most
            bound = "its bound shared" if shared else "its bound not shared"
            what = f"the best of {judges} judges, {bound}, {queries} queries, ≤ {at_most:.0%}"
            if promised:
                yield Row("harm, promised", what, "is at most that", held, promised, "≥ 95 %" if shared else "no claim")


SECTIONS = (
    Section(
        "promises",
        ("harm, promised", "harm, on average"),
        "Judges whose values of safe and unsafe items are normal and lie two spreads apart, as they are and as scores of 1 to 10; one unsafe "
        "item a query, three that go wrong together or three that do not. What was promised is held against the true harm of the "
        "threshold. A promise of over-refusal is the same from the other side.",
        kept,
        quick=1_000,
    ),
    Section(
        "chosen-promises",
        ("harm, promised",),
        "Such judges, 3 or 10 equally good ones; the one that refuses the fewest safe items within its promise is chosen, on the "
        "queries that the promise rests on: with the bound shared among the judges (`--chosen-from`), and without.",
        chosen,
        quick=400,
    ),
)
