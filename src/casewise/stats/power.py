"""Power and sample sizes of tests on ratings and of whole studies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from casewise.errors import StatisticsError
from casewise.stats.arrays import (
    FloatArray,
    checked_integer,
    checked_share,
    coded_labels,
    smallest_integer_reaching,
)
from casewise.stats.intervals import Interval
from casewise.stats.kruskal import kruskal_wallis
from casewise.stats.shares import f_critical, f_power, wilson
from casewise.text import count_of

LARGEST = 10**15
"""Most people of a design."""
MOST_GROUPS, MOST_SIMULATED = 10_000, 10**8
"""Most groups that are compared, and most ratings of a task that are drawn."""


def smallest_n(
    target: float, power_at: Callable[[int], float], *, start: int, question: str, largest: int = LARGEST
) -> int:
    """Return the smallest sample from `start` on with a power of at least `target`.

    Raises StatisticsError: not reached at `largest`; the message names `question`.
    """
    n = smallest_integer_reaching(target, power_at, start=start, largest=largest)
    if n is None:
        raise StatisticsError(f"{question}: no sample of up to {largest:.0e} reaches a power of {target}")
    return n


LARGEST_EFFECT = 1000.0
"""Effect size up to which a root is looked for."""


def root_of_rising(target: float, function: Callable[[float], float], *, question: str) -> float:
    """Return the effect at which a rising function of it reaches `target`, by bisection to the last bits.

    Raises StatisticsError: not reached at `LARGEST_EFFECT`; the message names `question`.
    """
    low, high = 0.0, 0.1
    while function(high) < target:
        low, high = high, high * 2
        if high > LARGEST_EFFECT:
            raise StatisticsError(f"{question}: nothing up to {LARGEST_EFFECT:g} reaches a power of {target}")
    while (middle := (low + high) / 2) not in {low, high}:
        low, high = (low, middle) if function(middle) >= target else (middle, high)
    return high


def check(
    alpha: float,
    *,
    power: float | None = None,
    effect_size: float | None = None,
    n: int | None = None,
    most: int = LARGEST,
) -> None:
    """Raise StatisticsError if a test with this level, power, effect size or sample size cannot be planned."""
    checked_share(alpha, "alpha")
    if power is not None and not 0 < power < 1:
        raise StatisticsError(f"power must lie strictly between 0 and 1, not {power!r}: no sample makes a test certain")
    if power is not None and power <= alpha:
        raise StatisticsError(
            f"a power of {power} is no more than alpha, {alpha}: a random decision reaches it; ask for a larger power"
        )
    if effect_size is not None and not 0 < effect_size < math.inf:
        raise StatisticsError(f"effect_size must be positive, not {effect_size!r}: no sample finds an effect of zero")
    if n is not None and checked_integer(n, "n", minimum=0) < 2:
        raise StatisticsError(f"n must be at least 2, not {n!r}: one annotator shows no variance")
    if n is not None and n > most:
        raise StatisticsError(f"n must be at most {most:.0e}, not {n!r}: no study has so many people")


@dataclass(frozen=True, kw_only=True)
class AnovaPower:
    """A balanced one-way design and the power that it has."""

    groups: int
    effect_size: float
    alpha: float
    n_per_group: int
    n_total: int
    actual_power: float
    critical_f: float
    noncentrality: float
    df_between: int
    df_within: int


def anova_power(
    groups: int,
    effect_size: float | None = None,
    *,
    n_per_group: int | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> AnovaPower:
    r"""Return the power of the omnibus F test of a balanced one-way design.

    .. math:: 1 - \beta = P\left(F'_{k-1,\;k(n-1)}(\lambda) > F_{1-\alpha}\right), \qquad \lambda = k\,n\,f^2

    Without `n_per_group`, of the smallest design with at least `power`; without `effect_size`, of the smallest effect that
    such a design finds with probability `power`.

    Parameters
    ----------
    groups : int
        Number *k* of conditions, at least 2.
    effect_size : float, optional
        Cohen's *f*: standard deviation of the groups' means over that within groups. 0.1 is small, 0.25 medium,
        0.4 large; CASE-Bench plans for 0.4 (§3.2).
    n_per_group : int, optional
        Annotators in each condition, at least 2.
    alpha : float
        Probability of a false alarm.

    Raises
    ------
    StatisticsError
        Fewer than two groups or annotators, an effect that is not positive, an alpha outside (0, 1), or a power that is not
        between alpha and 1.

    References
    ----------
    .. [1] Cohen (1988), Statistical Power Analysis, ch. 8. G*Power 3.1, "ANOVA: fixed effects, omnibus, one-way".
    .. [2] R: `pwr::pwr.anova.test`, which solves for a fractional n; statsmodels: `FTestAnovaPower`.

    Examples
    --------
    >>> round(anova_power(5, 0.4, n_per_group=16).actual_power, 4)
    0.8031
    >>> anova_power(5, 0.4).n_per_group
    16
    """
    incomplete = effect_size is None or n_per_group is None
    check(alpha, power=power if incomplete else None, effect_size=effect_size, n=n_per_group)
    if not 2 <= checked_integer(groups, "groups", minimum=0) <= MOST_GROUPS:
        reason = "there is nothing to compare" if groups < 2 else f"at most {MOST_GROUPS:,} are compared"
        raise StatisticsError(f"groups is {groups!r}: {reason}")

    def power_at(n: int, f: float) -> AnovaPower:
        df1, df2 = groups - 1, groups * (n - 1)
        critical, noncentrality = f_critical(alpha, df1, df2), groups * n * f**2
        return AnovaPower(
            groups=groups,
            effect_size=f,
            alpha=alpha,
            n_per_group=n,
            n_total=groups * n,
            actual_power=f_power(critical, df1, df2, noncentrality),
            critical_f=critical,
            noncentrality=noncentrality,
            df_between=df1,
            df_within=df2,
        )

    f, n = effect_size or 0.0, n_per_group or 0
    if effect_size is None:
        question = f"Cohen's f with {count_of(groups, 'group')} of {n} and an alpha of {alpha}"
        f = root_of_rising(power, lambda f: power_at(n, f).actual_power, question=question)
    elif n_per_group is None:
        question = f"one-way ANOVA with {count_of(groups, 'group')} and f = {effect_size}"
        n = smallest_n(power, lambda n: power_at(n, f).actual_power, start=2, question=question)
    return power_at(n, f)


@dataclass(frozen=True, kw_only=True)
class KruskalPower:
    """Simulated power for one profile of safe rates."""

    safe_rates: tuple[float, ...]
    alpha: float
    n_per_group: int
    n_total: int
    exact: bool
    """True where the permutation p value was used, and not the chi-square one."""
    actual_power: float
    ci_low: float
    """Limits of the simulation's own error."""
    ci_high: float
    repeats: int
    seed: int


def kruskal_power(
    safe_rates: Sequence[float],
    *,
    n_per_group: int | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    exact: bool = True,
    repeats: int = 20_000,
    seed: int = 0,
) -> KruskalPower:
    """Return the share of simulated tasks at which the test rejects.

    Ratings are independent within a task: each annotator rates a task once. Without `n_per_group`, of the smallest number
    whose simulated power is at least `power`: power on few 0/1 ratings rises in steps, so near the answer one more annotator
    may lower it a little, and the number found is the first on the way of a bisection.

    Parameters
    ----------
    safe_rates : sequence of floats
        The task's safe rate under each condition. All equal gives the test's size.
    n_per_group : int, optional
        Annotators in each condition.
    exact : bool
        Reject by the permutation p value, which keeps its level; else by the chi-square one.
    repeats, seed : int
        Simulated tasks, and the seed they are drawn from.

    Raises
    ------
    StatisticsError
        Fewer than two rates, a rate outside [0, 1], an alpha outside (0, 1), or fewer than two annotators; without
        `n_per_group` also where all rates are the same.
    """
    rates = tuple(map(float, safe_rates))
    if len(rates) < 2:
        raise StatisticsError("a profile needs the safe rates of at least two conditions")
    if not all(0 <= rate <= 1 for rate in rates):
        raise StatisticsError(f"safe rates lie between 0 and 1, not {rates}")
    check(alpha, power=power if n_per_group is None else None, n=n_per_group, most=MOST_SIMULATED // len(rates))
    checked_integer(repeats, "repeats", minimum=1)

    def power_at(n: int) -> KruskalPower:
        drawn = np.random.default_rng(seed).binomial(n, rates, size=(repeats, len(rates)))
        result = kruskal_wallis(drawn, np.full(len(rates), n), exact=exact)
        rejected = int(np.sum(result.reported_p <= alpha))
        limits = wilson(rejected, repeats)
        return KruskalPower(
            safe_rates=rates,
            alpha=alpha,
            n_per_group=n,
            n_total=n * len(rates),
            exact=exact,
            actual_power=rejected / repeats,
            ci_low=float(limits.low),
            ci_high=float(limits.high),
            repeats=repeats,
            seed=seed,
        )

    if n_per_group is not None:
        return power_at(n_per_group)
    if len(set(rates)) == 1:
        raise StatisticsError(f"all safe rates are {rates[0]}: no number of annotators finds a difference")
    question = "Kruskal-Wallis on these safe rates"
    return power_at(smallest_n(power, lambda n: power_at(n).actual_power, start=2, question=question, largest=20_000))


@dataclass(frozen=True, kw_only=True)
class ProportionsPower:
    """Two equal groups compared by the share that says safe, and the power of it."""

    p1: float
    p2: float
    alpha: float
    cohen_h: float
    n_per_group: int
    n_total: int
    actual_power: float


def cohen_h(p1: float, p2: float) -> float:
    r"""Return the effect size of two proportions, :math:`2\arcsin\sqrt{p_1} - 2\arcsin\sqrt{p_2}` (R: `pwr::ES.h`)."""
    for name, p in (("p1", p1), ("p2", p2)):
        if not 0 <= p <= 1:
            raise StatisticsError(f"{name} is a proportion between 0 and 1, not {p!r}")
    return 2 * math.asin(math.sqrt(p1)) - 2 * math.asin(math.sqrt(p2))


def proportions_power(
    p1: float, p2: float | None = None, *, n_per_group: int | None = None, alpha: float = 0.05, power: float = 0.8
) -> ProportionsPower:
    r"""Return the power of a two-sided test of two proportions with equal groups.

    .. math:: \Phi(|h|\sqrt{n/2} - z_{1-\alpha/2}) + \Phi(-|h|\sqrt{n/2} - z_{1-\alpha/2})

    with Cohen's *h* of the safe rates `p1` and `p2`. Without `n_per_group`, of the smallest groups with at least `power`;
    without `p2`, for the rate above `p1`, or below it where there is none above, that `n_per_group` can tell from it.

    Raises
    ------
    StatisticsError
        Equal proportions, a proportion outside [0, 1], a power that is not between alpha and 1, or no rate on either side
        that is far enough from `p1`.

    References
    ----------
    .. [1] Cohen (1988), Statistical Power Analysis, ch. 6. R: `pwr::pwr.2p.test`.

    Examples
    --------
    >>> proportions_power(0.5, 0.7).n_per_group
    93
    """
    check(alpha, power=power if p2 is None or n_per_group is None else None, n=n_per_group)
    z, n = -ndtri(alpha / 2), n_per_group or 0

    def power_at(n: int, h: float) -> float:
        shift = abs(h) * math.sqrt(n / 2)
        return float(ndtr(shift - z) + ndtr(-shift - z))

    if p2 is None:
        angle = cohen_h(p1, 0.0)
        question = f"Cohen's h with {n} per group and an alpha of {alpha}"
        h = root_of_rising(power, lambda h: power_at(n, h), question=question)
        nearest = [math.sin(place / 2) ** 2 for place in (angle + h, angle - h) if 0 <= place <= math.pi]
        if not nearest:
            raise StatisticsError(f"no proportion is far enough from {p1} to be found with {n} per group")
        p2 = nearest[0]
    h = cohen_h(p1, p2)
    if h == 0:
        raise StatisticsError(f"p1 and p2 are both {p1}: no number of annotators finds a difference that is not there")
    if n_per_group is None:
        n = smallest_n(power, lambda n: power_at(n, h), start=2, question=f"proportions {p1} and {p2}")
    return ProportionsPower(
        p1=p1, p2=p2, alpha=alpha, cohen_h=h, n_per_group=n, n_total=2 * n, actual_power=power_at(n, h)
    )


# The power of a study of two conditions, from the variance of its queries and annotators.
#
# Each annotator rates one condition. With :math:`Q` queries, :math:`k` ratings an item and :math:`b` items an annotator,
# the difference of two safe rates, for queries and people like these, has the variance
#
# .. math:: \frac{\sigma_{\Delta}^2}{Q} + \sum_{c=1}^{2} \frac{b\, \sigma_{a,c}^2 + \sigma_{e,c}^2}{Q k}
#
# :math:`\sigma_{\Delta}^2` is how much the true difference varies between queries, :math:`\sigma_a^2` how much annotators
# differ in their readiness to say safe, and :math:`\sigma_e^2` what is left of a rating's variance.


MOST_QUERIES = 1_000_000
"""Number of queries above which a study is out of reach."""


@dataclass(frozen=True)
class StudyVariance:
    """The parts of a difference's variance; none is below 0."""

    difference: float
    """First safe rate less the second, as observed."""
    of_difference: float
    """Variance of the true difference between queries."""
    of_annotators: float
    """Variance of annotators, the mean of both conditions."""
    of_ratings: float
    """The rest of a rating's variance, the mean of both conditions."""

    def error(self, *, queries: int, per_item: int, per_annotator: float) -> float:
        """Return the standard error of the difference in such a study.

        Raises StatisticsError: no queries, ratings of an item or items of an annotator.
        """
        if not (queries >= 1 and per_item > 0 and 0 < per_annotator < np.inf):
            raise StatisticsError("a study has a query at least, ratings of each item and items for each annotator")
        ratings = 2 * (per_annotator * self.of_annotators + self.of_ratings) / per_item
        return float(np.sqrt((self.of_difference + ratings) / queries))


class PilotRatings(NamedTuple):
    """Ratings of two conditions, summed by query, and by annotator and query."""

    queries: int
    n: FloatArray
    """(2, queries) ratings."""
    s: FloatArray
    """(2, queries) safe ratings."""
    annotator: tuple[FloatArray, FloatArray]
    """For each condition, ratings and safe ratings: (2, annotators, queries)."""

    @classmethod
    def from_ratings(cls, safe: ArrayLike, second: ArrayLike, query: ArrayLike, annotator: ArrayLike) -> Self:
        """Return the sums of ratings; every array has one entry a rating, and `second` is true for the second condition.

        Raises StatisticsError: a condition lacks two queries, two annotators, or an item with two ratings; or no query has
        both conditions.
        """
        is_safe, is_second = np.asarray(safe, dtype=bool), np.asarray(second, dtype=bool)
        rated_query, people = coded_labels(query), coded_labels(annotator)
        if not 0 < is_second.sum() < len(is_second):
            raise StatisticsError("a pilot needs ratings of both conditions")
        queries = int(rated_query.max()) + 1
        tables = []
        for condition in (False, True):
            rated = is_second == condition
            person = coded_labels(people[rated])
            table = np.zeros((2, int(person.max()) + 1, queries))
            np.add.at(table[0], (person, rated_query[rated]), 1.0)
            np.add.at(table[1], (person, rated_query[rated]), is_safe[rated].astype(float))
            tables.append(table)
        n, s = (np.stack([table[which].sum(axis=0) for table in tables]) for which in (0, 1))
        enough = (n > 0).sum(1).min() >= 2 and min(table.shape[1] for table in tables) >= 2
        if not enough or n.max(1).min() < 2:
            raise StatisticsError(
                "a pilot needs, of each condition, two queries, two annotators and an item with two ratings"
            )
        if not ((n[0] > 0) & (n[1] > 0)).any():
            raise StatisticsError("a pilot needs a query that was rated under both conditions")
        return cls(queries, n, s, (tables[0], tables[1]))

    def variance(self, weight: FloatArray | float = 1.0) -> StudyVariance:
        """Return the parts of the variance, from products of pairs of ratings that share a query, an annotator, or neither.

        Every mean of products is unbiased for its moment, whatever the numbers of ratings; a part that comes out negative is
        given as 0. Each query counts `weight` times.
        """
        n, s = self.n * weight, self.s * weight
        between, annotators, residuals = [], [], []
        rates = s.sum(1) / n.sum(1)
        for condition, table in enumerate(self.annotator):
            tn, ts = table[0] * weight, table[1] * weight
            square = (self.s[condition] ** 2 * weight).sum() - s[condition].sum()
            same_query = square / max((self.n[condition] ** 2 * weight).sum() - n[condition].sum(), 1e-12)
            own_n, own_s = (tn.sum(1) ** 2).sum(), (ts.sum(1) ** 2).sum()
            within_n, within_s = (tn * table[0]).sum(), (ts * table[1]).sum()
            same_annotator = (own_s - within_s) / max(own_n - within_n, 1e-12)
            pairs = n[condition].sum() ** 2 - (self.n[condition] * n[condition]).sum() - own_n + within_n
            total = s[condition].sum() ** 2 - (self.s[condition] * s[condition]).sum() - own_s + within_s
            product_mean = total / pairs if pairs > 0 else rates[condition] ** 2
            between.append(same_query - product_mean)
            annotators.append(max(0.0, same_annotator - product_mean))
            residuals.append(max(0.0, rates[condition] - product_mean - max(0.0, between[-1]) - annotators[-1]))
        shared_n, shared_s = (self.n[0] * n[1]).sum(), (self.s[0] * s[1]).sum()
        apart_n, apart_s = n[0].sum() * n[1].sum() - shared_n, s[0].sum() * s[1].sum() - shared_s
        across = shared_s / shared_n - apart_s / apart_n if shared_n > 0 and apart_n > 0 else 0.0
        return StudyVariance(
            difference=float(rates[0] - rates[1]),
            of_difference=max(0.0, float(sum(between) - 2 * across)),
            of_annotators=float(np.mean(annotators)),
            of_ratings=float(np.mean(residuals)),
        )


def pilot_intervals(pilot: PilotRatings, *, rng: np.random.Generator, draws: int = 500) -> Interval:
    """Return the 95 % interval of the variance between a pilot's queries: a percentile interval from resampled queries.

    The variance between annotators has none: an interval over queries held in 67 to 73 % of simulated pilots.
    """
    drawn = []
    for _ in range(draws):
        weight = np.bincount(rng.integers(0, pilot.queries, pilot.queries), minlength=pilot.queries).astype(float)
        if ((pilot.n * weight).sum(1) > 0).all():
            drawn.append(pilot.variance(weight).of_difference)
    return Interval(*np.quantile(drawn, [0.025, 0.975]).tolist())


def study_power(
    variance: StudyVariance,
    difference: float,
    *,
    queries: int,
    per_item: int,
    per_annotator: float,
    alpha: float = 0.05,
) -> float:
    """Return the probability that a two-sided test finds `difference`, by the normal distribution."""
    if not abs(difference) <= 1:
        raise StatisticsError(f"a difference of rates lies between -1 and 1, not {difference!r}")
    error = variance.error(queries=queries, per_item=per_item, per_annotator=per_annotator)
    if error == 0:
        return 1.0 if difference else alpha
    critical, shift = -float(ndtri(alpha / 2)), abs(difference) / error
    return float(ndtr(shift - critical) + ndtr(-shift - critical))


def study_queries(
    variance: StudyVariance,
    difference: float,
    *,
    per_item: int,
    per_annotator: float,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Return the fewest queries with which a study finds `difference` with at least `power`.

    Raises StatisticsError: the difference is 0, power or alpha cannot be one, or more than a million queries would be needed.
    """
    check(alpha, power=power)
    if not difference:
        raise StatisticsError("a difference of 0 is found by no study")
    needed = (-float(ndtri(alpha / 2)) + float(ndtri(power))) ** 2
    variance_of_query = variance.error(queries=1, per_item=per_item, per_annotator=per_annotator) ** 2
    about = max(1, int(needed * variance_of_query / difference**2) - 1)
    if about > MOST_QUERIES:
        raise StatisticsError(f"more than {MOST_QUERIES:,} queries would be needed")

    def power_at(queries: int) -> float:
        return study_power(
            variance, difference, queries=queries, per_item=per_item, per_annotator=per_annotator, alpha=alpha
        )

    return smallest_n(power, power_at, start=about, question=f"a study of a difference of {difference:g}")


def detectable_shift(df: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the noncentrality at which a two-sided *t* test on `df` degrees of freedom reaches `power`.

    A difference of that many standard errors is the smallest one that is found.

    Raises StatisticsError: power or alpha cannot be one, or df is below 1.
    """
    check(alpha, power=power)
    if not df >= 1:
        raise StatisticsError("a comparison of two groups needs two people in each at least")
    from scipy.optimize import brentq  # a solver, which takes as long to import as all the rest

    critical = f_critical(alpha, 1, df)
    return float(brentq(lambda shift: f_power(critical, 1, df, shift**2) - power, 0.0, 1e4))
