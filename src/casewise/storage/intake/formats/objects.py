"""JSON arrays of objects, and JSON Lines under any name. https://jsonlines.org (2013), RFC 8259."""

from __future__ import annotations

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.format import GivenFile, TableFormat
from casewise.storage.intake.roles import OPTIONS
from casewise.storage.intake.table import Table
from casewise.storage.words import plain_name

OF_A_CASE = frozenset(name for part in ("query", "label", "vote", "votes") for name in OPTIONS[part])
"""Names of columns of which a case has some."""


def read(given: GivenFile) -> Table:
    """Return the objects of a file, or those of the one list of objects in its one object.

    Raises DataError: the one object has several lists of objects.
    """
    entries = given.objects
    is_case = any(plain_name(str(name)) in OF_A_CASE for name in entries[0].values)
    if len(entries) == 1 and not given.is_array and not is_case:
        whole = entries[0]
        lists = lists_in(whole)
        if len(lists) > 1:
            whole.refuse(
                f"the file is one object with several lists ({', '.join(lists)}); save the one that holds the cases"
            )
        for name, rows in lists.items():
            given.notes.append(f"The rows are the list under {name!r}.")
            entries = rows
    return given.table(entries)


def lists_in(whole: Entry) -> dict[str, list[Entry]]:
    """Return the lists of objects in an object by their keys; where it has none, those in the objects within it."""
    lists = {
        str(key): list(whole.entries(str(key)))
        for key, inner in whole.values.items()
        if isinstance(inner, list) and inner and all(isinstance(row, dict) for row in inner)
    }
    return lists or {
        f"{key}.{name}": rows
        for key, inner in whole.values.items()
        if isinstance(inner, dict)
        for name, rows in lists_in(whole.entry(str(key))).items()
    }


FORMATS = (TableFormat("JSON", "objects", "RFC 8259; https://jsonlines.org", lambda _: True, read),)
