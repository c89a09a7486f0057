"""Which of several judges agrees better with people, and is the difference real?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.agreeing.cost_of_thresholds import TurningPoint, turning_point
from casewise.stats.agreeing.estimates import Estimate, difference_of, estimate_of, measure
from casewise.stats.agreeing.metrics import METRICS, REFUSALS
from casewise.stats.agreeing.pairs import PairIndex, measured_flips
from casewise.stats.agreeing.sample import Sample
from casewise.stats.conditions.paired import sign_flips
from casewise.stats.core.arrays import BoolArray, IntArray
from casewise.stats.core.measured import Measured
from casewise.stats.core.multiplicity import holm

__all__ = ["Comparison", "Entrant", "PairedTest", "PairwiseComparison", "compare_judges"]

NO_PAIRS = PairIndex(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), 0)


@dataclass(frozen=True)
class Entrant:
    """One judge (or arm, or elicitation) in a comparison."""

    name: str
    sample: Sample
    """Over all items of the benchmark, in their order."""
    asked: BoolArray
    """Which items this judge was asked about. One that it was asked and gave no verdict on is asked all the same."""


class PairedTest(NamedTuple):
    """Whether two judges are right equally often: the exact test of `sign_flips`, over queries.

    Where a query has one item it is McNemar's. Items on which people are tied favour neither judge and are left out.
    """

    only_first_right: int
    only_second_right: int
    n: int
    p_exact: float
    p_mid: float
    """The one to quote."""
    p_holm: float
    """`p_mid`, corrected for all pairs of judges (Holm 1979)."""
    testable: bool
    """False where no item tells the two apart: p is 1, and the pair does not count in the correction."""


@dataclass(frozen=True, repr=False)
class PairwiseComparison(ShortRepr):
    """Two judges on the same items: first less second.

    `test` and `turning_point` are None where one of the two gives values and no verdicts: there is nothing to test.
    """

    first: str
    second: str
    differences: tuple[Estimate, ...]
    test: PairedTest | None
    turning_point: TurningPoint | None

    def difference(self, metric: str) -> Estimate | None:
        """The difference in one metric; None where not both have it."""
        return next((one for one in self.differences if one.name == metric), None)


@dataclass(frozen=True, repr=False)
class Comparison(ShortRepr):
    """Judges side by side on the items that all of them were asked about."""

    names: tuple[str, ...]
    n_items: int
    n_queries: int
    common: BoolArray
    """Which items those are, as a mask over the table."""
    left_out: dict[str, tuple[int, ...]]
    """For each judge, the places of the items that it was asked about and another was not."""
    estimates: dict[str, tuple[Estimate, ...]]
    """For each judge, its metrics on the common items: with those of agreement its two errors where people agree
    (`over_refusal`, `under_refusal`), and `right_flips` and `false_flips` where there are pairs."""
    pairs: tuple[PairwiseComparison, ...]


def compare_judges(entrants: Sequence[Entrant], *, pairs: PairIndex | None = None) -> Comparison:
    """Compare judges on the items that all were asked about.

    `pairs`: the pairs of the whole table, for what is counted by pairs.

    Raises StatisticsError: there are fewer than two judges, two have one name, they are of tables of different length,
    or no item was asked of all.
    """
    names = checked_names(entrants)
    common = np.logical_and.reduce([entrant.asked for entrant in entrants])
    if not common.any():
        raise StatisticsError(f"there is nothing to compare: no item was asked of all of {', '.join(names)}")
    samples = {entrant.name: entrant.sample.where(common) for entrant in entrants}
    of_pairs = NO_PAIRS if pairs is None else pairs.where(common)
    measured = {
        name: (
            *measure(sample, metrics=(*METRICS, *REFUSALS)),
            *measured_flips(sample, of_pairs),
        )
        for name, sample in samples.items()
    }
    decided = [(a, b) for a, b in combinations(names, 2) if samples[a].gives_verdicts and samples[b].gives_verdicts]
    found = paired_tests([(samples[a], samples[b]) for a, b in decided])
    tests = dict(zip(decided, found, strict=True))
    return Comparison(
        names=names,
        n_items=int(common.sum()),
        n_queries=next(iter(samples.values())).n_clusters,
        common=common,
        left_out={e.name: tuple(np.flatnonzero(e.asked & ~common).tolist()) for e in entrants},
        estimates={name: tuple(estimate_of(m) for m in found) for name, found in measured.items()},
        pairs=tuple(
            PairwiseComparison(
                first=a,
                second=b,
                differences=differences(measured[a], measured[b]),
                test=tests.get((a, b)),
                turning_point=(turning_point(samples[a], samples[b]) if (a, b) in tests else None),
            )
            for a, b in combinations(names, 2)
        ),
    )


def checked_names(entrants: Sequence[Entrant]) -> tuple[str, ...]:
    names = tuple(entrant.name for entrant in entrants)
    if len(names) < 2:
        raise StatisticsError(f"a comparison needs two judges, not {len(names)}")
    if len(set(names)) < len(names):
        raise StatisticsError(f"two judges have one name: {', '.join(names)}")
    if len({len(entrant.sample) for entrant in entrants}) > 1:
        raise StatisticsError("the judges are of different tables of items")
    return names


def differences(first: tuple[Measured, ...], second: tuple[Measured, ...]) -> tuple[Estimate, ...]:
    """First less second, for the metrics that both have."""
    of_second = {found.name: found for found in second}
    return tuple(difference_of(one, of_second[one.name]) for one in first if one.name in of_second)


def paired_tests(pairs: Sequence[tuple[Sample, Sample]]) -> tuple[PairedTest, ...]:
    """The exact test of each pair of judges of the same items, with Holm's correction over all of them."""
    if not pairs:
        return ()
    counts = [discordant(first, second) for first, second in pairs]
    found = [sign_flips(one.net) for one in counts]
    testable = np.array([bool(one.net.any()) for one in counts])
    corrected = holm([one.p_mid for one in found], where=testable)
    return tuple(
        PairedTest(
            only_first_right=one.only_first,
            only_second_right=one.only_second,
            n=one.n,
            p_exact=found[i].p_exact,
            p_mid=found[i].p_mid,
            p_holm=float(corrected[i]),
            testable=bool(testable[i]),
        )
        for i, one in enumerate(counts)
    )


class Discordant(NamedTuple):
    only_first: int
    only_second: int
    n: int
    net: IntArray
    """For each query, the items that only the first is right on less those that only the second is."""


def discordant(first: Sample, second: Sample) -> Discordant:
    counted = first.in_label_metrics & second.in_label_metrics & np.isin(first.weight, (0, 1))
    first_right = counted & (first.safe == first.weight)
    second_right = counted & (second.safe == second.weight)
    ahead = first_right.astype(int) - second_right
    return Discordant(
        only_first=int((ahead > 0).sum()),
        only_second=int((ahead < 0).sum()),
        n=int(counted.sum()),
        net=np.rint(np.bincount(first.cluster, weights=ahead, minlength=first.n_clusters)).astype(np.int64),
    )
