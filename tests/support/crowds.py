"""Simulated studies as tables of ratings."""

from __future__ import annotations

import numpy as np
import polars as pl

from casewise.stats import CrowdDesign, CrowdModel
from casewise.studies.simulation import SimulationPlan, simulated_table

RATES = {
    "no_context": 0.45,
    "safe_generated": 0.7,
    "unsafe_generated": 0.3,
    "safe_revised": 0.8,
    "unsafe_revised": 0.2,
}


def crowd_plan(
    *, rates: dict[str, float] | None = None, queries: int = 20, crowd: CrowdModel = CrowdModel(), categories: int = 4
) -> SimulationPlan:
    """A small study of the five conditions."""
    rates = rates or RATES
    conditions = tuple(rates)
    return SimulationPlan(
        conditions=conditions,
        design=CrowdDesign(
            safe_rates=tuple(rates.values()), queries=queries, ratings_per_item=12, items_per_annotator=10
        ),
        crowd=crowd,
        contrasts=tuple((conditions[0], other) for other in conditions[1:]),
        categories=categories,
    )


def crowd_table(plan: SimulationPlan, *, seed: int = 1) -> pl.DataFrame:
    """Its ratings."""
    return simulated_table(plan, rng=np.random.default_rng(seed))
