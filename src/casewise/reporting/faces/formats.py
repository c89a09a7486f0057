"""Every format that a report can be written in, and its figures and tables as files.

A new format is a file in this folder and a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl

from casewise.errors import ConfigurationError, did_you_mean
from casewise.reporting.charts import drawing as charts
from casewise.reporting.document import Document, Table
from casewise.reporting.faces.html import html
from casewise.reporting.faces.latex import latex
from casewise.reporting.faces.markdown import markdown
from casewise.reporting.faces.terminal import text
from casewise.storage.files.atomic import replacing, write_text

__all__ = ["FORMATS", "Format", "format_named", "frame_of", "write_figures", "write_tables"]


class Format(NamedTuple):
    """How a document is written, and how files of it end."""

    write: Callable[[Document], str]
    endings: tuple[str, ...]


FORMATS: dict[str, Format] = {
    "html": Format(html, (".html", ".htm")),
    "markdown": Format(markdown, (".md",)),
    "latex": Format(latex, (".tex",)),
    "text": Format(text, (".txt",)),
}
"""By the name that `--format` knows."""


def format_named(name: str | None, path: Path | None = None) -> Format:
    """The format called `name`; without a name, the one that `path` ends like.

    Raises ConfigurationError: there is none.
    """
    known = ", ".join((*FORMATS, "json"))
    if name is not None:
        if name not in FORMATS:
            raise ConfigurationError(f"--format is {name!r}{did_you_mean(name, FORMATS)}; it can be {known}")
        return FORMATS[name]
    for one in FORMATS.values():
        if path is not None and path.suffix in one.endings:
            return one
    raise ConfigurationError(f"--out is {path}: its ending tells no format; give --format, which can be {known}")


def write_figures(document: Document, folder: Path) -> tuple[Path, ...]:
    """Write every figure of `document` to `folder`, as `NAME.svg` and `NAME.png` (twice the size, on white).

    Raises ConfigurationError: `folder` cannot be written.
    """
    written = []
    for figure in document.figures():
        if not figure.svg:
            continue
        drawn = charts.standalone(figure.svg)
        write_text(folder / f"{figure.name}.svg", drawn)
        with replacing(folder / f"{figure.name}.png") as file:
            file.write(charts.png(drawn))
        written += [folder / f"{figure.name}.svg", folder / f"{figure.name}.png"]
    return tuple(written)


def write_tables(document: Document, folder: Path) -> tuple[Path, ...]:
    """Write every table of `document` to `folder` as `NAME.parquet`: the numbers unrounded, or the cells as they stand.

    Raises ConfigurationError: `folder` cannot be written.
    """
    written = []
    for table in document.tables():
        path = folder / f"{table.name}.parquet"
        with replacing(path) as file:
            frame_of(table).write_parquet(file)
        written.append(path)
    return tuple(written)


def frame_of(table: Table) -> pl.DataFrame:
    """The numbers behind a table, unrounded; the cells as texts where it keeps none."""
    if table.frame is not None:
        return table.frame
    return pl.DataFrame(list(table.rows), schema=dict.fromkeys(table.columns, pl.String), orient="row")
