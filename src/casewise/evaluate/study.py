"""Numbers of a study that need a judge's run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.errors import ConfigurationError, StatisticsError
from casewise.evaluate.judged_runs import JudgedRuns, Series, read_runs
from casewise.stats.arrays import BoolArray, FloatArray, IntArray, Raters, annotators_variance
from casewise.stats.intervals import student_quantile
from casewise.stats.measured import VotesTerms
from casewise.stats.prediction_powered import prediction_powered_rate
from casewise.stats.ratings import CodedRatings
from casewise.stats.sample import right
from casewise.stats.shares import majority_weight

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
                clusters=runs.items["query_id"].to_numpy()[chosen],
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


# What revising contexts was worth: people and judges on generated contexts against the revised ones of the same
# queries.


SIDES: dict[str, dict[str, float]] = {"safe": {"safe": 1}, "unsafe": {"unsafe": 1}, "both": {"safe": 1, "unsafe": -1}}
"""By intent, whose conditions are compared: `both` is safe less unsafe."""

ORIGINS = ("generated", "revised")

SAFE_RATE, AS_INTENDED, AGREE, RIGHT = (
    "safe rate",
    "majority as the author meant",
    "two people agree",
    "says what most people say",
)

Measure = Callable[[IntArray, IntArray], FloatArray]
"""From safe votes and votes of items to a number of each; nan where it has none."""


@dataclass(frozen=True)
class WorthOfRevision:
    """One row a measure and intent.

    `who` (`people`, or a judge), `measure`, `intent` (`safe`, `unsafe`, or `both`: safe less unsafe), `queries`,
    `generated`, `revised`, `difference` (revised less generated) and its interval `ci_low`, `ci_high` over queries, and known annotators; null
    where fewer than two queries have both, or none differs.
    """

    table: pl.DataFrame


def worth_of_revision(
    ratings: CodedRatings,
    runs: Sequence[Path] = (),
    *,
    level: float = 0.95,
) -> WorthOfRevision | None:
    r"""Generated against revised contexts, query by query; None where no query was rated under both.

    Each measure is averaged within a query and condition; with :math:`d_q` the difference of query *q*, the estimate is
    :math:`\bar d` and its interval :math:`\bar d \pm t_{n-1} \sqrt{s_d^2 / n + v}`, *v* being what annotators add where they are known. Two people agree on an item of *n* votes, *k* of them
    safe, in :math:`[k(k-1) + (n-k)(n-k-1)] / [n(n-1)]` of pairs; half of a tie is as the author meant.

    `runs`: judges' runs over the same items, judged against people's majority there.

    Raises DataError, BenchmarkError: a run cannot be read, or is not over one benchmark.
    """
    rated = Rated.of(ratings)
    rows = list(people_worth(rated, level=level))
    if not rows:
        return None
    if runs:
        judged = read_runs(list(runs))
        for series in judged.main_series:
            rows += judge_worth(judged, series, rated, level=level)
    return WorthOfRevision(pl.DataFrame(rows, infer_schema_length=None))


@dataclass(frozen=True)
class Rated:
    """What people's votes come to on each item, and on queries under a condition."""

    cells: pl.DataFrame
    """A row an item: `item_id`, `query_id` and `condition`."""
    safe: IntArray
    votes: IntArray
    raters: Raters | None

    @classmethod
    def of(cls, ratings: CodedRatings) -> Rated:
        names, conditions = np.array(ratings.query.names), np.array(ratings.condition.names)
        cells = {
            "item_id": ratings.item.names,
            "query_id": names[ratings.item_query],
            "condition": conditions[ratings.item_condition],
        }
        return cls(pl.DataFrame(cells), ratings.by_item.successes, ratings.by_item.sizes, ratings.raters)

    def compared(self, who: str, measure: str, of: Measure, intent: str, *, level: float) -> Iterator[dict[str, Any]]:
        """The row of one measure, where any query has both conditions that it compares; nan where an item has no value."""
        signs = {f"{side}_{origin}": sign for side, sign in SIDES[intent].items() for origin in ORIGINS}
        value = of(self.safe, self.votes)
        items = self.cells.with_columns(value=value, place=pl.int_range(len(value))).filter(
            pl.col("condition").is_in(list(signs)) & pl.col("value").is_not_nan()
        )
        both = pl.col("condition").n_unique().over("query_id") == len(signs)
        items = items.filter(both).with_columns(
            sign=pl.col("condition").replace_strict(signs, return_dtype=pl.Float64),
            revised=pl.col("condition").str.ends_with(ORIGINS[1]),
            share=1 / pl.len().over("query_id", "condition"),
        )
        if not len(items):
            return
        means = items.group_by("query_id", "revised").agg((pl.col("sign") * pl.col("share") * pl.col("value")).sum())
        generated, revised = (
            means.pivot("revised", index="query_id", values="sign").select("false", "true").to_numpy().T
        )
        weight = np.zeros(len(value))
        weight[items["place"].to_numpy()] = (
            items["sign"] * items["share"] * (2 * items["revised"].cast(pl.Float64) - 1) / len(generated)
        ).to_numpy()
        limits = limits_of(revised - generated, self.by_annotators(of, weight), level=level)
        yield {
            "who": who,
            "measure": measure,
            "intent": intent,
            "queries": len(generated),
            "generated": float(generated.mean()),
            "revised": float(revised.mean()),
            "difference": float((revised - generated).mean()),
            **limits,
        }

    def by_annotators(self, of: Measure, weight: FloatArray) -> float:
        """What annotators add to the variance of the measure's sum with these weights of items."""
        if self.raters is None:
            return 0.0

        def terms(s: IntArray, m: IntArray) -> FloatArray:
            return (np.nan_to_num(of(s, m)) * weight)[:, None]

        of_safe, of_unsafe = VotesTerms.of_counts(terms, self.safe, self.votes, self.raters)[1:]
        used = weight != 0
        return annotators_variance(of_safe[used, 0], of_unsafe[used, 0], self.raters.where(used))


