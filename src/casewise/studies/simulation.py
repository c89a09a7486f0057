"""Simulate a design: draw a crowd, write its ratings, or repeat the study to see what each analysis is worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import expit

from casewise.errors import ConfigurationError, DataError, StatisticsError, unknown_key
from casewise.notation import interval, number, percent, spoken
from casewise.records.base import read_toml
from casewise.reports.document import Columns, Document, document_of_tables, table_by
from casewise.stats import (
    CrowdDesign,
    CrowdModel,
    CrowdRatings,
    adjust,
    clustered_contrast,
    kruskal_wallis,
    simulate_ratings,
    two_proportion_z,
    wilson,
)
from casewise.storage.files import replacing
from casewise.text import count_of

ANALYSES = {
    "pooled": "pooled z test, as in the paper",
    "by_item": "clustered by item",
    "by_query": "average per query",
    "two_way": "queries like these (query and annotator)",
    "annotator": "these queries (annotator)",
}


@dataclass(frozen=True)
class SimulationPlan:
    """A design with a crowd."""

    conditions: tuple[str, ...]
    design: CrowdDesign
    crowd: CrowdModel
    contrasts: tuple[tuple[str, str], ...]
    categories: int = 1
    alpha: float = 0.05


def simulation_plan(path: Path) -> SimulationPlan:
    """Return the plan in a TOML file: `[simulation.safe_rates]`, and optionally `[simulation]` and `[crowd]`.

    A `study.toml` serves too, once it has these tables: conditions, contrasts, `ratings.per_item`, `.per_annotator` and
    `analysis.alpha` are then the study's own.

    Raises ConfigurationError: the file cannot be read, or a setting is missing, unknown or wrong; the message names it.
    """
    try:
        read = read_toml(path, "a simulation")
    except DataError as error:
        raise ConfigurationError(str(error)) from None
    try:
        return _plan(read)
    except (StatisticsError, ConfigurationError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{path}: {error}") from None


def _plan(read: dict[str, Any]) -> SimulationPlan:
    simulation, ratings = dict(read.get("simulation", {})), read.get("ratings", {})
    rates = simulation.pop("safe_rates", None)
    if not isinstance(rates, dict) or len(rates) < 1:
        raise ConfigurationError("no [simulation.safe_rates]; write one line per condition, such as no_context = 0.4")
    conditions = tuple(read.get("conditions", rates))
    missing = [name for name in conditions if name not in rates]
    if missing:
        raise ConfigurationError(f"simulation.safe_rates has no rate for {', '.join(missing)}")
    categories = int(simulation.pop("categories", 1))
    alpha = float(simulation.pop("alpha", read.get("analysis", {}).get("alpha", 0.05)))
    defaults = {
        "ratings_per_item": ratings.get("per_item", 21),
        "items_per_annotator": ratings.get("per_annotator", 25),
    }
    design = CrowdDesign(
        safe_rates=tuple(float(rates[name]) for name in conditions),
        **_checked_settings(CrowdDesign, defaults | simulation, "simulation"),
    )
    planned = tuple((str(a), str(b)) for a, b in read.get("contrasts", ()))
    contrasts = planned or tuple((conditions[0], condition) for condition in conditions[1:])
    unknown = [name for pair in contrasts for name in pair if name not in conditions]
    if unknown:
        raise ConfigurationError(f"contrasts name {unknown[0]!r}, which is not one of the conditions")
    if categories < 1 or not 0 < alpha < 1:
        raise ConfigurationError("simulation.categories is at least 1, and simulation.alpha between 0 and 1")
    crowd = CrowdModel(**_checked_settings(CrowdModel, read.get("crowd", {}), "crowd"))
    return SimulationPlan(conditions, design, crowd, contrasts, categories, alpha)


def _checked_settings(kind: type, values: dict[str, Any], table: str) -> dict[str, Any]:
    names = {field.name for field in fields(kind)} - {"safe_rates"}
    if problem := unknown_key(values, names, within=f"{table}."):
        raise ConfigurationError(f"{problem}; there are {', '.join(sorted(names))}")
    return values


def simulated_table(plan: SimulationPlan, *, rng: np.random.Generator) -> pl.DataFrame:
    """Return one simulated study as a table of ratings, as `casewise study report` reads it."""
    crowd = simulate_ratings(plan.crowd, plan.design, rng=rng)
    names = np.array(plan.conditions)[crowd.condition]
    category = crowd.query * plan.categories // plan.design.queries + 1
    return pl.DataFrame(
        {
            "item_id": crowd.query * len(plan.conditions) + crowd.condition,
            "query_id": crowd.query,
            "category": category,
            "condition": names,
            "annotator_id": crowd.annotator,
            "verdict": np.where(crowd.safe, "safe", "unsafe"),
            "finished": crowd.finished[crowd.annotator],
        }
    ).with_columns(
        pl.format(f"{name.removesuffix('_id')} {{}}", name).alias(name)
        for name in ("item_id", "query_id", "category", "annotator_id")
    )


def write_ratings(table: pl.DataFrame, path: Path) -> None:
    """Write a table of ratings as CSV or Parquet, by the file's name.

    Raises ConfigurationError: the name ends in neither, there is no such folder, or the disk is full: a file there is then as it was.
    """
    if path.suffix not in {".csv", ".parquet"}:
        raise ConfigurationError(f"--out is {str(path)!r}; end it in .csv or .parquet")
    if not path.parent.is_dir():
        raise ConfigurationError(f"--out is {str(path)!r}: there is no folder {str(path.parent)!r}")
    with replacing(path) as file:
        (table.write_csv if path.suffix == ".csv" else table.write_parquet)(file)


@dataclass(frozen=True)
class SimulatedStudies:
    """The results of each analysis over repeated studies."""

    contrasts: pl.DataFrame
    """One row a contrast and analysis: share of studies in which it rejects, and its intervals' coverage."""
    tasks: pl.DataFrame
    """One row a test of single tasks: share of tasks significant, on average over studies."""
    repeats: int
    seed: int
    plan: SimulationPlan


Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class StudyResult(NamedTuple):
    """The results of one simulated study."""

    tests: Array
    """(contrasts, analyses, 3): p and the limits of the interval; NaN where there are none."""
    truth_here: Array
    """(contrasts,) true difference for the very queries drawn."""
    tasks: tuple[float, float, float]


