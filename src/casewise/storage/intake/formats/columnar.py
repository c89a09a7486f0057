"""Parquet, Arrow and Feather files, read by polars. https://docs.pola.rs (polars 1.30 to 2.1)."""

from __future__ import annotations

import polars as pl

from casewise.errors import DataError
from casewise.storage.intake.formats.format import GivenFile, TableFormat
from casewise.storage.intake.table import Table, frame_table

STREAM = b"\xff\xff\xff\xff"
"""The first bytes of an Arrow stream, such as a file of a Hugging Face dataset's cache."""


def read(given: GivenFile) -> Table:
    """Return the rows of a Parquet or an Arrow file. Raises DataError: it cannot be read."""
    readers = {b"PAR1": pl.read_parquet, b"ARRO": pl.read_ipc, STREAM: pl.read_ipc_stream}
    try:
        frame = readers[given.head[:4]](given.path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(given.path, None, f"cannot be read: {error}") from error
    return frame_table(frame, str(given.path))


FORMATS = (
    TableFormat("Parquet", "bytes", "polars 2.1, read_parquet", lambda given: given.head.startswith(b"PAR1"), read),
    TableFormat(
        "Arrow", "bytes", "polars 2.1, read_ipc", lambda given: given.head.startswith((b"ARROW1", STREAM)), read
    ),
)
