"""Crowds whose true rates are spread in many ways, and what somebody may do to their votes at the majority line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["ACTS", "HONEST", "counts_of", "moved"]

Rates = NDArray[np.float64]
Counts = NDArray[np.int64]
Draw = Callable[[np.random.Generator, int], Rates]


def beta(a: float, b: float) -> Draw:
    return lambda rng, n: rng.beta(a, b, size=n)


def between(low: float, high: float) -> Draw:
    return lambda rng, n: rng.uniform(low, high, size=n)


def heads(*places: float, sd: float = 0.0) -> Draw:
    """Some rates, or hills around them."""
    return lambda rng, n: np.clip(rng.choice(places, size=n) + rng.normal(0, sd, size=n), 0, 1)


def logits(mean: float, sd: float) -> Draw:
    return lambda rng, n: 1 / (1 + np.exp(-rng.normal(mean, sd, size=n)))


def mixed(first: Draw, second: Draw, share: float) -> Draw:
    return lambda rng, n: np.where(rng.random(n) < share, first(rng, n), second(rng, n))


HONEST: dict[str, Draw] = {
    **{f"beta({a}, {b})": beta(a, b) for a, b in [(1, 1), (0.3, 0.3), (2, 2), (5, 5), (30, 30), (6.7, 20.7), (10, 6)]},
    **{f"beta({a}, {b})": beta(a, b) for a, b in [(3, 1.5), (0.5, 2), (8, 2)]},
    **{f"uniform({a}, {b})": between(a, b) for a, b in [(0, 0.5), (0.5, 1), (0.3, 0.5), (0.45, 0.55), (0.5, 0.6)]},
    **{f"{places}": heads(*places) for places in [(0.5,), (0.45,), (0.55,), (0.4, 0.6), (0.5, 0.9), (0.1, 0.5)]},
    **{f"{places}": heads(*places) for places in [(0.2, 0.8), (0.3, 0.5, 0.7), (0.48, 0.52), (0.0, 0.5, 1.0)]},
    "hills at 0.3 and 0.7": heads(0.3, 0.7, sd=0.05),
    "hills at 0.45 and 0.9": heads(0.45, 0.9, sd=0.03),
    "a hill at the line on a plain": mixed(heads(0.5, sd=0.01), between(0, 1), 0.4),
    "a hill below the line on a plain": mixed(heads(0.42, sd=0.01), between(0, 1), 0.4),
    "no rates around the line": mixed(between(0, 0.4), between(0.6, 1), 0.5),
    "many above, some at the line": mixed(beta(12, 3), heads(0.5), 0.7),
    "logits N(0, 1)": logits(0, 1),
    "logits N(0.5, 2)": logits(0.5, 2),
    "logits N(-1, 0.5)": logits(-1, 0.5),
    "logits N(0.2, 0.2)": logits(0.2, 0.2),
}


def counts_of(rates: Draw, *, items: int, votes: int, rng: np.random.Generator) -> Counts:
    """Safe votes of so many items."""
    return rng.binomial(votes, rates(rng, items)).astype(np.int64)


def moved(counts: Counts, *, votes: int, share: float, rng: np.random.Generator) -> Counts:
    """One vote in ten moved: of the items that lack no more for a majority, so many get them."""
    line, reach = votes // 2 + 1, votes // 10
    short = (counts < line) & (counts >= line - reach) & (rng.random(len(counts)) < share)
    return np.where(short, counts + reach, counts)


def given_up(counts: Counts, *, votes: int, share: float, rng: np.random.Generator) -> Counts:
    """Items without a majority are dropped."""
    return counts[(counts > votes // 2) | (rng.random(len(counts)) >= share)]


def just_enough(counts: Counts, *, votes: int, share: float, rng: np.random.Generator) -> Counts:
    """As `moved`, but only as many votes as the majority lacks."""
    line, reach = votes // 2 + 1, votes // 10
    short = (counts < line) & (counts >= line - reach) & (rng.random(len(counts)) < share)
    return np.where(short, line, counts)


ACTS: dict[str, Callable[..., Counts]] = {
    "one vote in ten moved": moved,
    "as many votes moved as are lacking": just_enough,
    "items without a majority dropped": given_up,
}
