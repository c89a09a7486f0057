"""Task by task: does the condition change what people say of this query?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casewise.errors import StatisticsError
from casewise.stats.conditions.kruskal_exact import ExactP, exact_p
from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray, checked_counts, safe_divide
from casewise.stats.core.tails import chi_square_log_tail, chi_square_tail

__all__ = ["KruskalWallis", "h_statistic", "kruskal_wallis"]


@dataclass(frozen=True)
class KruskalWallis:
    """The test on each task; every array has the shape of the tasks."""

    h: FloatArray
    """The tie-corrected statistic; 0 where nothing could be tested."""
    df: int | IntArray
    """Groups with ratings, less one; an array only where tasks differ in it."""
    p: FloatArray
    log_p: FloatArray
    """Natural logarithm, also where `p` underflows."""
    cramers_v: FloatArray
    """Effect size between 0 and 1."""
    testable: BoolArray
    """False where everyone agrees: then `p` is 1 by definition."""
    n: IntArray
    """Ratings of the task."""
    exact: ExactP | None = None
    """The permutation p values and how they were found, if asked for."""

    @property
    def p_exact(self) -> FloatArray | None:
        """The permutation p values, if asked for."""
        return None if self.exact is None else self.exact.p


def kruskal_wallis(
    successes: ArrayLike, sizes: ArrayLike, *, exact: bool = False, rng: np.random.Generator | None = None
) -> KruskalWallis:
    r"""Kruskal-Wallis test on 0/1 ratings, for any number of tasks at once.

    On two values the tie-corrected statistic is a Pearson chi-square in disguise,

    .. math:: H = \frac{N-1}{N} \sum_g \frac{(s_g - n_g p)^2}{n_g \, p (1 - p)}, \qquad p = \frac{\sum s_g}{N},

    so no ranking is needed and a hundred thousand tasks take milliseconds.

    Parameters
    ----------
    successes : (..., groups) integers
        Safe ratings in each group; leading axes are tasks.
    sizes : (..., groups) or (groups,) integers
        Ratings in each group, broadcast against `successes`. A group without ratings in a task is left out there.
    exact : bool
        Also give the permutation p value. The chi-square one is off by a factor of two at few successes.
    rng : Generator, optional
        Draws the permutations where a table is too large for the exact count (see `kruskal_exact`); seeded with 0
        if absent.

    Returns
    -------
    KruskalWallis
        `h`, `df`, `p`, `log_p`, `cramers_v`, `testable` and, if asked for, `p_exact`, each of shape (...).
        A task on which everyone agrees has nothing to test: `h` is 0, `p` is 1 and `testable` is False
        (scipy 1.17.1 returns p = 0 there).

    Raises
    ------
    StatisticsError
        A count is negative, exceeds its size, or fewer than two groups have ratings.

    References
    ----------
    .. [1] Kruskal & Wallis (1952), JASA 47, 583-621.
    .. [2] R: `kruskal.test`; agrees to 1e-12.

    Examples
    --------
    >>> result = kruskal_wallis(np.array([18, 17, 9, 19, 4]), np.full(5, 21))
    >>> round(float(result.h), 3), result.df
    (35.375, 4)
    """
    counts = checked_counts(successes, sizes)
    df = _degrees_of_freedom(counts.sizes)
    total, safe = counts.sizes.sum(-1), counts.successes.sum(-1)
    h = h_statistic(counts.successes, counts.sizes)
    tail = chi_square_tail(h, df)
    return KruskalWallis(
        h=h[()],
        df=df,
        p=tail[()],
        log_p=chi_square_log_tail(np.asarray(h), df, tail=np.asarray(tail))[()],
        cramers_v=np.sqrt(h / (total - 1))[()],
        testable=((safe > 0) & (safe < total))[()],
        n=total[()],
        exact=exact_p(counts.successes, counts.sizes, rng=rng) if exact else None,
    )


def h_statistic(successes: IntArray, sizes: IntArray) -> FloatArray:
    """The tie-corrected statistic of counts already checked; 0 where all agree.

    The deviations are whole numbers, so that nothing cancels.
    """
    safe, total = successes.sum(-1), sizes.sum(-1)
    n = sizes.astype(float)
    deviation = successes.astype(float) * total[..., None] - n * safe[..., None]
    per_rating = 1.0 / np.maximum(n, 1.0)
    squares = np.einsum("...g,...g,...g->...", deviation, deviation, per_rating)
    h: FloatArray = (total - 1) / total * safe_divide(squares, safe.astype(float) * (total - safe))
    return h


def _degrees_of_freedom(sizes: IntArray) -> int | IntArray:
    if sizes.ndim == 0 or sizes.shape[-1] < 2:
        raise StatisticsError(f"there is nothing to compare: the counts have shape {sizes.shape}, one group")
    groups: IntArray = np.asarray(np.count_nonzero(sizes, axis=-1))
    if np.min(groups, initial=2) < 2:
        where = tuple(int(i) for i in np.argwhere(groups < 2)[0])
        raise StatisticsError(f"task {where}: fewer than two groups have ratings; leave it out or collect more")
    if np.max(groups, initial=0) == np.min(groups, initial=sizes.shape[-1]):
        return int(np.max(groups, initial=2)) - 1
    return groups - 1
