"""Conditions compared: contrasts, proportions, paired tests, by category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaincc, ndtr, ndtri, stdtr, stdtrit

from casewise.errors import StatisticsError
from casewise.stats.arrays import BoolArray, Counts, FloatArray, IntArray, cluster_variance, coded_labels, safe_divide
from casewise.stats.intervals import ROUNDING_ERROR, floored_interval, unseen_floor_p
from casewise.stats.shares import IntervalArrays, log_choose, two_sided_log_p, wilson


@dataclass(frozen=True)
class TwoProportionZ:
    """Tests of pairs of proportions; every array has the shape of the counts."""

    difference: FloatArray
    """The difference x1/n1 − x2/n2."""
    z: FloatArray
    """The z statistic; 0 where nothing could be tested."""
    p: FloatArray
    """Two-sided p value."""
    log_p: FloatArray
    """Natural logarithm of `p`, also where it underflows (z beyond 38)."""
    ci_low: FloatArray
    """Wald limits of the difference (R: `prop.test(correct = FALSE)`)."""
    ci_high: FloatArray
    newcombe_low: FloatArray
    """Newcombe's hybrid score limits: they hold their level also near 0 and 1."""
    newcombe_high: FloatArray
    testable: BoolArray
    """False where both groups are empty of safe ratings, or full of them, or one has no ratings; then p is 1."""


def two_proportion_z(
    x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, *, level: float = 0.95
) -> TwoProportionZ:
    r"""Return the pooled z test of two shares, for any number of pairs at once.

    .. math:: z = \frac{x_1/n_1 - x_2/n_2}{\sqrt{p(1-p)(1/n_1 + 1/n_2)}}, \qquad p = \frac{x_1 + x_2}{n_1 + n_2}

    It takes ratings for independent. Where annotators rate many items each they are not, and this test then rejects
    far too often: see `clustered_contrast`.

    Parameters
    ----------
    x1, n1, x2, n2 : (...) integers
        Safe ratings and all ratings of the first and the second group; broadcast.
    level : float
        Of the intervals.

    Returns
    -------
    TwoProportionZ
        With `p` = 1, `z` = 0 and `testable` False where both shares are 0, both are 1, or a group is empty.

    References
    ----------
    .. [1] Fleiss, Levin & Paik (2003), ch. 3. Newcombe (1998), Statistics in Medicine 17, 873-890 (method 10).
    .. [2] R: `prop.test(correct = FALSE)`, whose X² is z².

    Examples
    --------
    >>> result = two_proportion_z(12, 21, 7, 21)
    >>> round(float(result.z), 4), round(float(result.p), 4)
    (1.5501, 0.1211)
    """
    a, m, b, n = np.broadcast_arrays(*Counts.from_arrays(x1, n1), *Counts.from_arrays(x2, n2))
    total, safe = m + n, a + b
    testable = (safe > 0) & (safe < total) & (m > 0) & (n > 0)
    cross = (a * n - b * m).astype(float)
    # In whole numbers until here: with shares, equal ones would differ in the last bits.
    z = safe_divide(cross * np.sqrt(total), np.sqrt(np.where(testable, 1.0 * m * n * safe * (total - safe), 0.0)))
    p1, p2 = safe_divide(a, m), safe_divide(b, n)
    half = -ndtri((1 - level) / 2) * np.sqrt(safe_divide(p1 * (1 - p1), m) + safe_divide(p2 * (1 - p2), n))
    rated, score = (m > 0) & (n > 0), newcombe(a, m, b, n, level=level)
    return TwoProportionZ(
        difference=safe_divide(cross, 1.0 * m * n)[()],
        z=z[()],
        p=np.minimum(2 * ndtr(-np.abs(z)), 1.0)[()],
        log_p=two_sided_log_p(z)[()],
        ci_low=np.where(rated, np.maximum(p1 - p2 - half, -1.0), -1.0)[()],
        ci_high=np.where(rated, np.minimum(p1 - p2 + half, 1.0), 1.0)[()],
        newcombe_low=score.low,
        newcombe_high=score.high,
        testable=testable[()],
    )


