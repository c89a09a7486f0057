"""Parquet, Arrow and Feather files, recognised by their first bytes."""

import polars as pl
import pytest

from casewise.errors import DataError
from casewise.storage.intake.formats.find import read_any_table

COLUMNS = {"id": [1, 2], "query": ["Who?", "When?"], "votes": [["safe"], None]}


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (pl.DataFrame.write_parquet, "Parquet"),
        (pl.DataFrame.write_ipc, "Arrow"),
        (pl.DataFrame.write_ipc_stream, "Arrow"),
    ],
)
def test_a_table_of_a_program_has_its_columns_and_counted_rows(tmp_path, write, name):
    write(pl.DataFrame(COLUMNS), tmp_path / "table.csv")
    table = read_any_table(tmp_path / "table.csv")

    assert (table.format, table.columns, list(table.lines)) == (name, COLUMNS, [1, 2])


@pytest.mark.parametrize("start", [b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"])
def test_a_damaged_table_of_a_program_is_refused(tmp_path, start):
    (tmp_path / "table").write_bytes(start + b"damaged")
    with pytest.raises(DataError, match=r"table: cannot be read: "):
        read_any_table(tmp_path / "table")
