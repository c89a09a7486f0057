"""Records stored in columns, each created on access."""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar, cast, get_args, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import DataError
from casewise.records import (
    PARAMETERS,
    Action,
    Context,
    Provenance,
    Rating,
    RatingScale,
    StatedTexts,
    Turn,
    Vote,
    as_text,
)
from casewise.records.base import ALREADY_VALIDATED, ContentRecord, Record
from casewise.records.context import GROUP_MODELS, OPTIONAL
from casewise.storage.files import cannot_read, decoded, parse, record

BLOCK = 8_192
"""Records that are held on their way into a table or out of it."""

# Records as rows of a table, as Parquet files and data frames have them.
#
# Every parameter of a context is a column of text. The few that are stated under headings stand there as running text,
# and as they are in the JSON of the column `nested`.


STATEMENTS = (*PARAMETERS, *OPTIONAL)
"""Dotted names of what a context states."""

NESTED = "nested"

PARTS: dict[str, type[Record]] = {"provenance": Provenance, **GROUP_MODELS}
"""Fields whose own fields are columns."""

NUMBERS: dict[str, pl.DataType] = {
    "position": pl.Int64(),
    "repeat": pl.Int64(),
    "seconds": pl.Float64(),
    "published_rate": pl.Float64(),
    "value": pl.Float64(),
    "mean": pl.Float64(),
    "intended_safe": pl.Boolean(),
}
"""Columns that are no texts. Times are ISO 8601 texts, so that their offsets are kept."""

JSON_FIELDS = ("own", "before", "action", "columns", "traits", "provenance.detail")
"""Fields of records that a column holds as JSON."""

R = TypeVar("R", bound=Record)
C = TypeVar("C", bound=ContentRecord)


def column_of(name: str) -> str:
    """Return the column of a dotted name: `sender.platform_type` is `sender_platform_type`."""
    return name.replace(".", "_")


@cache
def dotted_names(model: type[Record]) -> tuple[str, ...]:
    """Return the dotted names of a record type's columns, in order."""
    return tuple(
        f"{field}.{part}" if part else field
        for field in model.model_fields
        for part in (PARTS[field].model_fields if field in PARTS else ("",))
    )


def schema(model: type[Record]) -> dict[str, pl.DataType]:
    """Return the columns of a record type, in order."""
    names = [*dotted_names(model), *([NESTED] if model is Context else [])]
    return {column_of(name): NUMBERS.get(name, pl.String()) for name in names}


def record_table(records: Iterable[Record], model: type[Record]) -> pl.DataFrame:
    """Return records as a table, one a row."""
    if isinstance(records, RecordColumns) and model is not Context:
        return records.table
    return table_of_rows(map(row_of, records), schema(model))


