"""Decisions about judges: the gate, and ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from benchmarks.covered.rows import Row, Section
from tests.support.judges import wrong_at_random

from casewise.stats.arrays import FloatArray
from casewise.stats.comparison import gate, gate_metrics, metric_gate, rank_intervals
from casewise.stats.estimates import measure
from casewise.stats.measured import Measured
from casewise.stats.metrics import ON_SCALE, parse_metrics
from casewise.stats.sample import Sample
from casewise.stats.shares import sign_test

__all__ = ["SECTIONS"]

NAMES = tuple(name for name, metric in gate_metrics().items() if name != "unscored_rate" and metric not in ON_SCALE)


def changed(rng: np.random.Generator, queries: int, *, each: int, lost: float, gained: float) -> tuple[Sample, Sample]:
    """A run and its baseline: a share of items, or of pairs of them, is lost, another gained."""
    before = wrong_at_random(rng, queries, 0.85, each=each)
    block = np.arange(len(before)) // (2 if each > 1 else 1)
    draw = rng.random(int(block[-1]) + 1)[block]
    against = replace(before, weight=1 - before.weight, rate=1 - before.rate).all_wrong

    def mixed(own: FloatArray, worse: FloatArray, better: FloatArray) -> FloatArray:
        return np.where(draw < lost, worse, np.where(draw > 1 - gained, better, own))

    worse = before.all_wrong
    return before, replace(
        before,
        safe=mixed(before.safe, worse.safe, against.safe),
        probability=mixed(before.probability, worse.probability, against.probability),
        value=mixed(before.value, worse.value, against.value),
    )


def gates(studies: int) -> Iterator[Row]:
    """A drop of exactly the margin, runs that are the same, and a drop beside an exact sign test."""
    rng = np.random.default_rng(67)
    for each, lost, gained in ((1, 0.05, 0.0), (1, 0.1, 0.2), (8, 0.08, 0.05)):
        margins = {
            gated.metric.name: gated.drop
            for gated in gate(
                *changed(rng, 60_000, each=each, lost=lost, gained=gained), margins=dict.fromkeys(NAMES, 0.0)
            ).metrics
        }
        assert min(margins.values()) > 0.004
        for queries in (20, 45, 90, 200, 450):
            decisions: Counter[tuple[str, str]] = Counter()
            for _ in range(studies):
                before, after = changed(rng, queries, each=each, lost=lost, gained=gained)
                if len(set(before.weight)) > 1:
                    decisions.update(alone(before, after, margins))
            setting = f"{queries} queries of {each}, {lost:.0%} lost and {gained:.0%} gained"
            for name in NAMES:
                passed, failed = decisions[name, "pass"], decisions[name, "fail"]
                counted = passed + failed + decisions[name, "inconclusive"]
                yield Row(name, setting, "passes a drop of the margin", passed, counted, "≤ 6 %")
                yield Row(name, setting, "fails a drop of the margin", failed, counted, "≤ 6 %")
    yield from same(rng, studies)
    yield from beside_sign_test(rng, studies)


def alone(before: Sample, after: Sample, margins: dict[str, float]) -> Iterator[tuple[str, str]]:
    """What the gate says of each metric were it the only one; all are measured once."""
    pairs = zip(
        *(measure(sample, metrics=[gate_metrics()[name] for name in NAMES], losses=True) for sample in (before, after)),
        strict=True,
    )
    for one, other in pairs:
        if not np.isnan(one.value + other.value):
            yield one.name, metric_gate(margins[one.name], one, other, 1).decision


def same(rng: np.random.Generator, studies: int) -> Iterator[Row]:
    passed: Counter[str] = Counter()
    for _ in range(studies):
        run = wrong_at_random(rng, 450, 0.85, each=1)
        found = gate(run, run, margins=dict.fromkeys(NAMES, 0.05)).metrics
        passed.update(gated.metric.name for gated in found if gated.decision == "pass")
    for name in NAMES:
        yield Row(
            name, "450 queries of 1, margin 0.05", "passes a run that is the same", passed[name], studies, "≥ 80 %"
        )


def beside_sign_test(rng: np.random.Generator, studies: int) -> Iterator[Row]:
    """Where there is a drop and none is allowed: accuracy's gate, and an exact two-sided sign test over queries at 5 %."""
    for queries, lost, gained in (
        (20, 0.3, 0.0),
        (60, 0.12, 0.1),
        (200, 0.08, 0.15),
        (450, 0.05, 0.1),
        (450, 0.012, 0.0),
    ):
        failed = signed = 0
        for _ in range(studies):
            before, after = changed(rng, queries, each=1, lost=lost, gained=gained)
            (found,) = gate(before, after, margins={"accuracy": 0.0}).metrics
            failed += found.decision == "fail"
            right = [(sample.safe == sample.weight).astype(int) for sample in (before, after)]
            down, up = int((right[0] > right[1]).sum()), int((right[1] > right[0]).sum())
            signed += down > up and sign_test(down, up) <= 0.05
        setting = f"{queries} queries of 1, {lost:.1%} lost and {gained:.0%} gained"
        yield Row(
            "accuracy", setting, "fails a drop where none is allowed", failed, studies, "no less than the sign test"
        )
        yield Row("accuracy", setting, "exact sign test finds the same drop", signed, studies, "yardstick")


