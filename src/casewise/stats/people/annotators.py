"""Each annotator beside the others. Dissent is not error: nothing here is a ground for removing anybody's ratings.

Removing people who disagree would make the safe rates falsely extreme. The flags ask other questions, of attention:
does what someone answers depend on the item at all, and could an attentive person have answered the same throughout?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import expit, logit

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray
from casewise.stats.people.ceiling import fitted_beta
from casewise.stats.people.coded_ratings import CodedRatings
from casewise.stats.people.dawid_skene import dawid_skene

__all__ = ["FALSE_POSITIVES", "MOST_FOR_DAWID_SKENE", "AnnotatorTable", "annotator_table"]

FALSE_POSITIVES = 0.01
"""How often each flag is to be raised at an attentive annotator."""

MOST_FOR_DAWID_SKENE = 200_000
"""Ratings above which the model is not fitted: it would take longer than the rest of the report."""

SIMULATED = 20_000_000
"""Simulated verdicts in all, from which the flags' thresholds are taken."""


@dataclass(frozen=True, repr=False)
class AnnotatorTable(ShortRepr):
    """One row an annotator, and what the flags are worth."""

    table: pl.DataFrame
    shift_sd: float
    """How much annotators differ in their readiness to say safe, in logits; estimated from the ratings."""
    unresponsive_threshold: float
    false_positive_rates: dict[str, float]
    """Of each flag, at simulated attentive annotators."""
    simulations: int


class _Work(NamedTuple):
    """Who rated what, and how safe the others find it."""

    y: FloatArray
    who: IntArray
    rest: FloatArray
    """Predicted safe rate of a new person, from the other people's votes (beta-binomial)."""
    centred: FloatArray
    """The same less its mean over the annotator's items."""
    n: IntArray