def table_of_rows(rows: Iterable[Any], columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return one table of rows that are consumed in blocks."""
    rows, blocks = iter(rows), [pl.DataFrame(schema=columns)]
    while block := list(islice(rows, BLOCK)):
        blocks.append(pl.DataFrame(block, schema=columns, orient="row"))
    return pl.concat(blocks)


def row_of(record: Record) -> dict[str, Any]:
    """Return the row of a record, by column."""
    fields = record.as_json()
    row: dict[str, Any] = {}
    nested: dict[str, Any] = {}
    for name in dotted_names(type(record)):
        field, _, part = name.partition(".")
        cell = fields.get(field)
        if part and cell is not None:
            cell = cell.get(part)
        if cell is None:
            continue
        if name in JSON_FIELDS:
            cell = json.dumps(cell, ensure_ascii=False)
        elif name in STATEMENTS and not isinstance(cell, str):
            nested[name], cell = cell, as_text(cell)
        row[column_of(name)] = cell
    return row | ({NESTED: json.dumps(nested, ensure_ascii=False)} if nested else {})


def fields_of(row: Mapping[str, Any], model: type[Record], *, path: Path) -> dict[str, Any]:
    """Return the fields of the record in a row. Errors name the file `path`."""
    nested = parse(row[NESTED], path=path) if model is Context and row.get(NESTED) is not None else {}
    names = {column_of(name): name for name in dotted_names(model)}
    fields: dict[str, Any] = {}
    for column, cell in row.items():
        if cell is None or column == NESTED:
            continue
        name = names.get(column, column)
        value = parse(cell, path=path) if name in JSON_FIELDS else nested.get(name, cell)
        field, _, part = name.partition(".")
        if part:
            fields.setdefault(field, {})[part] = value
        else:
            fields[field] = value
    return fields


# Queries or items in columns: a million of them in a hundred megabytes, each a record again when it is asked for.


MOST_HELD = 20_000
"""Records that are kept once they were made, where there are no more of them; of more, each is made whenever it is asked for."""

DIGITS = 15
"""Digits of an id's end that are looked up as one number: 60 bits."""

CONTEXT_COLUMNS: dict[str, pl.DataType] = {"id": pl.String(), "intended_safe": pl.Boolean()}
"""The columns of contexts, which are held as records or stay in their file."""

DECODED: dict[str, Callable[[str | None], Any]] = {
    "judged": lambda judged: judged or "request",
    "before": lambda text: None if text is None else tuple(Turn(**turn) for turn in json.loads(text)),
    "action": lambda text: None if text is None else Action.model_validate_json(text),
    "columns": lambda text: None if text is None else json.loads(text),
}
"""Fields that a table holds as texts, and how a record has them."""


class Columns(Sequence[R]):
    """A sequence of records over the rows of a table. Each record is created on access; it equals the tuple of the same
    records."""

    table: pl.DataFrame

    @property
    def held(self) -> tuple[R, ...] | None:
        """The records, where each is created once and stays in memory."""
        return None

    @abstractmethod
    def _record(self, row: tuple[Any, ...]) -> R:
        """Return the record of a row."""

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, index: int) -> R: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[R, ...]: ...

    def __getitem__(self, index: int | slice) -> R | tuple[R, ...]:
        if self.held is not None:
            return self.held[index]
        if isinstance(index, slice):
            return tuple(map(self._record, self.table[index].iter_rows()))
        return self._record(self.table.row(range(len(self))[index]))

    def __iter__(self) -> Iterator[R]:
        return self._created() if self.held is None else iter(self.held)

    def _created(self) -> Iterator[R]:
        for block in self.table.iter_slices(BLOCK):
            for row in zip(*(column.to_list() for column in block), strict=True):
                yield self._record(row)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (tuple, Columns)):
            return NotImplemented
        return len(self) == len(other) and all(
            record == other_record for record, other_record in zip(self, other, strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,} records>"


class RecordColumns(Columns[C]):
    """The records of a table that were validated before the table was written.

    `model`: what they are.
    `table`: a column for each of its fields; of contexts, the columns `id` and `intended_safe`.
    `held`: the records themselves, for contexts, of which the table does not hold all.
    """

    def __init__(self, model: type[C], table: pl.DataFrame, held: tuple[C, ...] | None = None) -> None:
        self.model, self.table, self._given = model, table, held
        self._fields = set(model.model_fields)
        self._decoded = [name for name in DECODED if name in model.model_fields]

    @classmethod
    def from_records(cls, model: type[C], records: Iterable[C]) -> RecordColumns[C]:
        """Return records of this type in columns. The iterable is consumed once."""
        if isinstance(records, RecordColumns):
            return records
        if model is not Context:
            return RecordColumns(model, record_table(records, model))
        held = tuple(records)
        columns = {name: [getattr(context, name) for context in held] for name in CONTEXT_COLUMNS}
        return RecordColumns(model, pl.DataFrame(columns, schema=CONTEXT_COLUMNS), held)

    @cached_property
    def held(self) -> tuple[C, ...] | None:
        return tuple(self._created()) if self._given is None and len(self) <= MOST_HELD else self._given

    def _record(self, row: tuple[Any, ...]) -> C:
        """Return the record of a row, which has every field and was checked when the table was written."""
        fields = dict(zip(self.table.columns, row, strict=True))
        for name in self._decoded:
            fields[name] = DECODED[name](fields[name])
        return cast("C", self.model.model_construct(self._fields, **fields))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(RecordColumns.from_records, self.model), (tuple(self),)

    def at(self, places: NDArray[np.intp]) -> RecordColumns[C]:
        """Return the queries or items at these places."""
        return RecordColumns(self.model, self.table[places])

    @property
    def by_id(self) -> Mapping[str, C]:
        """The same by their ids."""
        return {record.id: record for record in self} if self.held is not None else RecordsById(self)

    @cached_property
    def _sorted(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        keys = self.table["id"].str.slice(-DIGITS).str.to_integer(base=16).to_numpy()
        order = np.argsort(keys).astype(np.uint32)
        return keys[order], order

    def place(self, record_id: object) -> int:
        """Return the place of the record with this id. The index takes 12 bytes an id; a dict takes 200.

        Ids end in hexadecimal digits (`content_id`). Their last ones are looked up as a number, and the id there is compared.

        Raises KeyError: there is none.
        """
        if not isinstance(record_id, str):
            raise KeyError(record_id)
        keys, order = self._sorted
        try:
            key = int(record_id[-DIGITS:], 16)
        except ValueError:
            raise KeyError(record_id) from None
        for at in range(*np.searchsorted(keys, [key, key + 1]).tolist()):
            if self.table["id"][place := int(order[at])] == record_id:
                return place
        raise KeyError(record_id)


class RecordsById(Mapping[str, C], Generic[C]):
    """A mapping from id to record over columns. Each record is created on access."""

    def __init__(self, records: RecordColumns[C]) -> None:
        self._records = records

    def __getitem__(self, record_id: str) -> C:
        return self._records[self._records.place(record_id)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records.table["id"])

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, record_id: object) -> bool:
        try:
            return self._records.place(record_id) >= 0
        except KeyError:
            return False


def places_among(ids: pl.Series, sought: pl.Series) -> pl.Series:
    """Return the place of each id of `sought` among the distinct `ids`; null if it is not among them.

    Ids are looked up by hash and then compared, which takes half the time and memory of a join of the texts.
    """
    places = places_by_join(ids.hash(), sought.hash())
    if len(places) != len(sought) or not (ids.gather(places) == sought).all():
        return places_by_join(ids, sought)  # two have one hash
    return places


def places_by_join(ids: pl.Series, sought: pl.Series) -> pl.Series:
    numbered = ids.alias("id").to_frame().with_row_index("place")
    return sought.alias("id").to_frame().join(numbered, on="id", how="left", maintain_order="left")["place"]


K = TypeVar("K")
A_contra = TypeVar("A_contra", contravariant=True)


class RecordField(Generic[A_contra, K]):
    """A descriptor for a dataclass field: it takes records and stores them in columns."""

    def __init__(self, convert: Callable[[A_contra], K], default: A_contra | None = None) -> None:
        self.convert, self.default = convert, default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, _type: type | None = None) -> K:
        if owner is not None:
            return cast("K", owner.__dict__[self.name])
        if self.default is None:
            raise AttributeError(self.name)  # a dataclass takes it for a field without a default
        return cast("K", self.default)

    def __set__(self, owner: Any, records: A_contra) -> None:
        owner.__dict__[self.name] = self.convert(records)


