"""What an object prints of itself: a line, however much it holds. A traceback or a notebook never prints a benchmark."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

__all__ = ["ShortRepr", "short_repr"]

MOST = 300
"""Characters of one object."""

SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = 60
SHORT.maxtuple = SHORT.maxlist = SHORT.maxdict = SHORT.maxset = 2
SHORT.maxlevel = 2


def short_repr(name: str, values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> str:
    """`Name(field=value, …)` with every value, and the whole, cut short.

    Examples
    --------
    >>> short_repr("Table", {"name": "t", "rows": tuple(range(1000))})
    "Table(name='t', rows=(0, 1, ...))"
    """
    written: list[str] = []
    left = MOST
    for key, value in dict(values).items():
        part = f"{key}={SHORT.repr(value)}"
        left -= len(part)
        if left < 0:
            return f"{name}({', '.join([*written, '…'])})"
        written.append(part)
    return f"{name}({', '.join(written)})"


class ShortRepr:
    """Base of dataclasses that may hold much; they are made with `repr=False`."""

    def __repr__(self) -> str:
        shown = {one.name: getattr(self, one.name) for one in fields(self) if one.repr}  # type: ignore[arg-type]  # subclasses are dataclasses
        return short_repr(type(self).__name__, shown)
