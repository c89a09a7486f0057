"""People at each step of a study, from a table."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from casewise.errors import DataError
from casewise.stats.people.attrition import STEPS, Flow

__all__ = ["read_flow"]

ALL = "all"


def read_flow(path: Path) -> Flow:
    """A CSV with `step` (arrived, consented, passed, assigned, finished, void), `condition` (or `all`) and `people`.

    Raises
    ------
    DataError
        The file cannot be read, or a row is no such step; the message says which.
    """
    try:
        frame = pl.read_csv(path, schema_overrides={"step": pl.String, "condition": pl.String, "people": pl.Int64})
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(path, None, f"cannot be read as a table: {error}") from None
    missing = [name for name in ("step", "condition", "people") if name not in frame.columns]
    if missing:
        raise DataError(path, None, f"no column {', '.join(missing)}")
    counts: dict[str, dict[str, int]] = {}
    for line, row in enumerate(frame.to_dicts(), start=2):
        if row["step"] not in STEPS:
            raise DataError(path, line, f"'step' is {row['step']!r}; it can be {', '.join(STEPS)}")
        if row["people"] is None or row["people"] < 0:
            raise DataError(path, line, f"'people' is {row['people']!r}, not a number of people")
        counts.setdefault(row["step"], {})[row["condition"]] = row["people"]
    conditions = tuple(dict.fromkeys(name for step in counts.values() for name in step if name != ALL))
    return Flow(
        conditions,
        {
            step: (people[ALL],) if ALL in people else tuple(people.get(name, 0) for name in conditions)
            for step, people in counts.items()
        },
    )
