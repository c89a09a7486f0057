"""A study's ratings analysed, and a design rehearsed with a simulated crowd."""

from __future__ import annotations

import numpy as np
import polars as pl

from casewise.reporting.study.report import StudyReport, study_report
from casewise.reporting.study.simulation_tables import simulation_page
from casewise.studies.analysing.flow_table import read_flow
from casewise.studies.analysing.options import choose_options
from casewise.studies.analysing.simulation import (
    SimulatedStudies,
    SimulationPlan,
    simulate_studies,
    simulation_plan,
    write_ratings,
)
from casewise.studies.analysing.simulation import simulated_table as drawn_table
from casewise.studies.design.planned import read_contrasts

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
