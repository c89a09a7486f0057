"""A report's figures and tables as files: SVG and PNG to paste, Parquet to compute with."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from casewise.reporting.charts import drawing as charts
from casewise.reporting.document import Document, Table
from casewise.storage.files.atomic import replacing, write_text

__all__ = ["frame_of", "write_figures", "write_tables"]


def write_figures(document: Document, folder: Path) -> tuple[Path, ...]:
    """Write every figure of `document` to `folder`, as `NAME.svg` and `NAME.png` (twice the size, on white).

    Raises
    ------
    ConfigurationError
        `folder` cannot be written.
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

    Raises
    ------
    ConfigurationError
        `folder` cannot be written.
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
