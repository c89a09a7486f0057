"""Markers for fields of options' classes. A field without one is an option under its own name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

from cyclopts import Group, Parameter

T = TypeVar("T")

Hidden = Annotated[T, Parameter(parse=False)]
"""A field that is no option of a command: it is set from Python, or by the command itself."""

Flat = Annotated[T, Parameter(name="*")]
"""Options whose fields are options of the command that takes them."""

Words = Annotated[tuple[str, ...], Parameter(allow_leading_hyphen=True)]
"""Words of a user's file, which may be - or -1."""

SPEED_GROUP = Group("Speed and errors", sort_key=5)
"""The heading of options that change how fast calls are made and what follows a failure, wherever they are declared."""

CONCURRENCY = 32
"""Default number of calls at a time."""

FitThresholds = Annotated[bool, Parameter(help="Give scalars verdicts, by thresholds fitted on other queries.")]
GraderLabels = Annotated[
    Path | None,
    Parameter(help="People's labels of some replies: an exported study of replies, or a file (item_id, label)."),
]

__all__ = ["CONCURRENCY", "SPEED_GROUP", "FitThresholds", "Flat", "GraderLabels", "Hidden", "Parameter", "Words"]
