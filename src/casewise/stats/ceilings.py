"""The best score that a judge can reach, a new person, and the alternative-annotator test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, betaln, digamma, ndtr, ndtri, stdtr, stdtrit, xlogy

from casewise.errors import StatisticsError
from casewise.notation import interval, number
from casewise.stats.agreement import RatedItems, analytic_reliability
from casewise.stats.arrays import (
    Counts,
    FloatArray,
    IntArray,
    PerVote,
    Raters,
    checked_share,
    cluster_sums,
    cluster_variance,
    clusters_of,
    coded_labels,
    widen_influence,
)
from casewise.stats.intervals import (
    ROUNDING_ERROR,
    Interval,
    adjust,
    degrees_of_freedom,
    floored_interval,
    hall_corrected_quantile,
    hall_corrected_statistic,
    unseen_floor_p,
)
from casewise.stats.sample import right_weight
from casewise.stats.shares import chance_of_majority, log_choose, majority_weight
from casewise.text import count_of

ALPHA = 0.05
"""Level of the tests here: one-sided for a new person, the false discovery rate for annotators."""

POINTS, ROUNDS = 200, 1000
"""Number of points of the grid of rates, and of rounds of EM on it. With more rounds a ceiling of accuracy still falls, by a hundredth."""


@dataclass(frozen=True)
class Ceilings:
    """The scores of a judge that knows every item's true safe rate."""

    pearson: float
    """Upper limit of the correlation: the square root of the reliability of all votes."""
    pearson_interval: tuple[float, float] | None
    """Interval of `pearson` over clusters and known annotators; None for fewer than three items, or as for `Reliability`."""
    between_conditions: float | None
    """The share of the variance of safe rates that lies between conditions (eta squared); None without conditions."""
    cross_entropy_plug_in: float
    """Mean entropy of the observed rates, in nats: a lower bound that no judge reaches."""
    cross_entropy_floor: float
    """The lowest cross-entropy that a judge can reach: the plug-in value with Miller and Madow's correction."""
    brier_floor: float
    """Mean of p(1 − p)/(m − 1), the sampling variance of the rates."""
    items: int

    @property
    def pearson_in_words(self) -> str:
        """The ceiling of the correlation with its interval."""
        limits = "" if self.pearson_interval is None else f" {interval(*self.pearson_interval)}"
        return f"{number(self.pearson)}{limits}"

    @property
    def contrast(self) -> str:
        """The part of the contrast between conditions in the ceiling of r, in words; empty without conditions."""
        share = self.between_conditions
        return "" if share is None else f"{100 * share:.0f} % of the rates' variance lies between conditions"


def ceilings(
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    condition: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    raters: Raters | None = None,
) -> Ceilings:
    r"""Return the ceiling of Pearson's *r* and floors of cross-entropy and Brier score, from votes alone.

    .. math:: r_{max} = \sqrt{1 - \frac{\overline{p(1-p)/(m-1)}}{\mathrm{var}(p)}}, \qquad
       H_{min} = \overline{H(p)} + \overline{\frac{[0 < p < 1]}{2m}}

    Parameters
    ----------
    safe, votes : (items,) integers
        Items with fewer than two votes are left out.
    condition : (items,) labels, optional
        A large ceiling of *r* may be little more than the contrast between conditions: with them, how much is said.
    clusters : (items,) labels, optional
        Items that go together.
    raters : Raters, optional
        Who gave which vote.

    Raises
    ------
    StatisticsError
        Fewer than two items with two votes, or all with the same rate.

    References
    ----------
    .. [1] Lord & Novick (1968), ch. 3 (attenuation). Miller (1955), in Information Theory in Psychology.

    Examples
    --------
    >>> result = ceilings([20, 18, 12, 6, 3, 1], [21] * 6)
    >>> round(result.pearson, 3), round(result.brier_floor, 3)
    (0.977, 0.007)
    """
    rated = RatedItems.from_votes(safe, votes, clusters, raters)
    s, m, groups = rated.safe, rated.votes, coded_labels(clusters_of(condition, len(rated.kept))[rated.kept])
    p = s / m
    if len(p) < 2 or np.ptp(p) == 0:
        raise StatisticsError("a ceiling needs items whose safe rates differ")
    noise = float((p * (1 - p) / (m - 1)).mean())
    entropy = -(xlogy(p, p) + xlogy(1 - p, 1 - p))
    mixed = (s > 0) & (s < m)
    means = np.bincount(groups, weights=p) / np.bincount(groups)
    limits = analytic_reliability(rated).limits if len(p) > 2 else None
    return Ceilings(
        pearson=float(np.sqrt(max(0.0, 1 - noise / p.var(ddof=1)))),
        pearson_interval=limits and (float(np.sqrt(max(0.0, limits[0]))), float(np.sqrt(max(0.0, limits[1])))),
        between_conditions=None if condition is None else float(means[groups].var() / p.var()),
        cross_entropy_plug_in=float(entropy.mean()),
        cross_entropy_floor=float((entropy + mixed / (2 * m)).mean()),
        brier_floor=noise,
        items=len(p),
    )


