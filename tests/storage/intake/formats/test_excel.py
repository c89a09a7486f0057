"""Workbooks: sheets, titles above the names, and formulas."""

import zipfile

import pytest
from tests.support.workbooks import Xml, workbook

from casewise.errors import CasewiseError
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.formats.format import FileOptions
from casewise.storage.load import import_cases


def test_a_workbook_with_a_title_and_several_sheets_asks_which_rows_are_meant(tmp_path):
    pytest.importorskip("fastexcel")
    rows = [["Export of March"], [], ["id", "query", "label"], [1, "Who?", "safe"], [2, "When?", "unsafe"]]
    path = workbook(tmp_path / "mine.xlsx", rows, more={"Notes": [["note"], ["x"]]}.items())
    with pytest.raises(
        CasewiseError, match="several sheets with rows \\('Data', 'Notes'\\); give --sheet 'Data' or another"
    ):
        import_cases(path)
    with pytest.raises(CasewiseError, match="has no sheet 'data' with rows; there are 'Data', 'Notes'"):
        import_cases(path, file=FileOptions(sheet="data"))
    found = import_cases(path, file=FileOptions(sheet="Data", header_line=3))

    assert [item.source_id for item in found.items] == ["1", "2"]
    assert found.about.receipt is not None
    assert "The columns are named in row 3; 2 rows were left out above." in found.about.receipt.notes


QUERIES = ("Who?", "When?")


def test_a_formula_without_a_value_is_named_and_one_whose_value_is_empty_is_empty(tmp_path):
    pytest.importorskip("fastexcel")
    names = ["query", "label", "note"]
    unsaved = workbook(tmp_path / "unsaved.xlsx", [names, ["Who?", Xml('><f>IF(1,"safe","unsafe")</f><v></v>')]])
    with pytest.raises(CasewiseError, match="the formula in cell B2 has no value; open the workbook in a spreadsheet"):
        read_any_table(unsaved)
    saved = workbook(tmp_path / "saved.xlsx", [names, ["Who?", "safe", Xml(' t="str"><f>IF(1,"","x")</f><v></v>')]])

    assert read_any_table(saved).columns == {"query": ["Who?"], "label": ["safe"], "note": [None]}


def test_an_id_that_has_lost_digits_is_refused_and_other_long_numbers_are_kept(tmp_path):
    pytest.importorskip("fastexcel")
    long = workbook(tmp_path / "long.xlsx", [["query", "label", "id"], ["Who?", "safe", 1.2345678901234568e16]])
    with pytest.raises(CasewiseError, match=r"'id' is 12345678901234568: a spreadsheet program has cut a long number"):
        import_cases(long)
    times = workbook(tmp_path / "times.xlsx", [["query", "label", "at"], ["Who?", "safe", 1732665600123456]])

    assert import_cases(times).items[0].columns == {"at": 1732665600123456}


def test_the_line_of_a_row_is_its_row_in_the_sheet(tmp_path):
    pytest.importorskip("fastexcel")
    path = workbook(tmp_path / "a.xlsx", [["query", "label"], *([query, "safe"] for query in QUERIES)])
    below = workbook(tmp_path / "b.xlsx", [["Title"], ["query", "label"], *([query, "safe"] for query in QUERIES)])

    plain, above = read_any_table(path), read_any_table(below, FileOptions(header_line=2))
    assert (plain.format, list(plain.lines), plain.notes) == ("Excel", [2, 3], [])
    assert (list(above.lines), above.notes) == ([3, 4], ["The columns are named in row 2; 1 row was left out above."])


def test_a_workbook_without_rows_or_of_damaged_parts_is_refused(tmp_path):
    pytest.importorskip("fastexcel")
    with pytest.raises(CasewiseError, match="holds no rows"):
        read_any_table(workbook(tmp_path / "empty.xlsx", [["query", "label"]]))
    with zipfile.ZipFile(tmp_path / "damaged.xlsx", "w") as file:
        file.writestr("xl/workbook.xml", "<workbook")
    with pytest.raises(CasewiseError, match="is a workbook that cannot be read"):
        read_any_table(tmp_path / "damaged.xlsx")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 damaged")
    with pytest.raises(CasewiseError, match="is a workbook that cannot be read"):
        read_any_table(tmp_path / "old.xls")


def test_a_sheet_without_rows_is_no_other_sheet_to_choose(tmp_path):
    pytest.importorskip("fastexcel")
    path = workbook(tmp_path / "a.xlsx", [["query"], ["Who?"]], more={"Empty": [["query"]]}.items())

    assert read_any_table(path).columns == {"query": ["Who?"]}
