"""How many annotators it takes to tell two safe rates apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy.special import ndtr, ndtri

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import checked_share
from casewise.stats.power.questions import LARGEST, LARGEST_EFFECT, check_n, check_power, rising_root, smallest_reaching

__all__ = [
    "ProportionsPower",
    "cohen_h",
    "proportions_detectable_effect",
    "proportions_power",
    "proportions_sample_size",
]


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

    Raises
    ------
    StatisticsError
        As `proportions_power`; also where the power asked for is not between alpha and 1.

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
    found = proportions_power(p1, p2, alpha=alpha, n_per_group=n, sides=sides, method=method)
    return replace(found, n_exact=rising_root(power, at, start=float(n), question="a sample", largest=LARGEST))


def proportions_detectable_effect(
    p1: float, n_per_group: int, *, alpha: float = 0.05, power: float = 0.8, sides: int = 2
) -> ProportionsPower:
    """The rate above `p1`, or below it where there is none above, that `n_per_group` can tell from it (arcsine).

    Raises
    ------
    StatisticsError
        No rate on either side is far enough from `p1`, or `p1` is no proportion.
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
