"""Runs of judges as evidence for studies: rates with a judge's help, and the pilot of a study that tells two judges apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from casewise.errors import ConfigurationError, StatisticsError
from casewise.evaluate.judged_runs import read_runs
from casewise.stats.arrays import FloatArray, IntArray, Raters
from casewise.stats.ceilings import rate_posteriors
from casewise.stats.judge_power import QueryDifferences, query_differences
from casewise.stats.panel import prediction_powered_rate
from casewise.stats.ratings import CodedRatings
from casewise.stats.sample import right_weight
from casewise.stats.shares import chance_of_majority, majority_weight
from casewise.storage.load import Source
from casewise.storage.run_folder import AnyRun
from casewise.storage.wording import noun_of
from casewise.text import Noun, Text


@dataclass(frozen=True)
class RatesWithJudge:
    """Rates with a judge's help, with a row for each condition: the fields of `PredictionPowered`, and `unscored` items."""

    judge: Text
    table: pl.DataFrame
    not_available: dict[str, str]
    """Conditions without such a rate, and why."""


def rates_with_judge(ratings: CodedRatings, run: Path, *, level: float = 0.95) -> RatesWithJudge:
    """Return each condition's safe rate over all items that the judge decided, from those that people rated among them.

    An item counts once however many rated it. Items that the judge left unscored have its mean, which costs width and no
    truth. The rated items must be a random part of all, whole queries at a time.

    Raises DataError, BenchmarkError: the run cannot be read. ConfigurationError: it holds several series, or none of
    the rated items.
    """
    runs = read_runs([run])
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
    raters = None
    if ratings.raters is not None:
        row, (_, annotator, safe) = rows_of[ratings.raters.item], ratings.raters
        raters = Raters(row[row >= 0], annotator[row >= 0], safe[row >= 0])
    rows, missing = [], {}
    for name in ratings.condition.names:
        chosen = series.asked & (runs.items["condition"] == name).to_numpy()
        values = series.values[chosen]
        try:
            rate = prediction_powered_rate(
                fill_missing(values),
                labels[chosen],
                clusters=runs.cluster[chosen],
                level=level,
                raters=None if raters is None else raters.where(chosen),
            )
        except StatisticsError as error:
            missing[name] = str(error)
            continue
        rows.append({"condition": name, "unscored": int(np.isnan(values).sum()), **vars(rate)})
    return RatesWithJudge(series.name, pl.DataFrame(rows), missing)


def fill_missing(values: FloatArray) -> FloatArray:
    """Return the values with their mean where there is none: a constant there says nothing of the label."""
    finite = ~np.isnan(values)
    return np.where(finite, values, values[finite].mean() if finite.any() else 0.0)


DRAWS, MOST_DRAWN = 40, 10**6
"""Times that every item's votes are drawn anew; of many items fewer, down to once, so that no more are drawn in all."""

LEAST_MOVE = 0.1


@dataclass(frozen=True)
class JudgesPilot:
    """Two judges, first less second, on the items that both were asked and people rated."""

    noun: Noun
    """Noun for what they judge."""
    names: tuple[Text, Text]
    items: tuple[str, ...]
    """Their ids."""
    verdicts: tuple[FloatArray, FloatArray]
    """First answers of a judge that was asked several times."""
    safe: IntArray
    votes: IntArray
    query: IntArray

    @property
    def discordance(self) -> float:
        """The share of items on which their accuracy differs."""
        return float(np.mean(self.verdicts[0] != self.verdicts[1]))

    def differences(self) -> QueryDifferences:
        """Return the differences of the accuracy against the votes as they are."""
        return self.against(majority_weight(self.safe, self.votes), self.query)

    def differences_with(self, people: float, rng: np.random.Generator) -> QueryDifferences:
        """Return the differences with `people` times as many ratings of each item: new votes from the item's likely rates."""
        rates = rate_posteriors(self.safe, self.votes)
        steps = rates.posterior.cumsum(1)[rates.kind]
        draws = max(1, min(DRAWS, MOST_DRAWN // len(steps)))
        drawn = np.stack([(rng.random((len(steps), 1)) > steps).sum(1) for _ in range(draws)])
        rate = rates.grid[np.minimum(drawn, len(rates.grid) - 1)]
        votes = np.rint(self.votes * people).astype(int)
        weight = majority_weight(rng.binomial(votes, rate), votes)
        cluster = self.query + np.arange(draws)[:, None] * (self.query.max() + 1)
        return self.against(weight.ravel(), cluster.ravel())

    def in_doubt(self) -> dict[str, float]:
        """Return the items on which the judges differ, and how far their labels may move with twice as many ratings.

        More ratings say nothing of the judges anywhere else. The likeliest to move come first; those that move by less than a
        tenth in expectation are left out.
        """
        rates = rate_posteriors(self.safe, self.votes)
        _, first = np.unique(rates.kind, return_index=True)
        size = 2 * self.votes[first][:, None]
        safe = (rates.posterior * chance_of_majority(rates.grid, size)).sum(axis=1)[rates.kind]
        moves = np.abs(majority_weight(self.safe, self.votes) - safe) * (self.verdicts[0] != self.verdicts[1])
        order = np.argsort(-moves, kind="stable")
        return {self.items[place]: float(moves[place]) for place in order if moves[place] >= LEAST_MOVE}

    def against(self, weight: FloatArray, query: IntArray) -> QueryDifferences:
        first, second = (right_weight(np.resize(verdicts, len(weight)), weight) for verdicts in self.verdicts)
        return query_differences(first, second, clusters=query)


def pilot_of(judged: Sequence[AnyRun], *, benchmark: Source | None = None) -> JudgesPilot:
    """Return two runs, or one run of two judges, arms or elicitations, as a pilot.

    Raises DataError, BenchmarkError: a folder is no run, or they are over different benchmarks. ConfigurationError:
    they hold more or fewer than two series. StatisticsError: no item was asked of both and rated.
    """
    runs = read_runs(judged, benchmark=benchmark)
    if len(runs.series) != 2:
        available = ", ".join(series.name for series in runs.series)
        raise ConfigurationError(f"--from needs two judges, asked in one way each; these runs hold {available}")
    first, second = (runs.whole_sample(series) for series in runs.series)
    shared = runs.series[0].asked & runs.series[1].asked & (runs.items["n_votes"].to_numpy() > 0)
    if not shared.any():
        raise StatisticsError("no item was asked of both judges and rated by people")
    safe, votes = (runs.items[name].to_numpy()[shared].astype(np.int64) for name in ("n_safe", "n_votes"))
    query = np.unique(first.cluster[shared], return_inverse=True)[1].astype(np.int64)
    names = (runs.series[0].name, runs.series[1].name)
    items = tuple(runs.items["item_id"].to_numpy()[shared].tolist())
    return JudgesPilot(
        noun_of(runs.benchmark),
        names,
        items,
        (first.each_answer[0].safe[shared], second.each_answer[0].safe[shared]),
        safe,
        votes,
        query,
    )
