"""What all power analyses share: which questions have an answer, and how the answer is found."""

from __future__ import annotations

from collections.abc import Callable

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import checked_share
from casewise.stats.core.checks import whole

__all__ = [
    "LARGEST",
    "LARGEST_EFFECT",
    "check_df",
    "check_effect",
    "check_groups",
    "check_n",
    "check_power",
    "rising_root",
    "smallest_reaching",
]

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