def annotator_table(ratings: CodedRatings, *, rng: np.random.Generator) -> AnnotatorTable:
    """Safe rate, agreement with the rest, time and flags of every annotator.

    The flag `unresponsive` is raised where someone's answers go with the others' rates less than those of 99 % of
    simulated attentive annotators with the same items; `constant` where all answers are the same and that has a
    chance below 1 % for an attentive annotator with those items. Attentive annotators are simulated with a personal
    shift in logits, whose spread is estimated: someone strict throughout is not flagged for it.

    Raises StatisticsError: votes are anonymous, or there are fewer than two annotators.
    """
    if ratings.annotator is None:
        raise StatisticsError("votes are anonymous: nothing can be said of annotators")
    if len(ratings.annotator) < 2:
        raise StatisticsError("there is one annotator only, so there is nobody to compare with")
    work = _work(ratings)
    sd = _shift_sd(work)
    z = _responsiveness(work, work.y)
    simulations = max(1, SIMULATED // (len(work.y) * 2) if len(work.y) * 40 > SIMULATED else 20)
    simulated = [_responsiveness(work, _attentive(work, sd, rng)) for _ in range(simulations)]
    threshold = float(np.quantile(np.concatenate(simulated), FALSE_POSITIVES))
    chance = _chance_of_constant(work, sd)
    constant = _is_constant(work, work.y)
    checks = [_attentive(work, sd, rng) for _ in range(2)]
    false_positives = {
        "unresponsive": float(np.mean([_responsiveness(work, y) < threshold for y in checks])),
        "constant": float(np.mean([_is_constant(work, y) & (chance < FALSE_POSITIVES) for y in checks])),
    }
    columns = {
        "annotator": ratings.annotator.names,
        "ratings": work.n,
        "safe_rate": _mean(work, work.y),
        "agreement_with_rest": _mean(work, np.where(work.y == 1, _others(ratings), 1 - _others(ratings))),
        "responsiveness": z,
        "unresponsive": z < threshold,
        "constant": constant & (chance < FALSE_POSITIVES),
    }
    table = pl.DataFrame({**columns, **_seconds(ratings), **_skills(ratings)})
    return AnnotatorTable(table, sd, threshold, false_positives, simulations)


def _work(ratings: CodedRatings) -> _Work:
    assert ratings.annotator is not None
    counts, y, who = ratings.by_item, ratings.safe.astype(float), ratings.annotator.codes
    a, b = fitted_beta(counts.successes, counts.sizes)
    safe, votes = counts.successes[ratings.item.codes] - y, counts.sizes[ratings.item.codes] - 1
    rest = (a + safe) / (a + b + votes)
    n = np.bincount(who)
    mean = np.bincount(who, weights=rest) / n
    return _Work(y, who, rest, rest - mean[who], n)


def _others(ratings: CodedRatings) -> FloatArray:
    """Share of the others who say safe of each rating's item; a half where there is nobody else."""
    counts = ratings.by_item
    safe = counts.successes[ratings.item.codes] - ratings.safe
    votes = counts.sizes[ratings.item.codes] - 1
    return np.where(votes > 0, safe / np.maximum(votes, 1), 0.5)


def _mean(work: _Work, values: FloatArray) -> FloatArray:
    return np.bincount(work.who, weights=values) / work.n


def _shift_sd(work: _Work) -> float:
    """Moments: annotators' mean residuals vary by chance, and by their shift times p(1 − p)."""
    variance = work.rest * (1 - work.rest)
    residual, slope = _mean(work, work.y - work.rest), _mean(work, variance)
    beyond_chance = residual**2 - slope / work.n
    return float(np.sqrt(max(0.0, np.average(beyond_chance, weights=work.n) / np.average(slope**2, weights=work.n))))


def _attentive(work: _Work, sd: float, rng: np.random.Generator) -> FloatArray:
    shift = rng.normal(0, sd, len(work.n))[work.who]
    return (rng.random(len(work.y)) < expit(logit(work.rest) + shift)).astype(float)


def _responsiveness(work: _Work, y: FloatArray) -> FloatArray:
    """How far answers go with the others' rates, in standard errors around what an average annotator shows."""
    variance = work.rest * (1 - work.rest)
    excess = np.bincount(work.who, weights=(y - work.rest) * work.centred)
    error = np.sqrt(np.bincount(work.who, weights=variance * work.centred**2))
    return np.divide(excess, error, out=np.zeros_like(excess), where=error > 0)


def _is_constant(work: _Work, y: FloatArray) -> BoolArray:
    safe = np.bincount(work.who, weights=y)
    constant: BoolArray = (safe == 0) | (safe == work.n)
    return constant


def _chance_of_constant(work: _Work, sd: float) -> FloatArray:
    """Probability that an attentive annotator answers all these items alike; the shift integrated by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    chance = np.zeros(len(work.n))
    eta = logit(work.rest)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        shifted = eta + sd * node
        safe = np.bincount(work.who, weights=-np.logaddexp(0, -shifted))
        unsafe = np.bincount(work.who, weights=-np.logaddexp(0, shifted))
        chance += weight * (np.exp(safe) + np.exp(unsafe))
    return chance


def _seconds(ratings: CodedRatings) -> dict[str, pl.Series]:
    if ratings.seconds is None or ratings.annotator is None:
        return {}
    frame = pl.DataFrame({"who": ratings.annotator.codes, "seconds": ratings.seconds}).with_columns(
        pl.col("seconds").fill_nan(None)
    )
    return {"median_seconds": frame.group_by("who").agg(pl.col("seconds").median()).sort("who")["seconds"]}


def _skills(ratings: CodedRatings) -> dict[str, FloatArray]:
    if ratings.annotator is None or len(ratings) > MOST_FOR_DAWID_SKENE:
        return {}
    fit = dawid_skene(ratings.safe, item=ratings.item.codes, annotator=ratings.annotator.codes)
    return {"safe_if_safe": fit.safe_if_safe, "unsafe_if_unsafe": fit.unsafe_if_unsafe}
