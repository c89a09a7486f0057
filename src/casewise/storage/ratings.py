"""Ratings by column: votes of an item, and ratings with their annotators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.records import Rating, RatingScale, Vote
from casewise.storage.columns import Columns, places_among, schema

VERDICTS = pl.Enum(get_args(Vote))

RATING_COLUMNS: dict[str, pl.DataType] = {
    "item": pl.UInt32(),
    "annotator": pl.UInt32(),
    "position": pl.Int64(),
    "verdict": VERDICTS,
    "value": pl.Float64(),
    "seconds": pl.Float64(),
    "at": pl.String(),
}
"""Columns of a table of ratings; items and annotators as places in their lists of ids, times as ISO 8601 writes them."""

BLOCK = 65_536

BLOCK_BYTES = 32 * 2**20
"""Of a file that is read in columns."""

NEVER_IN_JSON = "\x1f"
"""A byte that no JSON text holds as it is, so that a line stays one column."""

NUMBER = r"-?(?:0|[1-9][0-9]{0,15})\.[0-9]{1,25}"

LINE = (
    r'^\{"item_id":"(?P<item_id>[^"\\\x00-\x1f]*)"(?:,"annotator_id":"(?P<annotator_id>[^"\\\x00-\x1f]*)")?'
    r'(?:,"position":(?P<position>0|[1-9][0-9]{0,15}))?(?:,"verdict":"(?P<verdict>safe|unsafe|unsure)")?'
    rf'(?:,"value":(?P<value>{NUMBER}))?(?:,"seconds":(?P<seconds>{NUMBER}))?\}}$'
)
"""A rating as `Record.line` writes it."""


@dataclass(frozen=True)
class RatingArrays:
    """The ratings that say safe or unsafe as arrays of one length, in their order."""

    item: NDArray[np.intp]
    """(ratings,) integers: place of the rating's item among the items asked about."""
    annotator: NDArray[np.intp]
    """(ratings,) integers: place among `annotators`; -1 where the annotator is not known."""
    position: NDArray[np.intp]
    """(ratings,) integers: place in a vote string; -1 where there is none."""
    safe: NDArray[np.bool_]
    """(ratings,) booleans."""
    annotators: tuple[str, ...]
    """tuple of str: ids of all annotators, in the order in which they first appear."""