def simulate_studies(plan: SimulationPlan, *, repeats: int, seed: int) -> SimulatedStudies:
    """Repeat the whole study and count: rejections of each analysis, and how often its interval covers the truth.

    Where the two conditions of a contrast have equal safe rates, the share of rejections is the false-positive rate,
    else it is the power; but for the queries drawn, which differ truly where queries take to conditions differently. The interval of `annotator` is of the difference for the queries drawn, the others of that
    for queries of the kind (of which the mean over the repetitions is the truth).

    Raises StatisticsError: fewer than two repetitions.
    """
    if repeats < 2:
        raise StatisticsError(f"a simulation needs at least 2 repetitions, not {repeats}")
    rng = np.random.default_rng(seed)
    studies = [_simulate_study(plan, rng) for _ in range(repeats)]
    p, low, high = np.moveaxis(np.stack([study.tests for study in studies]), -1, 0)
    truths = np.stack([study.truth_here for study in studies])
    kind = truths.mean(0)
    rows: list[dict[str, Any]] = []
    for c, (first, second) in enumerate(plan.contrasts):
        for a, (name, title) in enumerate(ANALYSES.items()):
            truth = truths[:, c] if name == "annotator" else kind[c]
            covered = (low[:, c, a] <= truth) & (truth <= high[:, c, a])
            rejected = int((p[:, c, a] <= plan.alpha).sum())
            limits = wilson(rejected, repeats)
            equal = (
                plan.design.safe_rates[plan.conditions.index(first)]
                == plan.design.safe_rates[plan.conditions.index(second)]
            )
            kind_of_rejection = "false positives" if equal else "power"
            if equal and name == "annotator" and plan.crowd.query_condition_sd > 0:
                # equal rates over all queries of the kind differ over those drawn
                kind_of_rejection = "true differences of the queries drawn"
            rows.append(
                {
                    "first": first,
                    "second": second,
                    "analysis": name,
                    "title": title,
                    "true_difference": float(kind[c]),
                    "rejected": rejected / repeats,
                    "rejected_low": float(limits.low),
                    "rejected_high": float(limits.high),
                    "is": kind_of_rejection,
                    "coverage": float(covered.mean()),
                }
            )
    means = np.mean([study.tasks for study in studies], axis=0)
    names = ("Kruskal-Wallis, chi-square p", "Kruskal-Wallis, permutation p", "… after Benjamini-Hochberg")
    tasks = pl.DataFrame({"test": names, "share_significant": means})
    return SimulatedStudies(pl.DataFrame(rows), tasks, repeats, seed, plan)


