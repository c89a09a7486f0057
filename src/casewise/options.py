"""How a field of an options' class stands on the command line: under its own name, unless it says otherwise here."""

from __future__ import annotations

from typing import Annotated, TypeVar

from cyclopts import Parameter

T = TypeVar("T")

Hidden = Annotated[T, Parameter(parse=False)]
"""A field that is no option of a command: it is set from Python, or by the command itself."""

Flat = Annotated[T, Parameter(name="*")]
"""Options whose fields are options of the command that takes them."""

CONCURRENCY = 32
"""Calls at a time, unless somebody says otherwise."""

__all__ = ["CONCURRENCY", "Flat", "Hidden", "Parameter"]
