"""Conclusions in the smallest worlds: how often one is drawn that is false, where few or no errors are seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.covered.rows import Row, Section
from scipy.stats import binom

from casewise.stats.arrays import FloatArray
from casewise.stats.ceilings import against_new_person, leave_one_out
from casewise.stats.comparison import gate, winner
from casewise.stats.contrasts import clustered_contrast
from casewise.stats.estimates import difference_of
from casewise.stats.measured import TotalsByCluster, share
from casewise.stats.sample import Sample

__all__ = ["SECTIONS"]

SIZES = (2, 5, 10, 20, 40, 60)
MARGIN = 0.05
WANTED = "≤ 5 %"


def no_worse_than_a_person(studies: int) -> Iterator[Row]:
    """A judge that is worse than one more person by exactly the margin, among people who dissent rarely or never."""
    rng = np.random.default_rng(46)
    for queries in SIZES:
        for votes, dissent in ((2, 0.0), (3, 0.1), (5, 0.05), (21, 0.02), (21, 0.1)):
            kinds = np.arange(votes + 1)
            chance = binom.pmf(kinds, votes, 1 - dissent)
            ahead, behind = (
                float(chance @ leave_one_out(np.full(votes + 1, verdict), kinds, np.full(votes + 1, votes)) @ [1, -1])
                for verdict in (1, 0)
            )
            accuracy, passed = (-MARGIN - behind) / (ahead - behind), 0
            for _ in range(studies):
                safe = rng.binomial(votes, 1 - dissent, queries)
                judge = (rng.random(queries) < accuracy).astype(float)
                if not (2 * safe == votes).all():
                    passed += against_new_person(judge, safe, np.full(queries, votes), margin=MARGIN).not_worse
            setting = f"{queries} queries, {votes} people who each dissent on {dissent:.0%}"
            yield Row("no worse than a person", setting, "passes at the margin", passed, studies, WANTED)


def conditions(studies: int) -> Iterator[Row]:
    """Two conditions that differ by exactly the margin, or not at all among people who differ throughout."""
    rng = np.random.default_rng(47)
    for queries, people in ((2, 2), (5, 3), (10, 3), (20, 5), (20, 20), (60, 60)):
        for rate in (1.0, 0.99, 0.6):
            alike = differs = 0
            for _ in range(studies):
                alike += contrast(rng, (rate, rate - MARGIN), queries, people, 0.0)[1] <= 0.05
                differs += contrast(rng, (rate, rate), queries, people, 1.0)[0] <= 0.05
            setting = f"{queries} queries, {people} people a condition, {rate:.0%} safe"
            yield Row("alike", setting, "passes at the margin", alike, studies, WANTED)
            yield Row(
                "differs", f"{setting}, people 1 logit apart", "rejects without a difference", differs, studies, WANTED
            )


def contrast(
    rng: np.random.Generator, rates: tuple[float, float], queries: int, people: int, apart: float
) -> tuple[float, float]:
    """The p values that two conditions differ, and that they are alike, in one study of people who rate under one condition."""
    query, person, side = (part.ravel() for part in np.meshgrid(range(queries), range(people), (0, 1), indexing="ij"))
    rate = np.clip(np.asarray(rates), 1e-12, 1 - 1e-12)[side]
    leaning = rng.normal(0, apart, (2, people))[side, person]
    safe = rng.random(len(rate)) < 1 / (1 + (1 - rate) / rate * np.exp(-leaning))
    found = clustered_contrast(safe, side == 1, query=query, annotator=2 * person + side).queries_like_these
    assert found is not None
    return found.p, found.equivalence_p(MARGIN)


def judges(studies: int) -> Iterator[Row]:
    """Judges of equal accuracy, and a run that is worse than its baseline by exactly the margin of a gate."""
    rng = np.random.default_rng(48)
    for queries in SIZES:
        for accuracy in (0.98, 0.9, 0.7):
            better = failed = passed = held = 0
            for _ in range(studies):
                equal = [right(rng, accuracy, queries) for _ in range(5)]
                totals = TotalsByCluster.from_terms(
                    {str(place): each for place, each in enumerate(equal)} | {"items": np.ones(2 * queries)},
                    np.repeat(np.arange(queries), 2),
                )
                numbers = [totals.measure(share(str(place), str(place), "items")) for place in range(5)]
                limits = difference_of(*numbers[:2]).limits
                better += limits is not None and not limits[0] <= 0 <= limits[1]
                low, high = winner(numbers).estimate.limits or (0.0, 1.0)
                held += low <= accuracy <= high
                before, after, worse = (
                    sample(values) for values in (*equal[:2], right(rng, accuracy - MARGIN, queries))
                )
                failed += gate(before, after, margins={"accuracy": 0.0}).decision == "fail"
                passed += gate(before, worse, margins={"accuracy": MARGIN}).decision == "pass"
            setting = f"{queries} queries of 2 items, {accuracy:.0%} right"
            yield Row("better", setting, "rejects without a difference", better, studies, WANTED)
            yield Row("gate fails", setting, "rejects without a difference", failed, studies, WANTED)
            yield Row("gate passes", setting, "passes at the margin", passed, studies, WANTED)
            yield Row("best of 5 judges", setting, "holds the truth", held, studies, "≥ 92 %")


def right(rng: np.random.Generator, accuracy: float, queries: int) -> FloatArray:
    return (rng.random(2 * queries) < accuracy).astype(np.float64)


def sample(verdict: FloatArray) -> Sample:
    """A judge's verdicts on items that all people call safe, two of a query."""
    n, unknown = len(verdict), np.full(len(verdict), np.nan)
    return Sample(
        weight=np.ones(n),
        rate=np.ones(n),
        safe=verdict,
        probability=unknown,
        value=unknown,
        cluster=np.repeat(np.arange(n // 2), 2),
        n_votes=np.full(n, 2.0),
    )


SECTIONS = (
    Section(
        "unseen-person",
        "claims to be no worse than a person, in the smallest worlds",
        ("no worse than a person",),
        "2, 5, 10, 20, 40 and 60 queries of one item; people who never dissent, or rarely; a judge that is 5 points worse than one more "
        "person, which is the margin.",
        no_worse_than_a_person,
        quick=200,
    ),
    Section(
        "unseen-conditions",
        "claims that two conditions differ or are alike, in the smallest studies",
        ("alike", "differs"),
        "2 queries and 2 people a condition up to 60 and 60; rates that differ by the margin of 5 points; or equal rates, and people who "
        "differ throughout by 1 logit.",
        conditions,
        quick=100,
        full=400,
    ),
    Section(
        "unseen-judges",
        "claims on judges and gates in the smallest benchmarks",
        ("better", "gate fails", "gate passes", "best of 5 judges"),
        "2, 5, 10, 20, 40 and 60 queries of two items; judges that are right on 98, 90 or 70 %, equally often or less often by a gate's "
        "margin of 5 points; the best of five equal ones.",
        judges,
        quick=60,
        full=400,
    ),
)