class BetaPrior(NamedTuple):
    """The distribution of items' true safe rates: Beta(a, b)."""

    a: float
    b: float


MANY_VOTES = 2_000
"""Votes above which new counts are not listed one by one."""

JEFFREYS = BetaPrior(0.5, 0.5)
UNIFORM = BetaPrior(1.0, 1.0)


def fit_beta(safe: ArrayLike, votes: ArrayLike) -> BetaPrior:
    """Return the maximum-likelihood Beta(a, b) of the counts of safe votes; items without votes are left out.

    Beta-binomial maximum likelihood by fixed point.

    Raises StatisticsError: no item has two votes: the spread of rates is then unknown.

    Sources: Griffiths (1973), Biometrics 29, 637-648. Minka (2000), Estimating a Dirichlet distribution, eq. 55.
    """
    x, n, _, times = DistinctCounts.from_counts(*Counts.from_arrays(safe, votes))
    if n.max(initial=0) < 2:
        raise StatisticsError("fitting the spread of rates needs items with two votes or more")
    a = b = 1.0
    for _ in range(5000):
        spread = times @ (digamma(a + b + n) - digamma(a + b))
        new_a = a * float(times @ (digamma(a + x) - digamma(a))) / spread
        new_b = b * float(times @ (digamma(b + n - x) - digamma(b))) / spread
        new_a, new_b = np.clip([new_a, new_b], 1e-3, 1e4).tolist()
        change = abs(new_a - a) / a + abs(new_b - b) / b
        a, b = new_a, new_b
        if change < 1e-10:
            break
    return BetaPrior(a, b)


class DistinctCounts(NamedTuple):
    """Distinct pairs of safe votes and votes in ascending order, the pair of each item, and the number of items of each pair."""

    safe: IntArray
    votes: IntArray
    which: IntArray
    times: IntArray

    @classmethod
    def from_counts(cls, safe: IntArray, votes: IntArray) -> Self:
        base = int(votes.max(initial=0)) + 1
        codes = safe * base + votes
        if base**2 > len(codes):
            kinds, kind_of_item, times = np.unique(codes, return_inverse=True, return_counts=True)
        else:  # counted, which takes a tenth of sorting
            times = np.bincount(codes)
            kinds, kind_of_item = np.flatnonzero(times), (np.cumsum(times > 0) - 1)[codes]
            times = times[kinds]
        return cls(*np.divmod(kinds, base), kind_of_item, times)


class RatePosteriors(NamedTuple):
    """Posterior distributions of the items' true rates."""

    grid: FloatArray
    posterior: FloatArray
    """Probabilities of the grid's rates, (pairs, grid), a row for each distinct pair of counts; each row sums to 1."""
    kind: IntArray
    """Row of each item, (items,)."""


