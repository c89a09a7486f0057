"""Power of the test that is really used: Kruskal-Wallis on 0/1 ratings, by simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casewise.errors import StatisticsError
from casewise.stats.conditions.kruskal import kruskal_wallis
from casewise.stats.core.arrays import checked_share
from casewise.stats.core.checks import checked_draws
from casewise.stats.core.share_intervals import wilson
from casewise.stats.power.questions import check_n, check_power, smallest_reaching

__all__ = ["KruskalPower", "kruskal_power", "kruskal_sample_size"]


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

    Raises
    ------
    StatisticsError
        As `kruskal_power`; also where all rates are the same.
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
