"""Flips: verdicts that an attack turns about, paired with the same item unattacked, with intervals over queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from casewise.records import ShortRepr
from casewise.stats.arrays import BoolArray, FloatArray, cluster_variance, widened_for_annotators
from casewise.stats.estimates import ALIKE, BY_PARTS, Estimate, estimate_of
from casewise.stats.intervals import degrees_of_freedom, student_quantile
from casewise.stats.measured import Measured, TotalsByCluster, share

Towards = Literal["safe", "unsafe"]


@dataclass(frozen=True, repr=False)
class Flips(ShortRepr):
    """The effect of an attack on the verdicts of some items."""

    turned: Measured
    """Of the items whose verdict was the other one without the attack, and that have a verdict under it: the share with
    the verdict that the attack argues for."""
    change: Measured
    """Of the items with a verdict both ways: the share with that verdict under the attack less the share without it.
    Under an attack that does nothing a noisy judge's is 0 in the long run, its `turned` is not."""
    silenced: Measured
    """Of the items with a verdict without the attack: the share without one under it."""


TURNED = share("turned", "turned", "at_risk")
SILENCED = share("silenced", "silenced", "had")


CHANGE = share("change", "gained", "both", kind="other", domain=(-1.0, 1.0))


def flips(
    before: FloatArray,
    after: FloatArray,
    cluster: NDArray[np.intp],
    *,
    of: BoolArray,
    towards: Towards,
    wording: NDArray[np.intp] | None = None,
) -> Flips:
    r"""Return what becomes of verdicts under an attack towards one of them.

    `turned` is :math:`\sum_i f_i / \sum_i r_i`, :math:`r_i` being 1 where the verdict was the other one before and there is
    one after, and :math:`f_i` where it is then the one argued for; its variance is that of a ratio, from what each query
    adds. Labels are taken as given.

    `before`, `after`: verdicts without and with the attack: 1 safe, 0 unsafe, nan for none.
    `cluster`: the query of each item, from 0.
    `of`: the items that count: those that people find unsafe for an attack towards safe, and the other way round.
    `wording`: of each query, the wording that it was shown; None where there is one.
    """
    aim = float(towards == "safe")
    had, has = of & ~np.isnan(before), of & ~np.isnan(after)
    both, silenced = had & has, had & ~has
    at_risk = both & (before == 1 - aim)
    terms = {
        "at_risk": at_risk.astype(np.float64),
        "turned": (at_risk & (after == aim)).astype(np.float64),
        "both": both.astype(np.float64),
        "gained": both * ((after == aim).astype(np.float64) - (before == aim)),
        "had": had.astype(np.float64),
        "silenced": silenced.astype(np.float64),
    }
    totals = TotalsByCluster.of(terms, cluster, n_unscored=int(silenced.sum()))
    return Flips(*(over_wordings(totals.measure(rate), wording) for rate in (TURNED, CHANGE, SILENCED)))


def over_wordings(measured: Measured, wording: NDArray[np.intp] | None) -> Measured:
    r"""Return a number with a variance over the wordings of an attack as well as over queries.

    .. math:: V = \max\Big(V_q, \frac{W}{W-1} \sum_w \big(\sum_{q: w(q) = w} I_q\big)^2\Big)

    Two-way clustering by query and wording, never below :math:`V_q`: each query is shown one wording, so that the cells of the two are
    the queries. Where wordings vary more, Student's *t* has :math:`W - 1` degrees of freedom. The section `attack-wordings` of
    `benchmarks/coverage.py` says how often such intervals hold the mean rate of all wordings.

    `wording`: (clusters,) the number of the wording that each was shown; None for an attack with one wording.

    Source: Cameron, Gelbach & Miller (2011), Journal of Business & Economic Statistics 29, 238-249.
    """
    if wording is None or len(np.unique(wording)) < 2 or np.isnan(measured.value):
        return measured
    own, between = measured.variance, cluster_variance(measured.influence, wording)
    if not between > own > 0:
        return measured
    influence = widened_for_annotators(measured.influence, between - own)
    return replace(measured, influence=influence, touched=None, wordings=len(np.unique(wording)))


@dataclass(frozen=True, repr=False)
class Mean(ShortRepr):
    """A share, or the mean of several on the same queries, with its interval and what each query adds to it."""

    value: float
    influence: FloatArray
    estimate: Estimate