def rate_posteriors(s: IntArray, m: IntArray) -> RatePosteriors:
    """Return the items' posteriors under the nonparametric maximum-likelihood distribution of true rates (Laird 1978, by EM)."""
    grid = (np.arange(POINTS) + 0.5) / POINTS
    kinds = DistinctCounts.from_counts(s, m)
    x, n, times = kinds.safe[:, None], kinds.votes[:, None], kinds.times
    log = xlogy(x, grid) + xlogy(n - x, 1 - grid)
    likelihood = np.exp(log - log.max(1, keepdims=True))
    weight = np.full(POINTS, 1 / POINTS)
    for _ in range(ROUNDS):
        weight = weight * ((times / (likelihood @ weight)) @ likelihood) / times.sum()
    posterior = likelihood * weight
    return RatePosteriors(grid, posterior / posterior.sum(1, keepdims=True), kinds.which)


def same_label(safe: ArrayLike, votes: ArrayLike, *, prior: BetaPrior) -> FloatArray:
    r"""Return P(the majority label of each item would come out the same) in a study with as many other people.

    With *s* of *m* votes safe, *k* of *m* new people say safe with the beta-binomial probability

    .. math:: P(k) = \binom{m}{k} \frac{B(a + s + k,\; b + m - s + m - k)}{B(a + s,\; b + m - s)}

    A tie is half safe and half unsafe, in this study and in the repeated one: with labels *w* and *w'* in {0, ½, 1},
    the result is :math:`E[w w' + (1-w)(1-w')]`, so a tie has ½.

    `safe`, `votes`: (items,) integers; an item without votes gives nan.
    `prior`: how rates are spread. People are taken to vote independently given the item; where a person's
        votes go together on many items, whole blocks of labels change at once, and as often.
    """
    kinds = DistinctCounts.from_counts(*Counts.from_arrays(safe, votes))
    shares = np.full(len(kinds.times), np.nan)
    for kind, (s, m) in enumerate(zip(kinds.safe.tolist(), kinds.votes.tolist(), strict=True)):
        if m:
            a, b, k = prior.a + s, prior.b + m - s, np.arange(min(m, MANY_VOTES) + 1)
            if m <= MANY_VOTES:
                chances = np.exp(log_choose(m, k) + betaln(a + k, b + m - k) - betaln(a, b))
                repeat_safe = float(chances @ majority_weight(k, m))
            else:  # over equally likely rates, which is right to 1e-6
                repeat_safe = float(chance_of_majority(betaincinv(a, b, (k[1:] - 0.5) / MANY_VOTES), m).mean())
            w = float(majority_weight(s, m))
            shares[kind] = w * repeat_safe + (1 - w) * (1 - repeat_safe)
    return shares[kinds.which]


# Is a judge no worse than one more person? Both are held against the same others, item by item.
#
# Each person in turn is the new one and the item's other votes are the reference, so that both are scored against as many
# votes, none of them their own:
#
# .. math:: d = \frac{1}{N} \sum_i \frac{1}{m_i} \sum_{j} \big[a(\text{judge}_i, \text{others}_{ij}) - a(y_{ij}, \text{others}_{ij})\big]
#
# with *a* the agreement with the majority of the others (½ where they are tied).


@dataclass(frozen=True)
class NewPersonTest:
    """Agreement of a judge with people less that of a new person, against the same other people."""

    judge: float
    person: float
    difference: float
    low: float
    """Lower 95 % confidence limit of the difference, one-sided: the judge is no worse than a person by more
    than the margin where it lies above −margin."""
    ci_low: float
    ci_high: float
    """Two-sided 95 % limits of the difference: the judge is better or worse than a person where both lie on one
    side of 0."""
    margin: float
    p: float
    not_worse: bool
    power: float
    """Probability that a judge equal to a person is shown to be not worse, with as many queries."""
    detectable: float
    """Smallest margin at which such a judge passes in 80 % of studies."""
    items: int
    clusters: int


def leave_one_out(judge: ArrayLike, safe: ArrayLike, votes: ArrayLike) -> FloatArray:
    """Return the agreement of the judge and of one of an item's people with the majority of the others, (items, 2), averaged over people.

    nan for items with fewer than two votes; a judge without a verdict (nan) is never right. Of a judge that was asked several
    times, (answers, items), the mean over its answers.
    """
    (s, m), verdict = Counts.from_arrays(safe, votes), np.asarray(judge, dtype=np.float64)
    without_safe, without_unsafe = majority_weight(s - 1, m - 1), majority_weight(s, m - 1)
    safe_share = s / np.maximum(m, 1)
    majority_of_others = safe_share * without_safe + (1 - safe_share) * without_unsafe
    person_score = safe_share * without_safe + (1 - safe_share) * (1 - without_unsafe)
    judge_score = right_weight(verdict, majority_of_others)
    return np.where((m > 1)[:, None], np.column_stack([judge_score, person_score]), np.nan)


