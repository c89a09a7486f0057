"""How many queries tell two judges apart, and how many people a judge saves, as answers for any face."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from casewise.errors import ConfigurationError
from casewise.evaluation.judges_power import JudgesPilot, pilot_of
from casewise.reporting.study.power_answers import PowerAnswer
from casewise.stats.core.prediction_powered import labels_needed
from casewise.stats.power.judges import (
    assumed_deviation,
    power_of_queries,
    queries_needed,
    simulated_power,
    simulated_queries_needed,
)
from casewise.storage.benchmarks.benchmark import Benchmark

__all__ = ["AssumedJudges", "judges_answer", "labels_answer"]

TITLE, AXIS = "Two judges on the same queries", "Queries"


@dataclass(frozen=True)
class AssumedJudges:
    """What is taken for granted of two judges."""

    discordance: float = 0.15
    """The share of items on which only one of them is right."""
    items_per_query: int = 2
    correlation: float = 0.0
    """Items of a query, and how far the difference goes together on two of them."""


def judges_answer(
    difference: float | None = None,
    runs: Sequence[str | Path] = (),
    *,
    benchmark: str | Path | Benchmark | None = None,
    assumed: AssumedJudges = AssumedJudges(),
    alpha: float = 0.05,
    power: float = 0.8,
    n: int | None = None,
) -> PowerAnswer:
    """Queries at which a difference in accuracy is found (no `n`), or the power of `n` of them.

    `difference`: in accuracy; with `runs`, their own if absent.
    `runs`: two run folders on one benchmark, or one with two series: the difference's spread is theirs, by simulation.
    `assumed`: what is taken for granted without runs.

    Raises ConfigurationError: neither a difference nor runs are given, or the runs do not hold two judges. DataError,
    BenchmarkError, StatisticsError: the runs cannot be read, or the question has no answer.
    """
    if runs:
        pilot = pilot_of([Path(path) for path in runs], benchmark=benchmark)
        return from_pilot(pilot, difference, alpha=alpha, power=power, n=n)
    if difference is None:
        raise ConfigurationError("give --difference, or two runs with --from")
    sd = assumed_deviation(difference, **asdict(assumed))
    size = n if n is not None else queries_needed(difference, sd, alpha=alpha, power=power)

    def at(queries: int) -> float:
        return power_of_queries(queries, difference, sd, alpha=alpha)

    numbers = {
        "difference": difference,
        "alpha": alpha,
        "n_queries": size,
        "n_items": size * assumed.items_per_query,
        "actual_power": at(size),
        **asdict(assumed),
        "deviation": sd,
    }
    remark = "By Miller (2024), eq. 9, with Student's t. What is assumed decides: two runs over a few queries (--from) know it."
    return PowerAnswer(TITLE, numbers, (remark,), size, at, AXIS)


def labels_answer(half_width: float, *, items: int, rate: float = 0.5, correlation: float = 0.6) -> PowerAnswer:
    """How many of `items` people must rate for a rate to within `half_width`, with a judge on all of them.

    `rate`: about what the rate will be.
    `correlation`: of the judge's value with people's label of an item; a pilot's, or a guess.
    """
    beside, alone = labels_needed(half_width, rate=rate, correlation=correlation, items=items)
    numbers = {
        "half_width": half_width,
        "n_items": items,
        "rate": rate,
        "judge_correlation": correlation,
        "n_labels": beside,
        "n_labels_alone": alone,
    }
    remark = "Items count as independent, and a label as one verdict: clusters need more, several people an item fewer."

    def half_width_at(labels: int) -> float:
        return 1.96 * float(np.sqrt(rate * (1 - rate) / labels * (1 - correlation**2 * max(0, items - labels) / items)))

    axis = "Items that people rate"
    return PowerAnswer("A rate from fewer people and a judge", numbers, (remark,), beside, half_width_at, axis)


def from_pilot(
    pilot: JudgesPilot, difference: float | None, *, alpha: float, power: float, n: int | None
) -> PowerAnswer:
    seen = pilot.differences()
    wanted = seen.mean if difference is None else float(np.copysign(difference, seen.mean))
    population = seen.tilted(wanted)
    found = (
        simulated_queries_needed(population, power=power, alpha=alpha)
        if n is None
        else simulated_power(population, n, alpha=alpha)
    )
    per_query, votes = len(pilot.query) / len(np.unique(pilot.query)), float(pilot.votes.mean())
    items = round(found.queries * per_query)
    ratings, there = round(items * votes), int(pilot.votes.sum())
    numbers: dict[str, Any] = {
        "difference": wanted,
        "alpha": alpha,
        "n_queries": found.queries,
        "n_items": items,
        "n_ratings": ratings,
        "more_ratings": max(0, ratings - there),
        "actual_power": found.power,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "observed_difference": seen.mean,
        "discordance": pilot.discordance,
        "items_per_query": per_query,
        "deviation": population.deviation,
        "simulated_studies": found.repeats,
        "seed": found.seed,
    }
    if n is None:
        numbers |= with_more_people(pilot, wanted, found.queries)
    doubtful = pilot.in_doubt()
    numbers["more_ratings_on"] = tuple(doubtful)
    return PowerAnswer(
        TITLE,
        numbers,
        (*remarks(pilot, difference, there), on_which(doubtful)),
        found.queries,
        lambda queries: simulated_power(population, max(2, queries), alpha=alpha).power,
        AXIS,
    )


def with_more_people(pilot: JudgesPilot, difference: float, queries: int) -> dict[str, int]:
    """Queries needed if twice or ten times as many people had rated each item: by the spread that they would leave."""
    rng = np.random.default_rng(0)
    now, twice, ten = (pilot.differences_with(people, rng).tilted(difference).deviation for people in (1, 2, 10))
    needed = {"n_queries_twice_votes": twice, "n_queries_ten_times_votes": ten}
    return {name: max(2, round(queries * (deviation / now) ** 2)) for name, deviation in needed.items()}


def on_which(doubtful: dict[str, float]) -> str:
    """On which of these items more ratings would say something of the judges."""
    if not doubtful:
        return "On none of these items would more ratings say much of the judges: where these differ, people's verdict is settled."
    named = ", ".join(list(doubtful)[:NAMED]) + (", …" if len(doubtful) > NAMED else "")
    return (
        f"Of these items more ratings help on {len(doubtful):,} alone, where the judges differ and the label may turn if twice as "
        f"many people rate anew; most on {named}."
    )


NAMED = 8


def remarks(pilot: JudgesPilot, difference: float | None, there: int) -> tuple[str, ...]:
    """What to remember with an answer from runs."""
    first, second = pilot.names
    pilot_is = f"From {first} less {second} on {len(pilot.query):,} items with {there:,} ratings."
    how = "Queries like theirs, weighted to the difference asked about, are drawn and tested with the cluster-robust t."
    said = [f"{pilot_is} {how}", "Where more people an item would save few queries, only more queries settle it."]
    if difference is None:
        said.append(
            "The difference is the runs' own; a difference that was chosen for being large is smaller next time."
        )
    return tuple(said)