def newcombe(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike, *, level: float = 0.95) -> IntervalArrays:
    """Return Newcombe's hybrid score interval for a difference of shares; (−1, 1) where nothing is known of either.

    References
    ----------
    .. [1] Newcombe (1998), Statistics in Medicine 17, 873-890, method 10. statsmodels: `confint_proportions_2indep(method="newcomb")`.

    Examples
    --------
    >>> limits = newcombe(12, 21, 7, 21)
    >>> round(float(limits.low), 3), round(float(limits.high), 3)
    (-0.058, 0.483)
    """
    a, m, b, n = np.broadcast_arrays(*(np.asarray(count, dtype=np.float64) for count in (x1, n1, x2, n2)))
    first, second = wilson(a, m, level=level), wilson(b, n, level=level)
    p1, p2 = safe_divide(a, m, default=0.5), safe_divide(b, n, default=0.5)
    low = p1 - p2 - np.hypot(p1 - first.low, second.high - p2)
    high = p1 - p2 + np.hypot(first.high - p1, p2 - second.low)
    return IntervalArrays(np.maximum(low, -1.0)[()], np.minimum(high, 1.0)[()])


class SignFlips(NamedTuple):
    """Two-sided p values of `sign_flips`."""

    p_exact: float
    p_mid: float


def sign_flips(net: ArrayLike) -> SignFlips:
    r"""Test that two paired conditions do equally well, where observations come in clusters.

    Under the null each cluster's net difference :math:`d_g` is as likely to have the other sign, so that

    .. math:: p = P\Big(\Big|\sum_g \pm d_g\Big| \ge \Big|\sum_g d_g\Big|\Big)

    over all :math:`2^G` signs, which a convolution gives exactly. With clusters of one it is McNemar's exact test;
    `p_mid` counts half of the probability of what was observed.

    `net`: (clusters,) integers; wins of the first condition less those of the second.

    Sources: Fisher (1935), The Design of Experiments, §21. Pesarin & Salmaso (2010), Permutation Tests for Complex Data.
    McNemar (1947), Psychometrika 12, 153-157; mid-p: Fagerland, Lydersen & Laake (2013), BMC Med Res Methodol 13:91.
    R, for clusters of one: `binom.test`.

    Examples
    --------
    >>> round(sign_flips([1] * 11 + [-1] * 9).p_mid, 4)
    0.6636
    """
    differences = np.asarray(net, dtype=np.int64)
    chance = np.ones(1)
    for step, n in np.column_stack(np.unique(np.abs(differences[differences != 0]), return_counts=True)).tolist():
        heads = np.arange(n + 1)
        spaced = np.zeros(n * step + 1)
        spaced[::step] = np.exp(log_choose(n, heads) - n * np.log(2))
        chance = np.convolve(chance, spaced)
    signed = np.abs(2 * np.arange(len(chance)) - len(chance) + 1)
    observed = abs(int(differences.sum()))
    beyond, at = float(chance[signed > observed].sum()), float(chance[signed == observed].sum())
    return SignFlips(min(1.0, beyond + at), min(1.0, beyond + (at / 2 if observed else at)))


# Two conditions compared over all queries, with errors that know queries and annotators.
#
# A study has two kinds of chance in it: which queries were chosen, and which people answered. The pooled z test knows
# neither. Two answers are given, each to its own question:
#
# * **these queries**: would other annotators say the same of these very queries? Errors clustered by annotator, around
#   each query's own rates.
# * **queries like these**: would it also hold for other queries of the kind? Errors clustered two ways, by query *across
#   conditions* and by annotator: :math:`V = V_{query} + V_{annotator} - V_{rating}`.
#
# Whether two conditions are alike is a third question, with a test of its own (`equivalence`).


class UnseenFloor(NamedTuple):
    """The floor of a difference's interval: by how much it falls and rises if unseen dissent is as common as `clusters` allow."""

    below: tuple[float, ...]
    above: tuple[float, ...]
    clusters: int


