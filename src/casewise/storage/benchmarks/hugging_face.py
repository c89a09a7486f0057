"""A benchmark as a Hugging Face dataset folder, which `datasets.load_dataset(FOLDER)` opens.

The tables are those of `casewise.storage.benchmarks.parquet`, under `data/`, so the folder reads back as it was. The default
configuration is a view with one row an item; each table is a configuration of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.item_table import item_view
from casewise.storage.benchmarks.manifest import new_folder, write_manifest
from casewise.storage.benchmarks.parquet import tables_with_rows, write_table, write_tables
from casewise.storage.files.atomic import write_text

__all__ = ["write_hugging_face"]

VIEW = "rated_items"
ASKED = "asked"

CARD = """---
{front}
---

# {name}

{notices}{description}

{counts}

`load_dataset("FOLDER")` gives the configuration `{view}`: one row an item, with the query, the parameters of its
context, and how many people called it safe. The other configurations are the records themselves: {tables}.
`casewise data check FOLDER` checks them against `benchmark.json`, and every casewise command takes this folder as a
benchmark.
"""


def write_hugging_face(
    benchmark: Benchmark, folder: Path, *, asked: pl.DataFrame | None = None, evaluation: str | None = None
) -> Path:
    """Write `benchmark` as a new dataset folder: all of it or nothing.

    `asked`: what is asked about each item: one configuration more.
    `evaluation`: what `eval.yaml` says, by which the hub knows a benchmark.

    Raises ConfigurationError: there is something at `folder` already, or it cannot be written.
    """
    with new_folder(folder) as draft:
        names = write_tables(benchmark, draft, under="data/")
        write_table(item_view(benchmark), draft / f"data/{VIEW}.parquet")
        write_text(draft / "README.md", card(benchmark, more=() if asked is None else (ASKED,)))
        if asked is not None:
            write_table(asked, draft / f"data/{ASKED}.parquet")
        if evaluation is not None:
            write_text(draft / "eval.yaml", evaluation)
        write_manifest(benchmark, draft, names=names)
    return folder


def card(benchmark: Benchmark, *, more: Sequence[str] = ()) -> str:
    """The dataset card: its settings, and what a reader must know."""
    about, tables = benchmark.about, tables_with_rows(benchmark)
    notices = "".join(f"> {note}\n\n" for note in benchmark.notes())
    notices += f"> {about.canary}\n\n" if about.canary else ""
    counts = ", ".join(f"{n:,} {kind}" for kind, n in benchmark.counts.model_dump().items())
    return CARD.format(
        front="\n".join(front(benchmark, [*([VIEW] if benchmark.items else []), *tables, *more])),
        name=about.name,
        notices=notices,
        description=about.description or "",
        counts=f"Version {about.version}: {counts}.",
        view=VIEW,
        tables=", ".join(f"`{table}`" for table in tables),
    )


def front(benchmark: Benchmark, tables: list[str]) -> list[str]:
    """The card's settings as YAML; strings are written as JSON, which YAML reads."""
    about = benchmark.about
    lines = [f"pretty_name: {json.dumps(about.name, ensure_ascii=False)}", "license: other"]
    if about.licence:
        lines.append(f"license_name: {json.dumps(about.licence, ensure_ascii=False)}")
    if about.gated:
        lines.append(f"extra_gated_prompt: {json.dumps(about.terms or 'See the terms.', ensure_ascii=False)}")
    lines.append("configs:")
    for table in tables:
        lines += [f"- config_name: {table}", "  data_files:", "  - split: test", f"    path: data/{table}.parquet"]
        if table == VIEW:
            lines.append("  default: true")
    return lines
