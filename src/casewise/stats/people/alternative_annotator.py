"""May a judge stand in for an annotator? The alternative annotator test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray, checked_share
from casewise.stats.core.checks import coded_labels, of_one_length, truths
from casewise.stats.core.multiplicity import benjamini_yekutieli

__all__ = ["FEWEST_ITEMS", "AlternativeAnnotator", "alternative_annotator_test"]

FEWEST_ITEMS = 30
"""Items per annotator below which the test's normal approximation does not hold, and it is not computed."""


@dataclass(frozen=True)
class AlternativeAnnotator:
    """The test's answer, or why there is none."""

    epsilon: float
    items_per_annotator: float
    """Median number of items that an annotator shares with others and the judge."""
    annotators: int
    """Annotators with enough items to be tested."""
    omega: float | None
    """Winning rate: share of annotators the judge does at least as well as, after Benjamini-Yekutieli."""
    passes: bool | None
    """Whether `omega` is at least one half."""
    advantage: float | None
    """Mean probability that the judge agrees with the others at least as well as the annotator left out."""
    reason: str | None
    """Why it was not computed; None if it was."""


def alternative_annotator_test(
    safe: ArrayLike,
    judge: ArrayLike,
    *,
    item: ArrayLike,
    annotator: ArrayLike,
    epsilon: float = 0.1,
    alpha: float = 0.05,
) -> AlternativeAnnotator:
    r"""Leave one annotator out: does the judge agree with the others as well as they did?

    For annotator *j* and each of their items, the judge wins where it agrees with at least as many of the others, and
    the annotator where they do. With :math:`d` the annotator's wins less the judge's, :math:`H_0: \bar d \ge
    \varepsilon` is tested by a one-sided *t* test, and :math:`\omega` is the share of annotators at which it is
    rejected after Benjamini-Yekutieli.

    Parameters
    ----------
    safe : (ratings,) booleans
    judge : (ratings,) booleans
        The judge's verdict on the item of each rating. Leave ratings of items without a verdict out.
    item, annotator : (ratings,) labels
    epsilon : float
        The judge's advantage: it is cheaper. 0.1 for crowd workers, 0.2 for experts.
    alpha : float
        False discovery rate.

    Returns
    -------
    AlternativeAnnotator
        Without `omega` where no annotator rated 30 items that others rated too.

    Raises
    ------
    StatisticsError
        Columns of different lengths, a value that is neither true nor false, a missing label, or settings that are
        no shares.

    References
    ----------
    .. [1] Calderon, Reichart & Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge, §3.
    """
    if not 0 <= epsilon < 1:
        raise StatisticsError(f"epsilon is a share between 0 and 1, not {epsilon!r}")
    checked_share(alpha, "alpha")
    y, f = truths(safe, "safe").astype(np.int64), truths(judge, "judge").astype(np.int64)
    items, who = coded_labels(item, "item"), coded_labels(annotator, "annotator")
    of_one_length(safe=y, judge=f, item=items, annotator=who)
    shared = np.bincount(items)[items] > 1
    judge_wins, human_wins = _wins(y, f, items)
    counts = np.bincount(who[shared])
    median = float(np.median(counts[counts > 0])) if shared.any() else 0.0
    tested = np.flatnonzero(counts >= FEWEST_ITEMS)
    if not len(tested):
        reason = f"annotators share a median of {median:g} items with others; the test needs {FEWEST_ITEMS}"
        return AlternativeAnnotator(epsilon, median, 0, None, None, None, reason)
    d = (human_wins - judge_wins)[shared]
    p = _p_values(d, who[shared], epsilon)[tested]
    omega = float((benjamini_yekutieli(p) < alpha).mean())
    chance = np.bincount(who[shared], weights=judge_wins[shared])[tested] / counts[tested]
    return AlternativeAnnotator(epsilon, median, len(tested), omega, omega >= 0.5, float(chance.mean()), None)


def _wins(y: IntArray, f: IntArray, items: IntArray) -> tuple[IntArray, IntArray]:
    """Per rating, whether the judge, and whether the annotator, agrees with at least as many of the others."""
    safe, votes = np.bincount(items, weights=y)[items] - y, np.bincount(items)[items] - 1
    judge = np.where(f == 1, safe, votes - safe)
    human = np.where(y == 1, safe, votes - safe)
    return (judge >= human).astype(np.int64), (human >= judge).astype(np.int64)


def _p_values(d: IntArray, who: IntArray, epsilon: float) -> FloatArray:
    """One-sided t tests of mean d < epsilon; where d never varies, 0 or 1 as its value says."""
    n = np.maximum(np.bincount(who), 1)
    mean = np.bincount(who, weights=d) / n
    spread = np.bincount(who, weights=d**2) / n - mean**2
    error = np.sqrt(np.maximum(spread, 0.0) / np.maximum(n - 1, 1))
    constant = spread < 1e-12
    t = (mean - epsilon) / np.where(constant, 1.0, error)
    return np.where(constant, np.where(mean < epsilon, 0.0, 1.0), stdtr(np.maximum(n - 1, 1), t))
