"""A benchmark as CSV for a spreadsheet program: to look at, not to read back."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.item_table import item_view
from casewise.storage.files.atomic import replacing

__all__ = ["harmless", "write_spreadsheet"]

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A cell that begins so may be run as a formula, a command or a link. Full-width forms are folded by some programs."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Tells Excel that the file is UTF-8."""


def harmless(text: str) -> str:
    """`text` so that no spreadsheet program runs it: an apostrophe goes before what looks like a formula."""
    return f"'{text}" if text.lstrip(" \u00a0").startswith(FORMULA_STARTS) else text


def write_spreadsheet(benchmark: Benchmark, path: Path) -> Path:
    """Write one row an item, every cell quoted and formulas neutralised.

    The apostrophes change the texts, so casewise does not read such a file.
    """
    return write_csv(item_view(benchmark), path)


def write_csv(table: pl.DataFrame, path: Path) -> Path:
    """Write any table in that way."""
    texts = [name for name, kind in table.schema.items() if kind == pl.String]
    safe = table.with_columns(pl.col(name).map_elements(harmless, return_dtype=pl.String) for name in texts)
    with replacing(path) as file:
        file.write(BYTE_ORDER_MARK)
        safe.write_csv(file, quote_style="non_numeric", line_terminator="\r\n")
    return path
