"""Power and sample sizes of tests on ratings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from casewise.errors import StatisticsError
from casewise.stats.arrays import checked_draws, checked_share, whole
from casewise.stats.kruskal import kruskal_wallis
from casewise.stats.shares import chi_square_critical, chi_square_power, f_critical, f_power, wilson

# What all power analyses share: which questions have an answer, and how the answer is found.


LARGEST = 10**15
"""A design of more people than this is no design."""
LARGEST_EFFECT = 1000.0
"""Standard deviations between groups; an effect beyond is no effect that anybody measures."""
MOST_GROUPS = 10_000


def smallest_reaching(
    target: float, function: Callable[[int], float], *, start: int, question: str, largest: int = LARGEST
) -> int:
    """The smallest integer from `start` on at which `function`, which rises, is at least `target`.

    Raises StatisticsError: not reached at `largest`; the message names `question`.
    """
    low, high = start - 1, start
    while function(high) < target:
        low, high = high, high * 2
        if high > largest:
            raise StatisticsError(f"{question}: no sample of up to {largest:.0e} reaches a power of {target}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if function(middle) >= target else (middle, high)
    return high


def rising_root(
    target: float, function: Callable[[float], float], *, start: float, question: str, largest: float
) -> float:
    """Where a rising function of a positive number reaches `target`, by bisection to the last bits.

    Raises StatisticsError: not reached at `largest`; the message names `question`.
    """
    low, high = 0.0, start
    while function(high) < target:
        low, high = high, high * 2
        if high > largest:
            raise StatisticsError(f"{question}: nothing up to {largest:g} reaches a power of {target}")
    for _ in range(200):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (low, middle) if function(middle) >= target else (middle, high)
    return high


def check_power(power: float, alpha: float) -> None:
    """Raise where no sample gives this power, or where none is needed for it."""
    checked_share(alpha, "alpha")
    if not 0 < power < 1:
        raise StatisticsError(f"power must lie strictly between 0 and 1, not {power!r}: no sample makes a test certain")
    if power <= alpha:
        raise StatisticsError(
            f"a power of {power} is no more than alpha, {alpha}: tossing a coin would do; ask for more"
        )


def check_effect(effect_size: float) -> None:
    """Raise where there is nothing to find."""
    if effect_size > LARGEST_EFFECT:
        raise StatisticsError(f"effect_size must be at most {LARGEST_EFFECT:g}, not {effect_size!r}")
    if not effect_size > 0:
        raise StatisticsError(
            f"effect_size must be positive, not {effect_size!r}: no sample finds an effect of nothing"
        )


def check_groups(groups: int) -> None:
    """Raise where there is nothing to compare."""
    if whole(groups, "groups", least=0) < 2:
        raise StatisticsError(f"groups must be at least 2, not {groups!r}: there is nothing to compare")
    if groups > MOST_GROUPS:
        raise StatisticsError(f"groups must be at most {MOST_GROUPS:,}, not {groups:,}")


def check_df(df: int) -> None:
    """Raise where a test has no degrees of freedom."""
    if not 1 <= df <= MOST_GROUPS**2:
        raise StatisticsError(f"df must be at least 1 and no more than {MOST_GROUPS**2:,}, not {df!r}")


def check_n(n: int) -> None:
    """Raise where a sample shows no variance."""
    if whole(n, "n", least=0) < 2:
        raise StatisticsError(f"n must be at least 2, not {n!r}: one annotator shows no variance")
    if n > LARGEST:
        raise StatisticsError(f"n must be at most {LARGEST:.0e}, not {n!r}: no study has so many people")


# How many ratings a chi-square test needs.


@dataclass(frozen=True, kw_only=True)
class ChiSquarePower:
    """A chi-square test on `n_total` ratings, and the power of it."""

    effect_size: float
    df: int
    alpha: float
    n_total: int
    actual_power: float
    critical_chi_square: float
    noncentrality: float
    n_exact: float | None = None
    """The real number at which the power is what was asked for; None if the sample size was not the question."""


def chi_square_test_power(effect_size: float, df: int, *, alpha: float = 0.05, n_total: int) -> ChiSquarePower:
    r"""Power of a chi-square test: :math:`P(\chi'^2_{df}(N w^2) > \chi^2_{1-\alpha})`.

    Parameters
    ----------
    effect_size : float
        Cohen's *w*; 0.1 is small, 0.3 medium, 0.5 large.
    df : int
        Degrees of freedom.
    n_total : int
        All ratings together.

    References
    ----------
    .. [1] Cohen (1988), Statistical Power Analysis, ch. 7. R: `pwr::pwr.chisq.test`.
    """
    check_effect(effect_size)
    check_df(df)
    check_n(n_total)
    critical = chi_square_critical(checked_share(alpha, "alpha"), df)
    return ChiSquarePower(
        effect_size=effect_size,
        df=df,
        alpha=alpha,
        n_total=n_total,
        actual_power=chi_square_power(critical, df, n_total * effect_size**2),
        critical_chi_square=critical,
        noncentrality=n_total * effect_size**2,
    )


def chi_square_sample_size(effect_size: float, df: int, *, alpha: float = 0.05, power: float = 0.8) -> ChiSquarePower:
    """The fewest ratings with at least `power`; see `chi_square_test_power`.

    Examples
    --------
    >>> chi_square_sample_size(0.1, 4).n_total
    1194
    """
    check_power(power, alpha)
    check_effect(effect_size)
    check_df(df)
    critical = chi_square_critical(alpha, df)

    def at(n: float) -> float:
        return chi_square_power(critical, df, n * effect_size**2)

    n = smallest_reaching(power, at, start=2, question=f"chi-square with w = {effect_size}")
    design = chi_square_test_power(effect_size, df, alpha=alpha, n_total=n)
    return replace(design, n_exact=rising_root(power, at, start=float(n), question="a sample", largest=LARGEST))


def chi_square_detectable_effect(n_total: int, df: int, *, alpha: float = 0.05, power: float = 0.8) -> ChiSquarePower:
    """The smallest Cohen's *w* that `n_total` ratings find with probability `power`."""
    check_power(power, alpha)
    check_df(df)
    check_n(n_total)
    critical = chi_square_critical(alpha, df)
    effect = rising_root(
        power,
        lambda w: chi_square_power(critical, df, n_total * w**2),
        start=0.1,
        question=f"Cohen's w with {n_total} ratings and an alpha of {alpha}",
        largest=LARGEST_EFFECT,
    )
    return chi_square_test_power(effect, df, alpha=alpha, n_total=n_total)


