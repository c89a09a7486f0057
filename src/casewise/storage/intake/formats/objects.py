"""JSON arrays of objects, and JSON Lines under any name. https://jsonlines.org (2013), RFC 8259."""

from __future__ import annotations

from casewise.storage.intake.formats.format import Format, GivenFile
from casewise.storage.intake.table import Table

WRAPPERS = ("data", "rows", "items", "records", "examples", "instances", "results", "samples")
"""Keys under which a file may hold its list of objects."""


def read(given: GivenFile) -> Table:
    """Return the objects of a file, or those of the one list in its one object."""
    entries = given.objects
    if len(entries) == 1 and not given.is_array:
        for key in WRAPPERS:
            if isinstance(inner := entries[0].values.get(key), list) and inner and isinstance(inner[0], dict):
                given.notes.append(f"The rows are the list under {key!r}.")
                entries = list(entries[0].entries(key))
                break
    return given.table(entries)


FORMATS = (Format("JSON", "objects", "RFC 8259; https://jsonlines.org", lambda _: True, read),)
