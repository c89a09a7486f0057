"""The Kruskal-Wallis test on 0/1 ratings, exact p values, and post-hoc tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.special import gammaincc, ndtr

from casewise.errors import StatisticsError
from casewise.stats.arrays import BoolArray, Counts, FloatArray, IntArray, safe_divide
from casewise.stats.contrasts import two_proportion_z
from casewise.stats.intervals import Correction, adjust
from casewise.stats.shares import log_choose

# The exact permutation p value of the Kruskal-Wallis test on 0/1 ratings.
#
# Given the number *S* of safe ratings, *H* rises with :math:`T = \sum_g s_g^2 / n_g`, and shuffling the ratings over
# the groups makes :math:`(s_1, \dots, s_k)` multivariate hypergeometric. So p is the weight
# :math:`\prod_g \binom{n_g}{s_g}` of the tables with the same *S* and at least the observed *T*, over that of all
# tables with the same *S*. *T* times the least common multiple of the sizes is a whole number, so that ties are decided
# exactly. The groups are split into two halves, each half's tables are listed once, and every task joins them. Where that
# would list too many tables, `DRAWS` random shuffles estimate p, and the result says of how many tasks.


LARGEST_HALF = 2_000_000
"""Most tables that are listed for one half of the groups."""
LISTED_IN_ALL = 50_000_000
"""Most tables that are listed for all patterns of sizes together; they take some seconds."""
ALWAYS_LISTED = 100_000
"""Number of tables that are listed faster than shuffles are drawn, whatever the number of patterns."""
DRAWS = 20_000
"""Number of shuffles where counting is out of reach: the standard error of a p of 0.05 is then 0.0015."""


class TableHalf(NamedTuple):
    """Every table of some of the groups, sorted by its sum and then by its statistic."""

    size: int
    """Number of ratings in these groups."""
    total: IntArray
    statistic: IntArray
    p: FloatArray
    """Probability of the statistic given the sum."""

    @classmethod
    @lru_cache(maxsize=64)
    def from_sizes(cls, sizes: tuple[int, ...], scale: int) -> TableHalf:
        """Return all tables of groups of these sizes, those with equal sum and statistic as one."""
        half = cls(0, np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1))
        for n in sizes:
            s = np.arange(n + 1)
            total = (half.total[:, None] + s).ravel()
            statistic = (half.statistic[:, None] + s * s * (scale // n)).ravel()
            chance = np.exp(
                log_choose(half.size, half.total)[:, None]
                + log_choose(n, s)
                - log_choose(half.size + n, half.total[:, None] + s)
            )
            order = np.lexsort((statistic, total))
            total, statistic = total[order], statistic[order]
            new = np.flatnonzero(np.concatenate([[True], (np.diff(total) != 0) | (np.diff(statistic) != 0)]))
            p = np.add.reduceat((half.p[:, None] * chance).ravel()[order], new)
            half = cls(half.size + n, total[new], statistic[new], p)
        return half


def permutation_p(
    successes: IntArray, sizes: IntArray, *, rng: np.random.Generator | None = None
) -> tuple[FloatArray, int]:
    """Return the permutation p value of each task, and the number of tasks for which it is estimated by shuffling."""
    flat_sizes = sizes.reshape(-1, sizes.shape[-1])
    order = np.argsort(flat_sizes, axis=1, kind="stable")
    rows = np.take_along_axis(successes.reshape(flat_sizes.shape), order, 1)
    patterns, pattern_of_task = np.unique(np.take_along_axis(flat_sizes, order, 1), axis=0, return_inverse=True)
    rng = rng or np.random.default_rng(0)
    most = min(LARGEST_HALF, max(ALWAYS_LISTED, LISTED_IN_ALL // max(1, len(patterns))))
    p, n_shuffled = np.ones(len(rows)), 0
    for index, pattern in enumerate(patterns):
        chosen, rated = np.flatnonzero(pattern_of_task.ravel() == index), pattern > 0
        counts, group_sizes = rows[chosen][:, rated], pattern[rated]
        halves = _halves(group_sizes, most)
        p[chosen] = _shuffled(counts, group_sizes, rng) if halves is None else _joined(counts, group_sizes, *halves)
        n_shuffled += len(chosen) if halves is None else 0
    return p.reshape(successes.shape[:-1])[()], n_shuffled


def _halves(sizes: IntArray, most: int) -> tuple[TableHalf, TableHalf] | None:
    """Return the tables of the groups in two parts, the first no larger than the second; None if either has more than `most`."""
    cut, tables = 1, (sizes + 1).tolist()
    while math.prod(tables[: cut + 1]) <= math.prod(tables[cut + 1 :]):
        cut += 1
    parts = tuple(sizes[:cut].tolist()), tuple(sizes[cut:].tolist())
    scale, total = math.lcm(*sizes.tolist()), int(sizes.sum())
    for *before, last in parts:  # at most so many tables on the way to all of them
        if math.prod(math.comb(n + before.count(n), n) for n in set(before)) * (last + 1) > most:
            return None
    if (total + 1) * (scale * total + 1) >= 2**62:
        return None
    first, second = (TableHalf.from_sizes(part, scale) for part in parts)
    return first, second


def _joined(rows: IntArray, sizes: IntArray, first: TableHalf, second: TableHalf) -> FloatArray:
    """Return P(T >= observed | S) of each row, from each table of the first half and the tail of the second."""
    scale = math.lcm(*sizes.tolist())
    unit = scale * int(sizes.sum()) + 1
    keys = second.total * unit + second.statistic
    ends = np.searchsorted(second.total, np.arange(second.size + 1), side="right")
    # Of each table the probability of a statistic at least as large, given its sum. Summed within each sum on its own: a
    # difference of running totals would lose the small tails.
    tails = np.zeros(len(second.p) + 1)
    for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        tails[start:end] = np.cumsum(second.p[start:end][::-1])[::-1]
    observed = np.stack([rows.sum(-1), (rows**2 * (scale // sizes)).sum(-1)], axis=1)
    questions, question_of_task = np.unique(observed, axis=0, return_inverse=True)
    answers = np.empty(len(questions))
    for index, (total, statistic) in enumerate(questions.tolist()):
        second_sum = total - first.total
        fits = (second_sum >= 0) & (second_sum <= second.size)
        second_sum = second_sum[fits]
        place = np.searchsorted(keys, second_sum * unit + np.maximum(statistic - first.statistic[fits], 0))
        tail = np.where(place < ends[second_sum], tails[place], 0.0)
        chance = np.exp(
            log_choose(first.size, total - second_sum)
            + log_choose(second.size, second_sum)
            - log_choose(first.size + second.size, total)
        )
        answers[index] = np.sum(first.p[fits] * chance * tail)
    return np.minimum(answers, 1.0)[question_of_task.ravel()]


def _shuffled(rows: IntArray, sizes: IntArray, rng: np.random.Generator) -> FloatArray:
    """Return the share of random shuffles at least as extreme, the observed table counted among them."""
    p = np.empty(len(rows))
    observed = (rows**2 / sizes).sum(-1)
    for total in np.unique(rows.sum(-1)):
        draws = rng.multivariate_hypergeometric(sizes, int(total), size=DRAWS, method="marginals")
        shuffled = np.sort((draws**2 / sizes).sum(-1))
        chosen = rows.sum(-1) == total
        # Equal statistics may differ in the last bits here, so a hair's breadth counts as equal.
        less = np.searchsorted(shuffled, observed[chosen] * (1 - 1e-12))
        p[chosen] = (1 + DRAWS - less) / (1 + DRAWS)
    return p


@dataclass(frozen=True)
class KruskalWallis:
    """The test on each task; every array has the shape of the tasks."""

    h: FloatArray
    """The tie-corrected statistic; 0 where nothing could be tested."""
    df: int | IntArray
    """Number of groups with ratings, less one; an array only where tasks differ in it."""
    p: FloatArray
    cramers_v: FloatArray
    """Effect size between 0 and 1."""
    testable: BoolArray
    """False where everyone agrees: then `p` is 1 by definition."""
    n: IntArray
    """Number of ratings of the task."""
    p_exact: FloatArray | None = None
    """The permutation p values, if asked for."""
    shuffled: int = 0
    """Number of tasks whose permutation p is estimated by random shuffles."""

    @property
    def reported_p(self) -> FloatArray:
        """The permutation p values where they were asked for, else those of chi-square."""
        return self.p if self.p_exact is None else self.p_exact


def kruskal_wallis(
    successes: ArrayLike, sizes: ArrayLike, *, exact: bool = False, rng: np.random.Generator | None = None
) -> KruskalWallis:
    r"""Return the Kruskal-Wallis test on 0/1 ratings, for any number of tasks at once.

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
        Draws the permutations where a table is too large for the exact count; seeded with 0 if absent.

    Returns
    -------
    KruskalWallis
        Its arrays are of shape (...). A task on which everyone agrees has nothing to test: `h` is 0, `p` is 1 and
        `testable` is False (scipy 1.17.1 returns p = 0 there).

    Raises
    ------
    StatisticsError
        Fewer than two groups have ratings.

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
    counts = Counts.from_arrays(successes, sizes)
    groups = np.asarray(np.count_nonzero(counts.sizes, axis=-1))
    if np.min(groups, initial=2) < 2:
        where = tuple(int(i) for i in np.argwhere(groups < 2)[0])
        raise StatisticsError(f"task {where}: fewer than two groups have ratings; leave it out or collect more")
    most = int(np.max(groups, initial=2))
    df: int | IntArray = most - 1 if (groups == most).all() else groups - 1
    total, safe = counts.sizes.sum(-1), counts.successes.sum(-1)
    h = h_statistic(*counts)
    p_exact, shuffled = permutation_p(*counts, rng=rng) if exact else (None, 0)
    return KruskalWallis(
        h=h[()],
        df=df,
        p=np.asarray(gammaincc(np.asarray(df) / 2, h / 2))[()],
        cramers_v=np.sqrt(h / (total - 1))[()],
        testable=((safe > 0) & (safe < total))[()],
        n=total[()],
        p_exact=p_exact,
        shuffled=shuffled,
    )


