"""How many queries a study needs, planned from a pilot's own variance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from casewise.errors import ConfigurationError
from casewise.reporting.study.power_answers import PowerAnswer
from casewise.stats.power.studies import PilotRatings, pilot_intervals, study_power, study_queries, variance_of
from casewise.studies.analysing.ratings_source import read_ratings

__all__ = ["PlannedStudy", "pilot_answer"]


@dataclass(frozen=True, kw_only=True)
class PlannedStudy:
    """The study that is planned."""

    difference: float
    """Of the two safe rates, to be found."""
    queries: int | None = None
    """As many as there will be; None asks how many are needed."""
    per_item: int = 21
    per_annotator: int = 25
    """Ratings of each item, and items of each annotator: with several batches a person, all of them."""
    alpha: float = 0.05
    power: float = 0.8
    seed: int = 0


def pilot_answer(source: Path | str, conditions: tuple[str, str], planned: PlannedStudy) -> PowerAnswer:
    """The queries that a study needs, or the power that it has, by what annotators and queries varied in a pilot.

    Raises ConfigurationError: the pilot has no ratings of one of the conditions, or no annotators. StatisticsError: it
    is too small to say.
    """
    pilot = pilot_of(read_ratings(source).frame, conditions)
    found = variance_of(pilot)
    intervals = pilot_intervals(pilot, rng=np.random.default_rng(planned.seed))

    def power_at(queries: int) -> float:
        return study_power(
            found,
            planned.difference,
            queries=queries,
            per_item=planned.per_item,
            per_annotator=planned.per_annotator,
            alpha=planned.alpha,
        )

    queries = planned.queries or study_queries(
        found,
        planned.difference,
        per_item=planned.per_item,
        per_annotator=planned.per_annotator,
        alpha=planned.alpha,
        power=planned.power,
    )
    people = -(-queries * planned.per_item // planned.per_annotator)
    numbers = {
        "safe_rate_difference": planned.difference,
        "pilot_difference": found.difference,
        "variance_of_difference": found.of_difference,
        "variance_of_difference_interval": intervals.of_difference,
        "variance_of_annotators": found.of_annotators,
        "variance_of_ratings": found.of_ratings,
        "alpha": planned.alpha,
        "per_item": planned.per_item,
        "per_annotator": planned.per_annotator,
        "n_queries": queries,
        "n_per_group": people,
        "actual_power": power_at(queries),
    }
    share = (
        planned.per_annotator
        * found.of_annotators
        / max(planned.per_annotator * found.of_annotators + found.of_ratings, 1e-12)
    )
    differ = (
        f"Of what people add to the error, {share:.0%} is how annotators differ: it falls with fewer items an annotator and "
        "more annotators, not with more items each. A second batch a person doubles it and adds no annotator."
    )
    remarks = (
        f"{conditions[0]} against {conditions[1]}; power is for other queries of the kind and other people.",
        differ,
        "The interval is over the pilot's queries. What annotators differ by has none: a pilot of few people knows it poorly.",
    )
    return PowerAnswer("A study planned from a pilot", numbers, remarks, queries, power_at, axis="Queries")


def pilot_of(frame: pl.DataFrame, conditions: tuple[str, str]) -> PilotRatings:
    there = sorted(frame["condition"].unique())
    for condition in conditions:
        if condition not in there:
            raise ConfigurationError(f"the pilot has no ratings of {condition!r}; it has: {', '.join(there)}")
    if "annotator_id" not in frame.columns or frame["annotator_id"].null_count():
        raise ConfigurationError("the pilot's votes are anonymous, so it cannot tell how annotators differ")
    chosen = frame.filter(pl.col("condition").is_in(conditions))
    return PilotRatings(
        safe=(chosen["verdict"] == "safe").to_numpy(),
        second=(chosen["condition"] == conditions[1]).to_numpy(),
        query=chosen["query_id"].to_numpy(),
        annotator=chosen["annotator_id"].to_numpy(),
    )
