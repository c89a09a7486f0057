"""What is probably true of each item and how good each annotator probably is, from the ratings alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from casewise.errors import StatisticsError
from casewise.stats.arrays import FloatArray, IntArray, checked_draws, integers, truths, vector

LARGEST_CODE = 10_000_000

DIFFICULTY = (1.0, 0.75, 0.5, 0.25)
"""How much an annotator's skill counts on items of each difficulty; the rest is a coin."""


@dataclass(frozen=True)
class DawidSkene:
    """Posteriors after convergence."""

    p_safe: FloatArray
    """(items,) probability that an item's true class is safe."""
    difficulty: FloatArray
    """(items,) posterior mean of what skill counts for on the item: 1 easy, 0.25 hard."""
    safe_if_safe: FloatArray
    """(annotators,) probability of saying safe of an easy item that is safe."""
    unsafe_if_unsafe: FloatArray
    prior_safe: float
    rounds: int
    converged: bool


class _Votes(NamedTuple):
    y: IntArray
    item: IntArray
    annotator: IntArray
    items: int
    annotators: int


def dawid_skene(
    safe: ArrayLike,
    *,
    item: ArrayLike,
    annotator: ArrayLike,
    difficulty: tuple[float, ...] = DIFFICULTY,
    prior_strength: float = 10.0,
    rounds: int = 100,
) -> DawidSkene:
    r"""Dawid and Skene's model with pooled priors and item difficulty, by EM.

    Item *i* has a class *z* and a difficulty *d*. Annotator *j* answers by skill with probability :math:`d` and by a
    coin otherwise, and by skill is right with probability :math:`\pi_{jz}`:

    .. math:: P(y_{ij} \text{ right}) = d_i \pi_{jz} + (1 - d_i)/2, \qquad \pi_{jz} \sim \mathrm{Beta}(\kappa \mu_z,
       \kappa (1 - \mu_z))

    with :math:`\mu_z` the crowd's own mean. Without difficulty, errors of different people on one item count as
    independent, and the posteriors are falsely sure: hard items come out at 0.99 and are wrong far more often.

    `safe`: (ratings,) booleans.
    `item`, `annotator`: (ratings,) integers from 0.
    `difficulty`: the levels; `(1.0,)` is the model of 1979.
    `prior_strength`: :math:`\kappa`: how many ratings the crowd's mean counts for in an annotator's skill.
    `rounds`: of EM, at most.

    Raises StatisticsError: no ratings, a rating that is neither true nor false, a code that is no whole number, or a
    level outside (0, 1].

    Source: Dawid & Skene (1979), Applied Statistics 28, 20-28. Whitehill et al. (2009), NeurIPS 22 (difficulty). Paun
    et al. (2018), TACL 6, 571-585 (pooling).
    """
    levels = vector(difficulty, "difficulty")
    checked_draws(rounds, "rounds")
    votes = _votes(safe, item, annotator)
    if not 0 <= prior_strength < np.inf:
        raise StatisticsError(f"prior_strength counts ratings, so it is at least 0, not {prior_strength!r}")
    if not len(levels) or ((levels <= 0) | (levels > 1)).any():
        raise StatisticsError(f"levels of difficulty lie in (0, 1], not {difficulty!r}")
    skill = np.full((votes.annotators, 2), 0.75)
    log_prior = np.full((2, len(levels)), -np.log(2 * len(levels)))
    posterior = _posterior(votes, skill, levels, log_prior)
    converged, done = False, 0
    while done < rounds and not converged:
        done += 1
        skill = _skills(votes, posterior, skill, levels, prior_strength)
        with np.errstate(divide="ignore"):
            log_prior = np.log(posterior.mean(0))
        new = _posterior(votes, skill, levels, log_prior)
        converged = bool(np.max(np.abs(new.sum(-1) - posterior.sum(-1))) < 1e-3)
        posterior = new
    return DawidSkene(
        p_safe=posterior[:, 1].sum(-1),
        difficulty=posterior.sum(1) @ levels,
        safe_if_safe=skill[:, 1],
        unsafe_if_unsafe=skill[:, 0],
        prior_safe=float(posterior[:, 1].sum(-1).mean()),
        rounds=done,
        converged=converged,
    )


def _votes(safe: ArrayLike, item: ArrayLike, annotator: ArrayLike) -> _Votes:
    y, i, j = truths(safe, "safe").astype(np.int64), integers(item, "item"), integers(annotator, "annotator")
    if not len(y) or not y.shape == i.shape == j.shape:
        raise StatisticsError(
            f"ratings of shape {y.shape}, items of {i.shape} and annotators of {j.shape}: none, or unlike"
        )
    if max(i.max(), j.max()) > LARGEST_CODE:
        raise StatisticsError(f"items and annotators are numbered from 0, up to {LARGEST_CODE:,} of them")
    return _Votes(y, i, j, int(i.max()) + 1, int(j.max()) + 1)


def _right(votes: _Votes, skill: FloatArray, kind: int) -> FloatArray:
    """Probability, by skill, of each rating that was given if its item is of class `kind`."""
    pi = skill[votes.annotator, kind]
    right: FloatArray = np.where(votes.y == kind, pi, 1 - pi)
    return right


def _posterior(votes: _Votes, skill: FloatArray, levels: FloatArray, log_prior: FloatArray) -> FloatArray:
    """(items, classes, levels) posterior."""
    log = np.empty((votes.items, 2, len(levels)))
    for kind in (0, 1):
        by_skill = _right(votes, skill, kind)
        for index, level in enumerate(levels):
            weights = np.log(level * by_skill + (1 - level) / 2)
            log[:, kind, index] = np.bincount(votes.item, weights=weights, minlength=votes.items)
    log += log_prior
    return np.exp(log - logsumexp(log, axis=(1, 2), keepdims=True))


def _skills(
    votes: _Votes, posterior: FloatArray, skill: FloatArray, levels: FloatArray, prior_strength: float
) -> FloatArray:
    """Expected share of right answers by skill, drawn towards the crowd's mean."""
    new = np.empty_like(skill)
    for kind in (0, 1):
        by_skill, right = _right(votes, skill, kind), votes.y == kind
        expected = np.zeros(len(votes.y))
        for index, level in enumerate(levels):
            share = level * by_skill / (level * by_skill + (1 - level) / 2)
            expected += posterior[votes.item, kind, index] * share
        total = np.bincount(votes.annotator, weights=expected, minlength=votes.annotators)
        correct = np.bincount(votes.annotator, weights=expected * right, minlength=votes.annotators)
        mean = np.clip(correct.sum() / max(total.sum(), 1e-12), 0.5, 0.99)
        new[:, kind] = (correct + prior_strength * mean) / (total + prior_strength)
    return np.clip(new, 1e-6, 1 - 1e-6)