def limits_of(differences: FloatArray, more: float, *, level: float) -> dict[str, float | None]:
    """Student's *t*, with what annotators add to the variance of the mean."""
    n = len(differences)
    if n < 2 or (error := float(np.sqrt(differences.var(ddof=1) / n + more))) == 0:
        return {"ci_low": None, "ci_high": None}
    half = student_quantile((1 + level) / 2, n - 1) * error
    return {"ci_low": float(differences.mean()) - half, "ci_high": float(differences.mean()) + half}


def people_worth(rated: Rated, *, level: float) -> Iterator[dict[str, Any]]:
    for intent in ("safe", "unsafe"):
        yield from rated.compared("people", SAFE_RATE, np.divide, intent, level=level)
        meant = partial(as_meant, intent)
        yield from rated.compared("people", AS_INTENDED, meant, intent, level=level)
        yield from rated.compared("people", AGREE, agreeing_pairs, intent, level=level)
    yield from rated.compared("people", SAFE_RATE, np.divide, "both", level=level)


def judge_worth(runs: JudgedRuns, series: Series, rated: Rated, *, level: float) -> Iterator[dict[str, Any]]:
    sample = runs.whole_sample(series)
    said = pl.DataFrame({"item_id": runs.items["item_id"], "verdict": sample.safe, "asked": series.asked})
    joined = rated.cells.join(said, on="item_id", how="left", maintain_order="left")
    verdict, asked = joined["verdict"].to_numpy(), joined["asked"].fill_null(False).to_numpy()

    def right_of(s: IntArray, m: IntArray) -> FloatArray:
        return np.where(asked, right(verdict, majority_weight(s, m)), np.nan)

    for intent in ("safe", "unsafe"):
        yield from rated.compared(series.name, RIGHT, right_of, intent, level=level)


def as_meant(intent: str, s: IntArray, m: IntArray) -> FloatArray:
    majority = majority_weight(s, m)
    return majority if intent == "safe" else 1 - majority


def agreeing_pairs(s: IntArray, m: IntArray) -> FloatArray:
    """The share of pairs of people who agree; nan of one person."""
    pairs = np.where(m > 1, m * (m - 1), 1)
    return np.where(m > 1, (s * (s - 1) + (m - s) * (m - s - 1)) / pairs, np.nan)
