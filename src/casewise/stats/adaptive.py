"""Fewer calls for the same answer: a judge's accuracy on a whole benchmark from a sample of its queries.

Queries are drawn by Poisson sampling with permanent random numbers: query *q* is in the sample at rate *c* where its
number :math:`u_q` is at most :math:`\\pi_q = \\min(1, c\\,p_q)`. Inclusion probabilities are then known exactly, positive,
and independent, and the samples of growing rates are nested, so nothing is ever asked in vain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from casewise.errors import StatisticsError
from casewise.stats.arrays import BoolArray, FloatArray, IntArray
from casewise.stats.shares import score_limits

FIRST_LOOK = 200
"""Queries at the first look: with fewer, an interval for a rare error cannot be trusted."""

STEP = 1.15
"""Each look is at so many times the queries of the one before."""

LEVEL_AT_A_LOOK = 0.965
"""Stopping at the first interval that is narrow enough favours those narrow by chance; simulated to cover 95 %."""

MOST_UNEQUAL = 3.0
"""No query is more than so many times likelier to be drawn than another."""


@dataclass(frozen=True)
class QueryFrame:
    """All queries of a benchmark before anything is asked."""

    items: FloatArray
    """(queries,): items of each query."""
    expected: FloatArray
    """(queries, features): what is known of each beforehand (people's margin, the classifier's probability, the
    intent): control variates."""
    size: FloatArray
    """(queries,): relative probability of being drawn, above 0; see `size_weights`."""

    def __post_init__(self) -> None:
        if not len(self.items) == len(self.expected) == len(self.size) > 0:
            raise StatisticsError("a frame needs at least one query, and its arrays one entry each")
        if (self.size <= 0).any() or not np.isfinite(self.size).all():
            raise StatisticsError("every query needs a known positive probability of being drawn")


@dataclass(frozen=True)
class QuerySample:
    """Which queries are in the sample, and how likely each of all queries was to be in it."""

    drawn: BoolArray
    inclusion: FloatArray


@dataclass(frozen=True)
class PreciseEstimate:
    """Accuracy on the whole benchmark, and how many queries and items were asked, of how many there are."""

    estimate: float
    low: float
    high: float
    queries: int
    of_queries: int
    items: int
    of_items: int
    look: int
    """At which look it stopped, from 1."""
    reached: bool
    """Whether the interval is as narrow as was asked for; once all are asked, it has no width."""
    sample: QuerySample

    @property
    def saved(self) -> float:
        """Share of calls that were not needed."""
        return 1 - self.items / self.of_items


def size_weights(spread: FloatArray) -> FloatArray:
    """Relative probabilities from how uncertain each query's outcome is thought to be, at most `MOST_UNEQUAL` apart."""
    bounded = np.clip(spread / max(float(np.mean(spread)), 1e-12), 1 / np.sqrt(MOST_UNEQUAL), np.sqrt(MOST_UNEQUAL))
    return np.asarray(bounded, dtype=float)


def sample_until_precise(
    frame: QueryFrame,
    ask: Callable[[IntArray], FloatArray],
    *,
    half_width: float,
    rng: np.random.Generator,
) -> PreciseEstimate:
    """Ask queries until the interval for accuracy on this whole benchmark is narrow enough.

    Looks are scheduled beforehand: at about 200 queries, then each time 15 % more, and at last all.

    `ask`: takes places of queries not asked before and gives how many items of each were judged rightly (halves at ties).
    `half_width`: half the width of the interval to be reached.

    Raises StatisticsError: the width is not between 0 and ½.
    """
    if not 0 < half_width < 0.5:
        raise StatisticsError(f"the half width of an accuracy lies between 0 and 0.5, not {half_width!r}")
    n = len(frame.items)
    number, fold = rng.random(n), rng.integers(0, 2, n)
    right = np.full(n, np.nan)
    planned = float(min(FIRST_LOOK, n))
    for look in range(1, 100):
        inclusion = inclusion_at(frame.size, planned) if planned < n else np.ones(n)
        sample = QuerySample(number <= inclusion, inclusion)
        new = np.flatnonzero(sample.drawn & np.isnan(right))
        right[new] = ask(new)
        found = estimated(frame, sample, right, fold, look, half_width)
        if found.reached or planned >= n:
            return found
        planned = planned * STEP if planned * STEP < 0.97 * n else float(n)
    raise StatisticsError("the schedule of looks did not end")


def inclusion_at(size: FloatArray, expected: float) -> FloatArray:
    """Inclusion probabilities proportional to `size`, at most 1, that add up to the expected number of queries."""
    low, high = 0.0, expected / float(size.min())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(1, middle * size).sum() < expected else (low, middle)
    return np.minimum(1.0, high * size)


