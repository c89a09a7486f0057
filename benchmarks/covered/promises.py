"""Deciders' promises: how often harm is at most what was promised, where the judge's true harm is known at every threshold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from benchmarks.covered.rows import Row, Section
from numpy.typing import NDArray
from scipy.stats import norm

import casewise
from casewise.deciding.fitting import evidence_of
from casewise.errors import StatisticsError
from casewise.evaluate.judged_runs import read_runs
from casewise.stats.arrays import BoolArray, FloatArray
from casewise.stats.estimates import Estimate
from casewise.stats.labels import VOTES
from casewise.stats.thresholds import (
    DECISIONS,
    Evidence,
    FittedThresholds,
    Requirements,
    RiskPromise,
    Trial,
    cheapest_trial,
    fit_thresholds,
    kept_threshold,
    measure_decisions,
)

__all__ = ["SECTIONS"]

GAP = 2.0
"""How far a judge's values of safe and unsafe items lie apart, in their own spread."""

EDGES = np.linspace(-3.0, 3.0, 9)
"""Where values become scores of 1 to 10."""


def seen(
    rng: np.random.Generator, queries: int, each: int, alike: float, *, scores: bool, gap: float = GAP
) -> Evidence:
    """`each` safe and `each` unsafe items a query, whose values share the part `alike` of their spread."""
    weight = np.tile(np.repeat([1.0, 0.0], each), queries)
    cluster = np.repeat(np.arange(queries), 2 * each)
    noise = np.sqrt(alike) * rng.normal(size=queries)[cluster] + np.sqrt(1 - alike) * rng.normal(size=len(cluster))
    value = gap * (weight - 0.5) + noise
    return Evidence(scored(value) if scores else value, weight, cluster)


def scored(value: FloatArray) -> FloatArray:
    found: FloatArray = (1 + np.searchsorted(EDGES, value)).astype(np.float64)
    return found


def true_harm(threshold: float, *, scores: bool, gap: float = GAP) -> float:
    """The chance that an unsafe item is answered."""
    if not np.isfinite(threshold):
        return 0.0 if threshold > 0 else 1.0
    if scores:
        lowest = int(np.floor(threshold))  # the scores above it begin at this edge
        threshold = float(EDGES[lowest - 1]) if lowest >= 1 else -np.inf
    return float(norm.sf(threshold, loc=-gap / 2))


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
            requirements = Requirements(max_harm=at_most, chosen_from=judges if shared else 1)
            held = promised = 0
            for _ in range(studies):
                harms = []
                for _ in range(judges):
                    some = seen(rng, queries, 1, 0.0, scores=False)
                    try:
                        cut = kept_threshold(some, requirements.promises[0]).threshold
                    except StatisticsError:
                        continue
                    harms.append((float((some.value[some.weight == 1] <= cut).mean()), true_harm(cut, scores=False)))
                promised += bool(harms)
                held += bool(harms) and min(harms)[1] <= at_most
            bound = "its bound shared" if shared else "its bound not shared"
            what = f"the best of {judges} judges, {bound}, {queries} queries, ≤ {at_most:.0%}"
            if promised:
                yield Row("harm, promised", what, "is at most that", held, promised, "≥ 95 %" if shared else "no claim")


def recommended(studies: int) -> Iterator[Row]:
    """What `casewise recommend` says of the judge that it chooses: its promise, and the intervals of its errors and its cost."""
    rng = np.random.default_rng(33)
    for judges, queries, gaps in (
        (1, 300, (2.0,)),
        (3, 100, (2.0,)),
        (3, 300, (2.0,)),
        (10, 300, (2.0,)),
        (3, 300, (2.0, 1.5)),
    ):
        for requirements in (
            Requirements(ratio=3.0, chosen_from=judges),
            Requirements(max_harm=0.1, chosen_from=judges),
        ):
            rights = {"harm": 0, "over_refusal": 0, "cost": 0, "harm, promised": 0}
            widths: dict[str, list[float]] = {name: [] for name in rights}
            for _ in range(studies):
                trials, gap_of = {}, {}
                for place in range(judges):
                    gap_of[str(place)] = gaps[place % len(gaps)]
                    some = seen(rng, queries, 1, 0.0, scores=False, gap=gap_of[str(place)])
                    trials[str(place)] = Trial.from_evidence(some, requirements, method="platt")
                chosen = cheapest_trial(trials)
                trial, truth = trials[chosen], true_errors(trials[chosen].fitted, gap_of[chosen])
                found = trial.measured
                truth["cost"] = (truth["over_refusal"] + requirements.costs[0] * truth["harm"]) / 2
                for name, value in truth.items():
                    interval = getattr(found, name)
                    if isinstance(interval, Estimate) and interval.limits:
                        rights[name] += interval.limits[0] <= value <= interval.limits[1]
                        widths[name].append(interval.limits[1] - interval.limits[0])
                rights["harm, promised"] += truth["harm"] <= (requirements.max_harm or 1)
            aim = "costs alone" if requirements.max_harm is None else "harm ≤ 10%"
            what = f"the best of {judges} judges{', unequal' if len(gaps) > 1 else ''}, {queries} queries, for {aim}"
            for name in ("harm", "over_refusal", "cost"):
                if widths[name]:
                    width = float(np.median(widths[name]))
                    yield Row(
                        f"{name}, recommended",
                        what,
                        "holds the truth",
                        rights[name],
                        len(widths[name]),
                        "≥ 92 %",
                        width,
                    )
            if requirements.max_harm is not None:
                yield Row("harm, promised", what, "is at most that", rights["harm, promised"], studies, "≥ 95 %")


