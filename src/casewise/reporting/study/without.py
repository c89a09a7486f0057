"""The headline numbers with and without the ratings that were left out, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from casewise.reporting.document import Block, count, interval, number, percent, table_of
from casewise.reporting.study.written import contrast_name, p_value
from casewise.studies.analysing.analysis import StudyAnalysis

__all__ = ["left_out"]

NOTHING = dict.fromkeys(("ratings", "safe_rate", "ci_low", "ci_high"))
NO_CONTRAST = dict.fromkeys(("like_estimate", "like_ci_low", "like_ci_high", "recommended_p_corrected"))


def left_out(analysis: StudyAnalysis) -> Iterator[Block]:
    """Why ratings were left out, and what they would change; nothing where none were."""
    found = analysis.left_out
    if found is None:
        return
    yield table_of("left-out", "Ratings left out, by reason", ("Reason", "Ratings"), list(found.reasons.items()))
    heads = ("Condition", "Ratings without", "Safe", "95 % interval", "Ratings with", "Safe", "95 % interval")
    rates = [
        (row["condition"], *_rate(without or NOTHING), *_rate(row))
        for row, without in _beside(found.conditions, analysis.conditions, by=("condition",))
    ]
    yield table_of("left-out-conditions", "Safe rates without and with them", heads, rates, frame=found.conditions)
    heads = ("Contrast", "Without", "95 % interval", "p", "With", "95 % interval", "p")
    differences = [
        (contrast_name(row), *_difference(without or NO_CONTRAST), *_difference(row))
        for row, without in _beside(found.contrasts, analysis.contrasts, by=("first", "second"))
    ]
    caption = "Differences of safe rates without and with them, p corrected alike"
    yield table_of("left-out-contrasts", caption, heads, differences, frame=found.contrasts)


def _beside(
    rows: pl.DataFrame, others: pl.DataFrame, *, by: tuple[str, ...]
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Each row with the one of `others` that has the same names."""
    known = {tuple(row[name] for name in by): row for row in others.to_dicts()}
    for row in rows.to_dicts():
        yield row, known.get(tuple(row[name] for name in by))


def _rate(row: dict[str, Any]) -> tuple[str, str, str]:
    return count(row["ratings"]), percent(row["safe_rate"]), interval(row["ci_low"], row["ci_high"])


def _difference(row: dict[str, Any]) -> tuple[str, str, str]:
    prefix = "query" if row["like_estimate"] is None and "query_estimate" in row else "like"
    low, high = row[f"{prefix}_ci_low"], row[f"{prefix}_ci_high"]
    return number(row[f"{prefix}_estimate"]), interval(low, high), p_value(row["recommended_p_corrected"])
