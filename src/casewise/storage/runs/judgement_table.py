"""A run's judgements as a table, read in columns: a million lines without a million objects, and never re-hashed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import ValidationError

from casewise.errors import DataError
from casewise.records import ELICITATIONS, Judgement, UnscoredReason
from casewise.storage.files.jsonl import read_jsonl
from casewise.storage.runs.judgement_run import JUDGEMENT_LOG
from casewise.storage.runs.log_kind import last_records, last_rows

__all__ = ["GrowingLog", "judgement_table", "judgements_in_brief", "last_attempts", "that_count"]

OUTCOME = pl.Struct(
    {"kind": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "reason": pl.String}
)

SCHEMA: dict[str, pl.DataType] = {
    "item_id": pl.String(),
    "judge_id": pl.String(),
    "elicitation": pl.String(),
    "arm": pl.String(),
    "repeat": pl.Int32(),
    "attempt": pl.Int32(),
    "raw_reply": pl.String(),
    "outcome": OUTCOME,
    "latency_s": pl.Float64(),
    "model_version": pl.String(),
    "input_tokens": pl.Int64(),
    "output_tokens": pl.Int64(),
    "cost_usd": pl.Float64(),
    "shared_with": pl.String(),
    "read_as": pl.String(),
    "categories": pl.List(pl.String()),
}

IN_BRIEF = {
    name: SCHEMA[name]
    for name in (
        "item_id",
        "elicitation",
        "arm",
        "repeat",
        "attempt",
        "outcome",
        "input_tokens",
        "output_tokens",
        "cost_usd",
    )
}

BRIEF = (
    pl.col("item_id", "elicitation", "arm"),
    pl.col("repeat", "attempt").fill_null(0),
    pl.col("outcome").struct.field("kind", "reason"),
    pl.col("input_tokens", "output_tokens").fill_null(0),
    pl.col("cost_usd"),
)

WHOLE = (
    pl.col("item_id").is_not_null()
    & pl.col("arm").is_not_null()
    & pl.col("elicitation").is_in(ELICITATIONS)
    & ((pl.col("kind") == "scored") | ((pl.col("kind") == "unscored") & pl.col("reason").is_in(list(UnscoredReason))))
)

BLOCK = 1 << 23
"""Bytes of a log that are read at a time."""

LONG = ("item_id", "judge_id", "elicitation", "arm")


def judgement_table(
    path: Path, *, replies: Literal["leave", "keep"] = "leave", columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """The judgements of the log at `path`, every attempt a row.

    Columns are those of `Judgement`, with the outcome spread out into `value`, `low`, `high` and `unscored_reason`; or
    `columns` of these. Raw replies are left on disk unless `replies` is `keep`.

    Raises DataError: a line is no judgement; the message names it.
    """
    lines = blocks(path) if path.is_file() and path.stat().st_size else ()
    return parsed(path, lines, replies, columns)


def parsed(
    path: Path, lines: Iterable[bytes], replies: Literal["leave", "keep"], columns: Sequence[str] | None = None
) -> pl.DataFrame:
    parts = [spread(pl.DataFrame(schema=SCHEMA), replies).select(columns or pl.all())]
    try:
        for block in lines:
            part = spread(pl.read_ndjson(block, schema=SCHEMA), replies)
            if part.select(broken().any()).item():
                name_the_line(path)
            parts.append(part.select(columns or pl.all()))
    except pl.exceptions.PolarsError as error:
        name_the_line(path)
        raise DataError(path, None, f"cannot be read: {error}") from error
    return pl.concat(parts)


class GrowingLog:
    """A log of judgements to which somebody may be adding: each reading takes in what was appended since, and no more.

    What was read so far is its `table`, as `judgement_table` gives it, with replies.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.table, self._end = path, spread(pl.DataFrame(schema=SCHEMA), "keep"), 0

    def grown(self) -> bool:
        """Take in what was appended; whether there was anything.

        Raises DataError: a line is no judgement; the message names it.
        """
        size = self.path.stat().st_size if self.path.is_file() else 0
        if size < self._end:  # it was begun anew
            self.table, self._end = self.table.clear(), 0
        if size == self._end:
            return False
        lines = [block for block in blocks(self.path, self._end) if block.endswith(b"\n")]
        if not lines:
            return False
        self.table = pl.concat([self.table, parsed(self.path, lines, "keep")])
        self._end += sum(map(len, lines))
        return True


