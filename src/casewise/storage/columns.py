"""Records held by column: made when somebody looks at one."""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import DataError
from casewise.records import Context, StatedTexts, Turn
from casewise.records.base import ContentRecord
from casewise.storage.files import cannot_read, decoded, known_record, record

# Queries or items in columns: a million of them in a hundred megabytes, each a record again when it is asked for.


R = TypeVar("R", bound=ContentRecord)

MOST_HELD = 200_000
"""Records that are kept once they were made, where there are no more of them; of more, each is made whenever it is asked for."""

BLOCK = 65_536

PYDANTIC = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
"""All that a pydantic model holds; a test compares a record made so with one that was checked."""

DIGITS = 15
"""Of an id's end that are looked up as one number: 60 bits."""


DECODED: dict[str, Callable[[str | None], Any]] = {
    "judged": lambda judged: judged or "request",
    "before": lambda text: None if text is None else tuple(Turn(**turn) for turn in json.loads(text)),
    "columns": lambda text: None if text is None else json.loads(text),
}
"""Fields that a table holds as texts, and how a record has them."""


class RecordColumns(Sequence[R]):
    """The records of a table, which were checked when it was written. It equals the tuple of the same, and is pickled as that.

    `model`: what they are; `table`: a column for each of its fields.
    """

    def __init__(self, model: type[R], table: pl.DataFrame) -> None:
        self.model, self.table = model, table.select(list(model.model_fields))
        self._given: set[str] = set(model.model_fields)
        self._decoded = [name for name in DECODED if name in model.model_fields]

    @cached_property
    def _held(self) -> tuple[R, ...]:
        return tuple(self._made())

    def _made(self) -> Iterator[R]:
        for block in self.table.iter_slices(BLOCK):
            for row in zip(*(column.to_list() for column in block), strict=True):
                yield self._record(row)

    def _record(self, row: tuple[Any, ...]) -> R:
        """As `model_construct`, for rows that have every field: a third of its time, for hundreds of thousands of records."""
        record = self.model.__new__(self.model)
        fields = dict(zip(self.table.columns, row, strict=True))
        for name in self._decoded:
            fields[name] = DECODED[name](fields[name])
        for name, value in zip(PYDANTIC, (fields, self._given, None, None), strict=True):
            object.__setattr__(record, name, value)
        return record

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, index: int) -> R: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[R, ...]: ...

    def __getitem__(self, index: int | slice) -> R | tuple[R, ...]:
        if len(self) <= MOST_HELD:
            return self._held[index]
        if isinstance(index, slice):
            return tuple(map(self._record, self.table[index].iter_rows()))
        return self._record(self.table.row(range(len(self))[index]))

    def __iter__(self) -> Iterator[R]:
        return iter(self._held) if len(self) <= MOST_HELD else self._made()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RecordColumns):
            return self.model is other.model and self.table.equals(other.table)
        if isinstance(other, tuple):
            return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)

    def __repr__(self) -> str:
        return f"<{len(self):,} records of {self.model.__name__}>"

    @cached_property
    def by_id(self) -> Mapping[str, R]:
        """The same by their ids."""
        return {one.id: one for one in self} if len(self) <= MOST_HELD else RecordsById(self)


class RecordsById(Mapping[str, R], Generic[R]):
    """Records in columns by id, each made when it is asked for."""

    def __init__(self, records: RecordColumns[R]) -> None:
        self._records, self._places = records, PlacesById(records.table["id"])

    def __getitem__(self, one: str) -> R:
        return self._records[self._places[one]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, one: object) -> bool:
        return one in self._places


