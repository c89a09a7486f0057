"""A judge's numbers beside what people could reach: ceilings, the panel it is worth, the alternative annotator test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from casewise.errors import StatisticsError
from casewise.evaluation.judged_runs import JudgedRuns, Series
from casewise.evaluation.yardsticks import Backdrop, People, or_none, plain
from casewise.records import ShortRepr
from casewise.stats import (
    AlternativeAnnotator,
    PanelWorth,
    alternative_annotator_test,
    panel_worth,
)
from casewise.stats.agreeing.estimates import Estimate
from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray
from casewise.stats.distributions.distances import distances_of, reachable_entropy_correlation
from casewise.stats.people.new_person import AgainstNewPerson, against_new_person
from casewise.stats.people.panel import distribution_worth, usual_reference

__all__ = ["BesidePeople", "JudgeAmongPeople", "beside_people"]


@dataclass(frozen=True, repr=False)
class JudgeAmongPeople(ShortRepr):
    """One series of a judge among people; what could not be computed is None, and `why` says so."""

    name: str
    panel: PanelWorth | None
    """How many people its verdicts are worth, against majorities."""
    distances: tuple[Estimate, ...]
    """From how people split, less what the number of votes leaves (`casewise.stats.distributions.distances`)."""
    distribution: PanelWorth | None
    """How many people its values are worth, against other people's shares."""
    new_person: AgainstNewPerson | None
    """Whether it is no worse than one more person, on the same others."""
    alternative: AlternativeAnnotator | None
    why: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class BesidePeople(ShortRepr):
    """What people's votes say of how well any judge could do, and where these judges stand."""

    people: People
    judges: tuple[JudgeAmongPeople, ...]
    reachable_doubt: float | None
    """The entropy correlation of one who knows every true rate."""

    def as_json(self) -> dict[str, Any]:
        """The judges' distances and worth as plain JSON values; what is not finite is null."""
        return {
            "reachable_entropy_correlation": self.reachable_doubt,
            "judges": {
                judge.name: {
                    "distances": {one.name: plain(one) for one in judge.distances},
                    "worth_of_majority": worth_json(judge.panel),
                    "new_person": None if judge.new_person is None else asdict(judge.new_person),
                    "worth_of_distribution": worth_json(judge.distribution),
                }
                for judge in self.judges
            },
        }


def worth_json(worth: PanelWorth | None) -> dict[str, float | int | None] | None:
    return (
        None if worth is None else {key: value if np.isfinite(value) else None for key, value in asdict(worth).items()}
    )


def beside_people(runs: JudgedRuns, backdrop: Backdrop, *, margin: float = 0.05) -> BesidePeople:
    """What people's votes on the items that were asked allow, and each series among people.

    `backdrop`: of the benchmark of these runs.
    `margin`: how much less than a new person a judge may agree with people and be no worse.
    """
    asked = np.any([series.asked for series in runs.series], axis=0)
    return BesidePeople(
        people=backdrop.people(asked),
        judges=tuple(_judge(runs, series, margin=margin) for series in runs.series),
        reachable_doubt=or_none(lambda: reachable_entropy_correlation(*votes_of(runs, asked))),
    )


def votes_of(runs: JudgedRuns, asked: BoolArray) -> tuple[IntArray, IntArray]:
    """Safe votes and votes of the items that were asked."""
    return runs.items["n_safe"].to_numpy()[asked], runs.items["n_votes"].to_numpy()[asked]


def _judge(runs: JudgedRuns, series: Series, *, margin: float) -> JudgeAmongPeople:
    sample = runs.sample(series)
    value = sample.probability if sample.in_rate_metrics.any() else sample.safe
    verdict = np.full(len(series.asked), np.nan)
    verdict[series.asked] = sample.safe
    why: list[str] = []
    who = None if runs.raters is None else runs.raters.where(series.asked)
    query = runs.cluster[series.asked]

    def worth(of: FloatArray, question: Callable[..., PanelWorth]) -> PanelWorth | None:
        safe, votes = votes_of(runs, series.asked)
        try:
            return question(of, safe, votes, clusters=query, reference_size=usual_reference(votes), raters=who)
        except StatisticsError as error:
            why.append(f"panel: {error}")
            return None

    panel = worth(sample.safe, panel_worth)
    alternative = _alternative(runs, verdict)
    if alternative is None:
        why.append("alternative annotator test: not available, anonymous votes")
    elif alternative.reason is not None:
        why.append(f"alternative annotator test: {alternative.reason}")
    distances = distances_of(sample)
    distribution = worth(value, distribution_worth) if panel and distances else None
    counts = votes_of(runs, series.asked)
    person = or_none(lambda: against_new_person(sample.safe, *counts, clusters=query, margin=margin, raters=who))
    return JudgeAmongPeople(series.name, panel, distances, distribution, person, alternative, tuple(why))


def _alternative(runs: JudgedRuns, verdict: FloatArray) -> AlternativeAnnotator | None:
    if not runs.benchmark.rated.annotators:
        return None
    ratings = runs.benchmark.rated.arrays(runs.items["item_id"])
    known = (ratings.annotator >= 0) & ~np.isnan(verdict[ratings.item])
    if not known.any():
        return None
    item, people = ratings.item[known], np.array(ratings.annotators)[ratings.annotator[known]]
    return alternative_annotator_test(ratings.safe[known], verdict[item] > 0.5, item=item, annotator=people)
