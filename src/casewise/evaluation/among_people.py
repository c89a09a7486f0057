"""A judge's numbers beside what people could reach: ceilings, the panel it is worth, the alternative annotator test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casewise.errors import StatisticsError
from casewise.evaluation.judged_runs import JudgedRuns, Series
from casewise.evaluation.yardsticks import Backdrop, People
from casewise.stats import (
    AlternativeAnnotator,
    PanelWorth,
    alternative_annotator_test,
    panel_worth,
)
from casewise.stats.core.arrays import FloatArray, IntArray
from casewise.stats.people.panel import usual_reference

__all__ = ["BesidePeople", "JudgeAmongPeople", "beside_people"]


@dataclass(frozen=True)
class JudgeAmongPeople:
    """One series of a judge among people; what could not be computed is None, and `why` says so."""

    name: str
    panel: PanelWorth | None
    alternative: AlternativeAnnotator | None
    why: tuple[str, ...]


@dataclass(frozen=True)
class BesidePeople:
    """What people's votes say of how well any judge could do, and where these judges stand."""

    people: People
    judges: tuple[JudgeAmongPeople, ...]


def beside_people(runs: JudgedRuns, backdrop: Backdrop, *, seed: int = 0, epsilon: float = 0.1) -> BesidePeople:
    """What people's votes on the items that were asked allow, and each series among people.

    Parameters
    ----------
    backdrop
        Of the benchmark of these runs.
    seed : int
        Of the bootstrap over queries.
    epsilon : float
        The judge's advantage in the alternative annotator test.
    """
    asked = np.any([series.asked for series in runs.series], axis=0)
    return BesidePeople(
        people=backdrop.people(asked),
        judges=tuple(_judge(runs, series, seed=seed, epsilon=epsilon) for series in runs.series),
    )


def _judge(runs: JudgedRuns, series: Series, *, seed: int, epsilon: float) -> JudgeAmongPeople:
    verdict = np.full(len(series.asked), np.nan)
    verdict[series.asked] = runs.sample(series).safe
    why: list[str] = []
    panel = None
    try:
        panel = _panel(runs, series.asked, verdict, np.random.default_rng(seed))
    except StatisticsError as error:
        why.append(f"panel: {error}")
    alternative = _alternative(runs, verdict, epsilon)
    if alternative is None:
        why.append("alternative annotator test: not available, anonymous votes")
    elif alternative.reason is not None:
        why.append(f"alternative annotator test: {alternative.reason}")
    return JudgeAmongPeople(series.name, panel, alternative, tuple(why))


def _panel(
    runs: JudgedRuns, asked: np.ndarray[tuple[int], np.dtype[np.bool_]], verdict: FloatArray, rng: np.random.Generator
) -> PanelWorth:
    votes: IntArray = runs.items["n_votes"].to_numpy()[asked]
    return panel_worth(
        verdict[asked],
        runs.items["n_safe"].to_numpy()[asked],
        votes,
        rng=rng,
        clusters=runs.items["query_id"].to_numpy()[asked],
        reference_size=usual_reference(votes),
    )


def _alternative(runs: JudgedRuns, verdict: FloatArray, epsilon: float) -> AlternativeAnnotator | None:
    ratings = runs.benchmark.rated.arrays({item: place for place, item in enumerate(runs.items["item_id"])})
    known = (ratings.annotator >= 0) & ~np.isnan(verdict[ratings.item])
    if not known.any():
        return None
    item, people = ratings.item[known], np.array(ratings.annotators)[ratings.annotator[known]]
    return alternative_annotator_test(
        ratings.safe[known], verdict[item] > 0.5, item=item, annotator=people, epsilon=epsilon
    )