# How many annotators an analysis of variance needs, in balanced whole numbers.


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


def anova_power(groups: int, effect_size: float, *, alpha: float = 0.05, n_per_group: int) -> AnovaPower:
    r"""Power of the omnibus F test of a balanced one-way design.

    .. math:: 1 - \beta = P\left(F'_{k-1,\;k(n-1)}(\lambda) > F_{1-\alpha}\right), \qquad \lambda = k\,n\,f^2

    Parameters
    ----------
    groups : int
        Number *k* of conditions, at least 2.
    effect_size : float
        Cohen's *f*: standard deviation of the groups' means over that within groups. 0.1 is small, 0.25 medium,
        0.4 large; CASE-Bench plans for 0.4 (§3.2).
    alpha : float
        Probability of a false alarm.
    n_per_group : int
        Annotators in each condition, at least 2.

    Raises
    ------
    StatisticsError
        Fewer than two groups or annotators, an effect that is not positive, or an alpha outside (0, 1).

    References
    ----------
    .. [1] Cohen (1988), Statistical Power Analysis, ch. 8. G*Power 3.1, "ANOVA: fixed effects, omnibus, one-way".
    .. [2] R: `pwr::pwr.anova.test`, which solves for a fractional n; statsmodels: `FTestAnovaPower`.

    Examples
    --------
    >>> round(anova_power(5, 0.4, n_per_group=16).actual_power, 4)
    0.8031
    """
    check_groups(groups)
    check_effect(effect_size)
    checked_share(alpha, "alpha")
    check_n(n_per_group)
    df1, df2 = groups - 1, groups * (n_per_group - 1)
    critical, noncentrality = f_critical(alpha, df1, df2), groups * n_per_group * effect_size**2
    return AnovaPower(
        groups=groups,
        effect_size=effect_size,
        alpha=alpha,
        n_per_group=n_per_group,
        n_total=groups * n_per_group,
        actual_power=f_power(critical, df1, df2, noncentrality),
        critical_f=critical,
        noncentrality=noncentrality,
        df_between=df1,
        df_within=df2,
    )