def ranks(studies: int) -> Iterator[Row]:
    """Judges that are equally good, and judges that are not: every true rank within its interval."""
    rng = np.random.default_rng(71)
    for queries in (45, 120, 450):
        for accuracies in ((0.8, 0.8), (0.8, 0.8, 0.8), (0.7, 0.8, 0.8, 0.85, 0.9), (0.95,) * 6):
            order = -np.array(accuracies)
            low, high = (order[:, None] > order).sum(1) + 1, (order[:, None] >= order).sum(1)
            held = 0
            for _ in range(studies):
                found = rank_intervals(judges(rng, queries, accuracies))
                # Judges that are equally good share their ranks: any order of theirs is true.
                held += bool((found.best <= low).all() and (found.worst >= high).all())
            setting = f"{queries} queries of 2, accuracies {', '.join(map(str, accuracies))}"
            yield Row("rank", setting, "misses a true rank", studies - held, studies, "≤ 6.5 %")


def judges(rng: np.random.Generator, queries: int, accuracies: tuple[float, ...]) -> list[Measured]:
    base = wrong_at_random(rng, queries, 1.0, each=2)
    base = replace(base, weight=(base.rate > 0.5).astype(float))
    hard = np.repeat(rng.random(queries), 2)
    found: list[Measured] = []
    for accuracy in accuracies:
        # A query's two items go together in part, and judges find the same ones hard in part.
        draw = np.where(rng.random(2 * queries) < 0.3, hard, rng.random(2 * queries))
        wrong = draw > accuracy
        sample = replace(base, safe=np.where(wrong, 1 - base.weight, base.weight))
        found += measure(sample, metrics=parse_metrics("accuracy"))
    return found


SECTIONS = (
    Section(
        "gate",
        "gates on a drop",
        NAMES,
        "20, 45, 90, 200 and 450 queries: a drop of exactly the margin, made by 5 % of items lost, by 10 % lost and 20 % of "
        "wrong ones gained, and of eight items a query by 8 % of pairs lost and 5 % gained; the same run twice at 450 queries; "
        "accuracy's drop where none is allowed beside an exact two-sided sign test over queries at 5 %.",
        gates,
        quick=300,
    ),
    Section(
        "ranks",
        "ranks of judges",
        ("rank",),
        "45, 120 and 450 queries of two items that are partly hard together and for all judges; two, three, five and six judges, "
        "equally good or not.",
        ranks,
        quick=200,
    ),
)
