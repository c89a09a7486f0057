"""How many ratings a chi-square test needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from casewise.stats.core.arrays import checked_share
from casewise.stats.core.tails import chi_square_critical, chi_square_power
from casewise.stats.power.questions import (
    LARGEST,
    LARGEST_EFFECT,
    check_df,
    check_effect,
    check_n,
    check_power,
    rising_root,
    smallest_reaching,
)

__all__ = ["ChiSquarePower", "chi_square_detectable_effect", "chi_square_sample_size", "chi_square_test_power"]


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
    found = chi_square_test_power(effect_size, df, alpha=alpha, n_total=n)
    return replace(found, n_exact=rising_root(power, at, start=float(n), question="a sample", largest=LARGEST))


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
