"""Filling in a template in a single pass: what a value says is never read as a placeholder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

__all__ = ["filled"]


def filled(template: str, values: Mapping[str, str], *, doubled_braces: bool = False) -> str:
    """`template` with each `{name}` replaced by its value; other braces are themselves.

    With `doubled_braces`, `{{` and `}}` stand for single ones.

    Examples
    --------
    >>> filled("{query} {other}", {"query": "What is {query}?"})
    'What is {query}? {other}'
    """
    places = places_of(tuple(values), doubled_braces)
    return places.sub(lambda match: values[match[1]] if match[1] else match[0][0], template)


@lru_cache(maxsize=256)
def places_of(names: tuple[str, ...], doubled_braces: bool) -> re.Pattern[str]:
    named = "|".join(map(re.escape, names))
    return re.compile(rf"\{{({named})\}}" + (r"|\{\{|\}\}" if doubled_braces else ""))