def blocks(path: Path, start: int = 0) -> Iterator[bytes]:
    """The log from a place on in blocks of whole lines, so that a million replies never lie in memory at once.

    A last line that a killed process left unfinished is left out.
    """
    left = b""
    with path.open("rb") as file:
        file.seek(start)
        while block := file.read(BLOCK):
            lines, end, rest = (left + block).rpartition(b"\n")
            if end:
                yield lines + end
            left = rest
    if left and is_whole(left):
        yield left


def judgements_in_brief(path: Path) -> pl.DataFrame:
    """The lines of a log without what was replied: what was asked (`item_id`, `elicitation`, `arm`, `repeat`), the `attempt`, its `place` in bytes,
    whether it is `usable` or failed for a `passing` reason, and the `tokens` and `cost_usd` that it took.

    A last line without its line break is passed over.

    Raises DataError: a line is no judgement; the message names it.
    """
    parts, start = [in_brief(pl.DataFrame(schema=IN_BRIEF).select(BRIEF), np.zeros(0, dtype=np.int64))], 0
    for block in blocks(path):
        ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")) + 1
        if not block.endswith(b"\n"):
            break
        try:
            table = pl.read_ndjson(block, schema=IN_BRIEF).select(BRIEF)
        except pl.exceptions.PolarsError as error:
            name_the_line(path)
            raise DataError(path, None, f"cannot be read: {error}") from error
        if len(table) != len(ends) or table.select((~WHOLE.fill_null(value=False)).any()).item():
            name_the_line(path)
            raise DataError(path, None, "holds a line that is no judgement")
        parts.append(in_brief(table, start + np.concatenate([[0], ends[:-1]])))
        start += len(block)
    return pl.concat(parts)


def in_brief(table: pl.DataFrame, places: NDArray[np.int64]) -> pl.DataFrame:
    return table.select(
        "item_id",
        "elicitation",
        "arm",
        "repeat",
        "attempt",
        place=pl.Series(places),
        usable=pl.col("kind") == "scored",
        passing=(pl.col("reason") == UnscoredReason.UNAVAILABLE.value).fill_null(value=False),
        tokens=pl.col("input_tokens") + pl.col("output_tokens"),
        cost_usd="cost_usd",
    )


def is_whole(line: bytes) -> bool:
    try:
        Judgement.model_validate_json(line, strict=True)
    except ValidationError:
        return False
    return True


def broken() -> pl.Expr:
    """Whether a row is no judgement, as far as the columns tell."""
    kind, reason = pl.col("kind").cast(pl.String), pl.col("unscored_reason").cast(pl.String)
    scored = (kind == "scored") & pl.col("value").is_not_null() & reason.is_null()
    unscored = (kind == "unscored") & reason.is_in(list(UnscoredReason)) & pl.col("value").is_null()
    asked = pl.col("elicitation").cast(pl.String).is_in(ELICITATIONS) & pl.col("arm").is_not_null()
    whole = pl.col("item_id").is_not_null() & pl.col("judge_id").is_not_null() & asked & (scored | unscored)
    return ~whole.fill_null(value=False)


def wanted(replies: str) -> list[pl.Expr]:
    outcome = pl.col("outcome").struct
    kept = [pl.col(name) for name in SCHEMA if name not in ("outcome", "raw_reply", *LONG, "repeat", "attempt")]
    return [
        *(pl.col(name).cast(pl.Categorical if name != "item_id" else pl.String) for name in LONG),
        pl.col("repeat").fill_null(0),
        pl.col("attempt").fill_null(0),
        outcome.field("kind").cast(pl.Categorical),
        outcome.field("value"),
        outcome.field("low"),
        outcome.field("high"),
        outcome.field("reason").cast(pl.Categorical).alias("unscored_reason"),
        *kept,
        *([pl.col("raw_reply")] if replies == "keep" else []),
    ]


def spread(empty: pl.DataFrame, replies: str) -> pl.DataFrame:
    return empty.select(wanted(replies))


def name_the_line(path: Path) -> None:
    """Read line by line, as the columns could not: the first bad line raises an error that names it."""
    for _ in read_jsonl(path, Judgement):
        pass


def last_attempts(table: pl.DataFrame) -> pl.DataFrame:
    """One row a judgement asked for: of several attempts, the last one counts."""
    return last_rows(table, [*LONG, "repeat"])


def that_count(path: Path) -> Iterable[Judgement]:
    """The judgements of the log at `path` that count, in the order in which their asks were first answered.

    Where none was asked again each is read when it is come to, and none is held.
    """
    asked = judgement_table(path, columns=[*LONG, "repeat", "attempt"])
    every = read_jsonl(path, Judgement)
    return every if len(last_attempts(asked)) == len(asked) else last_records(every, JUDGEMENT_LOG)
