r"""Is a judge no worse than one more person? Both are held against the same others, item by item.

Each person in turn is the new one and the item's other votes are the reference, so that both are scored against as many
votes, none of them their own:

.. math:: d = \frac{1}{N} \sum_i \frac{1}{m_i} \sum_{j} \big[a(\text{judge}_i, \text{others}_{ij}) - a(y_{ij}, \text{others}_{ij})\big]

with *a* the agreement with the majority of the others (½ where they are tied).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray, checked_share, renumbered
from casewise.stats.core.checks import checked_votes_of_items, clusters_of, partly_known
from casewise.stats.core.cluster_variance import cluster_sums, cluster_variance
from casewise.stats.core.intervals import degrees_of_freedom, unskewed, unskewed_statistic
from casewise.stats.core.majorities import majority_weight
from casewise.stats.core.measured import VotesTerms
from casewise.stats.core.raters import Raters, widened_for_annotators

__all__ = ["AgainstNewPerson", "against_new_person", "leave_one_out"]


@dataclass(frozen=True)
class AgainstNewPerson:
    """A judge less a new person, in agreement with the same others."""

    judge: float
    person: float
    difference: float
    low: float
    """Lower confidence limit of the difference at 1 − alpha, one-sided: the judge is no worse than a person by more
    than the margin where it lies above −margin."""
    margin: float
    p: float
    not_worse: bool
    power: float
    """The probability of showing that with as many queries if the judge were exactly a person's equal."""
    detectable: float
    """The least margin that such a judge would keep in four of five studies."""
    items: int
    clusters: int


def leave_one_out(judge: ArrayLike, safe: ArrayLike, votes: ArrayLike) -> FloatArray:
    """(items, 2) agreement with the majority of the others of the judge and of one of an item's people, over all of them.

    nan for items with fewer than two votes; a judge without a verdict (nan) is never right.
    """
    s, m = checked_votes_of_items(safe, votes)
    verdict = partly_known(judge, "verdicts", shape=s.shape)
    if not (np.isnan(verdict) | (verdict == 0) | (verdict == 1)).all():
        raise StatisticsError("a judge's verdicts are 1, 0 or nan, one an item")
    without_safe, without_unsafe = majority_weight(s - 1, m - 1), majority_weight(s, m - 1)
    share = s / np.maximum(m, 1)
    others = share * without_safe + (1 - share) * without_unsafe
    person = share * without_safe + (1 - share) * (1 - without_unsafe)
    own = np.where(verdict == 1, others, np.where(verdict == 0, 1 - others, 0.0))
    return np.where((m > 1)[:, None], np.column_stack([own, person]), np.nan)


def against_new_person(
    judge: ArrayLike,
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    margin: float = 0.05,
    alpha: float = 0.05,
    raters: Raters | None = None,
) -> AgainstNewPerson:
    r"""Test that a judge agrees with people no less than a new person does, but for `margin` (non-inferiority).

    :math:`H_0: d \le -\text{margin}`, by Student's *t* with the cluster-robust error on what the clusters' spread allows, at most one less
    than there are; of clusters and annotators together where these are known, on one less than the fewer of them. Where the clusters' parts lean to low
    values, limit and statistic are Hall's (`casewise.stats.core.intervals`): without, 6.2 to 7.3 % of judges at the margin pass at 20 queries.

    `judge`: (items,) 1, 0 or nan; verdicts; without one the judge is wrong.
    `clusters`: (items,) labels; items of one query.
    `margin`: how much less agreement would not matter: to be chosen before looking.
    `alpha`: one-sided level.
    `raters`: who gave which vote.

    Raises StatisticsError: fewer than two clusters with two votes on an item, or settings that are no shares.

    Source: Wellek (2010), Testing statistical hypotheses of equivalence and noninferiority, §1.5 and ch. 2.
    """
    checked_share(margin, "margin")
    checked_share(alpha, "alpha")
    both = leave_one_out(judge, safe, votes)
    used = ~np.isnan(both[:, 0])
    ids = clusters_of(clusters, len(both))[used]
    d = both[used, 0] - both[used, 1]
    places = renumbered(ids)
    groups = int(places.max(initial=-1)) + 1
    if groups < 2:
        raise StatisticsError("a judge is held against a new person on two queries at least, with two votes on an item")
    difference = float(d.mean())
    own = cluster_sums([(d - difference) / len(d)], places, n_clusters=groups)[:, 0]
    df = degrees_of_freedom(own)
    if raters is not None:

        def ahead(safe: IntArray, votes: IntArray) -> FloatArray:
            return np.nan_to_num(leave_one_out(judge, safe, votes) @ [[1.0], [-1.0]]) / len(d)

        more = VotesTerms.of_counts(ahead, *checked_votes_of_items(safe, votes), raters).of_number(np.ones(1)).variance
        own, df = widened_for_annotators(own, more), min(df, len(np.unique(raters.annotator)) - 1)
    error = max(float(np.sqrt(cluster_variance(own))), 1e-12)  # a judge that never differs from a person is that person
    p = float(stdtr(df, -unskewed_statistic((difference + margin) / error, -own)))
    critical = unskewed(float(stdtrit(df, 1 - alpha)), -own)
    return AgainstNewPerson(
        judge=float(both[used, 0].mean()),
        person=float(both[used, 1].mean()),
        difference=difference,
        low=difference - critical * error,
        margin=margin,
        p=p,
        not_worse=p <= alpha,
        power=float(ndtr(margin / error - critical)),
        detectable=(critical + float(ndtri(0.8))) * error,
        items=int(used.sum()),
        clusters=groups,
    )
