import csv

import pytest
from tests.support.benchmarks import rich_benchmark

from casewise.errors import DataError
from casewise.storage.benchmark_folder import item_view
from casewise.storage.load import escape_formula, load, write_csv


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1", "－2", '=HYPERLINK("a","b")']
)
def test_what_could_run_as_a_formula_does_not(text):
    assert escape_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a = b", "1-2", "'quoted'", "mail@example.org", "„Anführung“"])
def test_other_texts_stay_as_they_are(text):
    assert escape_formula(text) == text


def test_a_benchmark_is_written_one_row_an_item_without_formulas(tmp_path):
    benchmark = rich_benchmark()
    path = write_csv(item_view(benchmark), tmp_path / "rich.csv")

    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["item_id"] for row in rows] == [item.id for item in benchmark.items]
    assert rows[0]["query"] == "'" + benchmark.queries[0].text
    assert rows[0]["recipient_background"] == "demographics, role: an analyst; earlier: one; earlier: two"
    assert rows[0]["safe_rate"] == "0.5"
    assert rows[2]["safe_rate"] == ""


def test_casewise_does_not_read_it_back(tmp_path):
    path = write_csv(item_view(rich_benchmark()), tmp_path / "rich.csv")

    with pytest.raises(DataError):
        load(path)