def true_errors(fitted: FittedThresholds, gap: float) -> dict[str, float]:
    """The chance that an unsafe item is answered, and a safe one refused."""
    cut = fitted.answer_above
    return {"harm": true_harm(cut, scores=False, gap=gap), "over_refusal": float(norm.cdf(cut, loc=gap / 2))}


SHARED = Path(os.environ.get("CASEWISE_TEST_SHARED", Path(__file__).parents[3] / "shared")) / "data"
"""The developers' data: published judges on the published votes, words made up."""

HALVES = 150


def published_evidence() -> dict[str, Evidence]:
    """Six published series of two judges beside people's votes."""
    benchmark = casewise.load(SHARED / "casebench_shapes.json")
    with TemporaryDirectory() as folder:
        files = sorted((SHARED / "published_outputs").rglob("output_*.json"))
        runs = [
            casewise.judge(benchmark, f"recorded:{file}", out=Path(folder) / str(place)).path
            for place, file in enumerate(files)
        ]
        found = read_runs(runs, benchmark=benchmark)
        return {series.name: evidence_of(found, series, VOTES)[0] for series in found.series}


def fresh_halves(_studies: int) -> Iterator[Row]:
    """A promise made after choosing on one half of the published queries, held against the other half."""
    if not SHARED.is_dir():
        return
    judges = published_evidence()
    queries = 1 + max(int(one.cluster.max()) for one in judges.values())
    for at_most in (0.05, 0.1, 0.2):
        for how in ("the bound shared", "chosen and promised on different queries", "no correction"):
            rng = np.random.default_rng(33)
            shared = how == "the bound shared"
            requirements = Requirements(max_harm=at_most, chosen_from=len(judges) if shared else 1)
            broken, promised, refused = 0, 0, []
            for _ in range(HALVES):
                order = rng.permutation(queries)
                half = among(order[: queries // 2], queries)
                chosen, fitted = choice(judges, half, rng.permutation(order[: queries // 2]), requirements, how=how)
                if fitted is None:
                    continue
                fresh = judges[chosen].where(~half[judges[chosen].cluster])
                promised += 1
                broken += harm_of_queries(fresh, fitted) > at_most
                over = measure_decisions(
                    fresh, fitted.decide(fresh.value, fail="refuse"), requirements=requirements
                ).over_refusal.estimate
                refused.append(over or 0.0)
            what = f"six published series, halves of {queries} queries, harm ≤ {at_most:.0%}, {how}"
            aim = "no claim" if how == "no correction" else "≤ 5 %"
            yield Row("harm, promised", what, "is above that on the fresh half", broken, promised, aim)
            yield Row(
                "harm, promised",
                what,
                f"over-refusal on the fresh half, {how}",
                round(sum(refused)),
                promised,
                "no claim",
            )


def choice(
    judges: dict[str, Evidence], half: BoolArray, order: NDArray[np.intp], requirements: Requirements, *, how: str
) -> tuple[str, FittedThresholds | None]:
    """The chosen judge, and its thresholds; None where no promise can be made."""
    first = last = half
    if how.startswith("chosen"):
        first, last = (among(some, len(half)) for some in np.array_split(order, 2))
    trials = {
        name: Trial.from_evidence(one.where(first[one.cluster]), requirements, method="platt")
        for name, one in judges.items()
    }
    chosen = cheapest_trial(trials)
    try:
        return chosen, fit_thresholds(judges[chosen].where(last[judges[chosen].cluster]), requirements)
    except StatisticsError:
        return chosen, None


def among(some: NDArray[np.intp], queries: int) -> BoolArray:
    found: BoolArray = np.isin(np.arange(queries), some)
    return found


def harm_of_queries(evidence: Evidence, fitted: FittedThresholds) -> float:
    answered = fitted.decide(evidence.value, fail="refuse") == DECISIONS.index("answer")
    unsafe, (_, query) = 1 - evidence.weight, np.unique(evidence.cluster, return_inverse=True)
    items, harmed = np.bincount(query, weights=unsafe), np.bincount(query, weights=unsafe * answered)
    return float((harmed[items > 0] / items[items > 0]).mean())


SECTIONS = (
    Section(
        "promises",
        "promises of deciders",
        ("harm, promised", "harm, on average"),
        "Judges whose values of safe and unsafe items are normal and lie two spreads apart, as they are and as scores of 1 to 10; one unsafe "
        "item a query, three that go wrong together or three that do not. What was promised is held against the true harm of the "
        "threshold. A promise of over-refusal is the same from the other side.",
        kept,
        quick=1_000,
    ),
    Section(
        "chosen-promises",
        "promises after a choice among judges",
        ("harm, promised",),
        "Such judges, 3 or 10 equally good ones; the one that refuses the fewest safe items within its promise is chosen, on the "
        "queries that the promise rests on: with the bound shared among the judges (`--chosen-from`), and without.",
        chosen,
        quick=400,
    ),
    Section(
        "recommended",
        "recommended judges",
        ("harm, recommended", "over_refusal, recommended", "cost, recommended", "harm, promised"),
        "What `casewise recommend` says of the judge with the lowest held-out cost among 1, 3 and 10 such judges, equally good or every "
        "second one worse: the intervals of its errors and of its cost, and its promise, held against the truth at its threshold.",
        recommended,
        quick=100,
        full=400,
    ),
    Section(
        "fresh-halves",
        "promises on fresh halves of CASE-Bench's votes",
        ("harm, promised",),
        f"{HALVES} times, a half of the queries of CASE-Bench's published votes and six published series of two judges (words made up): one is "
        "chosen and harm is promised, which is held against the other half.",
        fresh_halves,
        quick=1,
        full=1,
    ),
)
