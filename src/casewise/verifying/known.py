"""What a deployer's own systems know of the parameters of a context: a line each, its source named, unknown kept as unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field

from casewise.errors import DataError
from casewise.records import ShownContext
from casewise.records.base import Record, digest
from casewise.records.context import OPTIONAL, in_order
from casewise.records.statement import Text
from casewise.storage.files.jsonl import numbered_lines, record
from casewise.verifying.facts import ANYONE

__all__ = ["Known", "KnownParameter", "merged", "read_known"]


class KnownParameter(Record):
    """What one source says of one parameter: a line of `known.jsonl`."""

    subject: Text
    """The id of a context, or of the first of its line of revisions; `*` for all."""
    parameter: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$")]
    """`recipient.type`, or another that a context may state."""
    value: Text | None = None
    """None where nobody knows."""
    source: Text


@dataclass(frozen=True)
class Known:
    """What is known, by whom it is about."""

    rows: tuple[KnownParameter, ...]
    by_subject: dict[str, dict[str, str]] = field(repr=False)

    @classmethod
    def of(cls, rows: Iterable[KnownParameter]) -> Known:
        """Rows put in order; of two about the same the first with a value counts."""
        kept, found = tuple(rows), dict[str, dict[str, str]]()
        for one in kept:
            if one.value is not None:
                found.setdefault(one.subject, {}).setdefault(one.parameter, one.value)
        return cls(kept, found)

    def about(self, subjects: Sequence[str]) -> ShownContext:
        """What is known of any of `subjects`, or of everyone, as a context; what is said of them by name counts first."""
        said: dict[str, str] = {}
        for subject in dict.fromkeys((*subjects, ANYONE)):
            said = {**self.by_subject.get(subject, {}), **said}
        shown: ShownContext = {}
        for name in in_order(said):
            group, _, own = name.partition(".")
            shown[group] = said[name] if group in OPTIONAL else {**shown.get(group, {}), own: said[name]}
        return shown

    @property
    def fingerprint(self) -> str:
        """A digest of all of it."""
        return digest([one.model_dump(mode="json") for one in self.rows])[:8]


def merged(rows: Iterable[KnownParameter], names: Sequence[str]) -> tuple[KnownParameter, ...]:
    """One row a subject and parameter: the first with a value, or that nobody knows; for all of `names`, in their order."""
    by_subject: dict[str, dict[str, KnownParameter]] = {}
    for one in rows:
        of_it = by_subject.setdefault(one.subject, {})
        if one.parameter not in of_it or (of_it[one.parameter].value is None and one.value is not None):
            of_it[one.parameter] = one
    return tuple(
        found.get(name) or KnownParameter(subject=subject, parameter=name, source="no source says")
        for subject, found in by_subject.items()
        for name in dict.fromkeys((*names, *found))
    )


def read_known(path: Path) -> Known:
    """What a file says, a JSON object a line.

    Raises DataError: a line is none; the message names it. There are none.
    """
    found = [record(line, KnownParameter, path=path, line=number) for number, line in numbered_lines(path)]
    if not found:
        raise DataError(path, None, "says nothing: casewise contexts extract writes such a file")
    return Known.of(found)
