r"""The exact permutation p value of the Kruskal-Wallis test on 0/1 ratings.

Given the number *S* of safe ratings, *H* rises with :math:`T = \sum_g s_g^2 / n_g`, and shuffling the ratings over
the groups makes :math:`(s_1, \dots, s_k)` multivariate hypergeometric. So p is the weight
:math:`\prod_g \binom{n_g}{s_g}` of the tables with the same *S* and at least the observed *T*, over that of all
tables with the same *S*. Ties are decided in whole numbers, never in floats.

* Groups of one size: one table over :math:`(S, Q = \sum s_g^2)` answers all tasks by look-up.
* Other sizes: *T* times the least common multiple of the sizes is a whole number. The groups are split into two
  halves, each half's tables are listed once, and every task joins them.
* Beyond `LARGEST_HALF` listed tables, or `LISTED_IN_ALL` over many patterns of sizes: `DRAWS` random shuffles, and the
  result says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from casewise.stats.core.arrays import FloatArray, IntArray
from casewise.stats.core.majorities import log_choose

__all__ = ["DRAWS", "LARGEST_HALF", "LARGEST_TABLE", "ExactMethod", "ExactP", "equal_size_table", "exact_p"]

LARGEST_TABLE = 20_000_000
"""Cells of the look-up table: 160 MB. Five groups of up to 92 fit, or two of up to 170."""
LARGEST_HALF = 2_000_000
"""Tables listed for one half of the groups."""
LISTED_IN_ALL = 50_000_000
"""Tables listed for all patterns of sizes together: some seconds."""
ALWAYS_LISTED = 100_000
"""So many tables are listed faster than shuffles are drawn, however many patterns there are."""
DRAWS = 20_000
"""Shuffles where counting is out of reach: a p of 0.05 is then known to 0.0015 (its standard error)."""

ExactMethod = Literal["dynamic programme", "joined halves", "monte carlo"]


@dataclass(frozen=True)
class ExactP:
    """Permutation p values, one a task, and how they were found."""

    p: FloatArray
    methods: tuple[ExactMethod, ...]
    """Those used, sorted; "monte carlo" means that some were estimated by shuffling."""
    monte_carlo_tasks: int
    draws: int | None
    """Shuffles behind each estimated p; None if all are exact."""


class Half(NamedTuple):
    """Every table of some of the groups, sorted by its sum and then by its statistic."""

    size: int
    """Ratings in these groups."""
    total: IntArray
    statistic: IntArray
    p: FloatArray
    """Probability of the statistic given the sum."""


def exact_p(successes: IntArray, sizes: IntArray, *, rng: np.random.Generator | None = None) -> ExactP:
    """The permutation p value of each task; counts as for `kruskal_wallis`, already checked."""
    rows, patterns, which = _by_pattern(successes, sizes)
    rng = rng or np.random.default_rng(0)
    most = min(LARGEST_HALF, max(ALWAYS_LISTED, LISTED_IN_ALL // max(1, len(patterns))))
    p = np.ones(len(rows))
    used: dict[ExactMethod, int] = {}
    for index, pattern in enumerate(patterns):
        chosen = np.flatnonzero(which == index)
        some = pattern > 0
        p[chosen], method = _by_best_method(rows[chosen][:, some], pattern[some], most=most, rng=rng)
        used[method] = used.get(method, 0) + len(chosen)
    estimated = used.get("monte carlo", 0)
    return ExactP(
        p=p.reshape(successes.shape[:-1])[()],
        methods=tuple(sorted(used)),
        monte_carlo_tasks=estimated,
        draws=DRAWS if estimated else None,
    )


def _by_pattern(successes: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Tasks as rows with their groups in order of size, the patterns of sizes, and which task has which."""
    flat_sizes = sizes.reshape(-1, sizes.shape[-1])
    rows = successes.reshape(flat_sizes.shape)
    if len(rows) and (flat_sizes == flat_sizes[0, 0]).all():
        return rows, flat_sizes[:1], np.zeros(len(rows), np.int64)
    order = np.argsort(flat_sizes, axis=1, kind="stable")
    patterns, which = np.unique(np.take_along_axis(flat_sizes, order, 1), axis=0, return_inverse=True)
    return np.take_along_axis(rows, order, 1), patterns, which.ravel()


def _by_best_method(
    rows: IntArray, sizes: IntArray, *, most: int, rng: np.random.Generator
) -> tuple[FloatArray, ExactMethod]:
    k, n = len(sizes), int(sizes[0])
    if (sizes == n).all() and (k * n + 1) * (k * n * n + 1) <= LARGEST_TABLE:
        return equal_size_table(k, n)[rows.sum(-1), (rows**2).sum(-1)], "dynamic programme"
    scale = math.lcm(*sizes.tolist())
    first, second = _halves(sizes.tolist())
    fits = (int(sizes.sum()) + 1) * (scale * int(sizes.sum()) + 1) < 2**62
    if fits and max(_tables(first), _tables(second)) <= most:
        return _joined(rows, sizes, _listed(first, scale), _listed(second, scale)), "joined halves"
    return _shuffled(rows, sizes, rng), "monte carlo"


