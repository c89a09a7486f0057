"""Filling in a template in a single pass: what a value says is never read as a placeholder."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["filled"]


def filled(template: str, values: Mapping[str, str], *, doubled_braces: bool = False) -> str:
    """`template` with each `{name}` replaced by its value; other braces are themselves.

    With `doubled_braces`, `{{` and `}}` stand for single ones.

    Examples
    --------
    >>> filled("{query} {other}", {"query": "What is {query}?"})
    'What is {query}? {other}'
    """
    names = "|".join(re.escape(name) for name in values)
    pattern = rf"\{{({names})\}}" + (r"|\{\{|\}\}" if doubled_braces else "")
    return re.sub(pattern, lambda match: values[match[1]] if match[1] else match[0][0], template)
