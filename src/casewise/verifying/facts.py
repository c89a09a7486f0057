"""Facts: what a source outside says about whom a context is about, with when it was issued and how long it holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from casewise.errors import ConfigurationError, DataError
from casewise.records.base import Record, digest
from casewise.records.statement import Text
from casewise.storage.files.jsonl import numbered_lines, record
from casewise.verifying.claimed import plain_words, sentences

__all__ = ["ANYONE", "Facts", "SourcedFact", "day", "read_facts"]

ANYONE = "*"
"""The subject of a fact that holds of every context."""


class SourcedFact(Record):
    """One thing that a source says: a line of `facts.jsonl`."""

    subject: Text
    """The id of a context, or of the first of its line of revisions; `*` for all."""
    field: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$")]
    """The parameter that it is about (`recipient.type`), or something that belongs to it (`recipient.background.licence`)."""
    value: Text | StrictBool | StrictInt | StrictFloat
    """A text, a number, yes or no; a date is a text such as 2026-01-31."""
    source: Text
    issued: date | None = None
    expires: date | None = None

    def holds(self, at: date) -> bool:
        """Whether it has been issued and has not expired on that day; on the day it expires it still holds."""
        return (self.issued is None or self.issued <= at) and (self.expires is None or at <= self.expires)

    @property
    def name(self) -> str:
        """What belongs to the parameter, in words: `licence`; the parameter's own last word where it is about all of it."""
        return self.field.rpartition(".")[2].replace("_", " ")


@dataclass(frozen=True)
class Facts:
    """Facts by whom they are about."""

    facts: tuple[SourcedFact, ...]
    by_subject: dict[str, tuple[SourcedFact, ...]] = field(repr=False)
    known: dict[str, frozenset[tuple[str, ...]]] = field(repr=False)
    """By field every value that any fact has, and each sentence of it, in plain words: what else could have been said there."""
    lengths: dict[str, tuple[int, ...]] = field(repr=False)
    """By field how many words these have."""

    @classmethod
    def of(cls, facts: Iterable[SourcedFact]) -> Facts:
        """Facts put in order."""
        every = tuple(facts)
        by_subject: dict[str, list[SourcedFact]] = {}
        known: dict[str, set[tuple[str, ...]]] = {}
        for one in every:
            by_subject.setdefault(one.subject, []).append(one)
            if isinstance(one.value, str):
                said = {plain_words(text) for text in (one.value, *sentences(one.value))}
                known.setdefault(one.field, set()).update(words for words in said if words)
        return cls(
            every,
            {subject: tuple(of_it) for subject, of_it in by_subject.items()},
            {name: frozenset(values) for name, values in known.items()},
            {name: tuple(sorted({len(value) for value in values}, reverse=True)) for name, values in known.items()},
        )

    def about(self, subjects: Sequence[str]) -> tuple[SourcedFact, ...]:
        """What is said of any of `subjects`, and of everyone."""
        wanted = dict.fromkeys((*subjects, ANYONE))
        return tuple(one for subject in wanted for one in self.by_subject.get(subject, ()))

    @property
    def fingerprint(self) -> str:
        """A digest of all that they say."""
        return digest([one.model_dump(mode="json") for one in self.facts])[:8]


def read_facts(path: Path) -> Facts:
    """The facts of a file, a JSON object a line.

    Raises DataError: a line is no fact; the message names it and says what is wrong. There are none.
    """
    return kept(path, path.stat().st_mtime_ns) if path.is_file() else fresh(path)


@lru_cache(maxsize=8)
def kept(path: Path, _changed: int) -> Facts:
    return fresh(path)


def fresh(path: Path) -> Facts:
    found = []
    for number, line in numbered_lines(path):
        one = record(line, SourcedFact, path=path, line=number)
        if one.issued and one.expires and one.expires < one.issued:
            raise DataError(path, number, f"it expires on {one.expires}, before it was issued on {one.issued}")
        found.append(one)
    if not found:
        raise DataError(path, None, "holds no facts: write a line for each, with subject, field, value and source")
    return Facts.of(found)


def day(at: date | str | None) -> date:
    """A day, given as such or as 2026-01-31; today where none is.

    Raises ConfigurationError: it is written otherwise.
    """
    if at is None:
        return datetime.now(tz=UTC).date()
    if isinstance(at, date):
        return at
    try:
        return date.fromisoformat(at)
    except ValueError:
        raise ConfigurationError(f"{at!r} is no day; write it as 2026-01-31") from None