class RatingColumns(Columns[Rating]):
    """The ratings of a benchmark, in their order.

    `table`: columns of `RATING_COLUMNS`.
    `items`, `annotators`: the ids that the columns `item` and `annotator` point to, each once, in the order of first
        appearance.
    """

    def __init__(self, table: pl.DataFrame, *, items: Sequence[str] | pl.Series, annotators: Sequence[str]) -> None:
        self.table = table
        self.item_ids = items if isinstance(items, pl.Series) else pl.Series(items, dtype=pl.String)
        self.annotators = tuple(annotators)

    @cached_property
    def items(self) -> tuple[str, ...]:
        return tuple(self.item_ids)

    @classmethod
    def of(cls, ratings: Iterable[Rating]) -> RatingColumns:
        """The same ratings in columns; they are read once, and not kept."""
        if isinstance(ratings, RatingColumns):
            return ratings
        fields = ("item_id", "annotator_id", "position", "verdict", "value", "seconds")
        rows = (
            (*(getattr(rating, name) for name in fields), None if rating.at is None else rating.at.isoformat())
            for rating in ratings
        )
        blocks = iter(lambda: list(islice(rows, BLOCK)), [])
        return cls._coded(pl.DataFrame(block, schema=schema(Rating), orient="row") for block in blocks)

    @classmethod
    def _coded(cls, blocks: Iterable[pl.DataFrame]) -> RatingColumns:
        """The ratings in blocks of rows with the fields of `Rating`."""
        items: dict[str, int] = {}
        annotators: dict[str, int] = {}
        tables = [pl.DataFrame(schema=RATING_COLUMNS)]
        for block in blocks:
            codes = {
                "item": numbered_in(block["item_id"], items),
                "annotator": numbered_in(block["annotator_id"], annotators),
            }
            tables.append(block.with_columns(**codes).select(*RATING_COLUMNS).cast(pl.Schema(RATING_COLUMNS)))
        return cls(pl.concat(tables, rechunk=True), items=tuple(items), annotators=tuple(annotators))

    @classmethod
    def plainly_written(cls, path: Path) -> RatingColumns | None:
        """The ratings of a JSONL file each of whose lines is as casewise writes them, without times; None of another file.

        Such lines need no parser and no record, which is a tenth of the time: what does not match `LINE` to the letter is
        read, and explained, one by one.
        """
        try:
            with path.open("rb") as file:
                return cls._coded(map(plain_table, iter(lambda: file.readlines(BLOCK_BYTES), [])))
        except (OSError, pl.exceptions.PolarsError, NotPlain):
            return None

    def _record(self, row: tuple[Any, ...]) -> Rating:
        item, annotator, position, verdict, value, seconds, at = row
        return Rating(
            item_id=self.items[item],
            annotator_id=None if annotator is None else self.annotators[annotator],
            position=position,
            verdict=verdict,
            value=value,
            seconds=seconds,
            at=None if at is None else datetime.fromisoformat(at),
        )

    @property
    def written(self) -> pl.DataFrame:
        """A row a rating, with the fields of `Rating` in their order, written as its JSON has them."""
        people = pl.Series(self.annotators, dtype=pl.String)
        return self.table.select(
            item_id=self.item_ids.gather(self.table["item"]),
            annotator_id=people.gather(self.table["annotator"]),
            position="position",
            verdict="verdict",
            value="value",
            seconds="seconds",
            at=pl.col("at").str.replace(r"\+00:00$", "Z"),
        )

    def first_repeated_key(self) -> tuple[str, str] | None:
        """The key of a rating that stands twice, or None: an annotator rates an item once, and a place is filled once."""
        is_named = self.table["annotator"].is_in([code for code, name in enumerate(self.annotators) if name])
        key = self.table.select(
            "item",
            annotator=pl.when(is_named).then("annotator"),
            position=pl.when(~is_named.fill_null(value=False)).then("position"),
        )
        again = key.is_duplicated()
        return self[int(again.arg_max() or 0)].key if again.any() else None

    def per_item(self, items: pl.Series) -> pl.DataFrame:
        """Return the votes on each of the items with these ids: `n_safe`, `n_votes` (safe and unsafe ones), `n_unsure`; and of
        values on the scale `n_values` and the `mean`, null without any."""
        vote, value = pl.col("verdict"), pl.col("value")
        counts = {
            "n_safe": (vote == "safe").sum(),
            "n_votes": (vote != "unsure").sum(),
            "n_unsure": (vote == "unsure").sum(),
            "n_values": value.count(),
        }
        rated = self.table.group_by("item").agg(**counts, mean=value.mean())
        codes = places_among(self.item_ids, items).alias("item").to_frame()
        rows = codes.join(rated, on="item", how="left", maintain_order="left")
        return rows.select(pl.col(*counts).fill_null(0), "mean")

    def arrays(self, items: pl.Series) -> RatingArrays:
        """The ratings that say safe or unsafe of the items with these ids, with each item's place among them."""
        item, votes = self.places(items), self.table["verdict"]
        has_verdict = (item >= 0) & votes.is_in(["safe", "unsafe"]).fill_null(value=False).to_numpy()
        return RatingArrays(
            item[has_verdict],
            whole(self.table["annotator"])[has_verdict],
            whole(self.table["position"])[has_verdict],
            (votes == "safe").fill_null(value=False).to_numpy()[has_verdict],
            self.annotators,
        )

    def places(self, items: pl.Series) -> NDArray[np.intp]:
        """The place of each rating's item among those with these ids, each of which stands once; -1 where it is none of them."""
        place: NDArray[np.intp] = whole(places_among(items, self.item_ids))[self.table["item"].to_numpy()]
        return place

    def with_cut(self, scale: RatingScale) -> RatingColumns:
        """The same with a verdict from the scale's cut for each value that has none."""
        open_ = self.table["verdict"].is_null() & self.table["value"].is_not_null()
        if scale.cut is None or not open_.any():
            return self
        verdict = (
            pl.when(scale.is_safe(pl.col("value"))).then(pl.lit("safe", VERDICTS)).otherwise(pl.lit("unsafe", VERDICTS))
        )
        table = self.table.with_columns(verdict=pl.when(open_).then(verdict).otherwise("verdict"))
        return RatingColumns(table, items=self.item_ids, annotators=self.annotators)

    def of_items(self, items: Iterable[str]) -> RatingColumns:
        """The ratings of these items alone."""
        table = self.table.filter(self.item_ids.is_in(list(items)).gather(self.table["item"]))
        codes, people = (table[name].drop_nulls().unique(maintain_order=True) for name in ("item", "annotator"))
        renumbered = table.with_columns(
            item=renumber(table["item"], codes), annotator=renumber(table["annotator"], people)
        )
        annotators = [self.annotators[code] for code in people]
        return RatingColumns(renumbered, items=self.item_ids.gather(codes), annotators=annotators)

    def lines(self) -> Iterator[str]:
        """Item id, rater, verdict and value of the ratings, a tab between and a line each, in the order of their text, in blocks.

        The rater is said as `Rating.key` says it, and what a rating does not state is left out. A benchmark's digest is
        over these.
        """
        people = pl.Series([f"annotator:{name}" if name else None for name in self.annotators], dtype=pl.String)
        rater = people.gather(self.table["annotator"])
        place = self.table.select("position:" + pl.col("position").cast(pl.String).fill_null("None")).to_series()
        keys = pl.DataFrame(
            {
                "item_id": self.item_ids.gather(self.table["item"]),
                "rater": rater.zip_with(rater.is_not_null(), place),
                "verdict": self.table["verdict"].cast(pl.String),
                "value": self.table["value"].cast(pl.String),
            }
        )
        for block in keys.sort(keys.columns).iter_slices(BLOCK):
            yield "".join(block.select(pl.concat_str(pl.all(), separator="\t", ignore_nulls=True) + "\n").to_series())


