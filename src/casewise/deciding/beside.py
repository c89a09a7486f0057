"""TODO"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.deciding.fitting import CategoryBeside, categories_of, evidence_of, judgements_of
from casewise.errors import BenchmarkError
from casewise.evaluate.judged_runs import Series, read_runs
from casewise.judges.guard_profiles import all_profiles
from casewise.records import ShortRepr
from casewise.stats.arrays import FloatArray
from casewise.stats.costs import CostPoint, cost_curve
from casewise.stats.sample import VOTES, LabelPolicy
from casewise.stats.thresholds import (
    Banded,
    ChosenCalibrator,
    Evidence,
    Measurement,
    PromiseCurve,
    RiskCoverage,
    TradeOff,
    Wanted,
    Weights,
    banded,
    calibrated,
    measured,
    people_points,
    promise_curve,
    query_weights,
    risk_coverage,
    trade_off,
)
from casewise.storage.benchmark import Benchmark
from casewise.storage.run_folder import weights_bytes

# Two judges as one: the first alone, the second asked about what the first doubts, both asked about everything.


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


# Several judges beside each other, for who must choose: what each costs in harm, refusals, time and money, alone
# and together.


@dataclass(frozen=True, repr=False)
class JudgeBeside(ShortRepr):
    """One judge: its curve, its errors over coverage, its costs at ratios, and what asking it takes."""

    name: str
    curve: TradeOff
    coverage: RiskCoverage
    costs: tuple[CostPoint, ...]
    promises: PromiseCurve
    calls: dict[str, float | str | None]
    evidence: Evidence
    calibrated: ChosenCalibrator


@dataclass(frozen=True, repr=False)
class Besides(ShortRepr):
    """Judges of one benchmark beside each other."""

    benchmark: Benchmark
    contenders: tuple[JudgeBeside, ...]
    people: dict[int, tuple[float, float]]
    together: TwoJudges | None
    """The first two as one, where there are two."""
    dominated: tuple[tuple[str, str, float], ...]
    """Judge, the one that it is never better than, and the share of the curve on which that is sure."""
    categories: tuple[CategoryBeside, ...] = ()


def besides(
    folders: list[Path],
    *,
    benchmark: str | Path | Benchmark | None = None,
    ratios: tuple[float, ...] = (1, 5, 20),
    labels: LabelPolicy = VOTES,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Besides:
    """The judges of these runs beside each other; two are put together at each of `ratios`.

    Raises BenchmarkError: they were not asked the same items.
    """
    runs = read_runs(folders, benchmark=benchmark)
    series = runs.main_series
    if any((one.asked != series[0].asked).any() for one in series):
        raise BenchmarkError("these judges were not asked the same items; judge the same ones with each")
    samples = [runs.sample(one, policy=labels) for one in series]
    evidence = [evidence_of(one, sample) for one, sample in zip(series, samples, strict=True)]
    weights = query_weights(int(evidence[0].cluster.max()) + 1, n_resamples=n_resamples, seed=seed)
    contenders = []
    for one, sample, seen in zip(series, samples, evidence, strict=True):
        found = calibrated(seen.value, seen.weight, cluster=seen.cluster, seed=seed)
        contenders.append(
            JudgeBeside(
                name=one.name,
                curve=trade_off(seen, weights),
                coverage=risk_coverage(found.out_of_fold, seen),
                costs=cost_curve(sample, ratios=ratios, seed=seed).points,
                promises=promise_curve(seen),
                calls=calls_of(one),
                evidence=seen,
                calibrated=found,
            )
        )
    return Besides(
        runs.benchmark,
        tuple(contenders),
        people_points(runs.items["n_safe"].to_numpy(), runs.items["n_votes"].to_numpy()),
        pair(contenders, ratios, weights) if len(contenders) == 2 else None,
        tuple(dominated(contenders)),
        tuple(one for each in series for one in categories_of(each, runs.items)),
    )


def pair(contenders: list[JudgeBeside], ratios: tuple[float, ...], weights: Iterable[Weights]) -> TwoJudges:
    first, second = (Member(one.name, one.calibrated.out_of_fold, one.calls["usd_per_1000"]) for one in contenders)
    return put_together(first, second, contenders[0].evidence, ratios=ratios, weights=weights)


def dominated(contenders: list[JudgeBeside]) -> list[tuple[str, str, float]]:
    found = []
    for better, worse in permutations(contenders, 2):
        nowhere_higher, surely = better.curve.below(worse.curve)
        if nowhere_higher and surely > 0:
            found.append((worse.name, better.name, surely))
    return found


def calls_of(series: Series) -> dict[str, float | str | None]:
    """What its calls took: latency, tokens and cost, and the memory of its weights, as the run wrote them down."""
    table = judgements_of(series)
    told: dict[str, Any] = table.select(
        p50_s=pl.col("latency_s").quantile(0.5) if "latency_s" in table.columns else pl.lit(None),
        p95_s=pl.col("latency_s").quantile(0.95) if "latency_s" in table.columns else pl.lit(None),
        tokens_in=pl.col("input_tokens").mean() if "input_tokens" in table.columns else pl.lit(None),
        tokens_out=pl.col("output_tokens").mean() if "output_tokens" in table.columns else pl.lit(None),
    ).row(0, named=True)
    asked = int(series.asked.sum())
    guard = str(series.run.manifest.identity.settings.get("guard", "")).partition("+")[0]
    profile = all_profiles().get(guard)
    per_1000 = None if series.cost_usd is None or not asked else 1000 * series.cost_usd / asked
    weights = weights_bytes(series.run.path)
    gib = None if weights is None else weights / 2**30
    return {**told, "usd_per_1000": per_1000, "weights_gib": gib, "licence": profile.licence if profile else None}