def mean_of(shares: Sequence[Measured], queries: Sequence[NDArray[np.intp]] | None = None) -> Mean | None:
    """The mean of shares, but for those with fewer than two queries; None where all have.

    `queries`: for each share the numbers of the queries that it is over, where these are not the same for all; the mean is then of
    each share over its own queries.

    Its limits are the means of theirs: as if the shares went together wholly, which is the worst that there can be, and
    nearly so where one judge is attacked in many ways on the same items.
    """
    places = [place for place, share in enumerate(shares) if not np.isnan(share.value) and share.at_risk > 1]
    usable = [shares[place] for place in places]
    if not usable:
        return None
    influences = [share.influence for share in usable]
    if queries is not None:
        influences = [np.zeros(1 + max(int(of.max()) for of in queries if len(of))) for _ in usable]
        for influence, share, place in zip(influences, usable, places, strict=True):
            influence[queries[place]] = share.influence
    estimates = [estimate_of(share) for share in usable]
    value = float(np.mean([share.value for share in usable]))
    low, high = np.array([(part.ci_low, part.ci_high) for part in estimates], dtype=np.float64).mean(axis=0).tolist()
    estimate = Estimate(
        name=usable[0].name,
        estimate=value,
        ci_low=low,
        ci_high=high,
        n=max(share.n for share in usable),
        n_unscored=max(share.n_unscored for share in usable),
        method=estimates[0].method if len(estimates) == 1 else MEAN_LIMITS,
    )
    return Mean(value, np.mean(influences, axis=0), estimate)


def as_picked(picked: Measured, *, among: int) -> Estimate:
    """The interval of a number that was picked as the largest or smallest of `among`: its limits, wider by Bonferroni's correction.

    Limits lie as many times as far off as Student's quantile at :math:`1 - .025/k` is larger than at .975.
    """
    plain = estimate_of(picked)
    if among < 2 or plain.estimate is None or plain.ci_low is None or plain.ci_high is None:
        return plain
    df = max(1, picked.known_from - 1)
    times = student_quantile(1 - 0.025 / among, df) / student_quantile(0.975, df)
    low, high = picked.domain
    return replace(
        plain,
        ci_low=max(low, plain.estimate - times * (plain.estimate - plain.ci_low)),
        ci_high=min(high, plain.estimate + times * (plain.ci_high - plain.estimate)),
        method=f"{plain.method}, corrected for the choice among {among}",
    )


MEAN_LIMITS = "the means of the limits of each"
ROUNDING = 1e-12


def less(first: Mean, second: Mean) -> Estimate:
    r"""`first` less `second`, from the limits of both.

    .. math:: d - \sqrt{(p_1 - l_1)^2 + (u_2 - p_2)^2}

    and likewise above, so that all turned against none turned has an interval, too. It is too wide where the two go together;
    how far they do cannot be seen of shares that are 0 or 1.

    Source: Zou & Donner (2008), Statistics in Medicine 27, 1693-1702.
    """
    d, minuend, subtrahend = first.value - second.value, first.estimate, second.estimate
    bare = replace(minuend, estimate=d, ci_low=None, ci_high=None, n=min(minuend.n, subtrahend.n), method=ALIKE)
    apart = np.abs(first.influence - second.influence) > ROUNDING
    if d == 0 and not apart.any() and (np.abs(first.influence) > ROUNDING).any():
        return bare
    if minuend.limits is None or subtrahend.limits is None:
        return replace(bare, method=minuend.method if minuend.limits is None else subtrahend.method)
    (first_low, first_high), (second_low, second_high) = minuend.limits, subtrahend.limits
    below = np.hypot(first.value - first_low, second_high - second.value)
    above = np.hypot(first_high - first.value, second.value - second_low)
    return replace(bare, ci_low=max(-1.0, float(d - below)), ci_high=min(1.0, float(d + above)), method=BY_PARTS)


def p_of_no_change(change: Measured) -> float:
    """Two-sided p of no change, by Student's *t* from what each query adds; nan where it is undefined.

    Where every query moved alike there is no spread to go by: then that of a sign test, each query counting once.
    """
    if np.isnan(change.value) or change.at_risk < 2:
        return float("nan")
    spread = float(np.sqrt(change.variance))
    if spread < ROUNDING:
        return 1.0 if change.value == 0 else min(1.0, 2 * 0.5**change.at_risk)
    from scipy.special import stdtr  # loading it takes long

    return float(
        2 * stdtr(min(degrees_of_freedom(change.influence), change.known_from - 1), -abs(change.value) / spread)
    )