@dataclass(frozen=True)
class Difference:
    """A difference of safe rates with its error, on Student's *t*, and with a floor for dissent that was not seen."""

    estimate: float
    error: float
    df: float
    ci_low: float
    ci_high: float
    p: float
    """Two-sided p value."""
    unseen: UnseenFloor

    @classmethod
    def from_variance(
        cls, difference: float, variance: float, *, df: float, level: float, unseen: UnseenFloor | None = None
    ) -> Difference:
        """Return the difference whose error is the root of `variance`.

        Where nothing varies, the interval is the floor of `casewise.stats.intervals.floored_interval`: of the conditions in which all
        ratings are alike, or of the whole difference.
        """
        error, unseen = float(np.sqrt(max(variance, 0.0))), unseen or UnseenFloor((), (), 2)
        if error > ROUNDING_ERROR:
            half = -float(stdtrit(df, (1 - level) / 2)) * error
            p = min(1.0, 2 * float(stdtr(df, -abs(difference) / error)))
            low, high = max(difference - half, -1.0), min(difference + half, 1.0)
            return cls(difference, error, df, low, high, p, unseen)
        if len(unseen.below) < 2:
            unseen = UnseenFloor((1 + difference,), (1 - difference,), unseen.clusters)
        limits = floored_interval(difference, None, **unseen._asdict(), domain=(-1.0, 1.0), level=level)
        p = unseen_floor_p(abs(difference), unseen.below if difference > 0 else unseen.above, clusters=unseen.clusters)
        return cls(difference, 0.0, df, *limits, min(1.0, 2 * p), unseen)

    def equivalence_p(self, margin: float) -> float:
        """Return the p value of `equivalence`, no smaller than the floor for dissent that was not seen allows."""
        below, above, clusters = self.unseen
        return max(
            equivalence(self.estimate, self.error, margin=margin, df=self.df),
            unseen_floor_p(margin + self.estimate, below, clusters=clusters),
            unseen_floor_p(margin - self.estimate, above, clusters=clusters),
        )


@dataclass(frozen=True)
class ClusteredContrast:
    """A contrast of two conditions, first less second, with several standard errors."""

    queries_like_these: Difference | None
    """The difference with errors by query and by annotator; None where annotators are not known, or a condition has one."""
    these_queries: Difference | None
    """The difference with errors by annotator around each query's rates; None under the same conditions."""
    by_query: Difference | None
    """The average per-query difference, with its error from the spread of the queries' differences; None where fewer than two
    queries were rated under both conditions."""
    by_item: Difference
    """The difference with errors by query within condition: a common analysis, for comparison."""
    annotators: int | None
    queries: int
    not_positive: bool
    """True where the two-way variance came out negative, so that the larger one-way variance stands for it."""


