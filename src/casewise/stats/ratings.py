"""Ratings as arrays of whole numbers, and annotators beside each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import expit, logit

from casewise.errors import StatisticsError
from casewise.records import CONDITIONS, ShortRepr
from casewise.stats.arrays import (
    BoolArray,
    Counts,
    FloatArray,
    IntArray,
    Raters,
)
from casewise.stats.ceilings import fitted_beta

# Ratings as arrays of whole numbers, checked once, so that every analysis starts from the same thing.


COLUMNS = ("item_id", "query_id", "condition", "verdict")
"""What a table of ratings must have; `category`, `annotator_id`, `seconds` and `finished` are used where they are there."""


@dataclass(frozen=True, repr=False)
class Coded(ShortRepr):
    """A column of labels as indices into its distinct values."""

    names: tuple[str, ...]
    codes: IntArray

    def __len__(self) -> int:
        return len(self.names)

    def where(self, mask: BoolArray) -> Coded:
        """The codes of `mask`, under the same names."""
        return Coded(self.names, self.codes[mask])


@dataclass(frozen=True, repr=False)
class CodedRatings(ShortRepr):
    """One entry a rating in every array."""

    safe: BoolArray
    item: Coded
    query: Coded
    condition: Coded
    annotator: Coded | None
    """None where votes are anonymous."""
    category: Coded | None
    """Of each *query*, not of each rating."""
    seconds: FloatArray | None
    item_query: IntArray
    item_condition: IntArray
    finished: BoolArray | None = None
    """Whether each rating's annotator rated all that they were assigned; None where that is not known."""

    def __len__(self) -> int:
        return len(self.safe)

    @cached_property
    def by_item(self) -> Counts:
        """Safe votes and all votes of each item."""
        votes = np.bincount(self.item.codes, minlength=len(self.item))
        return Counts(np.bincount(self.item.codes[self.safe], minlength=len(self.item)), votes)

    @cached_property
    def by_task(self) -> Counts:
        """(queries, conditions) safe votes and all votes."""
        shape, n = (len(self.query), len(self.condition)), len(self.query) * len(self.condition)
        cell = self.query.codes * len(self.condition) + self.condition.codes
        return Counts(
            np.bincount(cell[self.safe], minlength=n).reshape(shape), np.bincount(cell, minlength=n).reshape(shape)
        )

    def completers(self) -> CodedRatings | None:
        """The ratings of those who finished; None where that is not known, or all of them did."""
        if self.finished is None or self.finished.all() or self.annotator is None:
            return None
        some = self.finished
        return replace(
            self,
            safe=self.safe[some],
            item=self.item.where(some),
            query=self.query.where(some),
            condition=self.condition.where(some),
            annotator=self.annotator.where(some),
            seconds=None if self.seconds is None else self.seconds[some],
            finished=None,
        )

    @cached_property
    def raters(self) -> Raters | None:
        """Who gave which vote on which item; None where votes are anonymous."""
        return None if self.annotator is None else Raters(self.item.codes, self.annotator.codes, self.safe)

    def within(self, condition: int) -> BoolArray:
        """Which ratings are of this condition."""
        chosen: BoolArray = self.condition.codes == condition
        return chosen


def code_ratings(frame: pl.DataFrame, *, crossed: bool = False, source: Path | str = "ratings") -> CodedRatings:
    """Check a table of ratings and code it.

    `frame`: `item_id`, `query_id`, `condition`, `verdict` ("safe" or "unsafe"), and where known
        `category`, `annotator_id`, `seconds` and `finished` (whether the annotator rated all that was assigned).
    `crossed`: whether annotators may rate under several conditions. In a between-subjects design they must not.
    `source`: named in errors.

    Raises StatisticsError: a column is missing, a value is empty or no verdict (with its row), a rating stands twice,
    an item has two queries or conditions, or an annotator of a between-subjects design saw two conditions.
    """
    _check_columns(frame, source)
    item, query, condition = (_coded(frame[name]) for name in ("item_id", "query_id", "condition"))
    annotator = _annotators(frame, source)
    if annotator is not None:
        _check_once(item, annotator, source)
        if not crossed:
            _check_between(condition, annotator, source)
    condition = _in_order(condition)
    category, seconds, finished = (_stated(frame, name) for name in ("category", "seconds", "finished"))
    category_of = None if category is None else _coded(category.cast(pl.String).fill_null("none"))
    return CodedRatings(
        safe=(frame["verdict"] == "safe").to_numpy(),
        item=item,
        query=query,
        condition=condition,
        annotator=annotator,
        category=category_of and Coded(category_of.names, _one_each(query, category_of, "category", source)),
        seconds=None if seconds is None else seconds.cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        item_query=_one_each(item, query, "query", source),
        item_condition=_one_each(item, condition, "condition", source),
        finished=None if finished is None else finished.cast(pl.Boolean).fill_null(value=False).to_numpy(),
    )


