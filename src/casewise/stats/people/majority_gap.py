"""Whether vote counts stop at the majority line: a step there that a smooth distribution of rates does not have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, integers

__all__ = ["MajorityGap", "majority_gap"]

WINDOW = 5
"""Counts on each side of the line that the smooth curve is fitted to."""

LEAST_ITEMS = 40
"""Fewer items in the window do not carry a curve and a step."""

LARGEST_STEP = 12.0
"""In logs: where one side of the line is empty, the likeliest step is infinite."""


@dataclass(frozen=True)
class MajorityGap:
    """A step in the histogram of vote counts at the majority line.

    Attributes
    ----------
    cut
        The step is between `cut` and `cut` + 1 safe votes.
    below, above
        Items at `cut` and at `cut` + 1.
    log_ratio
        The step in logs, the smooth trend taken out; below zero where counts stop at the line.
    statistic, p
        Likelihood ratio against a smooth curve, and its chi-square p value, times the number of cuts tried.
    """

    cut: int
    below: int
    above: int
    log_ratio: float
    statistic: float
    p: float


def majority_gap(safe: ArrayLike, *, votes: int) -> MajorityGap | None:
    r"""The clearest step at the majority line in the counts of safe votes, tested against a smooth curve.

    Within five counts of the line, the number of items with *k* safe votes is Poisson with
    :math:`\log \mu_k = \beta_0 + \beta_1 k + \beta_2 k^2 + \delta\,[k > c]`; :math:`\delta = 0` is tested by its
    likelihood ratio, for the one or two cuts *c* that touch the line, with Bonferroni.

    Parameters
    ----------
    safe : (items,) integers
        Safe votes of items that all have `votes` votes, and that one author's intent sets apart.
    votes : int
        How many votes each item has; at least 6.

    Returns
    -------
    MajorityGap or None
        None where too few items lie near the line to tell.

    References
    ----------
    .. [1] The idea is that of McCrary (2008), Journal of Econometrics 142, 698-714, for counts.
    """
    counts_of = integers(safe, "safe")
    if counts_of.ndim != 1 or votes < 6 or (len(counts_of) and counts_of.max() > votes):
        raise StatisticsError(f"the majority line needs at least 6 votes an item, and no count above {votes}")
    cuts = [votes // 2 - 1, votes // 2] if votes % 2 == 0 else [votes // 2]
    histogram = np.bincount(counts_of, minlength=votes + 1).astype(float)
    found = [gap for cut in cuts if (gap := gap_at(histogram, cut, n_cuts=len(cuts))) is not None]
    return min(found, key=lambda gap: gap.p) if found else None


def gap_at(histogram: FloatArray, cut: int, *, n_cuts: int) -> MajorityGap | None:
    first, last = max(0, cut - WINDOW + 1), min(len(histogram), cut + WINDOW + 1)
    counts = histogram[first:last]
    if counts.sum() < LEAST_ITEMS:
        return None
    k = np.arange(first, last)
    place = (k - cut - 0.5) / WINDOW
    smooth = np.column_stack([np.ones(len(k)), place, place**2])
    stepped = np.column_stack([smooth, k > cut])
    without, _ = poisson_fit(smooth, counts)
    with_step, coefficients = poisson_fit(stepped, counts)
    statistic = max(0.0, 2 * (with_step - without))
    return MajorityGap(
        cut=cut,
        below=int(histogram[cut]),
        above=int(histogram[cut + 1]),
        log_ratio=float(coefficients[-1]),
        statistic=statistic,
        p=min(1.0, n_cuts * float(chdtrc(1, statistic))),
    )


def poisson_fit(design: FloatArray, counts: FloatArray) -> tuple[float, FloatArray]:
    """Log-likelihood (up to a constant) and coefficients of a Poisson regression, each within ±12."""
    from scipy.optimize import minimize

    def minus(beta: FloatArray) -> tuple[float, FloatArray]:
        eta = np.clip(design @ beta, -30, 30)
        mean = np.exp(eta)
        return float(mean.sum() - counts @ eta), design.T @ (mean - counts)

    begin = np.zeros(design.shape[1])
    begin[0] = np.log(counts.mean())
    bounds = [(-LARGEST_STEP, LARGEST_STEP)] * design.shape[1]
    found = minimize(minus, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-12})
    return -float(found.fun), found.x
