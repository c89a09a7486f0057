"""A study's ratings analysed, its people looked at, and a design rehearsed with a simulated crowd."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from casewise.api.studies import study_round
from casewise.evaluate.judged_runs import read_runs
from casewise.records import Verdict
from casewise.reports.power import simulation_page
from casewise.reports.study import StudyReport, study_report
from casewise.studies.analysis import choose_options, read_contrasts
from casewise.studies.monitor import FlagCount, find_flags, keep_flags
from casewise.studies.ratings_source import read_flow
from casewise.studies.simulation import (
    SimulatedStudies,
    SimulationPlan,
    simulate_studies,
    simulation_plan,
    write_ratings,
)
from casewise.studies.simulation import simulated_table as drawn_table

__all__ = [
    "FlagCount",
    "SimulatedStudies",
    "SimulationPlan",
    "StudyReport",
    "choose_options",
    "flag_people",
    "read_contrasts",
    "read_flow",
    "simulate_studies",
    "simulated_table",
    "simulation_page",
    "simulation_plan",
    "study_report",
    "write_ratings",
]


def simulated_table(plan: SimulationPlan, *, seed: int = 0) -> pl.DataFrame:
    """The ratings of one simulated study, a row each."""
    return drawn_table(plan, rng=np.random.default_rng(seed))


def flag_people(
    study: str | Path,
    *,
    judges: Sequence[str | Path] = (),
    phase: str = "main",
    seed: int = 0,
    database: str | None = None,
) -> list[FlagCount]:
    """Flag annotators who answer as people do not, each flag beside how often it takes simulated people for none.

    Parameters
    ----------
    judges
        Runs over the round's items: an annotator whose answers follow one beyond what peers say is flagged.
    seed
        Of the simulated crowd.

    Raises
    ------
    StudyError
        There is no such round.
    DataError, BenchmarkError
        A run cannot be read.
    """
    verdicts = {name: said for path in judges for name, said in verdicts_in(Path(path)).items()}
    with study_round(study, phase, database=database) as there:
        with there.store.read() as connection:
            found = find_flags(connection, there.round, verdicts, seed=seed)
        with there.store.write() as connection:
            keep_flags(connection, there.round, found)
    return found.counts


def verdicts_in(path: Path) -> dict[str, dict[str, Verdict]]:
    """Each judge's verdicts by item."""
    runs = read_runs([path])
    found: dict[str, dict[str, Verdict]] = {}
    for series in runs.main_series:
        verdicts = zip(runs.items["item_id"], runs.whole_sample(series).safe, strict=True)
        found[series.name] = {item: "safe" if safe else "unsafe" for item, safe in verdicts if not np.isnan(safe)}
    return found
