"""Shares with their intervals, as the tables of attacks and of verification write them: all in percent."""

from __future__ import annotations

from casewise.reporting.document import interval, number, percent
from casewise.stats.agreeing.estimates import Estimate
from casewise.stats.core.measured import NO_ITEMS

__all__ = ["REASONS", "limits", "points", "with_limits"]


WHY_NONE = {
    "no interval: the two are alike on every query": "alike",
    "no interval: the queries do not differ": "all alike",
    "no interval: one query only": "one query",
    NO_ITEMS: "no items",
}
"""Why there is no interval, in the room of a cell; `REASONS` says what the words mean."""

REASONS = (
    "Where no interval can be given, the reason stands in its place: alike, the two are the same on every query; all alike, the "
    "queries do not differ; one query, or no items, are too few."
)


def limits(found: Estimate) -> str:
    """The interval of a share in percent, or why there is none."""
    if found.ci_low is None or found.ci_high is None:
        return f"({WHY_NONE.get(found.method, found.method)})"
    return interval(100 * found.ci_low, 100 * found.ci_high, digits=1)


def with_limits(found: Estimate) -> str:
    """A share with its interval."""
    return f"{percent(found.estimate)} {limits(found)}"


def points(found: Estimate | None) -> str:
    """A difference of two shares in points, with its interval; a dash where there is none."""
    if found is None or found.estimate is None:
        return number(None)
    return f"{number(100 * found.estimate, digits=1)} {limits(found)}"