def anova_sample_size(groups: int, effect_size: float, *, alpha: float = 0.05, power: float = 0.8) -> AnovaPower:
    """The smallest balanced one-way design with at least `power`; see `anova_power` for the rest.

    Raises StatisticsError: as `anova_power`; also where the power asked for is not between alpha and 1.

    Examples
    --------
    >>> anova_sample_size(5, 0.4).n_per_group
    16
    """
    check_power(power, alpha)
    check_groups(groups)
    check_effect(effect_size)
    n = smallest_reaching(
        power,
        lambda n: anova_power(groups, effect_size, alpha=alpha, n_per_group=n).actual_power,
        start=2,
        question=f"one-way ANOVA with {groups} groups and f = {effect_size}",
    )
    return anova_power(groups, effect_size, alpha=alpha, n_per_group=n)


def anova_detectable_effect(groups: int, n_per_group: int, *, alpha: float = 0.05, power: float = 0.8) -> AnovaPower:
    """The smallest Cohen's *f* that `n_per_group` annotators find with probability `power`."""
    check_power(power, alpha)
    check_groups(groups)
    check_n(n_per_group)
    effect = rising_root(
        power,
        lambda f: anova_power(groups, f, alpha=alpha, n_per_group=n_per_group).actual_power,
        start=0.1,
        question=f"Cohen's f with {groups} groups of {n_per_group} and an alpha of {alpha}",
        largest=LARGEST_EFFECT,
    )
    return anova_power(groups, effect, alpha=alpha, n_per_group=n_per_group)


# Power of the test that is really used: Kruskal-Wallis on 0/1 ratings, by simulation.


@dataclass(frozen=True, kw_only=True)
class KruskalPower:
    """Simulated power for one profile of safe rates."""

    safe_rates: tuple[float, ...]
    alpha: float
    n_per_group: int
    n_total: int
    exact: bool
    """Whether the permutation p value was used, and not the chi-square one."""
    actual_power: float
    ci_low: float
    """Limits of the simulation's own error."""
    ci_high: float
    repeats: int
    seed: int


def kruskal_power(
    safe_rates: Sequence[float],
    *,
    n_per_group: int,
    alpha: float = 0.05,
    exact: bool = True,
    repeats: int = 20_000,
    seed: int = 0,
) -> KruskalPower:
    """The share of simulated tasks at which the test rejects.

    Ratings are independent within a task: each annotator rates a task once.

    Parameters
    ----------
    safe_rates : sequence of floats
        The task's safe rate under each condition. All equal gives the test's size.
    n_per_group : int
        Annotators in each condition.
    exact : bool
        Reject by the permutation p value, which keeps its level; else by the chi-square one.
    repeats, seed : int
        Simulated tasks, and the seed they are drawn from.

    Raises
    ------
    StatisticsError
        Fewer than two rates, a rate outside [0, 1], an alpha outside (0, 1), or fewer than two annotators.
    """
    rates = _checked_rates(safe_rates)
    checked_share(alpha, "alpha")
    check_n(n_per_group)
    checked_draws(repeats, "repeats")
    drawn = np.random.default_rng(seed).binomial(n_per_group, rates, size=(repeats, len(rates)))
    result = kruskal_wallis(drawn, np.full(len(rates), n_per_group), exact=exact)
    p = result.p if result.exact is None else result.exact.p
    rejected = int(np.sum(p <= alpha))
    limits = wilson(rejected, repeats)
    return KruskalPower(
        safe_rates=rates,
        alpha=alpha,
        n_per_group=n_per_group,
        n_total=n_per_group * len(rates),
        exact=exact,
        actual_power=rejected / repeats,
        ci_low=float(limits.low),
        ci_high=float(limits.high),
        repeats=repeats,
        seed=seed,
    )


