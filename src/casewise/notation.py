"""The notation of numbers: one for shares, intervals, differences and p values in every sentence and table."""

from __future__ import annotations

import math

NOTHING = "–"
"""Stands where there is no number."""


def number(value: float | None, *, digits: int = 3) -> str:
    """Return a number written out; a dash where there is none."""
    if value is None or math.isnan(value):
        return NOTHING
    if value == int(value) and abs(value) < 1e15 and digits == 0:
        return f"{int(value):,}"
    return f"{value:z,.{digits}f}"


def p_value(p: float | None) -> str:
    """Return a p value written out: never as zero."""
    return "< 0.0001" if p is not None and p < 0.0001 else number(p, digits=4)


def p_equation(p: float | None) -> str:
    """Return a p value as a sentence writes it: `p = 0.0312`, or `p < 0.0001`."""
    return f"p {p_value(p)}" if p is not None and p < 0.0001 else f"p = {p_value(p)}"


def count(value: float | None) -> str:
    """Return a count, written out; halves (a tie counts half in each class) keep their half."""
    if value is None or math.isnan(value):
        return NOTHING
    return f"{int(value):,}" if value == int(value) else f"{value:,.1f}"


def percent(value: float | None, *, digits: int = 1) -> str:
    """Return a share as a percentage; a dash where there is none."""
    return NOTHING if value is None or math.isnan(value) else f"{100 * value:z.{digits}f} %"


def interval_or(low: float | None, high: float | None, why: str) -> str:
    """Return an interval written out, or why there is none."""
    return why if low is None else interval(low, high)


def interval(low: float | None, high: float | None, *, digits: int = 3) -> str:
    """Return an interval written out; a dash where there is none."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return NOTHING
    return f"[{low:z.{digits}f}, {high:z.{digits}f}]"


def share(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Return a share and its interval, the one way that pages write both: `62.2 % [51.9, 71.6]`."""
    limits = "" if low is None or high is None else f" {interval(100 * low, 100 * high, digits=1)}"
    return f"{percent(value)}{limits}"


def points(value: float | None, low: float | None = None, high: float | None = None, *, unit: str = " points") -> str:
    """Return a difference of shares and its interval in percentage points: `50.1 points [38.7, 61.4]`.

    `unit`: empty where a caption or a heading names it.
    """
    limits = "" if low is None or high is None else f" {interval(100 * low, 100 * high, digits=1)}"
    return NOTHING if value is None or math.isnan(value) else f"{100 * value:z.1f}{unit}{limits}"


def whole_number(text: str | None) -> int | None:
    """Return the number that a text from a form or an address states, of nine digits at most; None where it states none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None


def spoken(name: str) -> str:
    """Return an identifier of the data, such as a condition's, in words: `safe_revised` is "safe revised"."""
    return name.replace("_", " ")


def hyphened(name: str) -> str:
    """Return an identifier as a part of an option or an address: `max_harm` is `max-harm`."""
    return name.translate(str.maketrans(" _.", "---"))
