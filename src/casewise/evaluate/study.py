"""Numbers of a study that need a judge's run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from casewise.errors import ConfigurationError, StatisticsError
from casewise.evaluate.judged_runs import JudgedRuns, read_runs
from casewise.stats.arrays import BoolArray, FloatArray, IntArray, Raters
from casewise.stats.prediction_powered import prediction_powered_rate
from casewise.stats.ratings import CodedRatings

# People's safe rates from a judge on every item and people on some: the prediction-powered rate of each
# condition.


@dataclass(frozen=True)
class RatesWithJudge:
    """One row a condition: the fields of `PredictionPowered`, and `unscored` items."""

    judge: str
    table: pl.DataFrame
    not_available: dict[str, str]
    """Conditions without such a rate, and why."""


def rates_with_judge(ratings: CodedRatings, run: Path, *, level: float = 0.95) -> RatesWithJudge:
    """Each condition's safe rate over all items that the judge decided, from those that people rated among them.

    An item counts once however many rated it. Items that the judge left unscored have its mean, which costs width and no
    truth. The rated items must be a random part of all, whole queries at a time.

    Raises DataError, BenchmarkError: the run cannot be read. ConfigurationError: it holds several series, or none of
    the rated items.
    """
    runs: JudgedRuns = read_runs([run])
    if len(runs.main_series) != 1:
        raise ConfigurationError("rates with a judge need a run asked in one way; give one elicitation and arm")
    series = runs.main_series[0]
    votes = pl.DataFrame(
        {"item_id": ratings.item.names, "share": ratings.by_item.successes / np.maximum(ratings.by_item.sizes, 1)}
    )
    labels = runs.items.join(votes, on="item_id", how="left", maintain_order="left")["share"].to_numpy()
    if np.isnan(labels[series.asked]).all():
        raise ConfigurationError(f"{run}: the judge decided none of the items that people rated; item ids differ")
    place = {item: row for row, item in enumerate(runs.items["item_id"])}
    rows_of = np.array([place.get(name, -1) for name in ratings.item.names])
    rows, missing = [], {}
    for name in ratings.condition.names:
        chosen = series.asked & (runs.items["condition"] == name).to_numpy()
        values = series.values[chosen]
        try:
            found = prediction_powered_rate(
                filled(values),
                labels[chosen],
                clusters=runs.cluster[chosen],
                level=level,
                raters=raters_among(ratings, rows_of, chosen),
            )
        except StatisticsError as error:
            missing[name] = str(error)
            continue
        rows.append({"condition": name, "unscored": int(np.isnan(values).sum()), **vars(found)})
    return RatesWithJudge(series.name, pl.DataFrame(rows), missing)


def raters_among(ratings: CodedRatings, row_of: IntArray, chosen: BoolArray) -> Raters | None:
    """Who gave which vote on the items of `chosen`; `row_of` says which item of the runs each rated one is, −1 for none."""
    if ratings.raters is None:
        return None
    row, (_, annotator, safe) = row_of[ratings.raters.item], ratings.raters
    return Raters(row[row >= 0], annotator[row >= 0], safe[row >= 0]).where(chosen)


def filled(values: FloatArray) -> FloatArray:
    """The values with their mean where there is none: a constant there says nothing of the label."""
    known = ~np.isnan(values)
    return np.where(known, values, values[known].mean() if known.any() else 0.0)