def clustered_contrast(
    safe: ArrayLike,
    second: ArrayLike,
    *,
    query: ArrayLike,
    annotator: ArrayLike | None = None,
    level: float = 0.95,
) -> ClusteredContrast:
    r"""Return the difference of two conditions' safe rates with cluster-robust errors.

    Every rating has the influence :math:`e_i = \pm (y_i - \bar y_c) / n_c` on the difference; a clustering's variance
    is :math:`\frac{G}{G-1} \sum_g (\sum_{i \in g} e_i)^2`, with *G* of each condition for people. The variance over queries and
    people is :math:`V_{query} + V_{annotator} - V_{rating}`, and at least each of the first two.

    Parameters
    ----------
    safe : (ratings,) booleans
    second : (ratings,) booleans
        Whether each rating is of the second condition, and not of the first.
    query, annotator : (ratings,) labels
        What was rated, and by whom (None if not known).
    level : float
        Of the intervals. Degrees of freedom are Satterthwaite's, from queries less one and those of people: the people of a
        condition less one, or Welch's where no one rates under both.

    Raises
    ------
    StatisticsError
        A condition without ratings, or fewer than two queries or annotators.

    References
    ----------
    .. [1] Cameron, Gelbach & Miller (2011), JBES 29, 238-249. Miller (2024), Adding error bars to evals.
    .. [2] R: `sandwich::vcovCL(lm(safe ~ condition), ~ query + annotator)`, which adds the factor (n−1)/(n−2).

    Examples
    --------
    Twelve queries, each rated by four people under either condition:

    >>> rng = np.random.default_rng(0)
    >>> safe, second = rng.random(96) < np.repeat([0.7, 0.4], 48), np.repeat([0, 1], 48)
    >>> query, annotator = np.tile(np.repeat(np.arange(12), 4), 2), np.r_[np.arange(48) % 4, 4 + np.arange(48) % 4]
    >>> contrast = clustered_contrast(safe, second, query=query, annotator=annotator).queries_like_these
    >>> round(contrast.estimate, 3), round(contrast.ci_low, 3), round(contrast.ci_high, 3)
    (0.396, 0.131, 0.66)
    """
    columns = _Columns.from_ratings(safe, second, query, annotator)
    y, condition = columns.safe, columns.second
    n, item = np.bincount(condition, minlength=2), columns.query * 2 + condition
    means = np.bincount(condition, weights=y, minlength=2) / n
    votes, safe_votes = (np.bincount(item, weights=w, minlength=2 * columns.queries) for w in (None, y))
    rates = safe_votes / np.maximum(votes, 1)
    sign = (1.0 - 2.0 * condition) / n[condition]
    influence = sign * (y - means[condition])
    # Around each item's own rate; the factor restores what estimating that rate takes away.
    within = sign * np.sqrt(votes / np.maximum(votes - 1, 1))[item] * (y - rates[item])
    difference = float(y[condition == 0].mean()) - float(y[condition == 1].mean())
    two_way = these_queries = None
    not_positive = False
    people, people_within = (columns.people_variance(part) for part in (influence, within))
    if people is not None and people_within is not None:
        two_way, not_positive = columns.two_way(difference, influence, people, level=level)
        these_queries = Difference.from_variance(
            difference, people_within.variance, df=people_within.df, level=level, unseen=columns.unseen("people")
        )
    by_query, rated = None, (votes > 0).reshape(-1, 2).all(1)
    if (queries := int(rated.sum())) >= 2:
        first, second_rates = rates.reshape(-1, 2)[rated].T
        spread = float((first - second_rates).var(ddof=1) / queries)
        by_query = Difference.from_variance(
            float((first - second_rates).mean()), spread, df=queries - 1, level=level, unseen=columns.unseen("queries")
        )
    return ClusteredContrast(
        queries_like_these=two_way,
        these_queries=these_queries,
        by_query=by_query,
        by_item=Difference.from_variance(
            difference,
            cluster_variance(influence, item),
            df=columns.queries - 1,
            level=level,
            unseen=columns.unseen("queries"),
        ),
        annotators=columns.annotators or None,
        queries=columns.queries,
        not_positive=not_positive,
    )


def group_difference(
    safe: ArrayLike,
    group: ArrayLike,
    *,
    item: ArrayLike,
    query: ArrayLike,
    annotator: ArrayLike,
    level: float = 0.95,
) -> Difference:
    r"""Return the difference between how often a group of annotators and others say safe of the same items.

    With :math:`\tilde g` and :math:`\tilde y` as deviations from their means over each item, so that neither the condition nor
    an item's own rate takes part,

    .. math:: \hat\beta = \frac{\sum \tilde g \tilde y}{\sum \tilde g^2}, \qquad
        e_i = \frac{\tilde g_i (\tilde y_i - \hat\beta \tilde g_i)}{\sum \tilde g^2} \sqrt{\frac{k_i}{k_i - 1}}

    for an item of :math:`k_i` ratings. Variances are over queries and people, as `clustered_contrast` has them.

    `safe`, `group`: (ratings,) booleans; the answers, and whether their annotators are of the group.
    `item`, `query`, `annotator`: (ratings,) labels; what was rated, of which query it is, and by whom.

    Raises StatisticsError: one side has fewer than two people, no item has ratings of both, or there are fewer than two queries.

    Source: Cameron, Gelbach & Miller (2011), JBES 29, 238-249; Frisch & Waugh (1933), Econometrica 1, 387-401.
    statsmodels: the coefficient of `OLS(safe ~ group + C(item))`.
    """
    columns, items = _Columns.from_ratings(safe, group, query, annotator), coded_labels(item)
    votes = np.bincount(items)[items]
    deviation, answer = (
        values - (np.bincount(items, weights=values) / np.bincount(items))[items]
        for values in (columns.second.astype(float), columns.safe)
    )
    weight = float((deviation**2).sum())
    if weight == 0:
        raise StatisticsError("no item has ratings of the group and of others")
    difference = float((deviation * answer).sum()) / weight
    correction = np.sqrt(votes / np.maximum(votes - 1, 1))
    influence = correction * deviation * (answer - difference * deviation) / weight
    people = columns.people_variance(influence)
    if people is None:
        raise StatisticsError("a group and the others need two people each")
    return columns.two_way(difference, influence, people, level=level)[0]


