"""Contexts that stay in their file, for benchmarks too large to be held in memory."""

from __future__ import annotations

import hashlib
import os
import weakref
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, overload

import polars as pl

from casewise.errors import DataError
from casewise.records import Context, StatedTexts
from casewise.storage.files.atomic import cannot_read
from casewise.storage.files.jsonl import decoded, known_record, record
from casewise.storage.record_columns import PlacesById

__all__ = ["INTENTS", "ContextFile", "ContextsById", "Place", "ReadBefore"]


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
