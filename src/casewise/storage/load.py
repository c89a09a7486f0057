"""Benchmarks loaded from wherever they are, cached, and converted."""

from __future__ import annotations

import json
import shutil
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from importlib.resources import as_file, files
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise import __version__
from casewise.errors import CasewiseError, ConfigurationError, DataError, did_you_mean
from casewise.records import Item, Query, Rating
from casewise.records.base import Record, digest
from casewise.storage.benchmark import ITEM_COLUMNS, Benchmark
from casewise.storage.benchmark_folder import (
    MANIFEST,
    RECORDS,
    Manifest,
    assembled,
    check_files,
    held,
    is_parquet,
    new_folder,
    read_manifest,
    read_parquet,
    record_table,
    write_manifest,
    write_parquet,
)
from casewise.storage.columns import INTENTS, ContextFile, Place, ReadBefore, RecordColumns
from casewise.storage.files import cache_folder, long_step, read_jsonl, replacing, write_jsonl
from casewise.storage.imports import write_hugging_face
from casewise.storage.loaders.loader import Loader
from casewise.storage.loaders.registry import find_loader, is_fetched, load_fetched, loader_names
from casewise.storage.published import read_published, write_published
from casewise.storage.ratings import RatingColumns

# A large benchmark folder, read once and kept in columns in the user's cache, so that the next command need not
# read it again.
#
# What is kept lies under the checksums of the folder's files, so it is never used for other files than those it was made
# from, and only this user writes there: a cache beside the folder would be trusted from whoever the folder came from. It is
# safe to delete at any time. Contexts stay in the folder's file; their places in it are kept.


KEPT_VERSION = 4
"""Of what is kept; another one is not read."""

WORTH = 50_000
"""Ratings and contexts together from which a folder is worth keeping; a smaller one is read in a second."""

