"""Several judges beside each other, for who must choose: what each costs in harm, refusals, time and money, alone and together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.deciding.fitting import evidence_of
from casewise.errors import BenchmarkError
from casewise.evaluation.judged_runs import JudgedRuns, Series, read_runs
from casewise.judging.guards.profile import all_profiles
from casewise.records import ShortRepr
from casewise.stats.agreeing.cost import CostPoint, cost_curve
from casewise.stats.agreeing.labels import VOTES, LabelPolicy
from casewise.stats.core.arrays import FloatArray
from casewise.stats.deciding.calibrators import ChosenCalibrator, calibrated
from casewise.stats.deciding.decisions import Measurement, Wanted, measured
from casewise.stats.deciding.promises import Evidence
from casewise.stats.deciding.trade_off import (
    RiskCoverage,
    TradeOff,
    people_points,
    query_weights,
    risk_coverage,
    trade_off,
)
from casewise.storage.benchmarks.benchmark import Benchmark

__all__ = ["Besides", "JudgeBeside", "Together", "besides"]

SENT_ON = (0.1, 0.25, 0.5)
"""Shares of requests that a cascade sends on to the second judge."""


@dataclass(frozen=True, repr=False)
class JudgeBeside(ShortRepr):
    """One judge: its curve, its errors over coverage, its costs at ratios, and what asking it takes."""

    name: str
    curve: TradeOff
    coverage: RiskCoverage
    costs: tuple[CostPoint, ...]
    calls: dict[str, float | str | None]
    evidence: Evidence
    calibrated: ChosenCalibrator


@dataclass(frozen=True)
class Together:
    """Two judges as one, at the threshold that P(safe) and the ratio call for; each calibrated on other queries."""

    how: str
    sent_on: float
    measurement: Measurement
    usd_per_1000: float | None


@dataclass(frozen=True)
class CategoryBeside:
    """What people say of the items that a judge puts in one of its categories, or in its middle class (`middle`).

    Attributes
    ----------
    split
        Of these items, the share on which at least three in ten people disagree with the others; and of all other items.
    """

    judge: str
    category: str
    n: int
    safe_rate: float
    split: float
    split_elsewhere: float


@dataclass(frozen=True, repr=False)
class Besides(ShortRepr):
    """Judges of one benchmark beside each other."""

    benchmark: Benchmark
    ratio: float
    contenders: tuple[JudgeBeside, ...]
    people: dict[int, tuple[float, float]]
    together: tuple[Together, ...]
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
    """The judges of these runs beside each other; the first of `ratios` is the one at which two are put together.

    Raises
    ------
    BenchmarkError
        They were not asked the same items.
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
                coverage=risk_coverage(found.out_of_fold, seen, weights),
                costs=cost_curve(sample, ratios=ratios, seed=seed).points,
                calls=calls_of(one),
                evidence=seen,
                calibrated=found,
            )
        )
    return Besides(
        runs.benchmark,
        ratios[0],
        tuple(contenders),
        people_of(runs),
        tuple(pairs(contenders, ratios[0])) if len(contenders) == 2 else (),
        tuple(dominated(contenders)),
        tuple(one for each in series for one in categories_of(each, runs.items)),
    )


SPLIT = (0.3, 0.7)
"""Safe rates between which people are split."""


def categories_of(series: Series, items: pl.DataFrame) -> Iterator[CategoryBeside]:
    """A judge's own categories, and its middle class, beside people's votes."""
    table = of_series(series)
    if "categories" not in table.columns:
        return
    rated = items.filter(pl.col("n_votes") > 0).select("item_id", rate=pl.col("n_safe") / pl.col("n_votes"))
    rated = rated.with_columns(split=pl.col("rate").is_between(*SPLIT))
    named = table.select("item_id", category=pl.col("categories")).explode("category").drop_nulls()
    if series.elicitation == "scalar":
        middle = table.filter(pl.col("value") == 0.5).select("item_id", category=pl.lit("(middle class)"))
        named = pl.concat([named, middle]) if len(named) else middle
    for (category,), group in named.unique().group_by("category", maintain_order=True):
        inside = rated.join(group, on="item_id", how="semi")
        elsewhere = rated.join(group, on="item_id", how="anti")
        if len(inside):
            yield CategoryBeside(
                series.name,
                str(category),
                len(inside),
                mean_of(inside, "rate"),
                mean_of(inside, "split"),
                mean_of(elsewhere, "split"),
            )


def mean_of(table: pl.DataFrame, column: str) -> float:
    return float(table[column].cast(pl.Float64).to_numpy().mean()) if len(table) else float("nan")


def of_series(series: Series) -> pl.DataFrame:
    """The judgements of a series."""
    arm, elicitation = (pl.col(name).cast(pl.String) for name in ("arm", "elicitation"))
    return series.run.judgements().filter((arm == series.arm) & (elicitation == series.elicitation))


def dominated(contenders: list[JudgeBeside]) -> list[tuple[str, str, float]]:
    found = []
    for better, worse in permutations(contenders, 2):
        nowhere_higher, surely = better.curve.below(worse.curve)
        if nowhere_higher and surely > 0:
            found.append((worse.name, better.name, surely))
    return found


def people_of(runs: JudgedRuns) -> dict[int, tuple[float, float]]:
    return people_points(runs.items["n_safe"].to_numpy(), runs.items["n_votes"].to_numpy())


def calls_of(series: Series) -> dict[str, float | str | None]:
    """What its calls took: latency, tokens and cost, as the run wrote them down."""
    table = of_series(series)
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
    return {**told, "usd_per_1000": per_1000, "licence": profile.licence if profile else None}


def pairs(contenders: list[JudgeBeside], ratio: float) -> list[Together]:
    """The first judge alone, with the second on those it is least sure of, with all, and the second alone."""
    first, second = contenders
    p, q = first.calibrated.out_of_fold, second.calibrated.out_of_fold
    wanted, cut = Wanted(ratio=ratio), ratio / (1 + ratio)
    costs = [one.calls["usd_per_1000"] for one in contenders]

    def found(how: str, safe: FloatArray, sent_on: float) -> Together:
        decisions = np.where(safe > cut, 2, 0).astype(np.intp)
        price = None
        if isinstance(costs[0], float) and isinstance(costs[1], float):
            price = costs[1] if how == second.name else costs[0] + sent_on * costs[1]
        return Together(how, sent_on, measured(first.evidence, decisions, wanted=wanted), price)

    doubt = np.abs(np.nan_to_num(p, nan=cut) - cut)
    cascades = []
    for sent_on in SENT_ON:
        sent = np.argsort(doubt, kind="stable")[: round(sent_on * len(p))]
        joined = p.copy()
        joined[sent] = q[sent]
        cascades.append(found(f"{first.name}, then {second.name} on the doubtful", joined, sent_on))
    return [
        found(first.name, p, 0.0),
        *cascades,
        found("the mean of both", (p + q) / 2, 1.0),
        found("answers where both do", np.minimum(p, q), 1.0),
        found("answers where either does", np.fmax(p, q), 1.0),
        found(second.name, q, 1.0),
    ]
