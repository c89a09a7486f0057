"""Numbers that belong to a benchmark and not to a run, worked out once and kept in the user's cache.

They lie under the benchmark's digest, which its items' contents and its ratings make, and under the versions of what worked
them out; so they are never taken for those of another benchmark or of other code. They are safe to delete at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise import __version__
from casewise.errors import ConfigurationError
from casewise.records.base import digest
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.fetch import cache_folder
from casewise.storage.files.atomic import replacing
from casewise.storage.files.long_steps import long_step

__all__ = ["worked_out", "worked_out_numbers"]

NUMBERS = {"name": pl.String(), "value": pl.Float64()}

MOST = 64
"""Files kept at once; of more, those that were used longest ago are dropped."""


def worked_out(
    benchmark: Benchmark, what: str, work: Callable[[], NDArray[np.float64]], *, made_with: str
) -> NDArray[np.float64]:
    """One number an item of `benchmark`, in its order: as it was kept, or as `work` gives it, which is then kept.

    `what`: what the numbers are, with every setting that they depend on.
    `made_with`: the package, besides this one, whose version they depend on.
    """
    path = place(benchmark, what, made_with)
    ids = benchmark.item_columns.select("item_id")
    found = find(path, ids)
    if found is None:
        with long_step(f"{what} (kept for the next time)"):
            found = work()
        keep(path, ids.with_columns(value=pl.Series(found, dtype=pl.Float64)))
    return found


def worked_out_numbers(
    benchmark: Benchmark, what: str, work: Callable[[], dict[str, float]], *, made_with: str
) -> dict[str, float]:
    """Numbers by name that belong to `benchmark` as a whole, kept as those of `worked_out` are."""
    path = place(benchmark, what, made_with)
    table = read(path)
    if table is not None and dict(table.schema) == NUMBERS:
        return dict(table.iter_rows())
    with long_step(f"{what} (kept for the next time)"):
        found = work()
    keep(path, pl.DataFrame({"name": list(found), "value": list(found.values())}, schema=NUMBERS))
    return found


def place(benchmark: Benchmark, what: str, made_with: str) -> Path:
    versions = {"casewise": __version__, made_with: version(made_with)}
    return cache_folder() / "worked-out" / f"{digest([benchmark.digest, what, versions])}.arrow"


def find(path: Path, ids: pl.DataFrame) -> NDArray[np.float64] | None:
    table = read(path)
    if table is None or set(table.columns) != {"item_id", "value"}:
        return None
    if not table["item_id"].equals(ids["item_id"]):
        table = ids.join(table, on="item_id", how="left", maintain_order="left")
    values = table["value"]
    whole = len(values) == len(ids) and values.dtype == pl.Float64 and not values.has_nulls()
    return values.to_numpy() if whole else None


def read(path: Path) -> pl.DataFrame | None:
    """What is kept; None where nothing is, or what is there is no table."""
    if not path.is_file():
        return None
    try:
        table = pl.read_ipc(path)
        path.touch()
    except (OSError, pl.exceptions.PolarsError):
        return None
    return table


def keep(path: Path, table: pl.DataFrame) -> None:
    """Where nothing can be written nothing is kept."""
    try:
        with replacing(path) as file:
            table.write_ipc(file)
        oldest = sorted(path.parent.glob("*.arrow"), key=lambda one: one.stat().st_mtime)[:-MOST]
        for one in oldest:
            one.unlink(missing_ok=True)
    except (OSError, ConfigurationError):
        return