# Ratings by column: votes of an item, and ratings with their annotators.


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

RATINGS = 65_536
"""Ratings that are held on their way into a table or out of it."""

RATING_BYTES = 33_554_432
"""Bytes of a file of ratings that are read at a time."""

SEPARATOR = "\x1f"
"""A byte that no JSON text holds as it is, so that a line is read as one column."""

NUMBER = r"-?(?:0|[1-9][0-9]{0,15})\.[0-9]{1,25}"

LINE = (
    r'^\{"item_id":"(?P<item_id>[^"\\\x00-\x1f]*)"(?:,"annotator_id":"(?P<annotator_id>[^"\\\x00-\x1f]*)")?'
    r'(?:,"position":(?P<position>0|[1-9][0-9]{0,15}))?(?:,"verdict":"(?P<verdict>safe|unsafe|unsure|ask)")?'
    rf'(?:,"value":(?P<value>{NUMBER}))?(?:,"seconds":(?P<seconds>{NUMBER}))?\}}$'
)
"""A rating as `Record.line` writes it."""


@dataclass(frozen=True)
class RatingArrays:
    """The safe and unsafe ratings as arrays of one length, in their order."""

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
    def from_ratings(cls, ratings: Iterable[Rating]) -> RatingColumns:
        """Return ratings in columns. The iterable is consumed once."""
        if isinstance(ratings, RatingColumns):
            return ratings
        fields = ("item_id", "annotator_id", "position", "verdict", "value", "seconds")
        rows = (
            (*(getattr(rating, name) for name in fields), None if rating.at is None else rating.at.isoformat())
            for rating in ratings
        )
        blocks = iter(lambda: list(islice(rows, RATINGS)), [])
        return cls._coded(pl.DataFrame(block, schema=schema(Rating), orient="row") for block in blocks)

    @classmethod
    def _coded(cls, blocks: Iterable[pl.DataFrame]) -> RatingColumns:
        """Return the ratings in blocks of rows with the fields of `Rating`."""
        items: dict[str, int] = {}
        annotators: dict[str, int] = {}
        tables = [pl.DataFrame(schema=RATING_COLUMNS)]
        for block in blocks:
            codes = {
                "item": code_ids(block["item_id"], items),
                "annotator": code_ids(block["annotator_id"], annotators),
            }
            tables.append(block.with_columns(**codes).select(*RATING_COLUMNS).cast(pl.Schema(RATING_COLUMNS)))
        return cls(pl.concat(tables, rechunk=True), items=tuple(items), annotators=tuple(annotators))

    @classmethod
    def from_canonical_lines(cls, path: Path) -> RatingColumns | None:
        """Return the ratings of a JSONL file in the form that casewise writes, without times. None for a file in another
        form.

        Such lines need no JSON parser and no record, which takes a tenth of the time. A file with a line that does not
        match `LINE` is read, and its errors are explained, line by line.
        """
        try:
            with path.open("rb") as file:
                return cls._coded(map(canonical_table, iter(lambda: file.readlines(RATING_BYTES), [])))
        except (OSError, pl.exceptions.PolarsError, NotCanonical):
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
        """A table with a row for each rating and the fields of `Rating`, in the form of its JSON."""
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
        """Return the key of a repeated rating, or None. An annotator rates an item once, and a position holds one vote."""
        is_named = self.table["annotator"].is_in([code for code, name in enumerate(self.annotators) if name])
        key = self.table.select(
            "item",
            annotator=pl.when(is_named).then("annotator"),
            position=pl.when(~is_named.fill_null(value=False)).then("position"),
        )
        again = key.is_duplicated()
        return self[int(again.arg_max() or 0)].key if again.any() else None

    def per_item(self, items: pl.Series) -> pl.DataFrame:
        """Return the votes on each of the items with these ids: `n_safe`, `n_votes` (safe and unsafe ones), `n_unsure`, `n_ask`; and of
        values on the scale `n_values` and the `mean`, null without any."""
        vote, value = pl.col("verdict"), pl.col("value")
        counts = {
            "n_safe": (vote == "safe").sum(),
            "n_votes": vote.is_in(["safe", "unsafe"]).sum(),
            "n_unsure": (vote == "unsure").sum(),
            "n_ask": (vote == "ask").sum(),
            "n_values": value.count(),
        }
        rated = self.table.group_by("item").agg(**counts, mean=value.mean())
        codes = places_among(self.item_ids, items).alias("item").to_frame()
        rows = codes.join(rated, on="item", how="left", maintain_order="left")
        return rows.select(pl.col(*counts).fill_null(0), "mean")

    def arrays(self, items: pl.Series) -> RatingArrays:
        """Return the ratings that say safe or unsafe of the items with these ids, with each item's place among them."""
        item, votes = self.places(items), self.table["verdict"]
        has_verdict = (item >= 0) & votes.is_in(["safe", "unsafe"]).fill_null(value=False).to_numpy()
        return RatingArrays(
            item[has_verdict],
            as_indices(self.table["annotator"])[has_verdict],
            as_indices(self.table["position"])[has_verdict],
            (votes == "safe").fill_null(value=False).to_numpy()[has_verdict],
            self.annotators,
        )

    def places(self, items: pl.Series) -> NDArray[np.intp]:
        """Return the place of each rating's item among these distinct ids; -1 if it is not among them."""
        place: NDArray[np.intp] = as_indices(places_among(items, self.item_ids))[self.table["item"].to_numpy()]
        return place

    def with_cut(self, scale: RatingScale) -> RatingColumns:
        """Return the ratings with a verdict from the scale's cut for each value without a verdict."""
        open_ = self.table["verdict"].is_null() & self.table["value"].is_not_null()
        if scale.cut is None or not open_.any():
            return self
        verdict = (
            pl.when(scale.is_safe(pl.col("value"))).then(pl.lit("safe", VERDICTS)).otherwise(pl.lit("unsafe", VERDICTS))
        )
        table = self.table.with_columns(verdict=pl.when(open_).then(verdict).otherwise("verdict"))
        return RatingColumns(table, items=self.item_ids, annotators=self.annotators)

    def of_items(self, items: Iterable[str]) -> RatingColumns:
        """Return the ratings of these items alone."""
        table = self.table.filter(self.item_ids.is_in(list(items)).gather(self.table["item"]))
        codes, people = (table[name].drop_nulls().unique(maintain_order=True) for name in ("item", "annotator"))
        renumbered = table.with_columns(
            item=renumber(table["item"], codes), annotator=renumber(table["annotator"], people)
        )
        annotators = [self.annotators[code] for code in people]
        return RatingColumns(renumbered, items=self.item_ids.gather(codes), annotators=annotators)

    def lines(self) -> Iterator[str]:
        """Yield item id, rater, verdict and value of the ratings, a tab between and a line each, in the order of their text, in blocks.

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
        for block in keys.sort(keys.columns).iter_slices(RATINGS):
            yield "".join(block.select(pl.concat_str(pl.all(), separator="\t", ignore_nulls=True) + "\n").to_series())


class NotCanonical(Exception):
    """A line is not in the form that casewise writes, so the file has to be read line by line."""


def canonical_table(lines: list[bytes]) -> pl.DataFrame:
    """Return the ratings of some lines, with the fields of `Rating`."""
    table = pl.read_csv(
        b"".join(lines),
        has_header=False,
        separator=SEPARATOR,
        quote_char=None,
        new_columns=["line"],
        infer_schema=False,
    )
    fields = table.select(pl.col("line").str.extract_groups(LINE)).unnest("line")
    if (fields["verdict"].is_null() & fields["value"].is_null()).any():
        raise NotCanonical
    return fields.with_columns(at=pl.lit(None, pl.String))


def code_ids(ids: pl.Series, places_by_id: dict[str, int]) -> pl.Series:
    distinct = ids.drop_nulls().unique(maintain_order=True)
    places = pl.Series([places_by_id.setdefault(id_, len(places_by_id)) for id_ in distinct], dtype=pl.UInt32)
    return ids.replace_strict(distinct, places, default=None, return_dtype=pl.UInt32)


def as_indices(column: pl.Series) -> NDArray[np.intp]:
    return column.cast(pl.Int64).fill_null(-1).to_numpy().astype(np.intp)


def renumber(column: pl.Series, codes: pl.Series) -> pl.Series:
    places = pl.Series(range(len(codes)), dtype=pl.UInt32)
    return column.replace_strict(codes, places, default=None, return_dtype=pl.UInt32)


# Contexts that stay in their file, for benchmarks too large to be held in memory.


PLACES = CONTEXT_COLUMNS | dict.fromkeys(("line", "start", "size", "check"), pl.UInt64())
"""The columns held of a context: its id, its author's intent, its place in the file, and a hash of the line's bytes."""


class ContextFile(RecordColumns[Context]):
    """The contexts of a JSONL file, in its order, each read when it is asked for.

    The file is kept open, so that removing or replacing it changes nothing.

    `path`: the file. It is read through once, and every line checked as `read_jsonl` checks it.
    `table`: what an earlier reading of the same bytes gave, with the columns of `PLACES`; then it is not read through again.

    Raises DataError: the file cannot be read or a line is no context; the message names it. Also later, when a context
    is asked for whose line was changed in the meantime.
    """

    def __init__(self, path: Path, table: pl.DataFrame | None = None) -> None:
        self.path, self.model, self.held = path, Context, None
        try:
            self._file = os.open(path, os.O_RDONLY)
            weakref.finalize(self, os.close, self._file)
            self.table = table_of_rows(self._places(), PLACES) if table is None else table
        except OSError as error:
            raise cannot_read(path, error) from error

    def _places(self) -> Iterator[tuple[Any, ...]]:
        start = 0
        with open(self._file, "rb", closefd=False) as file:
            for number, raw in enumerate(file, start=1):
                text = decoded(raw, path=self.path, line=number)
                if text.strip():
                    context = record(text, Context, path=self.path, line=number)
                    yield context.id, context.intended_safe, number, start, len(raw), line_hash(raw)
                start += len(raw)

    def _record(self, row: tuple[Any, ...]) -> Context:
        return Context.model_validate_json(self._line(row), strict=True, context=ALREADY_VALIDATED)

    def written(self, context_id: str) -> StatedTexts:
        """Return the statements and the author of a context without creating its record."""
        return StatedTexts.from_line(self._line(self.table.row(self.place(context_id))))

    def written_at(self, places: pl.Series) -> Iterator[StatedTexts | None]:
        """Yield what `written` returns of the context at each place, and None where the place is null."""
        for block in self.table.select(pl.all().gather(places)).iter_slices(BLOCK):
            for row in zip(*(column.to_list() for column in block), strict=True):
                yield None if row[0] is None else StatedTexts.from_line(self._line(row))

    def _line(self, row: tuple[Any, ...]) -> str:
        _, _, line, start, size, check = row
        try:
            raw = os.pread(self._file, size, start)
        except OSError as error:
            raise cannot_read(self.path, error) from error
        if line_hash(raw) != check:
            problem = "was changed after it was loaded; a benchmark is never changed, so restore it and start again"
            raise DataError(self.path, line, problem)
        return decoded(raw, path=self.path, line=line)


def line_hash(raw: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest())