def estimated(
    frame: QueryFrame, sample: QuerySample, right: FloatArray, fold: IntArray, look: int, half_width: float
) -> PreciseEstimate:
    r"""Difference estimator with cross-fitted control variates, and a score interval.

    .. math:: \hat A = \frac{1}{M} \Bigl[\sum_q f_q + \sum_{q \in S} \frac{y_q - f_q}{\pi_q}\Bigr], \qquad
       \hat V = \frac{1}{M^2} \sum_{q \in S} \frac{1 - \pi_q}{\pi_q^2} (y_q - f_q)^2

    over *M* items, where :math:`f_q` is predicted by a regression on the sampled queries of the *other* half: given that
    half it is fixed, so the estimate is unbiased. The interval is Wilson's at the effective size
    :math:`\hat A (1 - \hat A) / \hat V`, never above that of the design with no help from the control variates where
    errors are too rare to tell how much they help.

    Sources: Särndal, Swensson & Wretman (1992), Model Assisted Survey Sampling, ch. 6.
    Angelopoulos et al. (2023), Science 382, 669-674 (prediction-powered inference).
    Franco, Little, Louis & Slud (2019), J. Survey Statistics and Methodology 7, 334-364 (Wilson, effective size).
    """
    items, drawn = frame.items, sample.drawn
    if drawn.all():
        exact = float(right.sum() / items.sum())
        return stopped(frame, sample, (exact, exact, exact), look, half_width)
    predicted = control_variates(frame, sample, right, fold)
    residual = np.where(drawn, np.nan_to_num(right) - predicted, 0.0)
    raw = float((predicted.sum() + (residual / sample.inclusion).sum()) / items.sum())
    estimate = min(1.0, max(0.0, raw))
    low, high = score_interval(frame, sample, estimate, residual)
    return stopped(frame, sample, (estimate, low, high), look, half_width)


def stopped(
    frame: QueryFrame, sample: QuerySample, limits: tuple[float, float, float], look: int, half_width: float
) -> PreciseEstimate:
    """An estimate with its limits, and what was asked for it."""
    estimate, low, high = limits
    return PreciseEstimate(
        estimate=estimate,
        low=low,
        high=high,
        queries=int(sample.drawn.sum()),
        of_queries=len(frame.items),
        items=int(frame.items[sample.drawn].sum()),
        of_items=int(frame.items.sum()),
        look=look,
        reached=(high - low) / 2 <= half_width,
        sample=sample,
    )


def control_variates(frame: QueryFrame, sample: QuerySample, right: FloatArray, fold: IntArray) -> FloatArray:
    """Predicted right items of each query, by ridge regression on the sampled queries of the other half."""
    design = np.column_stack([np.ones(len(frame.items)), frame.expected])
    predicted = np.empty(len(frame.items))
    for half in (0, 1):
        learn = sample.drawn & (fold != half)
        weight = frame.items[learn] / sample.inclusion[learn]
        x, y = design[learn], right[learn] / frame.items[learn]
        gram = (x * weight[:, None]).T @ x + np.eye(design.shape[1]) * 1e-3 * max(weight.sum(), 1e-9)
        coefficients = np.linalg.solve(gram, (x * weight[:, None]).T @ y)
        predicted[fold == half] = (design @ coefficients)[fold == half]
    return np.clip(predicted, 0, 1) * frame.items


def score_interval(
    frame: QueryFrame, sample: QuerySample, estimate: float, residual: FloatArray
) -> tuple[float, float]:
    """Wilson's interval at the effective size of the sample.

    The fewer errors were seen, the less the measured variance is trusted, and the more the design's own: with fewer
    than 20, in proportion. That one lies between items judged alike within a query and judged independently.
    """
    total, inclusion, drawn = frame.items.sum(), sample.inclusion, sample.drawn
    measured = float(((1 - inclusion) / inclusion**2 * residual**2)[drawn].sum()) / total**2
    spread = estimate * (1 - estimate)
    # What the design alone would give if the items of a query were judged alike, and if they were independent.
    alike = float(((1 - inclusion) / inclusion * frame.items**2).sum()) / total**2
    apart = float(((1 - inclusion) / inclusion * frame.items).sum()) / total**2
    errors = spread * float(frame.items[drawn].sum())
    trust = min(1.0, errors / 20)
    factor = trust * (measured / spread if spread > 0 else apart) + (1 - trust) * max(apart, min(alike, 1.3 * apart))
    size = 1 / max(factor, 1e-12)
    limits = score_limits(estimate, size, level=LEVEL_AT_A_LOOK)
    return max(0.0, float(limits.low)), min(1.0, float(limits.high))