class _PeopleVariance(NamedTuple):
    """A variance over annotators, with its degrees of freedom."""

    variance: float
    df: float


class _Columns(NamedTuple):
    """Ratings as columns, one entry each, with the numbers of queries and annotators; `second` is 1 for the second condition."""

    safe: FloatArray
    second: IntArray
    query: IntArray
    annotator: IntArray | None
    queries: int
    annotators: int

    @classmethod
    def from_ratings(
        cls, safe: ArrayLike, second: ArrayLike, query: ArrayLike, annotator: ArrayLike | None
    ) -> _Columns:
        y, side = np.asarray(safe, dtype=np.float64), np.asarray(second, dtype=np.int64)
        queries, people = coded_labels(query), None if annotator is None else coded_labels(annotator)
        if not 0 < side.sum() < len(side):
            raise StatisticsError("a contrast needs ratings of both conditions; one of them has none")
        n_queries, n_people = int(queries.max()) + 1, 0 if people is None else int(people.max()) + 1
        if n_queries < 2 or n_people == 1:
            raise StatisticsError("clustered errors need at least two queries and two annotators")
        return cls(y, side, queries, people, n_queries, n_people)

    def two_way(
        self, difference: float, influence: FloatArray, people: _PeopleVariance, *, level: float
    ) -> tuple[Difference, bool]:
        """Return a difference with an error over queries and people, and whether the sum of the three variances is 0 or less.

        Degrees of freedom are Satterthwaite's, between those of queries and of people.
        """
        query_variance, df = cluster_variance(influence, self.query), self.queries - 1
        sum_of_variances = query_variance + people.variance - float(np.sum(influence**2))
        # Each is part of the whole; where people rate the same queries, the ratings' own variance takes too much away.
        variance = max(sum_of_variances, query_variance, people.variance)
        df_denominator = query_variance**2 / df + people.variance**2 / people.df
        fewest, most = min(df, people.df), max(df, people.df)
        two_way_df = min(max(variance**2 / df_denominator, fewest), most) if df_denominator > 0 else fewest
        unseen = self.unseen("both")
        whole = Difference.from_variance(difference, variance, df=two_way_df, level=level, unseen=unseen)
        return whole, sum_of_variances <= 0

    def unseen(self, sample: Literal["queries", "people", "both"]) -> UnseenFloor:
        """Return the floor of a difference of the two conditions: of each condition in which all ratings are alike.

        Dissent there is as rare as the fewest queries, or people, of a condition show.
        """
        below, above, counts = list[float](), list[float](), list[int]()
        for side in (0, 1):
            on_side = self.second == side
            rate = float(self.safe[on_side].mean())
            if rate in {0.0, 1.0}:
                below.append((1 - rate) if side else rate)
                above.append(rate if side else (1 - rate))
            counts.append(len(np.unique(self.query[on_side])))
            if self.annotator is not None and sample != "queries":
                people = len(np.unique(self.annotator[on_side]))
                counts[-1] = people if sample == "people" else min(counts[-1], people)
        return UnseenFloor(tuple(below), tuple(above), min(counts))

    def people_variance(self, influence: FloatArray) -> _PeopleVariance | None:
        r"""Return the variance over annotators, with a factor of :math:`G_c/(G_c - 1)` for the :math:`G_c` people of each condition.

        Where each person rates under one condition, that is Welch's variance of two groups of people, with his degrees of
        freedom; where all rate under both, it is the paired one, with :math:`G - 1`. None for a condition with one person.
        """
        if self.annotator is None:
            return None
        rated = np.zeros((self.annotators, 2), dtype=bool)
        rated[self.annotator, self.second] = True
        n = rated.sum(axis=0)
        if n.min() < 2:
            return None
        cell = self.annotator * 2 + self.second
        sums = np.bincount(cell, weights=influence, minlength=2 * self.annotators).reshape(-1, 2) * np.sqrt(n / (n - 1))
        variance = float((sums.sum(axis=1) ** 2).sum())
        if rated.all(axis=1).any() or variance == 0:
            return _PeopleVariance(variance, float(n.min() - 1))
        parts = (sums**2).sum(axis=0)
        return _PeopleVariance(variance, float(parts.sum() ** 2 / (parts**2 / (n - 1)).sum()))


