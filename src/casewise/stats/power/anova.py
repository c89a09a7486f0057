"""How many annotators an analysis of variance needs, in balanced whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

from casewise.stats.core.arrays import checked_share
from casewise.stats.core.tails import f_critical, f_power
from casewise.stats.power.questions import (
    LARGEST_EFFECT,
    check_effect,
    check_groups,
    check_n,
    check_power,
    rising_root,
    smallest_reaching,
)

__all__ = ["AnovaPower", "anova_detectable_effect", "anova_power", "anova_sample_size"]


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

    Raises
    ------
    StatisticsError
        As `anova_power`; also where the power asked for is not between alpha and 1.

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