class PlacesById(Mapping[str, int]):
    """The places of records' ids, each of which stands once: 12 bytes an id, where a dict takes 200.

    Ids end in hexadecimal digits (`content_id`). Their last ones are looked up as a number, and the id found is compared.
    """

    def __init__(self, ids: pl.Series) -> None:
        self.ids = ids

    @cached_property
    def _sorted(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        keys = self.ids.str.slice(-DIGITS).str.to_integer(base=16).to_numpy()
        order = np.argsort(keys).astype(np.uint32)
        return keys[order], order

    def __getitem__(self, one: str) -> int:
        keys, order = self._sorted
        try:
            key = int(one[-DIGITS:], 16)
        except (TypeError, ValueError):
            raise KeyError(one) from None
        for at in range(*np.searchsorted(keys, [key, key + 1]).tolist()):
            if self.ids[place := int(order[at])] == one:
                return place
        raise KeyError(one)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


def places_among(ids: pl.Series, wanted: pl.Series) -> pl.Series:
    """The place of each of `wanted` among `ids`, of which no two are alike; null where it is not among them.

    Looked up by its hash, and the id found is compared: half the time and the memory of a join of the texts.
    """
    places = joined(ids.hash(), wanted.hash())
    if len(places) != len(wanted) or places.has_nulls() or not (ids.gather(places) == wanted).all():
        return joined(ids, wanted)  # one is not there, or two have one hash
    return places


def joined(ids: pl.Series, wanted: pl.Series) -> pl.Series:
    known = ids.alias("id").to_frame().with_row_index("place")
    return wanted.alias("id").to_frame().join(known, on="id", how="left", maintain_order="left")["place"]


def column_of_records(records: Sequence[R], name: str) -> pl.Series:
    """A field of texts of every record, in order; of records in columns no record is made for it."""
    if isinstance(records, RecordColumns):
        return records.table[name]
    return pl.Series(name, [getattr(one, name) for one in records], dtype=pl.String)


def records_at(records: Sequence[R], places: NDArray[np.intp]) -> Sequence[R]:
    """The records at these places, in columns where all are."""
    if isinstance(records, RecordColumns):
        return RecordColumns(records.model, records.table[places])
    return tuple(records[place] for place in places.tolist())


# Contexts that stay in their file, for benchmarks too large to be held in memory.


INTENTS: tuple[bool | None, ...] = (False, True, None)


class Place(NamedTuple):
    """Where a context stands in its file."""

    line: int
    start: int
    size: int
    check: int
    """Hash (64 bits) of the line's bytes."""


class ReadBefore(NamedTuple):
    """What reading a file of contexts through leaves: all that a `ContextFile` holds in memory."""

    ids: pl.Series
    places: array[int]
    intents: bytearray


class ContextFile(Sequence[Context]):
    """The contexts of a JSONL file, in its order, each read when it is asked for.

    It equals the tuple of the same contexts, and is pickled and copied as that. What is held in memory is each id and
    33 bytes for its place and intent. The file is kept open, so that removing or replacing it changes nothing.

    `path`: the file. It is read through once, and every line checked as `read_jsonl` checks it.
    `known`: what an earlier reading of the same bytes left; then it is not read through again.

    Raises DataError: the file cannot be read or a line is no context; the message names it. Also later, when a context
    is asked for whose line was changed in the meantime.
    """

    def __init__(self, path: Path, *, known: ReadBefore | None = None) -> None:
        self.path = path
        self.places = array("Q") if known is None else known.places
        """The fields of each context's `Place`, one after another."""
        self.intents = bytearray() if known is None else known.intents
        """The place in `INTENTS` of what each context's author meant."""
        self._index: Mapping[str, int] = {} if known is None else PlacesById(known.ids)
        try:
            self._file = os.open(path, os.O_RDONLY)
            weakref.finalize(self, os.close, self._file)
            if known is None:
                self._keep_places()
        except OSError as error:
            raise cannot_read(path, error) from error

    def _keep_places(self) -> None:
        index: dict[str, int] = {}
        for place, context in self._read_through():
            index[context.id] = len(self)
            self.places.extend(place)
            self.intents.append(INTENTS.index(context.intended_safe))
        self._index = index

    def _read_through(self) -> Iterator[tuple[Place, Context]]:
        start = 0
        with open(self._file, "rb", closefd=False) as file:
            for number, raw in enumerate(file, start=1):
                text = decoded(raw, path=self.path, line=number)
                if text.strip():
                    found = record(text, Context, path=self.path, line=number)
                    yield Place(number, start, len(raw), check_of(raw)), found
                start += len(raw)

    def __len__(self) -> int:
        return len(self.places) // len(Place._fields)

    def intended_safe(self, context_id: str) -> bool | None:
        """What the author of a context meant, without reading it."""
        return INTENTS[self.intents[self._index[context_id]]]

    @overload
    def __getitem__(self, index: int) -> Context: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Context, ...]: ...

    def __getitem__(self, index: int | slice) -> Context | tuple[Context, ...]:
        wanted = range(len(self))[index]
        return self._read(wanted) if isinstance(wanted, int) else tuple(map(self._read, wanted))

    def __iter__(self) -> Iterator[Context]:
        return map(self._read, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (tuple, ContextFile)):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)

    def __repr__(self) -> str:
        return f"<{len(self)} contexts in {self.path}>"

    @property
    def by_id(self) -> ContextsById:
        """The same contexts by id."""
        return ContextsById(self, self._index)

    def written(self, context_id: str) -> StatedTexts:
        """What a context states, and who wrote it, without its record."""
        return StatedTexts.of_line(self._line(self._index[context_id]))

    def _read(self, index: int) -> Context:
        return known_record(self._line(index), Context)

    def _line(self, index: int) -> str:
        first = index * len(Place._fields)
        place = Place(*self.places[first : first + len(Place._fields)])
        try:
            raw = os.pread(self._file, place.size, place.start)
        except OSError as error:
            raise cannot_read(self.path, error) from error
        if check_of(raw) != place.check:
            problem = "was changed after it was loaded; a benchmark is never changed, so restore it and start again"
            raise DataError(self.path, place.line, problem)
        return decoded(raw, path=self.path, line=place.line)


class ContextsById(Mapping[str, Context]):
    """The contexts of a file by id, each read when it is asked for."""

    def __init__(self, contexts: ContextFile, index: Mapping[str, int]) -> None:
        self._contexts, self._index = contexts, index

    def __getitem__(self, context_id: str) -> Context:
        return self._contexts[self._index[context_id]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, context_id: object) -> bool:
        return context_id in self._index


def check_of(raw: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest())