MOST_BENCHMARKS = 8
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
            annotators=tuple(read_all(folder, "annotators", in_file=True)) if manifest.counts.annotators else (),
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
            record_table(benchmark.queries, Query).write_parquet(draft / "queries.parquet", compression="uncompressed")
            record_table(benchmark.items, Item).write_parquet(draft / "items.parquet", compression="uncompressed")
            benchmark.rated.item_ids.alias("id").to_frame().write_parquet(
                draft / "rated.parquet", compression="uncompressed"
            )
            benchmark.rated.table.write_parquet(draft / "ratings.parquet", compression="uncompressed")
            places_of(benchmark.contexts).write_parquet(draft / "contexts.parquet", compression="uncompressed")
            benchmark.item_columns.drop(*OF_ITEMS).write_parquet(draft / "columns.parquet", compression="uncompressed")
            about = {"digest": benchmark.digest, "annotators": benchmark.rated.annotators}
            (draft / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        kept = sorted(place.parent.glob(f"*/{ABOUT}"), key=lambda path: path.stat().st_mtime, reverse=True)
        for oldest in kept[MOST_BENCHMARKS:]:
            shutil.rmtree(oldest.parent, ignore_errors=True)
    except (OSError, pl.exceptions.PolarsError, CasewiseError):  # polars says a full disk in its own words
        shutil.rmtree(place, ignore_errors=True)


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


# A benchmark as an immutable folder: one JSONL file a record type, and a manifest with the checksum of each.


MOST_HELD = 10_000
"""Contexts that are held in memory, where a benchmark has no more of them. They are the bulk of its records."""


def write_benchmark(benchmark: Benchmark, folder: Path) -> Path:
    """Write `benchmark` as a new folder: all of it or nothing.

    Raises ConfigurationError: there is something at `folder` already (a benchmark is immutable), or it cannot be written.
    """
    with new_folder(folder) as draft:
        for name in held(benchmark):
            write_jsonl(draft / f"{name}.jsonl", getattr(benchmark, name))
        write_manifest(benchmark, draft, names=[f"{name}.jsonl" for name in held(benchmark)])
    return folder


def read_benchmark(folder: Path, *, most_held: int = MOST_HELD) -> Benchmark:
    """The benchmark that a folder holds, its checksums checked.

    A large one is read whole once, and from what was kept of it later (see `casewise.storage.load`).

    `folder`: where it lies.
    `most_held`: with more contexts than this they stay in their file, and each is read when it is asked for.

    Raises DataError: a file is missing, is not the one that the manifest speaks of, or holds a line that is no such record.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    in_file = manifest.counts.contexts > most_held
    if not in_file or manifest.counts.revisions or not worth_keeping(manifest):
        return read_whole(folder, manifest, in_file=in_file)
    if (kept := find_kept(folder, manifest)) is not None:
        return kept
    found = read_whole(folder, manifest, in_file=in_file)
    keep(found, manifest)
    return found


def read_whole(folder: Path, manifest: Manifest, *, in_file: bool) -> Benchmark:
    """Every record of a folder whose files were checked, checked itself."""
    names = [name for name in RECORDS if f"{name}.jsonl" in manifest.files]
    return assembled(folder, manifest, {name: read_all(folder, name, in_file=in_file) for name in names})


def read_all(folder: Path, name: str, *, in_file: bool) -> Sequence[Record]:
    path = folder / f"{name}.jsonl"
    if name == "contexts" and in_file:
        return ContextFile(path)
    if name == "ratings":
        plain = RatingColumns.plainly_written(path)
        return RatingColumns.of(read_jsonl(path, Rating)) if plain is None else plain
    return tuple(read_jsonl(path, RECORDS[name]))


# Numbers that belong to a benchmark and not to a run, worked out once and kept in the user's cache.
#
# They lie under the benchmark's digest, which its items' contents and its ratings make, and under the versions of what worked
# them out; so they are never taken for those of another benchmark or of other code. They are safe to delete at any time.


NUMBERS = {"name": pl.String(), "value": pl.Float64()}

MOST_TABLES = 64
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
        keep_table(path, ids.with_columns(value=pl.Series(found, dtype=pl.Float64)))
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
    keep_table(path, pl.DataFrame({"name": list(found), "value": list(found.values())}, schema=NUMBERS))
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


def keep_table(path: Path, table: pl.DataFrame) -> None:
    """Where nothing can be written nothing is kept."""
    try:
        with replacing(path) as file:
            table.write_ipc(file)
        oldest = sorted(path.parent.glob("*.arrow"), key=lambda one: one.stat().st_mtime)[:-MOST_TABLES]
        for one in oldest:
            one.unlink(missing_ok=True)
    except (OSError, ConfigurationError):
        return


# A benchmark by name or by path.


def named_benchmark(source: object) -> Loader | None:
    """The loader of a public benchmark that `source` names; None where it is no name, or a path that is there before it is fetched."""
    loader = find_loader(source) if isinstance(source, str) else None
    return loader if loader is not None and (is_fetched(loader) or not Path(loader.name).exists()) else None


def load_benchmark(source: str | Path) -> Benchmark:
    """The benchmark called or lying at `source`.

    `source`: `demo` (embedded), a public benchmark by name (once fetched), a benchmark folder (also one of Parquet files, or a Hugging
        Face dataset folder that casewise wrote), or a JSON file in the published format.

    Raises DataError: there is no such benchmark, or it is not valid; the message says where and what to do.
    """
    if source == "demo":
        with as_file(files("casewise").joinpath("demo")) as folder:
            return read_benchmark(folder)
    path = Path(source)
    if (loader := named_benchmark(source)) is not None:
        return load_fetched(loader)
    if path.is_dir():
        if not (path / MANIFEST).is_file():
            raise DataError(path, None, f"is no benchmark folder: it has no {MANIFEST}")
        return read_parquet(path) if is_parquet(path) else read_benchmark(path)
    if not path.exists():
        raise DataError(
            path,
            None,
            f"no such benchmark{did_you_mean(str(source), ('demo', *loader_names()))}; give demo, a name that casewise data list shows, a "
            "benchmark folder or a published JSON file",
        )
    return read_published(path)


# From any of the formats of a benchmark to any other.


Format = Literal["folder", "published", "parquet", "huggingface"]


@dataclass(frozen=True)
class Conversion:
    """What was written, and what of the benchmark its format has no room for."""

    path: Path
    format: Format
    benchmark: Benchmark
    lost: tuple[str, ...]


def convert(source: str | Path, target: Path, *, to: Format | None = None) -> Conversion:
    """Write the benchmark at `source` anew at `target`, in another format.

    `source`: whatever `load_benchmark` takes: a name, a folder of any of the formats, or a published JSON file.
    `to`: the format; by default `published` for a name that ends in `.json`, and `folder` for any other.

    Returns Conversion: `lost` says what reading `target` back would not give; it is empty for all formats but `published`.

    Raises DataError, BenchmarkError: the source is not valid, or holds what the format cannot say at all.
    ConfigurationError: there is something at `target` already, or it cannot be written.
    """
    chosen: Format = to or ("published" if target.suffix == ".json" else "folder")
    if chosen not in get_args(Format):
        raise ConfigurationError(f"no format is called {chosen!r}; there are {', '.join(get_args(Format))}")
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise ConfigurationError(f"{target} exists and a benchmark is never overwritten; choose another place")
    benchmark = load_benchmark(source)
    WRITERS[chosen](benchmark, target)
    return Conversion(target, chosen, benchmark, tuple(lost(benchmark)) if chosen == "published" else ())


WRITERS: dict[Format, Callable[[Benchmark, Path], object]] = {
    "folder": write_benchmark,
    "published": write_published,
    "parquet": write_parquet,
    "huggingface": write_hugging_face,
}


def lost(benchmark: Benchmark) -> Iterator[str]:
    """What of `benchmark` the published format has no room for."""
    known = pl.any_horizontal(pl.col("annotator", "seconds", "at").is_not_null())
    if n := benchmark.rated.table.select(known.sum()).item():
        yield f"who gave {n:,} ratings, when, and how long it took"
    if n := sum(context.origin != "imported" for context in benchmark.contexts):
        yield f"the origin of {n:,} contexts: they will read as imported, in the revised conditions"
    if n := len(benchmark.revisions):
        yield f"{n:,} revisions"
    if n := int(benchmark.item_columns["n_unsure"].sum()):
        yield f"{n:,} unsure votes"
    if benchmark.about.scale is not None:
        yield "the scale that people rated on, with its values and means"
    if n := len(benchmark.annotators):
        yield f"the traits of {n:,} annotators"
    for name, what in (
        ("cluster", "clusters"),
        ("source_id", "ids in the user's own file"),
        ("columns", "other columns"),
    ):
        if n := sum(getattr(item, name) is not None for item in benchmark.items):
            yield f"the {what} of {n:,} items"
    shown = {item.context_id for item in benchmark.items}
    if n := sum(context.id not in shown for context in benchmark.contexts):
        yield f"{n:,} contexts that no item shows"
    if benchmark.about.published is None:
        yield "the benchmark's name, version, licence and terms, and its taxonomy"
