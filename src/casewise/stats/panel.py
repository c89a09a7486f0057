"""How many people is a judge worth?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Raters,
    checked_votes_of_items,
    clusters_of,
    coded_labels,
    integers,
    partly_known,
    whole,
)
from casewise.stats.ceilings import KindsOfItems, rates_of_any_shape
from casewise.stats.estimates import Estimate, estimate_of
from casewise.stats.intervals import ANYWHERE
from casewise.stats.measured import Functional, TermsOfCounts, Totals, TotalsByCluster, share
from casewise.stats.shares import hypergeometric, majority_weight

AT_ONCE = 4_000_000
"""Items times panels that are summed at once."""


def same_majority(share: FloatArray, reference: FloatArray) -> FloatArray:
    """How well a panel's share of safe votes, or a judge's verdict, agrees with a reference: 1 for the same majority, ½ for a tie."""
    mine, theirs = majority_weight(share, 1), majority_weight(reference, 1)
    return mine * theirs + (1 - mine) * (1 - theirs)


@dataclass(frozen=True, repr=False)
class PanelCurve(ShortRepr):
    """Agreement of k people with the majority of other people."""

    sizes: IntArray
    """k."""
    agreement: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    modelled: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    """True beyond the votes there are: the panel's votes are then predicted from the item's likely true rates."""
    reference_size: int
    items: int


@dataclass(frozen=True)
class PanelWorth:
    """A judge's place on the panel curve."""

    agreement: float
    """Of the judge with the same references."""
    ci_low: float
    ci_high: float
    people: float
    """The panel size with the judge's agreement, between whole numbers; 0 below one person, inf above the curve."""
    people_low: float
    people_high: float
    items: int
    reference_size: int


def usual_reference(votes: ArrayLike) -> int:
    """How many people a person, a panel or a judge is held against: ten, or all but one of an item's usual votes.

    Raises StatisticsError: no item has a vote.
    """
    counts = integers(votes, "votes").ravel()
    rated = counts[counts > 0]
    if not len(rated):
        raise StatisticsError("no item has a vote, so there is nobody to be held against")
    usual, times = np.unique(rated, return_counts=True)
    return max(1, min(10, int(usual[times.argmax()]) - 1))


def reference_weight(safe: ArrayLike, votes: ArrayLike, *, reference_size: int) -> FloatArray:
    """The majority's weight of "safe" among so many of an item's people, averaged over all draws of them.

    Ties count half. nan where an item has no more votes than that: then nobody is left to be held against them.

    Raises StatisticsError: counts that are none, or a reference of nobody.
    """
    s, m = checked_votes_of_items(safe, votes)
    weight = np.full(len(s), np.nan)
    enough = m > whole(reference_size, "reference_size", least=1)
    chance = _of_references(s[enough], m[enough], reference_size)
    weight[enough] = chance @ majority_weight(np.arange(reference_size + 1), reference_size)
    return weight


def panel_curve(
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    reference_size: int = 10,
    largest: int = 21,
    raters: Raters | None = None,
) -> PanelCurve:
    r"""Agreement of the majority of *k* people with that of `reference_size` other people.

    Up to as many people as are left over, both are drawn from the item's own votes without replacement, and the
    expectation over all draws is exact (hypergeometric). Beyond, the reference stays and the panel's votes are
    predicted: each item has a true rate, these are spread as fits all votes best (in any shape), and the panel is drawn
    from the item's posterior. Of this prediction only the gain over the largest counted panel is used. Ties count half on either side. The reference has one size
    throughout: against a growing one, even a constant judge would seem to get better.

    Parameters
    ----------
    safe, votes : (items,) integers
        Items with fewer than `reference_size` + 1 votes are left out.
    clusters : (items,) labels, optional
        Items that go together.
    raters : Raters, optional
        Who gave which vote.

    Raises
    ------
    StatisticsError
        No item has enough votes, or counts and clusters do not fit.
    """
    used = _Used.of(safe, votes, clusters, reference_size, raters)
    sizes = np.arange(1, whole(largest, "largest", least=1) + 1)
    totals = used.totals(
        lambda s, m: np.vstack([np.ones(len(s)), _panel_agreement(s, m, reference_size, sizes).T]).T,
        ("items", *map(str, range(len(sizes)))),
    )
    estimates = [estimate_of(totals.measure(share("panel", str(column), "items"))) for column in range(len(sizes))]
    agreement, low, high = np.array(
        [(estimate.estimate, *(estimate.limits or (np.nan, np.nan))) for estimate in estimates]
    ).T
    return PanelCurve(
        sizes=sizes,
        agreement=agreement,
        ci_low=low,
        ci_high=high,
        modelled=sizes > used.votes.min() - reference_size,
        reference_size=reference_size,
        items=len(used.votes),
    )