@lru_cache(maxsize=4)
def equal_size_table(groups: int, n: int) -> FloatArray:
    """`table[S, Q]`: the p value of `groups` groups of `n` with S safe ratings and sum of squares Q.

    Built group by group: the weights over (S, Q) are shifted by (s, s²) and multiplied by C(n, s) for every s.
    """
    weights = [math.comb(n, s) / 2**n for s in range(n + 1)]
    table = np.ones((1, 1))
    for done in range(1, groups + 1):
        grown = np.zeros((done * n + 1, done * n * n + 1))
        rows, columns = table.shape
        for s, weight in enumerate(weights):
            grown[s : s + rows, s * s : s * s + columns] += weight * table
        table = grown
    tails = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]
    p: FloatArray = np.minimum(tails / tails[:, :1], 1.0)
    p.setflags(write=False)
    return p


def _halves(sizes: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The groups in two parts, the first with at most as many tables as the second."""
    cut = 1
    while math.prod(n + 1 for n in sizes[: cut + 1]) <= math.prod(n + 1 for n in sizes[cut + 1 :]):
        cut += 1
    return tuple(sizes[:cut]), tuple(sizes[cut:])


def _tables(sizes: tuple[int, ...]) -> int:
    """At most how many tables have to be listed on the way to all those of groups of these sizes."""
    before = sizes[:-1]
    distinct = math.prod(math.comb(n + before.count(n), n) for n in set(before))
    return distinct * (sizes[-1] + 1)


@lru_cache(maxsize=64)
def _listed(sizes: tuple[int, ...], scale: int) -> Half:
    """All tables of groups of these sizes, those with equal sum and statistic as one."""
    half = Half(0, np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1))
    for n in sizes:
        s = np.arange(n + 1)
        total = (half.total[:, None] + s).ravel()
        statistic = (half.statistic[:, None] + s * s * (scale // n)).ravel()
        chance = np.exp(
            log_choose(half.size, half.total)[:, None]
            + log_choose(n, s)
            - log_choose(half.size + n, half.total[:, None] + s)
        )
        half = _merged(half.size + n, total, statistic, (half.p[:, None] * chance).ravel())
    return half


def _merged(size: int, total: IntArray, statistic: IntArray, p: FloatArray) -> Half:
    order = np.lexsort((statistic, total))
    total, statistic = total[order], statistic[order]
    new = np.flatnonzero(np.concatenate([[True], (np.diff(total) != 0) | (np.diff(statistic) != 0)]))
    return Half(size, total[new], statistic[new], np.add.reduceat(p[order], new))


def _joined(rows: IntArray, sizes: IntArray, first: Half, second: Half) -> FloatArray:
    """P(T >= observed | S): each table of the first half with the tail of the second that makes it extreme."""
    scale = math.lcm(*sizes.tolist())
    unit = scale * int(sizes.sum()) + 1
    keys = second.total * unit + second.statistic
    ends = np.searchsorted(second.total, np.arange(second.size + 1), side="right")
    tails = np.append(_tails_by_total(second), 0.0)
    observed = np.stack([rows.sum(-1), (rows**2 * (scale // sizes)).sum(-1)], axis=1)
    questions, which = np.unique(observed, axis=0, return_inverse=True)
    answers = np.empty(len(questions))
    for index, (total, statistic) in enumerate(questions.tolist()):
        rest = total - first.total
        fits = (rest >= 0) & (rest <= second.size)
        rest = rest[fits]
        place = np.searchsorted(keys, rest * unit + np.maximum(statistic - first.statistic[fits], 0))
        tail = np.where(place < ends[rest], tails[place], 0.0)
        chance = np.exp(
            log_choose(first.size, total - rest)
            + log_choose(second.size, rest)
            - log_choose(first.size + second.size, total)
        )
        answers[index] = np.sum(first.p[fits] * chance * tail)
    return np.minimum(answers, 1.0)[which.ravel()]


def _tails_by_total(half: Half) -> FloatArray:
    """For each table, the probability of a statistic at least as large, given its sum.

    Summed within each sum on its own: a difference of running totals would lose the small tails.
    """
    tails = np.empty_like(half.p)
    starts = np.flatnonzero(np.diff(half.total, prepend=-1))
    for start, end in zip(starts, np.append(starts[1:], len(half.p)), strict=True):
        tails[start:end] = np.cumsum(half.p[start:end][::-1])[::-1]
    return tails


def _shuffled(rows: IntArray, sizes: IntArray, rng: np.random.Generator) -> FloatArray:
    """The share of random shuffles at least as extreme, the observed table counted among them."""
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