def new_person_test(
    judge: ArrayLike,
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    margin: float = 0.05,
    raters: Raters | None = None,
) -> NewPersonTest:
    r"""Test that a judge agrees with people no less than a new person does, but for `margin` (non-inferiority).

    :math:`H_0: d \le -\text{margin}`, by Student's *t* with the cluster-robust error on what the clusters' spread allows, at most one less
    than there are; of clusters and annotators together where these are known, on one less than the fewer of them. Where the clusters' parts lean to low
    values, limit and statistic are Hall's (`casewise.stats.intervals`): without, 6.2 to 7.3 % of judges at the margin pass at 20 queries.
    The same module's floor holds where the judge is behind a person on no item, or ahead on none: of *G* queries none need be seen
    that are a share of :math:`1 - .05^{1/G}`, and on these the judge may be wrong where people agree.

    `judge`: (items,) 1, 0 or nan; verdicts; without one the judge is wrong. Of one that was asked several times (answers, items).
    `clusters`: (items,) labels; items of one query.
    `margin`: how much less agreement would not matter: to be chosen before looking.
    `raters`: who gave which vote.

    Raises StatisticsError: fewer than two clusters with two votes on an item, or a margin that is no share.

    Source: Wellek (2010), Testing statistical hypotheses of equivalence and noninferiority, §1.5 and ch. 2.

    A judge that is right on 116 of 120 queries, where 18 of 20 people agree on each:

    >>> verdict, counts = np.arange(120) >= 4, (np.full(120, 18), np.full(120, 20))
    >>> test = new_person_test(verdict, *counts)
    >>> round(test.difference, 3), round(test.low, 3), test.not_worse
    (0.067, 0.023, True)
    """
    checked_share(margin, "margin")
    agreement = leave_one_out(judge, safe, votes)
    rated = ~np.isnan(agreement[:, 0])
    places = coded_labels(clusters_of(clusters, len(agreement))[rated])
    d = agreement[rated, 0] - agreement[rated, 1]
    groups = int(places.max(initial=-1)) + 1
    if groups < 2:
        raise StatisticsError(
            "a judge is compared with a new person on two queries at least, with two votes on an item"
        )
    if (2 * np.asarray(safe) == np.asarray(votes))[rated].all():
        raise StatisticsError("people are tied on every item, so no majority says whether a judge or a person is right")
    difference = float(d.mean())
    influence = cluster_sums([(d - difference) / len(d)], places, n_clusters=groups)[:, 0]
    df = degrees_of_freedom(influence)
    if raters is not None:

        def terms(safe: IntArray, votes: IntArray) -> FloatArray:
            return np.nan_to_num(leave_one_out(judge, safe, votes) @ [[1.0], [-1.0]]) / len(d)

        extra = PerVote.from_counts(terms, *Counts.from_arrays(safe, votes), raters).along_gradient(np.ones(1)).variance
        influence, df = (widen_influence(influence, extra), min(df, len(np.unique(raters.annotator)) - 1))
    error = float(np.sqrt(cluster_variance(influence)))
    means = agreement[rated].mean(axis=0)
    below, above = ([] if (side * d > 1e-12).any() else [1 - side * difference] for side in (-1, 1))

    def limits(level: float) -> Interval:
        t = float(stdtrit(df, (1 + level) / 2))
        low, high = (side * hall_corrected_quantile(t, side * influence) * error for side in (-1, 1))
        from_spread = Interval(difference + low, difference + high)
        return floored_interval(
            difference, from_spread, below=below, above=above, clusters=groups, domain=(-1, 1), level=level
        )

    statistic = (difference + margin) / error if error > ROUNDING_ERROR else np.inf * np.sign(difference + margin)
    p_from_spread = float(stdtr(df, -hall_corrected_statistic(statistic, -influence)))
    p = max(p_from_spread, unseen_floor_p(difference + margin, below, clusters=groups))
    low, two_sided = limits(1 - 2 * ALPHA).low, limits(1 - ALPHA)
    critical = hall_corrected_quantile(float(stdtrit(df, 1 - ALPHA)), -influence)
    effective = max(difference - low, ROUNDING_ERROR) / critical  # the error with which Student's t has this limit
    return NewPersonTest(
        judge=float(means[0]),
        person=float(means[1]),
        difference=difference,
        low=low,
        ci_low=two_sided.low,
        ci_high=two_sided.high,
        margin=margin,
        p=p,
        not_worse=p <= ALPHA,
        power=float(ndtr(margin / effective - critical)),
        detectable=(critical + float(ndtri(0.8))) * effective,
        items=int(rated.sum()),
        clusters=groups,
    )


