"""Conclusions in the smallest worlds: how often one is drawn that is false, where few or no errors are seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from benchmarks.covered.rows import Row, Section
from scipy.stats import binom

from casewise.evaluate.comparison import best_conclusion
from casewise.evaluate.conclusions import Unknown, against_person, at_most, compared, errs_more
from casewise.evaluate.judge_numbers import weak_category
from casewise.stats.arrays import FloatArray
from casewise.stats.ceilings import leave_one_out, new_person_test
from casewise.stats.comparison import Entrant, compare_judges, gate, winner
from casewise.stats.contrasts import clustered_contrast
from casewise.stats.costs import refusals
from casewise.stats.estimates import difference_of, estimate_of, measure
from casewise.stats.measured import TotalsByCluster, share
from casewise.stats.metrics import parse_metrics
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
                    passed += new_person_test(judge, safe, np.full(queries, votes), margin=MARGIN).not_worse
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
            better = held = 0
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
            setting = f"{queries} queries of 2 items, {accuracy:.0%} right"
            yield Row("better", setting, "rejects without a difference", better, studies, WANTED)
            yield Row("best of 5 judges", setting, "holds the truth", held, studies, "≥ 92 %")


def gates(studies: int) -> Iterator[Row]:
    """A run that is as good as its baseline, and one that is worse by exactly the margin of a gate."""
    rng = np.random.default_rng(5)
    for queries in SIZES:
        for accuracy in (0.98, 0.9, 0.7):
            failed = passed = 0
            for _ in range(studies):
                before, after, worse = (
                    sample(right(rng, share_right, queries)) for share_right in (accuracy, accuracy, accuracy - MARGIN)
                )
                failed += gate(before, after, margins={"accuracy": 0.0}).decision == "fail"
                passed += gate(before, worse, margins={"accuracy": MARGIN}).decision == "pass"
            setting = f"{queries} queries of 2 items, {accuracy:.0%} right"
            yield Row("gate fails", setting, "rejects without a difference", failed, studies, WANTED)
            yield Row("gate passes", setting, "passes at the margin", passed, studies, WANTED)


def conclusions(studies: int) -> Iterator[Row]:
    """Conclusions on judges where nothing is to be concluded, in the smallest benchmarks."""
    rng = np.random.default_rng(49)
    for queries in SIZES:
        for accuracy in (1.0, 0.98, 0.9, 0.7):
            setting = f"{queries} queries of 2 items, {accuracy:.0%} right"
            few = max(1, studies // 5)  # of those that take long
            for name, wrongly, given, n in (
                ("best of several", names_one, accuracy, few),
                ("better than a constant", beats_constant, accuracy, studies),
                ("at most", within_limit, 1 - accuracy, studies),
                ("errs more", errs_one_way, accuracy, few),
            ):
                wrong = sum(wrongly(rng, given, queries) for _ in range(n))
                measure = "passes at the margin" if name == "at most" else "rejects without a difference"
                yield Row(name, setting, measure, wrong, n, WANTED)
        for votes, dissent in ((2, 0.1), (3, 0.1), (5, 0.05), (21, 0.02), (21, 0.2)):
            wrong = sum(better_than_person(rng, votes, dissent, queries) for _ in range(studies))
            setting = f"{queries} queries, {votes} people who each dissent on {dissent:.0%}"
            yield Row("better than a person", setting, "rejects without a difference", wrong, studies, WANTED)
    for categories, each in ((2, 5), (4, 5), (10, 5), (4, 20)):
        for accuracy in (0.98, 0.9, 0.7):
            wrong = sum(has_weak_category(rng, accuracy, categories, each) for _ in range(studies))
            setting = f"{categories} categories of {each} queries of 2 items, {accuracy:.0%} right"
            yield Row("below the others", setting, "rejects without a difference", wrong, studies, WANTED)


def names_one(rng: np.random.Generator, accuracy: float, queries: int) -> bool:
    """Return True if one of five equal judges is said to agree most."""
    everything = np.ones(2 * queries, dtype=np.bool_)
    judges = [Entrant(f"j{place}", sample(right(rng, accuracy, queries)), everything) for place in range(5)]
    return best_conclusion(compare_judges(judges), [judge.name for judge in judges], "accuracy").holds


def beats_constant(rng: np.random.Generator, accuracy: float, queries: int) -> bool:
    """Return True if a judge that is right as often as one verdict for all is called better or worse than that."""
    safe = (rng.random(2 * queries) < accuracy).astype(float)
    judge = sample(np.where(right(rng, accuracy, queries) > 0, safe, 1 - safe), labels=safe)
    constant = sample(np.full(2 * queries, 1.0), labels=safe)
    numbers = [measure(one, metrics=parse_metrics("accuracy"))[0] for one in (judge, constant)]
    found = compared("judge", "constant", difference_of(*numbers))
    return found.kind == "better" and not isinstance(found.outcome, Unknown)


def within_limit(rng: np.random.Generator, rate: float, queries: int) -> bool:
    """Return True if a rate that is just above the limit is said to be at most that."""
    rate = max(rate, 0.005)
    harmed = (rng.random(2 * queries) < rate).astype(float)
    totals = TotalsByCluster.from_terms(
        {"harmed": harmed, "items": np.ones(2 * queries)}, np.repeat(np.arange(queries), 2)
    )
    found = estimate_of(totals.measure(share("harm", "harmed", "items")))
    return at_most("judge", found, limit=rate - 1e-9).holds


def errs_one_way(rng: np.random.Generator, accuracy: float, queries: int) -> bool:
    """Return True if a judge whose two errors are equally common is said to make more of one."""
    labels = rng.permutation(np.arange(2 * queries) % 2).astype(float)
    judge = sample(np.where(right(rng, accuracy, queries) > 0, labels, 1 - labels), labels=labels)
    return not isinstance(errs_more("judge", refusals(judge).at).outcome, Unknown)


def better_than_person(rng: np.random.Generator, votes: int, dissent: float, queries: int) -> bool:
    """Return True if a judge that dissents as often as each of the people is called better or worse than one."""
    safe, judge = rng.binomial(votes, 1 - dissent, queries), (rng.random(queries) > dissent).astype(float)
    if (2 * safe == votes).all():
        return False
    found = against_person("judge", new_person_test(judge, safe, np.full(queries, votes), margin=MARGIN))
    return found.kind == "better" or "less often" in found.predicate


def has_weak_category(rng: np.random.Generator, accuracy: float, categories: int, each: int) -> bool:
    """Return True if one of several equal categories is called below the others."""
    names = pl.Series([f"category {place}" for place in range(categories)])
    judge = sample(right(rng, accuracy, categories * each))
    return weak_category(judge, names.gather(np.repeat(np.arange(categories), 2 * each))) is not None


def right(rng: np.random.Generator, accuracy: float, queries: int) -> FloatArray:
    return (rng.random(2 * queries) < accuracy).astype(np.float64)


def sample(verdict: FloatArray, *, labels: FloatArray | None = None) -> Sample:
    """A judge's verdicts, two items of a query, on which all people agree: by default that they are safe."""
    n, unknown = len(verdict), np.full(len(verdict), np.nan)
    label = np.ones(n) if labels is None else labels
    return Sample(
        weight=label,
        rate=label,
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
        full=4_000,
    ),
    Section(
        "unseen-conclusions",
        "conclusions on judges that are equal, in the smallest benchmarks",
        (
            "best of several",
            "better than a constant",
            "better than a person",
            "at most",
            "errs more",
            "below the others",
        ),
        "2, 5, 10, 20, 40 and 60 queries of two items; five equal judges that are right on all, 98, 90 or 70 % of items; a judge as good as "
        "one verdict for all, or as one more person; a rate just above its limit; two errors that are equally common; equal categories.",
        conclusions,
        quick=100,
        full=2_000,
    ),
    Section(
        "unseen-judges",
        "claims on judges in the smallest benchmarks",
        ("better", "best of 5 judges"),
        "2, 5, 10, 20, 40 and 60 queries of two items; judges that are right on 98, 90 or 70 %, equally often; the best of five equal ones.",
        judges,
        quick=60,
        full=2_000,
    ),
    Section(
        "unseen-gates",
        "decisions of a gate in the smallest benchmarks",
        ("gate fails", "gate passes"),
        "2, 5, 10, 20, 40 and 60 queries of two items; a baseline that is right on 98, 90 or 70 %; a run that is as good, or worse by the "
        "margin of 5 points.",
        gates,
        quick=100,
        full=4_000,
    ),
)
