"""A judge's numbers over few queries and many: intervals of metrics, of differences, of calibration, of pairs and costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from benchmarks.covered.rows import Row, Section
from benchmarks.covered.tally import Held, rows
from tests.support.judges import wrong_at_random

from casewise.stats.calibration import QUERIES_PER_BIN, calibration
from casewise.stats.costs import turning_point
from casewise.stats.estimates import difference_of, estimate_of, measure
from casewise.stats.measured import Measured
from casewise.stats.metrics import FLOORS, METRICS, REFUSALS
from casewise.stats.pairs import PairIndex, pair_results
from casewise.stats.sample import Sample
from casewise.stats.shares import korn_graubard

__all__ = ["SECTIONS"]

EVERY = (*METRICS, *FLOORS, *REFUSALS)
QUERIES = (15, 30, 60, 120, 450)
SHAPES = {"one item a query": (1, 1), "8 items, errors alone": (8, 1), "8 items, errors in pairs": (8, 2)}
WRONG = (0.02, 0.1, 0.5)
MANY = 60_000
"""Queries that a truth is computed on."""


def with_silence(sample: Sample, rng: np.random.Generator) -> Sample:
    """One item in twenty has no verdict and no value."""
    silent = rng.random(len(sample)) < 0.05
    safe, probability, value = (
        np.where(silent, np.nan, column) for column in (sample.safe, sample.probability, sample.value)
    )
    return replace(sample, safe=safe, probability=probability, value=value)


def korn_graubard_width(found: Measured) -> float | None:
    if found.kind != "share" or found.name == "auroc" or np.isnan(found.value) or found.at_risk < 2:
        return None
    limits = korn_graubard(min(max(found.value, 0.0), 1.0), found.variance, n=max(found.n, 2), clusters=found.at_risk)
    return float(limits.high - limits.low)


def metrics(studies: int) -> Iterator[Row]:
    """Every metric of a table, in every size, shape and rate of errors."""
    rng = np.random.default_rng(43)
    for shape, (each, together) in SHAPES.items():
        for wrong in WRONG:

            def drawn(queries: int, each: int = each, together: int = together, wrong: float = wrong) -> Sample:
                return with_silence(wrong_at_random(rng, queries, 1 - wrong, together, each=each), rng)

            truth = {found.name: found.value for found in measure(drawn(MANY), metrics=EVERY)}
            for queries in QUERIES:
                found: dict[str, Held] = defaultdict(Held)
                for _ in range(studies):
                    for one in measure(drawn(queries), metrics=EVERY):
                        found[one.name].add(estimate_of(one), truth[one.name], korn_graubard_width(one))
                setting = f"{queries} queries, {shape}, {wrong:.0%} wrong"
                yield from rows(found, [metric.name for metric in EVERY], setting)


def differences(studies: int) -> Iterator[Row]:
    """Two judges of the same items: the second goes the first's way on seven queries of ten."""
    rng = np.random.default_rng(47)
    named = tuple(metric for metric in (*METRICS, *REFUSALS) if metric.name != "unscored_rate")
    for wrong, other in ((0.01, 0.03), (0.03, 0.03), (0.1, 0.1), (0.1, 0.3), (0.5, 0.5)):
        for each in (1, 8):

            def drawn(
                queries: int, each: int = each, wrong: float = wrong, other: float = other
            ) -> tuple[Sample, Sample]:
                return two_judges(rng, queries, wrong, other, each=each)

            first, second = ({one.name: one.value for one in measure(sample, metrics=named)} for sample in drawn(MANY))
            for queries in QUERIES:
                found: dict[str, Held] = defaultdict(Held)
                for _ in range(studies):
                    pair = [measure(sample, metrics=named) for sample in drawn(queries)]
                    for a, b in zip(*pair, strict=True):
                        found[f"{a.name}: difference"].add(difference_of(a, b), first[a.name] - second[a.name])
                setting = f"{queries} queries of {each}, {wrong:.0%} and {other:.0%} wrong"
                yield from rows(found, [f"{metric.name}: difference" for metric in named], setting)


def two_judges(
    rng: np.random.Generator, queries: int, wrong: float, other: float, *, each: int
) -> tuple[Sample, Sample]:
    """Judges that are wrong so often on the same items, the second as the first is on seven queries of ten where it can be."""
    first = wrong_at_random(rng, queries, 1.0, each=each)
    draws = rng.random(len(first)), rng.random(len(first))
    alike = np.repeat(rng.random(queries) < 0.7, each)
    return (
        turned(first, draws[0] < wrong),
        turned(first, np.where(alike, draws[0], draws[1]) < other),
    )


def turned(sample: Sample, wrong: np.ndarray) -> Sample:
    """The judge with its values turned about on some items."""
    q = np.where(wrong, 1 - sample.probability, sample.probability)
    return replace(sample, safe=(q > 0.5).astype(float), probability=q, value=q)