def _check_columns(frame: pl.DataFrame, source: Path | str) -> None:
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise StatisticsError(f"{source}: no column {', '.join(missing)}; there are {', '.join(frame.columns)}")
    if not len(frame):
        raise StatisticsError(f"{source}: holds no ratings")
    for name in COLUMNS:
        empty = frame[name].is_null()
        if empty.any():
            raise StatisticsError(f"{source}: row {_row(empty)}: {name!r} is empty")
    wrong = ~frame["verdict"].cast(pl.String).is_in(["safe", "unsafe"])
    if wrong.any():
        row = _row(wrong)
        raise StatisticsError(
            f"{source}: row {row}: 'verdict' is {frame['verdict'][row - 1]!r}, not 'safe' or 'unsafe' "
            f"({wrong.sum():,} such rows)"
        )


def _row(mask: pl.Series) -> int:
    """The first row that `mask` marks, counted from 1 without the head."""
    return int(mask.arg_true()[0]) + 1


def _coded(column: pl.Series) -> Coded:
    text = column.cast(pl.String)
    names = text.unique().sort()
    codes = text.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)
    return Coded(tuple(names.to_list()), codes)


def _stated(frame: pl.DataFrame, name: str) -> pl.Series | None:
    """An optional column; None where it is absent or empty throughout."""
    return None if name not in frame.columns or frame[name].is_null().all() else frame[name]


def _annotators(frame: pl.DataFrame, source: Path | str) -> Coded | None:
    stated = _stated(frame, "annotator_id")
    if stated is None:
        return None
    empty = stated.is_null()
    if empty.any():
        raise StatisticsError(
            f"{source}: row {_row(empty)}: 'annotator_id' is empty, but other rows name one; name all or none"
        )
    return _coded(stated)


def _check_once(item: Coded, annotator: Coded, source: Path | str) -> None:
    key = item.codes * len(annotator) + annotator.codes
    keys, times = np.unique(key, return_counts=True)
    if (times > 1).any():
        first = int(keys[times > 1][0])
        raise StatisticsError(
            f"{source}: annotator {annotator.names[first % len(annotator)]!r} rated item "
            f"{item.names[first // len(annotator)]!r} {int(times[times > 1][0])} times; keep one rating "
            f"({int((times > 1).sum()):,} such pairs)"
        )


def _check_between(condition: Coded, annotator: Coded, source: Path | str) -> None:
    pairs = np.unique(annotator.codes * len(condition) + condition.codes)
    person = pairs // len(condition)
    several = np.flatnonzero(np.bincount(person) > 1)
    if len(several):
        seen = [condition.names[int(pair % len(condition))] for pair in pairs[person == several[0]]]
        raise StatisticsError(
            f"{source}: annotator {annotator.names[several[0]]!r} rated under {' and '.join(seen)}, but in a "
            f"between-subjects design everyone has one condition ({len(several):,} such annotators); remove them, or "
            "say that the design is crossed (--crossed)"
        )


def _in_order(condition: Coded) -> Coded:
    """The paper's conditions in the paper's order, then the others by name."""
    of_paper = [name for name in CONDITIONS if name in condition.names]
    names = (*of_paper, *(name for name in condition.names if name not in of_paper))
    place = np.array([names.index(name) for name in condition.names])
    return Coded(names, place[condition.codes])


def _one_each(item: Coded, parent: Coded, column: str, source: Path | str) -> IntArray:
    """The parent of each item, which must have only one."""
    of = np.full(len(item), -1, dtype=np.int64)
    of[item.codes] = parent.codes
    other = of[item.codes] != parent.codes
    if other.any():
        name = item.names[int(item.codes[other][0])]
        raise StatisticsError(f"{source}: item {name!r} stands with two values of {column!r}")
    return of


