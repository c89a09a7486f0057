"""Several judges beside each other, for who must choose: what each costs in harm, refusals, time and money, alone and together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl

from casewise.deciding.categories import CategoryBeside, categories_of, judgements_of
from casewise.deciding.fitting import evidence_of
from casewise.deciding.together import Member, TwoJudges, put_together
from casewise.errors import BenchmarkError
from casewise.evaluation.judged_runs import Series, read_runs
from casewise.judging.guards.profile import all_profiles
from casewise.records import ShortRepr
from casewise.stats.agreeing.cost_of_thresholds import CostPoint, cost_curve
from casewise.stats.agreeing.labels_and_ties import VOTES, LabelPolicy
from casewise.stats.deciding.calibrators import ChosenCalibrator, calibrated
from casewise.stats.deciding.promises import Evidence
from casewise.stats.deciding.trade_off import (
    PromiseCurve,
    RiskCoverage,
    TradeOff,
    Weights,
    people_points,
    promise_curve,
    query_weights,
    risk_coverage,
    trade_off,
)
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.runs.run_folder import weights_bytes

__all__ = ["Besides", "JudgeBeside", "besides"]


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