def calibrations(studies: int) -> Iterator[Row]:
    """Judges that mean what they say, that shrink, and that are grossly wrong now and then."""
    rng = np.random.default_rng(53)
    names = ("calibration_part", "refinement_part")

    def judge(kind: str, queries: int, each: int) -> Sample:
        if kind.endswith("wrong"):
            return wrong_at_random(rng, queries, 1 - float(kind[:2]) / 100, each=each)
        shared = np.repeat(rng.beta(3, 3, queries), each)
        opinion = np.clip(shared + rng.normal(0, 0.1, queries * each), 0.02, 0.98)
        votes = rng.binomial(20, opinion) / 20
        told = opinion if kind == "calibrated" else 0.5 + 0.6 * (opinion - 0.5) if kind == "drawn in" else 0.4 * opinion
        cluster, counts = np.repeat(np.arange(queries), each), np.full(queries * each, 20.0)
        weight = np.where(votes > 0.5, 1.0, np.where(votes < 0.5, 0.0, 0.5))
        return Sample(weight, votes, (told > 0.5).astype(float), told, told, cluster, counts)

    for kind in ("calibrated", "drawn in", "shrunk", "02 % wrong", "10 % wrong", "50 % wrong"):
        for each in (1, 8):
            many = {
                bins: calibration(judge(kind, MANY, each), n_bins=bins)
                for bins in {min(10, max(1, queries // QUERIES_PER_BIN)) for queries in QUERIES}
            }
            for queries in QUERIES:
                truth = many[min(10, max(1, queries // QUERIES_PER_BIN))]
                found: dict[str, Held] = defaultdict(Held)
                for _ in range(studies):
                    one = calibration(judge(kind, queries, each))
                    for name in names:
                        aim = getattr(truth, name).estimate
                        # What a calibrated judge of endless queries has is 0, and rounding.
                        found[name].add(getattr(one, name), 0.0 if aim < 2e-4 else aim)
                yield from rows(found, names, f"{queries} queries of {each}, {kind}")


def pairs(studies: int) -> Iterator[Row]:
    """Two items a query, the judge's errors alone, beside one person."""
    rng = np.random.default_rng(59)

    def drawn(queries: int, wrong: float) -> tuple[Sample, PairIndex]:
        sample = wrong_at_random(rng, queries, 1 - wrong, each=2)
        places = np.arange(0, 2 * queries, 2)
        return sample, PairIndex(places, places + 1, 0)

    for wrong in (0.02, 0.1, 0.3):
        known = pair_results(*drawn(MANY, wrong))
        assert known is not None
        truth = {one.name: one.estimate for one in known.estimates}
        for queries in QUERIES:
            found: dict[str, Held] = defaultdict(Held)
            for _ in range(studies):
                result = pair_results(*drawn(queries, wrong))
                assert result is not None
                for one in result.estimates:
                    found[one.name].add(one, truth[one.name] or 0.0)
            yield from rows(found, truth, f"{queries} pairs, {wrong:.0%} wrong")


def turning_points(studies: int) -> Iterator[Row]:
    """A strict judge and a lenient one: the ratio at which they change places, where it has an interval."""
    rng = np.random.default_rng(61)

    def drawn(queries: int) -> tuple[Sample, Sample]:
        first = wrong_at_random(rng, queries, 1.0, each=2)

        def judge(cut: float) -> Sample:
            wrong = rng.random(len(first)) < 0.1
            return replace(first, safe=(np.where(wrong, 1 - first.probability, first.probability) > cut).astype(float))

        return judge(0.65), judge(0.4)

    truth = turning_point(*drawn(4 * MANY)).ratio.estimate
    for queries in QUERIES:
        found = Held()
        for _ in range(studies):
            found.add(turning_point(*drawn(queries)).ratio, truth or 0.0)
        yield found.row(
            "turning_point", f"{queries} queries of 2; {found.studies} of {studies} with an interval", "no claim"
        )


SECTIONS = (
    Section(
        "metrics",
        "a judge's numbers",
        tuple(metric.name for metric in EVERY),
        "15, 30, 60, 120 and 450 queries; one item a query, or eight whose rates share a third of their spread, errors alone or "
        "in pairs; a judge that believes the opposite on 2, 10 or 50 % of items and is unsure of the rest by 0.3 logits; 20 "
        "votes an item; one item in twenty without a verdict. Widths are beside Korn and Graubard's where the number is a share.",
        metrics,
        quick=60,
    ),
    Section(
        "differences",
        "differences of two judges' numbers",
        tuple(f"{metric.name}: difference" for metric in (*METRICS, *REFUSALS) if metric.name != "unscored_rate"),
        "15 to 450 queries of one or eight items; judges wrong on 1 and 3 %, 3 and 3 %, 10 and 10 %, 10 and 30 %, 50 and 50 % of items, by the same "
        "draw on seven queries of ten.",
        differences,
        quick=120,
    ),
    Section(
        "calibration",
        "parts of the Brier score",
        ("calibration_part", "refinement_part"),
        "15 to 450 queries of one or eight items; judges that are calibrated, draw values in to 0.6 about a half, shrink them to "
        "0.4, or are wrong on 2, 10 or 50 % of items. The truth is of as many bins on 60,000 queries.",
        calibrations,
        quick=30,
    ),
    Section(
        "pairs",
        "pairs of items of one query",
        (
            *("both_right", "right_flips", "reversed_flips", "both_right_where_alike", "false_flips"),
            *("person_right_flips", "person_reversed_flips", "person_false_flips"),
            *("beside_person_right_flips", "beside_person_reversed_flips", "beside_person_false_flips"),
        ),
        "15 to 450 pairs of items that share a quarter of their rates' spread; a judge wrong on 2, 10 or 30 % of items.",
        pairs,
        quick=200,
    ),
    Section(
        "turning-point",
        "turning point of a cost curve",
        ("turning_point",),
        "15 to 450 queries of two items; judges wrong on 10 % of items each, one with a threshold of 0.65 and one of 0.4. It "
        "counts the studies in which there is an interval.",
        turning_points,
        quick=200,
    ),
)