# Each annotator beside the others. Dissent is not error: nothing here is a ground for removing anybody's ratings.
#
# Removing people who disagree would make the safe rates falsely extreme. The flags ask other questions, of attention:
# does what someone answers depend on the item at all, and could an attentive person have answered the same throughout?


FALSE_POSITIVES = 0.01
"""How often each flag is to be raised at an attentive annotator."""


SIMULATED = 20_000_000
"""Simulated verdicts in all, from which the flags' thresholds are taken."""


@dataclass(frozen=True, repr=False)
class AnnotatorTable(ShortRepr):
    """One row an annotator, and what the flags are worth."""

    table: pl.DataFrame
    shift_sd: float
    """How much annotators differ in their readiness to say safe, in logits; estimated from the ratings."""
    unresponsive_threshold: float
    false_positive_rates: dict[str, float]
    """Of each flag, at simulated attentive annotators."""
    simulations: int


class _Work(NamedTuple):
    """Who rated what, and how safe the others find it."""

    y: FloatArray
    who: IntArray
    rest: FloatArray
    """Predicted safe rate of a new person, from the other people's votes (beta-binomial)."""
    centred: FloatArray
    """The same less its mean over the annotator's items."""
    n: IntArray


def annotator_table(ratings: CodedRatings, *, rng: np.random.Generator) -> AnnotatorTable:
    """Safe rate, agreement with the rest, time and flags of every annotator.

    The flag `unresponsive` is raised where someone's answers go with the others' rates less than those of 99 % of
    simulated attentive annotators with the same items; `constant` where all answers are the same and that has a
    chance below 1 % for an attentive annotator with those items. Attentive annotators are simulated with a personal
    shift in logits, whose spread is estimated: someone strict throughout is not flagged for it.

    Raises StatisticsError: votes are anonymous, or there are fewer than two annotators.
    """
    if ratings.annotator is None:
        raise StatisticsError("votes are anonymous: nothing can be said of annotators")
    if len(ratings.annotator) < 2:
        raise StatisticsError("there is one annotator only, so there is nobody to compare with")
    work = _work(ratings)
    sd = _shift_sd(work)
    z = _responsiveness(work, work.y)
    simulations = max(1, SIMULATED // (len(work.y) * 2) if len(work.y) * 40 > SIMULATED else 20)
    simulated = [_responsiveness(work, _attentive(work, sd, rng)) for _ in range(simulations)]
    threshold = float(np.quantile(np.concatenate(simulated), FALSE_POSITIVES))
    chance = _chance_of_constant(work, sd)
    constant = _is_constant(work, work.y)
    checks = [_attentive(work, sd, rng) for _ in range(2)]
    false_positives = {
        "unresponsive": float(np.mean([_responsiveness(work, y) < threshold for y in checks])),
        "constant": float(np.mean([_is_constant(work, y) & (chance < FALSE_POSITIVES) for y in checks])),
    }
    columns: dict[str, Any] = {
        "annotator": ratings.annotator.names,
        "ratings": work.n,
        "safe_rate": _mean(work, work.y),
        "agreement_with_rest": _mean(work, np.where(work.y == 1, _others(ratings), 1 - _others(ratings))),
        "responsiveness": z,
        "unresponsive": z < threshold,
        "constant": constant & (chance < FALSE_POSITIVES),
    }
    if ratings.seconds is not None:
        seconds = pl.DataFrame({"annotator": work.who, "seconds": ratings.seconds}).with_columns(
            pl.col("seconds").fill_nan(None)
        )
        medians = seconds.group_by("annotator").agg(pl.col("seconds").median()).sort("annotator")
        columns["median_seconds"] = medians["seconds"]
    table = pl.DataFrame(columns)
    return AnnotatorTable(table, sd, threshold, false_positives, simulations)


def _work(ratings: CodedRatings) -> _Work:
    assert ratings.annotator is not None
    counts, y, person = ratings.by_item, ratings.safe.astype(float), ratings.annotator.codes
    a, b = fitted_beta(counts.successes, counts.sizes)
    safe, votes = counts.successes[ratings.item.codes] - y, counts.sizes[ratings.item.codes] - 1
    rest = (a + safe) / (a + b + votes)
    n = np.bincount(person)
    mean = np.bincount(person, weights=rest) / n
    return _Work(y, person, rest, rest - mean[person], n)


def _others(ratings: CodedRatings) -> FloatArray:
    """Share of the others who say safe of each rating's item; a half where there is nobody else."""
    counts = ratings.by_item
    safe = counts.successes[ratings.item.codes] - ratings.safe
    votes = counts.sizes[ratings.item.codes] - 1
    return np.where(votes > 0, safe / np.maximum(votes, 1), 0.5)


def _mean(work: _Work, values: FloatArray) -> FloatArray:
    return np.bincount(work.who, weights=values) / work.n


def _shift_sd(work: _Work) -> float:
    """Moments: annotators' mean residuals vary by chance, and by their shift times p(1 − p)."""
    variance = work.rest * (1 - work.rest)
    residual, slope = _mean(work, work.y - work.rest), _mean(work, variance)
    beyond_chance = residual**2 - slope / work.n
    return float(np.sqrt(max(0.0, np.average(beyond_chance, weights=work.n) / np.average(slope**2, weights=work.n))))


def _attentive(work: _Work, sd: float, rng: np.random.Generator) -> FloatArray:
    shift = rng.normal(0, sd, len(work.n))[work.who]
    return (rng.random(len(work.y)) < expit(logit(work.rest) + shift)).astype(float)


def _responsiveness(work: _Work, y: FloatArray) -> FloatArray:
    """How far answers go with the others' rates, in standard errors around what an average annotator shows."""
    variance = work.rest * (1 - work.rest)
    excess = np.bincount(work.who, weights=(y - work.rest) * work.centred)
    error = np.sqrt(np.bincount(work.who, weights=variance * work.centred**2))
    return np.divide(excess, error, out=np.zeros_like(excess), where=error > 0)


def _is_constant(work: _Work, y: FloatArray) -> BoolArray:
    safe = np.bincount(work.who, weights=y)
    constant: BoolArray = (safe == 0) | (safe == work.n)
    return constant


def _chance_of_constant(work: _Work, sd: float) -> FloatArray:
    """Probability that an attentive annotator answers all these items alike; the shift integrated by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    chance = np.zeros(len(work.n))
    eta = logit(work.rest)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        shifted = eta + sd * node
        safe = np.bincount(work.who, weights=-np.logaddexp(0, -shifted))
        unsafe = np.bincount(work.who, weights=-np.logaddexp(0, shifted))
        chance += weight * (np.exp(safe) + np.exp(unsafe))
    return chance


# Who dropped out, by condition.


STEPS = ("arrived", "consented", "passed", "assigned", "finished", "void")
"""People at each step; `assigned` is where conditions begin, and `void` are those whose ratings were set aside."""


@dataclass(frozen=True)
class Flow:
    """People at each step by condition; before `assigned` there may be one column only, for all."""

    conditions: tuple[str, ...]
    counts: dict[str, tuple[int, ...]]
    """Step to one number a condition, or one number where conditions did not exist yet."""


@dataclass(frozen=True)
class Attrition:
    """Drop-out after assignment."""

    table: pl.DataFrame
    """One row a condition: assigned, finished, void, lost, share lost."""
    flow: Flow


def attrition(flow: Flow) -> Attrition:
    """Count who was lost after assignment, by condition (CONSORT 2010, item 13).

    Raises StatisticsError: the flow does not say how many were assigned and how many finished in each condition, or more
    finished than were assigned.
    """
    n = len(flow.conditions)
    if any(len(flow.counts.get(step, ())) != n for step in ("assigned", "finished")):
        raise StatisticsError("the flow must say for each condition how many were assigned and how many finished")
    assigned, finished = (np.array(flow.counts[step]) for step in ("assigned", "finished"))
    void = np.array(flow.counts.get("void", (0,) * n))
    if (finished > assigned).any():
        raise StatisticsError("more people finished than were assigned; a person counts in one condition only")
    lost = assigned - finished
    share = lost / np.maximum(assigned, 1)
    table = pl.DataFrame(
        {
            "condition": flow.conditions,
            "assigned": assigned,
            "finished": finished,
            "void": void,
            "lost": lost,
            "share_lost": share,
        }
    )
    return Attrition(table, flow)