def _simulate_study(plan: SimulationPlan, rng: np.random.Generator) -> StudyResult:
    crowd = simulate_ratings(plan.crowd, plan.design, rng=rng)
    true, place = _true_rates(plan, crowd), plan.conditions.index
    pairs = [(place(first), place(second)) for first, second in plan.contrasts]
    tests = np.array([list(_answers(crowd, i, j)) for i, j in pairs])
    return StudyResult(tests, np.array([true[i] - true[j] for i, j in pairs]), _tasks(plan, crowd))


def _answers(crowd: CrowdRatings, i: int, j: int) -> Iterator[tuple[float, float, float]]:
    """Yield p and the limits of each analysis; NaN where there is no error."""
    chosen = (crowd.condition == i) | (crowd.condition == j)
    safe, second = crowd.safe[chosen], crowd.condition[chosen] == j
    z = two_proportion_z(safe[~second].sum(), (~second).sum(), safe[second].sum(), second.sum())
    yield float(z.p), float(z.ci_low), float(z.ci_high)
    contrast = clustered_contrast(safe, second, query=crowd.query[chosen], annotator=crowd.annotator[chosen])
    for part in (contrast.by_item, contrast.by_query, contrast.queries_like_these, contrast.these_queries):
        if part is None or part.p is None or part.ci_low is None or part.ci_high is None:
            yield (np.nan,) * 3
        else:
            yield part.p, part.ci_low, part.ci_high


def _true_rates(plan: SimulationPlan, crowd: CrowdRatings) -> Array:
    """Return (conditions,) mean over the queries drawn of the rate that an endless crowd would give."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(25)
    shifted = crowd.logits[..., None] + plan.crowd.annotator_sd * nodes
    attentive = expit(shifted) @ (weights / weights.sum())
    model = plan.crowd
    rates = (
        (1 - model.careless - model.contrary) * attentive
        + model.careless * model.careless_safe_rate
        + model.contrary * (1 - attentive)
    )
    means: Array = rates.mean(0)
    return means


def _tasks(plan: SimulationPlan, crowd: CrowdRatings) -> tuple[float, float, float]:
    k, n = len(plan.conditions), plan.design.queries * len(plan.conditions)
    if k < 2:
        return (0.0, 0.0, 0.0)
    cell = crowd.query * k + crowd.condition
    sizes = np.bincount(cell, minlength=n).reshape(-1, k)
    successes = np.bincount(cell[crowd.safe], minlength=n).reshape(-1, k)
    testable = (sizes > 0).sum(1) >= 2
    result = kruskal_wallis(successes[testable], sizes[testable], exact=True)
    corrected = adjust(result.reported_p, "benjamini_hochberg", where=result.testable)
    first, second, third = (float(np.mean(p <= plan.alpha)) for p in (result.p, result.reported_p, corrected))
    return first, second, third


# Simulated studies of a design, as tables.


def simulation_page(studies: SimulatedStudies) -> Document:
    """Return the page of each analysis's rejections and coverage by contrast, and of the share of significant tasks."""
    columns: Columns = {
        "Analysis": "title",
        "Rejects": (percent, "rejected"),
        "95 % interval": (interval, "rejected_low", "rejected_high"),
        "Rejections are": "is",
        "95 % interval covers": (percent, "coverage"),
    }
    tables = []
    for pair in studies.plan.contrasts:
        rows = [row for row in studies.contrasts.to_dicts() if (row["first"], row["second"]) == pair]
        if rows:
            difference = number(round(rows[0]["true_difference"], 3) + 0.0)
            caption = (
                f"{' − '.join(map(spoken, pair))}: true difference {difference}, over {count_of(studies.repeats, 'study')} "
                f"(seed {studies.seed})"
            )
            tables.append(table_by(f"{pair[0]}-{pair[1]}", caption, rows, columns))
    shares: Columns = {"Test": "test", "Share of tasks": (percent, "share_significant")}
    tables.append(table_by("tasks", f"Tasks significant at {studies.plan.alpha:g}", studies.tasks.to_dicts(), shares))
    return document_of_tables(f"{studies.repeats:,} simulated studies of this design, seed {studies.seed}", tables)