def h_statistic(successes: IntArray, sizes: IntArray) -> FloatArray:
    """Return the tie-corrected statistic of counts already checked; 0 where all agree.

    The deviations are whole numbers, so that nothing cancels.
    """
    safe, total = successes.sum(-1), sizes.sum(-1)
    n = sizes.astype(float)
    deviation = successes.astype(float) * total[..., None] - n * safe[..., None]
    per_rating = 1.0 / np.maximum(n, 1.0)
    squares = np.einsum("...g,...g,...g->...", deviation, deviation, per_rating)
    h: FloatArray = (total - 1) / total * safe_divide(squares, safe.astype(float) * (total - safe))
    return h


CATEGORY_DRAWS = 1000
MOST_CELLS = 10_000_000
"""Most shuffled counts that are drawn in all; beyond, there are fewer shuffles (never below 100), and the result says how many."""


@dataclass(frozen=True)
class TaskRatings:
    """Ratings of tasks with the people who gave them, where each person has one condition."""

    task: IntArray
    person: IntArray
    safe: BoolArray
    condition: IntArray
    """Condition of each annotator."""

    def shuffled(self, shape: tuple[int, int], rng: np.random.Generator) -> Counts:
        """Return (tasks, conditions) counts with the people dealt anew over the conditions, each with all their ratings."""
        cell = self.task * shape[1] + rng.permutation(self.condition)[self.person]
        votes, safe = (np.bincount(cells, minlength=shape[0] * shape[1]) for cells in (cell, cell[self.safe]))
        return Counts(safe.reshape(shape), votes.reshape(shape))


