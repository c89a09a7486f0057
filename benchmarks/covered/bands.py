"""Curves of judges with their bands, and what is looked for in files, traffic and annotators: flags and their false alarms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from benchmarks.covered.rows import Row, Section
from benchmarks.covered.tally import Held, Limits, coverage, rejections
from scipy.special import expit
from scipy.stats import norm
from tests.support.annotated import annotated_study

from casewise.deciding.monitor import chi_squared
from casewise.stats.ceilings import alternative_annotator_test
from casewise.stats.estimates import difference_of
from casewise.stats.ratings import annotator_table, code_ratings
from casewise.stats.sample import filled_in
from casewise.stats.thresholds import GRID, Evidence, promise_curve, query_weights, risk_coverage, shares_of, trade_off

__all__ = ["SECTIONS"]

GAP = 2.0
"""How far values of safe and unsafe items lie apart, in their own spread."""

ALLOWED = (4, 12)
"""Places on the grid of over-refusal: 10 and 30 %."""

DECIDED = (20, 40)
"""Places on the grid of what is decided: a half, and all."""


def seen(rng: np.random.Generator, queries: int, each: int) -> Evidence:
    """So many safe and unsafe items a query, which share half of their spread."""
    weight = np.tile(np.repeat([1.0, 0.0], each), queries)
    cluster = np.repeat(np.arange(queries), 2 * each)
    noise = np.sqrt(0.5) * (rng.normal(size=queries)[cluster] + rng.normal(size=len(cluster)))
    return Evidence(GAP * (weight - 0.5) + noise, weight, cluster)


def curves(some: Evidence, weights: Iterable[np.ndarray]) -> dict[str, tuple[float, Limits]]:
    harm, errors = trade_off(some, weights), risk_coverage(expit(GAP * some.value), some)
    found: dict[str, tuple[float, Limits]] = {"area": (errors.area, (errors.area_low, errors.area_high))}
    for place in ALLOWED:
        name = f"least harm, over-refusal {GRID[place]:.0%}"
        found[name] = float(harm.harm[place]), (float(harm.low[place]), float(harm.high[place]))
    for place in DECIDED:
        name, band = f"errors, {GRID[place]:.0%} decided", errors.errors
        found[name] = float(band.value[place]), (float(band.low[place]), float(band.high[place]))
    return found


def bands(studies: int) -> Iterator[Row]:
    """Points of the curves of `decider beside`, against those of 20,000 queries."""
    rng = np.random.default_rng(137)
    for each in (1, 4):
        many = seen(rng, 20_000, each)
        truth = {name: value for name, (value, _) in curves(many, np.ones((2, 20_000), np.float32)).items()}
        for queries in (15, 30, 60, 120, 450):

            def drawn(queries: int, each: int) -> Mapping[str, Limits]:
                weights = query_weights(queries, n_resamples=500, seed=int(rng.integers(2**31)))
                return {name: limits for name, (_, limits) in curves(seen(rng, queries, each), weights).items()}

            setting = f"{queries} queries of {2 * each}"
            yield from coverage(studies, partial(drawn, queries, each), truth, setting)
            yield from promised(rng, studies, queries, each, setting)


def promised(rng: np.random.Generator, studies: int, queries: int, each: int, setting: str) -> Iterator[Row]:
    """What a promise takes, at the very threshold that keeps it, and two shares of a category beside others."""
    refused, apart = Held(), Held()
    for _ in range(studies):
        some = seen(rng, queries, each)
        curve = promise_curve(some)
        for place, at_most in enumerate(curve.at_most):
            if at_most == 0.3:
                value = curve.over_refusal.value[place]
                threshold = np.quantile(some.value[some.weight == 1], value, method="higher") if value < 1 else np.inf
                ends = float(curve.over_refusal.low[place]), float(curve.over_refusal.high[place])
                refused.of(ends, float(norm.cdf(threshold, loc=GAP / 2)))
        inside = rng.random(2 * queries * each) < 0.3
        split = rng.random(len(inside)) < np.where(inside, 0.4, 0.2)
        sides = np.column_stack([inside, ~inside]).astype(float)
        if sides.any(axis=0).all():
            first, second = shares_of(((split * side, side) for side in sides.T), some.cluster)
            apart.add(difference_of(first, second), 0.2)
    if refused.studies:
        yield refused.row("over-refusal of a promise", setting)
    yield apart.row("category beside others", setting)


@dataclass(frozen=True)
class Flagged:
    """How many annotators were looked at, and how many carry a flag."""

    looked: int
    flags: Mapping[str, int]


def flags(studies: int) -> Iterator[Row]:
    """Attentive annotators, drift of traffic like the benchmark's, files as a judge wrote them, and judges at the border."""
    rng = np.random.default_rng(139)
    for votes, each in ((10, 40), (20, 25)):
        looked = [attentive(rng, votes, each) for _ in range(max(1, studies // 10))]
        for name in ("unresponsive", "constant"):
            raised, of = sum(one.flags[name] for one in looked), sum(one.looked for one in looked)
            setting = f"225 queries of two, {votes} votes, {each} items an annotator"
            yield Row(f"flag: {name}", setting, "raised at an attentive annotator", raised, of, "≤ 2 %")
    for queries, requests in ((90, 200), (450, 5_000)):
        setting = f"{queries} queries, {requests:,} requests"
        yield from rejections(10 * studies, partial(traffic, rng, queries, requests), setting, wanted="≤ 6.5 %")
    yield from rejections(studies, partial(as_written, rng), "900 values, 90 of them integers", wanted="≤ 6.5 %")
    passed = sum(at_the_border(rng) for _ in range(studies))
    setting = "90 people of 40 items, a judge that agrees less often than they by epsilon"
    yield Row("alternative annotator test", setting, "passes", passed, studies, "≤ 6.5 %")


def attentive(rng: np.random.Generator, votes: int, each: int) -> Flagged:
    study = annotated_study(rng, queries=225, votes=votes, items_each=each)
    columns = {
        "item_id": study.item.astype(str),
        "query_id": (study.item // 2).astype(str),
        "condition": np.full(len(study.item), "one"),
        "verdict": np.where(study.safe, "safe", "unsafe"),
        "annotator_id": study.annotator.astype(str),
    }
    table = annotator_table(code_ratings(pl.DataFrame(columns)), rng=rng).table
    return Flagged(len(table), {name: int(table[name].sum()) for name in ("unresponsive", "constant")})


def traffic(rng: np.random.Generator, queries: int, requests: int) -> Mapping[str, float | None]:
    """Requests that are like the benchmark's, in ten bins of scores."""
    names = [str(one) for one in range(10)]
    now, then = (rng.multinomial(n, np.full(10, 0.1)) / n for n in (requests, queries))
    one, other = (dict(zip(names, shares.tolist(), strict=True)) for shares in (now, then))
    return {"drift": chi_squared(one, other, requests, queries)}


def as_written(rng: np.random.Generator) -> Mapping[str, float | None]:
    """A judge's values, of which any may be an integer."""
    rate = rng.random(900)
    values = rate + rng.normal(0, 0.3, 900)
    odd = rng.permutation(900) < 90
    found = filled_in(values, odd, rate, rng=rng, n_permutations=499)
    return {"values of another kind": None if found is None else found.p}


def at_the_border(rng: np.random.Generator) -> bool:
    """People right on nine items of ten about a truth, and a judge right so seldom that it wins as often less epsilon."""
    people, votes, items = 90, 9, 400
    truth = rng.random(items) < 0.5
    item, who = (
        np.repeat(np.arange(items), votes),
        np.concatenate([rng.choice(people, votes, replace=False) for _ in range(items)]),
    )
    safe = np.where(rng.random(len(item)) < 0.9, truth[item], ~truth[item])
    judge = np.where(rng.random(items) < 0.8, truth, ~truth)
    found = alternative_annotator_test(safe, judge[item], item=item, annotator=who, epsilon=0.1)
    return bool(found.passes)


SECTIONS = (
    Section(
        "bands",
        (
            *(f"least harm, over-refusal {GRID[place]:.0%}" for place in ALLOWED),
            *(f"errors, {GRID[place]:.0%} decided" for place in DECIDED),
            *("area", "over-refusal of a promise", "category beside others"),
        ),
        "15 to 450 queries of two items or eight, half of them safe, whose values lie two spreads apart and share half of their spread; "
        "500 resamples. Over-refusal of a promise that harm is at most 30 % is held against the truth at the threshold that was chosen.",
        bands,
        quick=60,
        full=400,
    ),
    Section(
        "flags",
        ("flag: unresponsive", "flag: constant", "drift", "values of another kind", "alternative annotator test"),
        "Attentive annotators who differ by 1 logit; traffic with scores as the benchmark's, in ten bins; files of 900 values of which "
        "90 are of another kind, and go with people's rates as the others do; people right on nine items of ten, and a judge on eight.",
        flags,
        quick=100,
    ),
)