class NotPlain(Exception):
    """A line is not in the form that casewise writes; whoever catches it reads the file line by line."""


def plain_table(lines: list[bytes]) -> pl.DataFrame:
    """The ratings of some lines, with the fields of `Rating`."""
    table = pl.read_csv(
        b"".join(lines),
        has_header=False,
        separator=NEVER_IN_JSON,
        quote_char=None,
        new_columns=["line"],
        infer_schema=False,
    )
    fields = table.select(pl.col("line").str.extract_groups(LINE)).unnest("line")
    if (fields["verdict"].is_null() & fields["value"].is_null()).any():
        raise NotPlain
    return fields.with_columns(at=pl.lit(None, pl.String))


def numbered_in(ids: pl.Series, places_by_id: dict[str, int]) -> pl.Series:
    distinct = ids.drop_nulls().unique(maintain_order=True)
    places = pl.Series([places_by_id.setdefault(id_, len(places_by_id)) for id_ in distinct], dtype=pl.UInt32)
    return ids.replace_strict(distinct, places, default=None, return_dtype=pl.UInt32)


def whole(column: pl.Series) -> NDArray[np.intp]:
    return column.cast(pl.Int64).fill_null(-1).to_numpy().astype(np.intp)


def renumber(column: pl.Series, codes: pl.Series) -> pl.Series:
    places = pl.Series(range(len(codes)), dtype=pl.UInt32)
    return column.replace_strict(codes, places, default=None, return_dtype=pl.UInt32)