def category_tests(
    counts: Counts,
    category: IntArray,
    *,
    result: KruskalWallis,
    rng: np.random.Generator,
    alpha: float,
    paper_level: float,
    people: TaskRatings | None = None,
) -> pl.DataFrame:
    """Return one row a category: its tasks (`queries`), the `testable` ones, their `mean_h` with its permutation `p`, and shares.

    `p` is of people shuffled over the conditions, or of ratings shuffled within each task, `draws` times; `p_at_floor` where it
    cannot be smaller. `significant_after_correction` and `significant_at_paper_level` are shares of tasks.

    `counts`: (tasks, conditions), each task with ratings under two conditions at least.
    `category`: (tasks,) integers.
    `result`: the test of the same tasks; its exact p is used where it has one.
    `alpha`, `paper_level`: after Benjamini-Hochberg over all tasks; without correction, as the paper.
    `people`: where each person rated under one condition: they are then shuffled with all their ratings,
        as they were assigned.

    Without `people` ratings are shuffled within tasks, which does not know that tasks of a category share people: where
    a person rates many of them, p is too small.
    """
    p = result.reported_p
    corrected = adjust(p, "benjamini_hochberg", where=result.testable)
    groups = int(category.max()) + 1

    def by_category(weights: FloatArray | BoolArray | None = None) -> FloatArray:
        return np.bincount(category, weights=weights, minlength=groups).astype(np.float64)

    queries, testable, observed = by_category(), by_category(result.testable), by_category(result.h)
    size = counts.sizes.size if people is None else len(people.safe)
    draws = int(np.clip(MOST_CELLS // max(1, size), 100, CATEGORY_DRAWS))
    as_large = np.zeros(groups)
    for _ in range(draws):
        dealt = shuffled_within_tasks(counts, rng) if people is None else people.shuffled(counts.sizes.shape, rng)
        as_large += by_category(h_statistic(*dealt)) >= observed - 1e-9
    of_category = np.where(testable > 0, (1 + as_large) / (1 + draws), 1.0)
    return pl.DataFrame(
        {
            "queries": queries.astype(np.int64),
            "testable": testable.astype(np.int64),
            "mean_h": observed / np.maximum(testable, 1),
            "p": of_category,
            "p_at_floor": of_category <= 1 / (1 + draws),
            "p_benjamini_hochberg": adjust(of_category, "benjamini_hochberg"),
            "significant_after_correction": by_category(corrected <= alpha) / queries,
            "significant_at_paper_level": by_category(p <= paper_level) / queries,
            "draws": np.full(groups, draws),
        }
    )


def shuffled_within_tasks(counts: Counts, rng: np.random.Generator) -> Counts:
    """Return each task's safe ratings dealt anew over its conditions (multivariate hypergeometric, one group at a time)."""
    remaining, places = counts.successes.sum(-1), counts.sizes.sum(-1)
    dealt = np.empty_like(counts.successes)
    for group in range(counts.sizes.shape[-1]):
        size = counts.sizes[..., group]
        dealt[..., group] = rng.hypergeometric(remaining, places - remaining, size)
        remaining, places = remaining - dealt[..., group], places - size
    return Counts(dealt, counts.sizes)


@dataclass(frozen=True)
class PairwiseTests:
    """Every pair of groups on every task; arrays have shape (..., pairs)."""

    pairs: IntArray
    """(pairs, 2) indices of the groups."""
    z: FloatArray
    """Positive where the *second* group of the pair is the safer one (as in R's rstatix)."""
    p: FloatArray
    """Two-sided, not adjusted."""
    testable: BoolArray
    """False where the pair (for Dunn: the task) has nothing to test; then p is 1 and the family one smaller."""

    def adjusted(self, method: Correction) -> FloatArray:
        """Return the p values after correction within each task."""
        return adjust(self.p, method, where=self.testable)


def dunn(successes: ArrayLike, sizes: ArrayLike) -> PairwiseTests:
    r"""Return Dunn's test of every two groups, with ranks shared by all groups of the task.

    On 0/1 ratings the mean ranks differ by :math:`\tfrac{N}{2}(p_j - p_i)`, and with the correction for ties

    .. math:: z_{ij} = \frac{p_j - p_i}{\sqrt{\frac{N}{N-1}\,p(1-p)\left(\frac{1}{n_i} + \frac{1}{n_j}\right)}}.

    Parameters
    ----------
    successes, sizes : (..., groups) integers
        As for `kruskal_wallis`.

    References
    ----------
    .. [1] Dunn (1964), Technometrics 6, 241-252.
    .. [2] R: `rstatix::dunn_test`; `dunn.test` gives the opposite sign.

    Examples
    --------
    >>> tests = dunn([18, 9, 4], [21, 21, 21])
    >>> tests.p.round(4).tolist()
    [0.0059, 0.0, 0.1258]
    """
    counts = Counts.from_arrays(successes, sizes)
    pairs, a, m, b, n = _pairs(counts)
    total, safe = counts.sizes.sum(-1)[..., None], counts.successes.sum(-1)[..., None]
    testable = (safe > 0) & (safe < total) & (m > 0) & (n > 0)
    cross = (b * m - a * n).astype(float)
    spread = np.where(testable, 1.0 * m * n * (m + n) * safe * (total - safe), 0.0)
    z = cross * np.sqrt(safe_divide(1.0 * total * (total - 1), spread))
    return PairwiseTests(pairs, z, np.minimum(2 * ndtr(-np.abs(z)), 1.0), testable)


def pairwise_proportions(successes: ArrayLike, sizes: ArrayLike) -> PairwiseTests:
    """Return the two-proportion z test of every two groups on their own ratings (R: `pairwise.prop.test(correct = FALSE)`).

    Parameters and results as `dunn`; a pair on which everyone agrees is not testable.
    """
    pairs, a, m, b, n = _pairs(Counts.from_arrays(successes, sizes))
    result = two_proportion_z(b, n, a, m)
    return PairwiseTests(pairs, result.z, result.p, result.testable)


def _pairs(counts: Counts) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Return (pairs, 2) indices of groups, and the successes and sizes of the first and the second group of each pair."""
    pairs = np.array(list(combinations(range(counts.sizes.shape[-1]), 2)), dtype=np.int64)
    i, j = pairs.T
    return pairs, counts.successes[..., i], counts.sizes[..., i], counts.successes[..., j], counts.sizes[..., j]
