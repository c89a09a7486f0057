"""A study's ratings analysed, its people looked at, and a design rehearsed with a simulated crowd."""

from __future__ import annotations

import numpy as np
import polars as pl

from casewise.reports.power import simulation_page
from casewise.reports.study import StudyReport, study_report
from casewise.studies.analysis import choose_options, read_contrasts
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
    "SimulatedStudies",
    "SimulationPlan",
    "StudyReport",
    "choose_options",
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
