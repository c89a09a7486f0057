"""A large benchmark folder, read once and kept in columns in the user's cache, so that the next command need not read it again.

What is kept lies under the checksums of the folder's files, so it is never used for other files than those it was made
from, and only this user writes there: a cache beside the folder would be trusted from whoever the folder came from. It is
safe to delete at any time. Contexts stay in the folder's file; their places in it are kept.
"""

from __future__ import annotations

import json
import shutil
from array import array
from collections.abc import Sequence
from functools import cached_property, partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.errors import CasewiseError
from casewise.records import Item, Query
from casewise.records.base import digest
from casewise.storage.benchmarks.benchmark import ITEM_COLUMNS, Benchmark
from casewise.storage.benchmarks.context_file import INTENTS, ContextFile, Place, ReadBefore
from casewise.storage.benchmarks.fetch import cache_folder
from casewise.storage.benchmarks.manifest import Manifest, new_folder
from casewise.storage.benchmarks.ratings import RatingColumns
from casewise.storage.record_columns import RecordColumns

__all__ = ["find_kept", "keep", "worth_keeping"]

KEPT_VERSION = 3
"""Of what is kept; another one is not read."""

WORTH = 50_000
"""Ratings and contexts together from which a folder is worth keeping; a smaller one is read in a second."""

MOST = 8
"""Benchmarks kept at once; of more, those that were used longest ago are dropped."""

ABOUT = "kept.json"

OF_ITEMS = {
    "item_id": "id",
    "query_id": "query_id",
    "pair_id": "pair_id",
    "condition": "condition",
    "published_rate": "published_rate",
}
"""Columns of the table of items that the items hold already, and as what."""

CONTEXT_COLUMNS = {"id": pl.String(), "intended_safe": pl.Boolean(), **dict.fromkeys(Place._fields, pl.UInt64())}


def worth_keeping(manifest: Manifest) -> bool:
    """Whether a folder is so large that reading it takes longer than a user would wait twice."""
    return manifest.counts.ratings + manifest.counts.contexts >= WORTH


def place_of(manifest: Manifest) -> Path:
    key = digest(
        {
            "version": KEPT_VERSION,
            "files": manifest.files,
            "frame": {name: one.model_dump(mode="json") for name, one in manifest.frame.items()},
        }
    )
    return cache_folder() / "benchmarks" / key


def find_kept(folder: Path, manifest: Manifest) -> Benchmark | None:
    """The benchmark at `folder`, whose files were checked against `manifest`, from what was kept of it; None without that."""
    place = place_of(manifest)
    try:
        about = json.loads((place / ABOUT).read_text(encoding="utf-8"))
        items = pl.read_parquet(place / "items.parquet")
        columns = items.select(**OF_ITEMS).hstack(pl.read_parquet(place / "columns.parquet"))
        found = Benchmark.checked_before(
            about=manifest.about,
            queries=RecordColumns(Query, pl.read_parquet(place / "queries.parquet")),
            contexts=context_file(folder / "contexts.jsonl", pl.read_parquet(place / "contexts.parquet")),
            items=RecordColumns(Item, items),
            ratings=KeptRatings(place, manifest.counts.ratings, about["annotators"]),
            **manifest.frame,
            digest=about["digest"],
            item_columns=columns.select(*ITEM_COLUMNS),
        )
    except (OSError, ValueError, KeyError, pl.exceptions.PolarsError):
        shutil.rmtree(place, ignore_errors=True)
        return None
    (place / ABOUT).touch()
    return found


class KeptRatings(RatingColumns):
    """The ratings of a benchmark that was kept, read when one is asked for: a report of anonymous votes needs none of them.

    Their files are held open, so that removing them changes nothing. Raises ValueError, OSError or polars' errors: they are
    damaged, as far as their ends tell.
    """

    def __init__(self, place: Path, n: int, annotators: Sequence[str]) -> None:
        self.annotators = tuple(annotators)
        self._n, self._files = n, {name: mapped(place / f"{name}.parquet") for name in ("ratings", "rated")}

    def __len__(self) -> int:
        return self._n

    @cached_property
    def table(self) -> pl.DataFrame:  # type: ignore[override]
        return pl.read_parquet(self._files["ratings"][:])

    @cached_property
    def item_ids(self) -> pl.Series:  # type: ignore[override]
        return pl.read_parquet(self._files["rated"][:])["id"]

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(RatingColumns, self.table, items=self.item_ids, annotators=self.annotators), ()


def mapped(path: Path) -> mmap:
    pl.read_parquet_schema(path)
    with path.open("rb") as file:
        return mmap(file.fileno(), 0, access=ACCESS_READ)


def keep(benchmark: Benchmark, manifest: Manifest) -> None:
    """Keep `benchmark`, which was read from a folder with `manifest`. Where nothing can be written nothing is kept."""
    place = place_of(manifest)
    if place.exists() or not isinstance(benchmark.contexts, ContextFile):
        return
    try:
        with new_folder(place) as draft:
            table_of(benchmark.queries, Query).write_parquet(draft / "queries.parquet", compression="uncompressed")
            table_of(benchmark.items, Item).write_parquet(draft / "items.parquet", compression="uncompressed")
            benchmark.rated.item_ids.alias("id").to_frame().write_parquet(
                draft / "rated.parquet", compression="uncompressed"
            )
            benchmark.rated.table.write_parquet(draft / "ratings.parquet", compression="uncompressed")
            places_of(benchmark.contexts).write_parquet(draft / "contexts.parquet", compression="uncompressed")
            benchmark.item_columns.drop(*OF_ITEMS).write_parquet(draft / "columns.parquet", compression="uncompressed")
            about = {"digest": benchmark.digest, "annotators": benchmark.rated.annotators}
            (draft / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        kept = sorted(place.parent.glob(f"*/{ABOUT}"), key=lambda path: path.stat().st_mtime, reverse=True)
        for oldest in kept[MOST:]:
            shutil.rmtree(oldest.parent, ignore_errors=True)
    except (OSError, pl.exceptions.PolarsError, CasewiseError):  # polars says a full disk in its own words
        shutil.rmtree(place, ignore_errors=True)


def table_of(found: Sequence[Query] | Sequence[Item], model: type[Query | Item]) -> pl.DataFrame:
    schema = {name: pl.Float64() if name == "published_rate" else pl.String() for name in model.model_fields}
    return pl.DataFrame({name: [getattr(one, name) for one in found] for name in schema}, schema=schema)


def places_of(contexts: ContextFile) -> pl.DataFrame:
    places = np.array(contexts.places, dtype=np.uint64).reshape(len(contexts), len(Place._fields))
    columns = {name: places[:, at] for at, name in enumerate(Place._fields)}
    return pl.DataFrame(
        {"id": list(contexts.by_id), "intended_safe": [INTENTS[one] for one in contexts.intents], **columns},
        schema=CONTEXT_COLUMNS,
    )


def context_file(path: Path, table: pl.DataFrame) -> ContextFile:
    places = array("Q", table.select(Place._fields).to_numpy().astype(np.uint64).tobytes())
    intents = bytearray(table["intended_safe"].cast(pl.UInt8).fill_null(2).to_numpy().tobytes())
    return ContextFile(path, known=ReadBefore(table["id"], places, intents))
