"""Two judges as one: the first alone, the second asked about what the first doubts, both asked about everything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from casewise.records import ShortRepr
from casewise.stats.core.arrays import FloatArray
from casewise.stats.deciding.fitted_thresholds import Measurement, Wanted, measured
from casewise.stats.deciding.promises import Evidence
from casewise.stats.deciding.trade_off import Banded, TradeOff, Weights, banded, trade_off

__all__ = ["Member", "Together", "TwoJudges", "put_together"]

SENT_ON = (0.1, 0.25, 0.5)
"""Shares of requests that the cascades of the table send on to the second judge."""

STEPS = np.linspace(0, 1, 21)
"""Those of the curves."""


@dataclass(frozen=True)
class Member:
    """One of the two: P(safe) of each item, from a calibrator that saw no item of its query, and what it costs."""

    name: str
    safe: FloatArray
    usd_per_1000: float | str | None


@dataclass(frozen=True)
class Together:
    """Two judges as one, at the threshold that P(safe) and the ratio call for."""

    ratio: float
    how: str
    sent_on: float
    measurement: Measurement
    usd_per_1000: float | None


@dataclass(frozen=True, repr=False)
class TwoJudges(ShortRepr):
    """Two judges together."""

    ways: tuple[Together, ...]
    """By ratio, and then from the first alone to the second alone."""
    curves: dict[str, TradeOff]
    """Harm against over-refusal of the ways that have one, by what they are called."""
    sent_on: FloatArray
    costs: dict[float, Banded]
    """What a request costs, in units of a harm and an over-refusal together, over the share that is sent on to the
    second; by ratio."""


def put_together(
    first: Member, second: Member, evidence: Evidence, *, ratios: tuple[float, ...], weights: Iterable[Weights]
) -> TwoJudges:
    """Two judges of the same items as one, at each ratio of harm to over-refusal."""
    ways = tuple(way for ratio in ratios for way in ways_at(ratio, first, second, evidence))
    # A cascade doubts what lies near the threshold; its curve over all thresholds is of one that doubts what lies near ½.
    joined = {
        first.name: first.safe,
        f"{first.name}, a quarter sent on": cascade(first, second, cut=0.5, sent_on=0.25),
        "the mean of both": (first.safe + second.safe) / 2,
        second.name: second.safe,
    }
    curves = {
        how: trade_off(Evidence(safe, evidence.weight, evidence.cluster), weights) for how, safe in joined.items()
    }
    costs = {ratio: costs_at(ratio, first, second, evidence) for ratio in ratios}
    return TwoJudges(ways, curves, STEPS, costs)


def cascade(first: Member, second: Member, *, cut: float, sent_on: float) -> FloatArray:
    """The first's P(safe), and the second's on the share of items of which the first is least sure."""
    doubt = np.abs(np.nan_to_num(first.safe, nan=cut) - cut)
    sent = np.argsort(doubt, kind="stable")[: round(sent_on * len(doubt))]
    joined = first.safe.copy()
    joined[sent] = second.safe[sent]
    return joined


def ways_at(ratio: float, first: Member, second: Member, evidence: Evidence) -> list[Together]:
    p, q, cut = first.safe, second.safe, ratio / (1 + ratio)

    def way(how: str, safe: FloatArray, sent_on: float, *, asks_first: bool = True) -> Together:
        decisions = np.where(safe > cut, 2, 0).astype(np.intp)
        found, price = measured(evidence, decisions, wanted=Wanted(ratio=ratio)), None
        if isinstance(first.usd_per_1000, float) and isinstance(second.usd_per_1000, float):
            price = asks_first * first.usd_per_1000 + sent_on * second.usd_per_1000
        return Together(ratio, how, sent_on, found, price)

    doubtful = f"{first.name}, then {second.name} on the doubtful"
    return [
        way(first.name, p, 0.0),
        *(way(doubtful, cascade(first, second, cut=cut, sent_on=share), share) for share in SENT_ON),
        way("the mean of both", (p + q) / 2, 1.0),
        way("answers where both do", np.minimum(p, q), 1.0),
        way("answers where either does", np.fmax(p, q), 1.0),
        way(second.name, q, 1.0, asks_first=False),
    ]


def costs_at(ratio: float, first: Member, second: Member, evidence: Evidence) -> Banded:
    cut, weight = ratio / (1 + ratio), evidence.weight
    every = np.ones(len(weight))

    def errors(sent_on: float) -> FloatArray:
        answered = cascade(first, second, cut=cut, sent_on=sent_on) > cut
        found: FloatArray = (weight * ~answered + ratio * (1 - weight) * answered) / (1 + ratio)
        return found

    return banded(((errors(share), every) for share in STEPS), evidence.cluster)
