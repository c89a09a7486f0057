"""Hard items, chosen on one half of the votes and scored on the other, averaged over all halves exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from casewise.errors import StatisticsError
from casewise.stats.agreeing.estimates import Estimate, estimate_of
from casewise.stats.agreeing.sample import right
from casewise.stats.core.arrays import FloatArray, IntArray, checked_counts
from casewise.stats.core.checks import checked_votes_of_items, clusters_of, partly_known
from casewise.stats.core.majorities import hypergeometric
from casewise.stats.core.measured import TotalsByCluster, share
from casewise.stats.core.raters import Raters

__all__ = ["Halves", "HardScore", "halves", "hard_score"]


@dataclass(frozen=True)
class Halves:
    """What happens to each item over all ways to split its votes into two halves, given verdicts to be wrong."""

    chosen: FloatArray
    """(items,): share of splits in which the first half's majority is against the verdict (a tie in it chooses nothing)."""
    safe: FloatArray
    """(items,): of all splits: those in which it is chosen and the other half's majority is safe; its ties count half."""


@dataclass(frozen=True)
class HardScore:
    """A judge on the items that the baseline gets wrong."""

    accuracy: Estimate
    """On the other half's majority, over all splits, with its interval over queries."""
    best: float
    """What the best single verdict on each item scores there: no judge can do better."""
    baseline: float
    """What the baseline itself scores there."""
    n: float
    """Items chosen, on average over splits."""
    on_the_same_votes: float | None
    """For comparison only: items chosen and scored on the same votes, which is biased against every judge."""


def halves(safe: ArrayLike, votes: ArrayLike, *, verdict: ArrayLike) -> Halves:
    r"""Exact averages over all splits of each item's votes into halves.

    With *s* of *m* votes safe and a first half of :math:`h = \lfloor m/2 \rfloor` votes, the number *a* of safe votes in
    it is hypergeometric,

    .. math:: P(a) = \binom{s}{a} \binom{m-s}{h-a} \Big/ \binom{m}{h},

    and the other half has *s* − *a* of *m* − *h*.

    `safe`, `votes`: (items,) integers; items with fewer than two votes are never chosen.
    `verdict`: (items,) of 0 and 1; what the first half's majority must be against.

    Source: own derivation; agrees with simulated splits (tests/stats/test_hard_items.py).
    """
    s, m = checked_votes_of_items(safe, votes)
    wrong = partly_known(verdict, "verdicts", shape=s.shape) > 0.5
    chosen, kept_safe = np.zeros(len(s)), np.zeros(len(s))
    past = int(m.max(initial=0)) + 1
    code = (s * past + m) * 2 + wrong
    for one in np.unique(code[m > 1]).tolist():
        rows = code == one
        (some, out_of), said = divmod(one // 2, past), bool(one % 2)
        first = out_of // 2
        a = np.arange(max(0, some + first - out_of), min(some, first) + 1)
        chance = hypergeometric(a, some, out_of, first)
        against = (2 * a < first) if said else (2 * a > first)
        other = (np.sign(2 * (some - a) - (out_of - first)) + 1) / 2
        chosen[rows] = (chance * against).sum()
        kept_safe[rows] = (chance * against * other).sum()
    return Halves(chosen, kept_safe)


def hard_score(
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    baseline: ArrayLike,
    judge: ArrayLike,
    cluster: ArrayLike,
    raters: Raters | None = None,
) -> HardScore:
    r"""Score a judge on the items that a baseline gets wrong, without choosing and scoring on the same votes.

    An item whose votes came out against the baseline by chance would be chosen as hard, and every judge that is right
    about it would be scored wrong. So items are chosen by one half of the votes and scored by the other; the result is
    the ratio of the averages over all splits,

    .. math:: \frac{\sum_i y_i S_i + (1 - y_i)(C_i - S_i)}{\sum_i C_i},

    with :math:`C_i` the share of splits in which item *i* is chosen and :math:`S_i` that in which it is chosen and safe
    (see `halves`).

    `baseline`, `judge`: (items,) floats; verdicts: 1 safe, 0 unsafe. A judge's nan is a miss.
    `cluster`: (items,) integers; the query of each item.
    `raters`: who gave which vote: the interval then is as much wider as annotators who differ throughout make it.

    Raises StatisticsError: the baseline is never wrong, so that there are no hard items.
    """
    verdict = partly_known(baseline, "verdicts of the baseline")
    split = halves(safe, votes, verdict=verdict)
    said = partly_known(judge, "verdicts of the judge", shape=verdict.shape)
    if split.chosen.sum() <= 0:
        raise StatisticsError("the baseline is right on every item: there are no hard ones")
    query = clusters_of(cluster, len(said))

    def terms(s: IntArray, m: IntArray) -> FloatArray:
        one = halves(s, m, verdict=verdict)
        return np.column_stack([right(said, one.safe, of=one.chosen), one.chosen])

    counts = checked_votes_of_items(safe, votes)
    totals = TotalsByCluster.of_counts(terms, counts, query, names=("right", "chosen"), raters=raters)
    totals = replace(totals, n_unscored=int(np.isnan(said).sum()))
    n = float(split.chosen.sum())
    return HardScore(
        accuracy=estimate_of(totals.measure(share("accuracy", "right", "chosen"))),
        best=float(np.maximum(split.safe, split.chosen - split.safe).sum()) / n,
        baseline=float(right(verdict, split.safe, of=split.chosen).sum()) / n,
        n=n,
        on_the_same_votes=biased(*checked_counts(safe, votes), verdict, said),
    )


def biased(safe: IntArray, votes: IntArray, verdict: FloatArray, said: FloatArray) -> float | None:
    label = np.where(2 * safe > votes, 1.0, 0.0)
    chosen = (2 * safe != votes) & (votes > 0) & (label != (verdict > 0.5))
    return float((said[chosen] == label[chosen]).mean()) if chosen.any() else None