def panel_worth(
    judge: ArrayLike,
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    reference_size: int = 10,
    largest: int = 101,
    raters: Raters | None = None,
) -> PanelWorth:
    """How large a panel of people agrees with other people as well as a judge does.

    Parameters
    ----------
    judge : (items,) floats
        1 where the judge says safe, 0 where unsafe, NaN where it gave no verdict (counted as half right: a coin).
    safe, votes, clusters, reference_size, raters
        As for `panel_curve`, on the same items.
    largest : int
        The largest panel tried; odd sizes only, since an even one is worth no more than the odd one below it.

    Raises
    ------
    StatisticsError
        No item has enough votes, or counts and clusters do not fit.
    """
    sizes = np.arange(1, whole(largest, "largest", least=1) + 1, 2)
    used = _Used.of(safe, votes, clusters, reference_size, raters)
    verdicts = used.given(judge)
    r = np.arange(reference_size + 1)

    def of_judge(s: IntArray, m: IntArray) -> FloatArray:
        agrees = _of_references(s, m, reference_size)
        agrees *= same_majority(verdicts[:, None], r / reference_size)
        return np.vstack([np.ones(len(s)), agrees.sum(1)]).T

    judges = used.totals(of_judge, ("items", "judge"))
    own = judges.measure(_mean("judge", domain=(0.0, 1.0)))
    limits = estimate_of(own)
    behind: list[tuple[float, float]] = []
    at_once = max(1, AT_ONCE // len(used.votes))
    for begin in range(0, len(sizes), at_once):
        ends = begin, begin + at_once
        names = [str(size) for size in sizes[slice(*ends)]]
        panels = partial(_panel_agreement, reference_size=reference_size, sizes=sizes, some=slice(*ends))
        both = judges.beside(used.totals(panels, names))
        ahead = (estimate_of(both.only("items", "judge", name).measure(_mean("judge", name))) for name in names)
        behind += [(-_end(estimate, 0), -_end(estimate, 1)) for estimate in ahead]
        if all(max(side) > 0 for side in zip(*behind, strict=True)):
            break  # the judge is behind all larger panels, too
    # The panels that the judge is not told from: where the limits of its lead over them pass 0.
    few, many = (_place(0.0, np.array(side), sizes[: len(behind)]) for side in zip(*behind, strict=True))
    kinds, of_kinds = _kinds_agreement(used.safe, used.votes, reference_size, sizes)
    return PanelWorth(
        agreement=own.value,
        ci_low=_end(limits, 0),
        ci_high=min(_end(limits, 1), 1.0),
        people=_place(own.value, kinds.times @ of_kinds / len(used.votes), sizes),
        people_low=few,
        people_high=many,
        items=len(used.votes),
        reference_size=reference_size,
    )


class _Used(NamedTuple):
    """Safe votes, votes and clusters of the items with more votes than the reference takes, and who gave them."""

    safe: IntArray
    votes: IntArray
    ids: IntArray
    raters: Raters | None
    kept: BoolArray
    """(items,) which of all items these are."""
    reference_size: int

    @classmethod
    def of(
        cls, safe: ArrayLike, votes: ArrayLike, clusters: ArrayLike | None, reference_size: int, raters: Raters | None
    ) -> _Used:
        whole(reference_size, "reference_size", least=1)
        s, m = checked_votes_of_items(safe, votes)
        keep = m > reference_size
        if not keep.any():
            raise StatisticsError(
                f"a panel curve against {reference_size} people needs items with more votes than that"
            )
        ids = coded_labels(clusters_of(clusters, len(s))[keep], "clusters")
        return cls(s[keep], m[keep], ids, None if raters is None else raters.where(keep), keep, reference_size)

    def given(self, judge: ArrayLike) -> FloatArray:
        """A judge's verdicts on these items, a half where it gave none."""
        given = partly_known(judge, "verdicts", shape=self.kept.shape)
        filled = np.where(np.isnan(given), 0.5, given)
        if not ((filled >= 0) & (filled <= 1)).all():
            raise StatisticsError("a judge's verdicts are 1, 0 or nan, one an item")
        return filled[self.kept]

    def totals(self, terms: TermsOfCounts, names: Iterable[str]) -> TotalsByCluster:
        """Sums of the columns of `terms`, which have these names."""
        counts = self.safe, self.votes
        return TotalsByCluster.of_counts(terms, counts, self.ids, names=tuple(names), raters=self.raters)


def _mean(of: str, less: str | None = None, *, domain: Sequence[float] = ANYWHERE) -> Functional:
    """The mean of a column over items, less that of another one."""

    def formula(totals: Totals) -> FloatArray:
        return (totals[of] - (totals[less] if less else 0.0)) / totals["items"]

    return Functional("panel", formula, over=lambda totals: totals["items"], domain=(min(domain), max(domain)))


def _end(estimate: Estimate, side: int) -> float:
    limits = estimate.limits
    return float(limits[side] if limits else estimate.estimate or 0.0)


def _place(agreement: float, curve: FloatArray, sizes: IntArray) -> float:
    """Where the curve, made rising, reaches `agreement`."""
    rising = np.maximum.accumulate(curve)
    if agreement < rising[0]:
        return 0.0
    if agreement > rising[-1]:
        return float("inf")
    return float(np.interp(agreement, rising, sizes))


def _panel_agreement(
    s: IntArray,
    m: IntArray,
    reference_size: int,
    sizes: IntArray,
    *,
    some: slice = slice(None),
) -> FloatArray:
    """(items, sizes) expected agreement, of `some` of the sizes."""
    kinds, agreement = _kinds_agreement(s, m, reference_size, sizes)
    return agreement.T[some, kinds.which].T


def _kinds_agreement(s: IntArray, m: IntArray, reference_size: int, sizes: IntArray) -> tuple[KindsOfItems, FloatArray]:
    """The kinds of items, and (kinds, sizes) expected agreement."""
    kinds = KindsOfItems.of(s, m)
    of_kinds = tuple(zip(kinds.safe.tolist(), kinds.votes.tolist(), kinds.times.tolist(), strict=True))
    return kinds, _agreement_of_kinds(of_kinds, reference_size, tuple(sizes.tolist()))


@lru_cache(maxsize=16)
def _agreement_of_kinds(
    kinds: tuple[tuple[int, int, int], ...], reference_size: int, of_sizes: tuple[int, ...]
) -> FloatArray:
    """(kinds, sizes) expected agreement at items with so many safe votes, so many votes, and how many such items.

    All judges of a benchmark stand beside the same people, whose panels are computed once. Beyond an item's votes the
    model gives only the gain over the largest panel that is counted, so that no step is seen where the model starts.
    """
    pairs, sizes = np.array(kinds)[:, :2], np.array(of_sizes)
    rates = rates_of_any_shape(*np.repeat(pairs, [n for *_, n in kinds], axis=0).T)
    r, grid = np.arange(reference_size + 1), tuple(rates.grid.tolist())
    chance = hypergeometric(r, pairs[:, :1], pairs[:, 1:], reference_size)
    counted_up_to = np.minimum(pairs[:, 1] - reference_size, sizes.max())
    all_sizes = np.union1d(sizes, counted_up_to)
    alike = {k: same_majority((np.arange(k + 1) / k)[:, None], r / reference_size) for k in all_sizes.tolist()}
    chances = _chances(grid, int(all_sizes.max()))
    modelled = np.stack([(rates.posterior @ chances[k] @ alike[k] * chance).sum(1) for k in all_sizes.tolist()], axis=1)
    table = np.empty((len(pairs), len(sizes)))
    for votes in np.unique(pairs[:, 1]).tolist():
        these, left = pairs[:, 1] == votes, votes - reference_size
        gain = modelled[these] - modelled[these][:, [np.searchsorted(all_sizes, min(left, sizes.max()))]]
        counted = np.zeros((these.sum(), len(all_sizes)))
        for place, k in enumerate(all_sizes[all_sizes <= left].tolist()):
            safe_left = (pairs[these, :1] - r)[..., None]
            drawn = hypergeometric(np.arange(k + 1), safe_left, left, k)
            counted[:, place] = (drawn * (alike[k].T * chance[these][..., None])).sum((1, 2))
        beyond = np.where(sizes > left, gain[:, np.searchsorted(all_sizes, sizes)], 0.0)
        table[these] = counted[:, np.searchsorted(all_sizes, np.minimum(sizes, left))] + beyond
    table.flags.writeable = False
    return table


@lru_cache(maxsize=4)
def _chances(rates: tuple[float, ...], most: int) -> tuple[FloatArray, ...]:
    """Probability of each number of safe votes among so many people, all of one rate: (rates, people + 1) each."""
    safe = np.array(rates)[:, None]
    chances = [np.ones_like(safe)]
    for _ in range(most):
        without, with_one = np.pad(chances[-1], ((0, 0), (0, 1))), np.pad(chances[-1], ((0, 0), (1, 0)))
        chances.append((1 - safe) * without + safe * with_one)
    return tuple(chances)


def _of_references(s: IntArray, m: IntArray, reference_size: int) -> FloatArray:
    """(items, references) probability of each number of safe votes among so many of an item's people."""
    kinds, r = KindsOfItems.of(s, m), np.arange(reference_size + 1)
    return hypergeometric(r, kinds.safe[:, None], kinds.votes[:, None], reference_size)[kinds.which]
