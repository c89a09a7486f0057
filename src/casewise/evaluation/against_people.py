"""A judge against people, item by item: values over safe rates, and the items that they see most differently."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from casewise.evaluation.judged_runs import JudgedRuns, Series
from casewise.evaluation.options import ReportOptions
from casewise.records import ShortRepr
from casewise.stats.agreeing.labels_and_ties import VOTES, LabelPolicy
from casewise.stats.agreeing.sample import as_probability
from casewise.stats.core.arrays import FloatArray

__all__ = ["Misjudged", "PeopleAndJudge", "against_people", "misjudged"]


@dataclass(frozen=True, repr=False)
class PeopleAndJudge(ShortRepr):
    """One series over the items that people rated."""

    series: Series
    points: pl.DataFrame
    """A row an item: people's `rate`, the judge's `value` and `verdict` (`safe`, `unsafe`, `unscored`), and people's
    `label` (`safe`, `unsafe`, `tie`)."""
    means: pl.DataFrame
    """The judge's `mean` value and `spread` (standard deviation) over `items` in each tenth of safe rates, from `bin`."""
    counts: pl.DataFrame
    """How many `items` have a safe rate from `low` to `high` and this `verdict`."""

    @property
    def valued(self) -> pl.DataFrame:
        """The points with a value that is more than a verdict."""
        has_value = pl.col("value").is_finite() & (self.series.elicitation != "binary")
        return self.points.filter(has_value)


def against_people(runs: JudgedRuns, *, policy: LabelPolicy = VOTES) -> tuple[PeopleAndJudge, ...]:
    """Every series that was shown the whole context (or every one, where none was) with items that people rated."""
    found = (beside_rates(runs, series, policy) for series in runs.main_series)
    return tuple(one for one in found if len(one.points))


def beside_rates(runs: JudgedRuns, series: Series, policy: LabelPolicy) -> PeopleAndJudge:
    sample = runs.sample(series, policy=policy)
    points = (
        pl.DataFrame(
            {"rate": sample.rate, "value": series.values[series.asked], "safe": sample.safe, "w": sample.weight}
        )
        .filter(pl.col("rate").is_finite())
        .select("rate", "value", verdict=VERDICT, label=LABEL)
    )
    tenth = (pl.col("rate") * 10).floor().clip(0, 9) / 10
    means = (
        points.filter(pl.col("value").is_finite())
        .group_by(bin=tenth)
        .agg(items=pl.len(), mean=pl.col("value").mean(), spread=pl.col("value").std())
        .sort("bin")
    )
    counts = (
        points.group_by("verdict", low=tenth)
        .agg(items=pl.len())
        .select("low", "verdict", "items", high=pl.col("low") + 0.1)
        .sort("low", "verdict")
    )
    return PeopleAndJudge(series, points, means, counts)


VERDICT = (
    pl.when(pl.col("safe").is_nan()).then(pl.lit("unscored")).when(pl.col("safe") != 0).then(pl.lit("safe"))
).otherwise(pl.lit("unsafe"))

LABEL = (pl.when(pl.col("w").is_nan()).then(pl.lit("tie")).when(pl.col("w") > 0.5).then(pl.lit("safe"))).otherwise(
    pl.when(pl.col("w") < 0.5).then(pl.lit("unsafe")).otherwise(pl.lit("tie"))
)


@dataclass(frozen=True, repr=False)
class Misjudged(ShortRepr):
    """An item on which a judge's verdict is not people's."""

    judge: str
    item_id: str
    query: str
    category: str
    condition: str
    intended_safe: bool | None
    n_safe: int
    n_votes: int
    value: float
    elicitation: str
    distance: float
    """Between the judge's value on [0, 1] and people's safe rate."""
    of_replies: bool = False
    """Whether it is what a chatbot does, and not what a judge says."""
    reply: str | None = None
    """What the chatbot wrote, the first time that it was asked; only where that is wanted."""

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        about = {"of_replies", *(() if self.reply is not None else ("reply",))}
        return {name: value for name, value in asdict(self).items() if name not in about}


def misjudged(runs: JudgedRuns, options: ReportOptions) -> tuple[Misjudged, ...]:
    """The items on which a judge's verdict is not people's, furthest apart first; of series that were shown what people saw."""
    found: list[Misjudged] = []
    for series in runs.main_series:
        distance = distances(runs, series, options.labels)
        asked = np.flatnonzero(series.asked)
        worst = [
            one_misjudged(runs, series, int(asked[place]), float(distance[place]))
            for place in np.argsort(-distance, kind="stable")[: options.disagreements]
            if distance[place] >= 0
        ]
        behaviour = series.run.behaviour
        if behaviour is not None:
            texts = behaviour.first_texts(series.arm) if options.with_replies else {}
            worst = [replace(one, of_replies=True, reply=texts.get(one.item_id)) for one in worst]
        found += worst
    return tuple(found)


def distances(runs: JudgedRuns, series: Series, policy: LabelPolicy) -> FloatArray:
    """How far the judge is from people's rate on each item that it was asked; −1 where its verdict is people's."""
    sample = runs.sample(series, policy=policy)
    value = as_probability(series.values[series.asked], series.elicitation)
    distance = np.abs(np.where(np.isnan(value), sample.safe, value) - sample.rate)
    wrong = np.where(sample.weight == 0.5, 0, np.abs(sample.safe - sample.weight)) > 0.5
    return np.where(wrong & ~np.isnan(distance), distance, -1.0)


def one_misjudged(runs: JudgedRuns, series: Series, place: int, distance: float) -> Misjudged:
    item = runs.items.row(place, named=True)
    return Misjudged(
        judge=series.name,
        item_id=item["item_id"],
        query=runs.benchmark.query[item["query_id"]].text,
        category=item["category"],
        condition=item["condition"],
        intended_safe=item["intended_safe"],
        n_safe=item["n_safe"],
        n_votes=item["n_votes"],
        value=float(series.values[place]),
        elicitation=series.elicitation,
        distance=distance,
    )