FEWEST_ITEMS = 30
"""Items per annotator below which the test's normal approximation does not hold, and it is not computed."""


@dataclass(frozen=True)
class AlternativeAnnotator:
    """The result of the alternative-annotator test, or the reason why there is none."""

    epsilon: float
    items_per_annotator: float
    """Median number of items that an annotator shares with others and the judge."""
    annotators: int
    """Annotators with enough items to be tested."""
    omega: float | None
    """Winning rate: share of annotators the judge does at least as well as, after Benjamini-Yekutieli."""
    passes: bool | None
    """True where `omega` is at least one half."""
    advantage: float | None
    """Mean probability that the judge agrees with the others at least as well as the annotator left out."""
    reason: str | None
    """The reason why it was not computed; None if it was."""


def alternative_annotator_test(
    safe: ArrayLike,
    judge: ArrayLike,
    *,
    item: ArrayLike,
    annotator: ArrayLike,
    epsilon: float = 0.1,
) -> AlternativeAnnotator:
    r"""Test by leaving one annotator out at a time whether the judge agrees with the others as well as that annotator.

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

    Returns
    -------
    AlternativeAnnotator
        Without `omega` where no annotator rated 30 items that others rated too.

    References
    ----------
    .. [1] Calderon, Reichart & Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge, §3.
    """
    y, f = np.asarray(safe, dtype=np.int64), np.asarray(judge, dtype=np.int64)
    items, people = coded_labels(item), coded_labels(annotator)
    is_shared = np.bincount(items)[items] > 1
    others_safe, n_others = np.bincount(items, weights=y)[items] - y, np.bincount(items)[items] - 1
    agree_with_judge = np.where(f == 1, others_safe, n_others - others_safe)
    agree_with_human = np.where(y == 1, others_safe, n_others - others_safe)
    judge_wins, human_wins = agree_with_judge >= agree_with_human, agree_with_human >= agree_with_judge
    annotator_of_rating = people[is_shared]
    counts = np.bincount(annotator_of_rating)
    median = float(np.median(counts[counts > 0])) if is_shared.any() else 0.0
    tested = np.flatnonzero(counts >= FEWEST_ITEMS)
    if not len(tested):
        reason = f"annotators share a median of {count_of(median, 'item')} with others; the test needs {FEWEST_ITEMS}"
        return AlternativeAnnotator(epsilon, median, 0, None, None, None, reason)
    d, n = (human_wins.astype(np.int64) - judge_wins)[is_shared], counts[tested]
    mean = np.bincount(annotator_of_rating, weights=d)[tested] / n
    spread = np.bincount(annotator_of_rating, weights=d**2)[tested] / n - mean**2
    constant = spread < 1e-12  # where wins never vary, p is 0 or 1 as their mean says
    t = (mean - epsilon) / np.where(constant, 1.0, np.sqrt(np.maximum(spread, 0.0) / (n - 1)))
    p = np.where(constant, np.where(mean < epsilon, 0.0, 1.0), stdtr(n - 1, t))
    omega = float((adjust(p, "benjamini_yekutieli") < ALPHA).mean())
    advantage = np.bincount(annotator_of_rating, weights=judge_wins[is_shared])[tested] / n
    return AlternativeAnnotator(epsilon, median, len(tested), omega, omega >= 0.5, float(advantage.mean()), None)