def equivalence(difference: float, error: float, *, margin: float, df: float = np.inf) -> float:
    r"""Return the p of two one-sided tests that a difference lies within a margin stated beforehand.

    .. math:: p = \max\left(P(T > \tfrac{d + \delta}{s}),\; P(T < \tfrac{d - \delta}{s})\right)

    It takes the error for known. `Difference.equivalence_p` also allows for dissent that was not seen.

    Parameters
    ----------
    difference, error : float
        The estimate and its standard error, as from `clustered_contrast`.
    margin : float
        The largest difference :math:`\delta` of safe rates that would not matter, for instance 0.05.
    df : float
        Degrees of freedom of the error; infinite for a normal one.

    References
    ----------
    .. [1] Schuirmann (1987), J Pharmacokinet Biopharm 15, 657-680. R: `TOSTER::tsum_TOST`.

    Examples
    --------
    A difference of 1 point with an error of 2 is shown to be within 5 points, and not to be within 4:

    >>> round(equivalence(0.01, 0.02, margin=0.05), 3), round(equivalence(0.01, 0.02, margin=0.04), 3)
    (0.023, 0.067)
    """
    if error == 0:
        return float(abs(difference) >= margin)
    return float(max(stdtr(df, -(difference + margin) / error), stdtr(df, (difference - margin) / error)))


def low_group_p(values: ArrayLike, group: ArrayLike) -> FloatArray:
    r"""Return the one-sided p value of each group: how likely its mean is to be so low if groups do not matter.

    If groups do not matter, the sum of a group is that of *n* of the *N* values, drawn without replacement. Its mean,
    variance and skewness are known exactly:

    .. math:: n\mu, \quad \frac{n(N-n)}{N-1}\sigma^2, \quad
        \gamma\,\frac{N-2n}{N-2}\sqrt{\frac{N-1}{n(N-n)}}

    with :math:`\mu, \sigma, \gamma` those of all values. *p* is the lower tail of Pearson's type III distribution with
    these three (Mielke and Berry 2007, *Permutation Methods*; scipy: `pearson3.cdf`). Student's *t* rejects too often here: a
    sum of a few shares near 1 is skewed, and a correction for many groups looks far into its tail.

    `values`: (units,) floats; independent units, such as the share right of each query.
    `group`: (units,) labels.

    Returns (groups,) floats in the order of the sorted labels; 1 where all values are alike, or there is no other group.
    """
    x, codes = np.asarray(values, dtype=np.float64), coded_labels(group)
    total = len(x)
    n = np.bincount(codes).astype(float)
    centred = x - x.mean()
    variance = float(np.mean(centred**2))
    if variance <= 1e-24 or len(n) < 2:
        return np.ones(len(n))
    z = np.bincount(codes, weights=centred) / np.sqrt(n * (total - n) / (total - 1) * variance)
    skewness = float(np.mean(centred**3)) / variance**1.5 * (total - 2 * n) / (total - 2)
    skewness *= np.sqrt((total - 1) / (n * (total - n)))
    normal = np.abs(skewness) < 1e-5
    skew = np.where(normal, 1.0, skewness)
    shape = 4 / skew**2
    at = np.maximum(0.0, shape + 2 * z / skew)
    p: FloatArray = np.where(normal, ndtr(z), np.where(skew > 0, gammainc(shape, at), gammaincc(shape, at)))
    return p
