"""What was on the screen before an answer: when the request and the situation were first seen, scrolling, other tabs."""

from __future__ import annotations

import json
import math

__all__ = ["SIGHT", "read_sight"]

SIGHT = {
    "request_s": "seconds until the first line of the request had been on the screen for half a second",
    "situation_s": "the same of the situation; absent where none is shown",
    "scrolled_px": "how far the page was scrolled in all",
    "away": "how often the page was left for another tab or window",
    "away_s": "seconds that it was away",
}
"""What is kept of a page."""

LONGEST = 1000
MOST = 10_000_000


def read_sight(sent: str) -> dict[str, float] | None:
    """What a page's script says; only what is known and a number that can be one. None where that is nothing."""
    if not sent or len(sent) > LONGEST:
        return None
    try:
        found = json.loads(sent)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    kept = {name: float(found[name]) for name in SIGHT if can_be(found.get(name))}
    return kept or None


def can_be(value: object) -> bool:
    """Whether `value` is a number that a page could have measured; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value < MOST
