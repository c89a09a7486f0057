"""Text from elsewhere, fit to be shown."""

from __future__ import annotations

import re

__all__ = ["plain"]

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")


def plain(text: str) -> str:
    """`text` with every control character as �, for a terminal would obey it."""
    return CONTROL.sub("\ufffd", text)
