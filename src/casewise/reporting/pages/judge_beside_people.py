"""A judge's numbers beside what people could reach: ceilings, the panel it is worth, the alternative annotator test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from casewise.errors import StatisticsError
from casewise.evaluation.judged_runs import JudgedRuns, Series
from casewise.reporting.document import Block, Prose, interval, number, percent, table_of
from casewise.stats import (
    AccuracyCeiling,
    AlternativeAnnotator,
    Ceilings,
    PanelWorth,
    accuracy_ceiling,
    alternative_annotator_test,
    ceilings,
    panel_worth,
)
from casewise.stats.core.arrays import FloatArray, IntArray

__all__ = ["BesidePeople", "beside_people", "beside_people_blocks"]

REFERENCE_SIZE = 10


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

    ceilings: Ceilings | None
    accuracy: AccuracyCeiling | None
    judges: tuple[JudgeAmongPeople, ...]


def beside_people(runs: JudgedRuns, *, seed: int = 0, epsilon: float = 0.1) -> BesidePeople:
    """Ceilings from the votes of the items that were asked, and each series among people.

    Parameters
    ----------
    seed : int
        Of the bootstrap over queries.
    epsilon : float
        The judge's advantage in the alternative annotator test.
    """
    asked = np.any([series.asked for series in runs.series], axis=0)
    safe, votes = (runs.items[name].to_numpy() for name in ("n_safe", "n_votes"))
    condition = runs.items["condition"].to_numpy()
    return BesidePeople(
        ceilings=_or_none(lambda: ceilings(safe[asked], votes[asked])),
        accuracy=_or_none(lambda: accuracy_ceiling(safe[asked], votes[asked], strata=condition[asked])),
        judges=tuple(_judge(runs, series, seed=seed, epsilon=epsilon) for series in runs.series),
    )


def _or_none(question: Any) -> Any:
    try:
        return question()
    except StatisticsError:
        return None


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
    reference = min(REFERENCE_SIZE, max(1, int(np.median(votes)) // 2))
    return panel_worth(
        verdict[asked],
        runs.items["n_safe"].to_numpy()[asked],
        votes,
        rng=rng,
        clusters=runs.items["query_id"].to_numpy()[asked],
        reference_size=reference,
    )


def _alternative(runs: JudgedRuns, verdict: FloatArray, epsilon: float) -> AlternativeAnnotator | None:
    place = {item: index for index, item in enumerate(runs.items["item_id"])}
    rows = [
        (place[rating.item_id], rating.annotator_id, rating.verdict == "safe")
        for rating in runs.benchmark.ratings
        if rating.annotator_id is not None and not np.isnan(verdict[place[rating.item_id]])
    ]
    if not rows:
        return None
    items, people, safe = zip(*rows, strict=True)
    item = np.array(items)
    return alternative_annotator_test(
        np.array(safe), verdict[item] > 0.5, item=item, annotator=np.array(people), epsilon=epsilon
    )


def beside_people_blocks(found: BesidePeople) -> Iterator[Block]:
    """The same as tables: the ceilings, and a row for each judge."""
    yield from _ceiling_table(found)
    cells = []
    for judge in found.judges:
        panel, test = judge.panel, judge.alternative
        tested = test is not None and test.omega is not None
        cells.append(
            (
                judge.name,
                "–" if panel is None else f"{percent(panel.agreement)} {interval(panel.ci_low, panel.ci_high)}",
                "–" if panel is None else people(panel),
                "–" if test is None or not tested else f"ω = {number(test.omega, digits=2)}, ε = {test.epsilon:g}",
                "–" if test is None else f"{test.items_per_annotator:g}",
            )
        )
    heads = (
        "Judge",
        "Agrees with people's majority",
        "Worth so many people",
        "Alternative annotator test",
        "Items each",
    )
    yield table_of("beside-people", "Judges among people", heads, cells)
    for judge in found.judges:
        for reason in judge.why:
            yield Prose(f"{judge.name}: {reason}.")


def _ceiling_table(found: BesidePeople) -> Iterator[Block]:
    rows = []
    if found.accuracy is not None:
        low, high = number(found.accuracy.low, digits=2), number(found.accuracy.high, digits=2)
        rows.append(("Accuracy", f"{low} to {high}", "share of labels that are a large crowd's majority, by prior"))
    if found.ceilings is not None:
        floor = number(found.ceilings.bce_plug_in)
        rows += [
            ("Pearson's r", f"at most {number(found.ceilings.pearson)}", "root of the reliability of all votes"),
            ("BCE", f"at least {number(found.ceilings.bce_floor)}", f"nats; the plug-in entropy is {floor}"),
            ("Brier score", f"at least {number(found.ceilings.brier_floor, digits=4)}", "noise of the rates"),
        ]
    if rows:
        yield table_of("reach", "What a judge could reach", ("Metric", "Reach", "Why"), rows)


def people(panel: PanelWorth) -> str:
    """How many people, with the interval; a curve has an end."""

    def said(value: float) -> str:
        if value == 0:
            return "fewer than 1"
        return "more than any panel" if value == float("inf") else f"{value:.1f}"

    return f"{said(panel.people)} [{said(panel.people_low)}, {said(panel.people_high)}]"