def kruskal_sample_size(
    safe_rates: Sequence[float],
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    exact: bool = True,
    repeats: int = 20_000,
    seed: int = 0,
) -> KruskalPower:
    """The smallest number per group whose simulated power is at least `power`; see `kruskal_power`.

    Power on few 0/1 ratings rises in steps, so near the answer one more annotator may lower it a little; the number
    found is the first on the way of a bisection.

    Raises StatisticsError: as `kruskal_power`; also where all rates are the same.
    """
    check_power(power, alpha)
    rates = _checked_rates(safe_rates)
    if len(set(rates)) == 1:
        raise StatisticsError(f"all safe rates are {rates[0]}: no number of annotators finds a difference")

    def at(n: int) -> KruskalPower:
        return kruskal_power(rates, n_per_group=n, alpha=alpha, exact=exact, repeats=repeats, seed=seed)

    n = smallest_reaching(
        power, lambda n: at(n).actual_power, start=2, question="Kruskal-Wallis on these safe rates", largest=20_000
    )
    return at(n)


def _checked_rates(safe_rates: Sequence[float]) -> tuple[float, ...]:
    rates = tuple(float(rate) for rate in safe_rates)
    if len(rates) < 2:
        raise StatisticsError("a profile needs the safe rates of at least two conditions")
    if not all(0 <= rate <= 1 for rate in rates):
        raise StatisticsError(f"safe rates lie between 0 and 1, not {rates}")
    return rates


# How many annotators it takes to tell two safe rates apart.


@dataclass(frozen=True, kw_only=True)
class ProportionsPower:
    """Two equal groups compared by the share that says safe, and the power of it."""

    p1: float
    p2: float
    alpha: float
    sides: int
    method: str
    cohen_h: float
    n_per_group: int
    n_total: int
    actual_power: float
    n_exact: float | None = None
    """The real number at which the power is what was asked for; None if the sample size was not the question."""


def cohen_h(p1: float, p2: float) -> float:
    r"""Effect size of two proportions, :math:`2\arcsin\sqrt{p_1} - 2\arcsin\sqrt{p_2}` (R: `pwr::ES.h`)."""
    _check_proportion("p1", p1)
    _check_proportion("p2", p2)
    return 2 * math.asin(math.sqrt(p1)) - 2 * math.asin(math.sqrt(p2))


def proportions_power(
    p1: float, p2: float, *, alpha: float = 0.05, n_per_group: int, sides: int = 2, method: str = "arcsine"
) -> ProportionsPower:
    r"""Power of a two-sample test of proportions with equal groups.

    Parameters
    ----------
    p1, p2 : float
        The two safe rates.
    sides : int
        2, or 1 for the direction in which they differ.
    method : str
        "arcsine": :math:`\Phi(|h|\sqrt{n/2} - z_{1-\alpha/2}) + \Phi(-|h|\sqrt{n/2} - z_{1-\alpha/2})` with Cohen's
        *h* (R: `pwr::pwr.2p.test`). "normal": the pooled z test's own approximation (R: `power.prop.test`, which
        leaves out the far tail, as this does).

    Raises
    ------
    StatisticsError
        Equal proportions, a proportion outside [0, 1], or an unknown method or number of sides.

    References
    ----------
    .. [1] Cohen (1988), Statistical Power Analysis, ch. 6. Fleiss, Levin & Paik (2003), ch. 4.
    """
    _check_proportions(p1, p2, alpha, sides)
    check_n(n_per_group)
    return ProportionsPower(
        p1=p1,
        p2=p2,
        alpha=alpha,
        sides=sides,
        method=method,
        cohen_h=cohen_h(p1, p2),
        n_per_group=n_per_group,
        n_total=2 * n_per_group,
        actual_power=_power_at(n_per_group, p1, p2, alpha=alpha, sides=sides, method=method),
    )


