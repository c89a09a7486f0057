"""Queries or items in columns: a million of them in a hundred megabytes, each a record again when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.records.base import ContentRecord

__all__ = ["MOST_HELD", "PlacesById", "RecordColumns", "column_of_records", "places_among", "records_at"]

R = TypeVar("R", bound=ContentRecord)

MOST_HELD = 200_000
"""Records that are kept once they were made, where there are no more of them; of more, each is made whenever it is asked for."""

BLOCK = 65_536

PYDANTIC = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
"""All that a pydantic model holds; a test compares a record made so with one that was checked."""

DIGITS = 15
"""Of an id's end that are looked up as one number: 60 bits."""


class RecordColumns(Sequence[R]):
    """The records of a table, which were checked when it was written. It equals the tuple of the same, and is pickled as that.

    `model`: what they are; `table`: a column for each of its fields.
    """

    def __init__(self, model: type[R], table: pl.DataFrame) -> None:
        self.model, self.table = model, table.select(list(model.model_fields))
        self._given: set[str] = set(model.model_fields)

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
    """One field of every record, in order; of records in columns no record is made for it."""
    if isinstance(records, RecordColumns):
        return records.table[name]
    return pl.Series(name, [getattr(one, name) for one in records], dtype=pl.String)


def records_at(records: Sequence[R], places: NDArray[np.intp]) -> Sequence[R]:
    """The records at these places, in columns where all are."""
    if isinstance(records, RecordColumns):
        return RecordColumns(records.model, records.table[places])
    return tuple(records[place] for place in places.tolist())
