"""Ratings as arrays of whole numbers, checked once, so that every analysis starts from the same thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from casewise.errors import StatisticsError
from casewise.records import CONDITIONS, ShortRepr
from casewise.stats.core.arrays import BoolArray, Counts, FloatArray, IntArray
from casewise.stats.core.raters import Raters

__all__ = ["COLUMNS", "CodedRatings", "code_ratings"]

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
    strata: dict[str, Coded]
    """Of each rating: what was known of its annotator when they were recruited."""
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
            strata={name: column.where(some) for name, column in self.strata.items()},
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


def code_ratings(
    frame: pl.DataFrame, *, strata: Sequence[str] = (), crossed: bool = False, source: Path | str = "ratings"
) -> CodedRatings:
    """Check a table of ratings and code it.

    `frame`: `item_id`, `query_id`, `condition`, `verdict` ("safe" or "unsafe"), and where known
        `category`, `annotator_id`, `seconds` and `finished` (whether the annotator rated all that was assigned).
    `strata`: further columns that say what was known of the annotators.
    `crossed`: whether annotators may rate under several conditions. In a between-subjects design they must not.
    `source`: named in errors.

    Raises StatisticsError: a column is missing, a value is empty or no verdict (with its row), a rating stands twice,
    an item has two queries or conditions, or an annotator of a between-subjects design saw two conditions.
    """
    _check_columns(frame, strata, source)
    item, query, condition = (_coded(frame[name]) for name in ("item_id", "query_id", "condition"))
    annotator = _annotators(frame, source)
    if annotator is not None:
        _check_once(item, annotator, source)
        if not crossed:
            _check_between(condition, annotator, source)
    condition = _in_order(condition)
    return CodedRatings(
        safe=(frame["verdict"] == "safe").to_numpy(),
        item=item,
        query=query,
        condition=condition,
        annotator=annotator,
        category=_category_of_queries(frame, query, source),
        seconds=_seconds(frame),
        strata={name: _coded(frame[name].cast(pl.String).fill_null("not known")) for name in strata},
        item_query=_one_each(item, query, "query", source),
        item_condition=_one_each(item, condition, "condition", source),
        finished=_finished(frame),
    )


def _check_columns(frame: pl.DataFrame, strata: Sequence[str], source: Path | str) -> None:
    missing = [name for name in (*COLUMNS, *strata) if name not in frame.columns]
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


def _annotators(frame: pl.DataFrame, source: Path | str) -> Coded | None:
    if "annotator_id" not in frame.columns or frame["annotator_id"].is_null().all():
        return None
    empty = frame["annotator_id"].is_null()
    if empty.any():
        raise StatisticsError(
            f"{source}: row {_row(empty)}: 'annotator_id' is empty, but other rows name one; name all or none"
        )
    return _coded(frame["annotator_id"])


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
    who = pairs // len(condition)
    several = np.flatnonzero(np.bincount(who) > 1)
    if len(several):
        seen = [condition.names[int(pair % len(condition))] for pair in pairs[who == several[0]]]
        raise StatisticsError(
            f"{source}: annotator {annotator.names[several[0]]!r} rated under {' and '.join(seen)}, but in a "
            f"between-subjects design everyone has one condition ({len(several):,} such annotators); remove them, or "
            "say that the design is crossed (--crossed)"
        )


def _in_order(condition: Coded) -> Coded:
    """The paper's conditions in the paper's order, then the others by name."""
    known = [name for name in CONDITIONS if name in condition.names]
    names = (*known, *(name for name in condition.names if name not in known))
    place = np.array([names.index(name) for name in condition.names])
    return Coded(names, place[condition.codes])


def _one_each(item: Coded, parent: Coded, what: str, source: Path | str) -> IntArray:
    """The parent of each item, which must have only one."""
    of = np.full(len(item), -1, dtype=np.int64)
    of[item.codes] = parent.codes
    other = of[item.codes] != parent.codes
    if other.any():
        name = item.names[int(item.codes[other][0])]
        raise StatisticsError(f"{source}: item {name!r} stands with two values of {what!r}")
    return of


def _category_of_queries(frame: pl.DataFrame, query: Coded, source: Path | str) -> Coded | None:
    if "category" not in frame.columns or frame["category"].is_null().all():
        return None
    category = _coded(frame["category"].cast(pl.String).fill_null("none"))
    return Coded(category.names, _one_each(query, category, "category", source))


def _finished(frame: pl.DataFrame) -> BoolArray | None:
    if "finished" not in frame.columns or frame["finished"].is_null().all():
        return None
    return frame["finished"].cast(pl.Boolean).fill_null(value=False).to_numpy()


def _seconds(frame: pl.DataFrame) -> FloatArray | None:
    if "seconds" not in frame.columns or frame["seconds"].is_null().all():
        return None
    return frame["seconds"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