def proportions_sample_size(
    p1: float, p2: float, *, alpha: float = 0.05, power: float = 0.8, sides: int = 2, method: str = "arcsine"
) -> ProportionsPower:
    """The smallest equal groups that tell `p1` from `p2` with at least `power`; see `proportions_power`.

    Raises StatisticsError: as `proportions_power`; also where the power asked for is not between alpha and 1.

    Examples
    --------
    >>> proportions_sample_size(0.5, 0.7).n_per_group
    93
    """
    check_power(power, alpha)
    _check_proportions(p1, p2, alpha, sides)

    def at(n: float) -> float:
        return _power_at(n, p1, p2, alpha=alpha, sides=sides, method=method)

    n = smallest_reaching(power, at, start=2, question=f"proportions {p1} and {p2}")
    design = proportions_power(p1, p2, alpha=alpha, n_per_group=n, sides=sides, method=method)
    return replace(design, n_exact=rising_root(power, at, start=float(n), question="a sample", largest=LARGEST))


def proportions_detectable_effect(
    p1: float, n_per_group: int, *, alpha: float = 0.05, power: float = 0.8, sides: int = 2
) -> ProportionsPower:
    """The rate above `p1`, or below it where there is none above, that `n_per_group` can tell from it (arcsine).

    Raises StatisticsError: no rate on either side is far enough from `p1`, or `p1` is no proportion.
    """
    check_power(power, alpha)
    check_n(n_per_group)
    _check_sides(sides)
    _check_proportion("p1", p1)
    h = rising_root(
        power,
        lambda h: _arcsine_power(n_per_group, h, alpha=alpha, sides=sides),
        start=0.1,
        question=f"Cohen's h with {n_per_group} per group and an alpha of {alpha}",
        largest=LARGEST_EFFECT,
    )
    angle = 2 * math.asin(math.sqrt(p1))
    for other in (angle + h, angle - h):
        if 0 <= other <= math.pi:
            p2 = math.sin(other / 2) ** 2
            return proportions_power(p1, p2, alpha=alpha, n_per_group=n_per_group, sides=sides)
    raise StatisticsError(f"no proportion is far enough from {p1} to be found with {n_per_group} per group")


def _check_proportions(p1: float, p2: float, alpha: float, sides: int) -> None:
    checked_share(alpha, "alpha")
    if cohen_h(p1, p2) == 0:
        raise StatisticsError(f"p1 and p2 are both {p1}: no number of annotators finds a difference that is not there")
    _check_sides(sides)


def _check_sides(sides: int) -> None:
    if sides not in {1, 2}:
        raise StatisticsError(f"a test has 1 side or 2, not {sides!r}")


def _check_proportion(name: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise StatisticsError(f"{name} is a proportion between 0 and 1, not {p!r}")


def _power_at(n: float, p1: float, p2: float, *, alpha: float, sides: int, method: str) -> float:
    if method == "arcsine":
        return _arcsine_power(n, abs(cohen_h(p1, p2)), alpha=alpha, sides=sides)
    if method == "normal":
        return _normal_power(n, p1, p2, alpha=alpha, sides=sides)
    raise StatisticsError(f"method is {method!r}; there are 'arcsine' and 'normal'")


def _arcsine_power(n: float, h: float, *, alpha: float, sides: int) -> float:
    z, shift = -ndtri(alpha / sides), h * math.sqrt(n / 2)
    far_tail = ndtr(-shift - z) if sides == 2 else 0.0
    return float(ndtr(shift - z) + far_tail)


def _normal_power(n: float, p1: float, p2: float, *, alpha: float, sides: int) -> float:
    z, pooled = -ndtri(alpha / sides), (p1 + p2) / 2
    distance = math.sqrt(n) * abs(p1 - p2) - z * math.sqrt(2 * pooled * (1 - pooled))
    spread = math.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
    return float(ndtr(distance / spread)) if spread > 0 else float(distance >= 0)
