"""Planned contrasts, as they are written down."""

from __future__ import annotations

from collections.abc import Sequence

from casewise.errors import ConfigurationError

__all__ = ["read_contrasts"]


def read_contrasts(written: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """`FIRST:SECOND` as pairs of conditions.

    Raises
    ------
    ConfigurationError
        One has no colon, or compares a condition with itself.
    """
    pairs = []
    for text in written:
        first, colon, second = (part.strip() for part in text.partition(":"))
        if not colon or not first or not second or first == second:
            raise ConfigurationError(f"--contrast is {text!r}; write two conditions as no_context:safe_revised")
        pairs.append((first, second))
    return tuple(pairs)
