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

__all__ = ["worked_out"]

MOST = 64
"""Files kept at once; of more, those that were used longest ago are dropped."""


def worked_out(
    benchmark: Benchmark, what: str, work: Callable[[], NDArray[np.float64]], *, made_with: str
) -> NDArray[np.float64]:
    """One number an item of `benchmark`, in its order: as it was kept, or as `work` gives it, which is then kept.

    Parameters
    ----------
    what
        What the numbers are, with every setting that they depend on.
    made_with
        The package, besides this one, whose version they depend on.
    """
    versions = {"casewise": __version__, made_with: version(made_with)}
    path = cache_folder() / "worked-out" / f"{digest([benchmark.digest, what, versions])}.arrow"
    ids = pl.DataFrame({"item_id": [item.id for item in benchmark.items]})
    found = find(path, ids)
    if found is None:
        found = work()
        keep(path, ids.with_columns(value=pl.Series(found, dtype=pl.Float64)))
    return found


def find(path: Path, ids: pl.DataFrame) -> NDArray[np.float64] | None:
    if not path.is_file():
        return None
    try:
        there = ids.join(pl.read_ipc(path), on="item_id", how="left", maintain_order="left")
        values = there["value"]
        path.touch()
    except (OSError, pl.exceptions.PolarsError):
        return None
    whole = len(values) == len(ids) and values.dtype == pl.Float64 and not values.has_nulls()
    return values.to_numpy() if whole else None


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
