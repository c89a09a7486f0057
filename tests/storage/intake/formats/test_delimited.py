"""CSV with any separator: the names of the columns, the lines of the rows, and rows that do not fit."""

import pytest

from casewise.errors import ConfigurationError, DataError
from casewise.storage.intake.formats.delimited import separator_of
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.formats.format import FileOptions


@pytest.fixture
def read(tmp_path):
    def table(text, **options):
        (tmp_path / "cases.csv").write_bytes(text.encode())
        return read_any_table(tmp_path / "cases.csv", FileOptions(**options))

    return table


@pytest.mark.parametrize(
    ("delimiter", "name", "comma"),
    [(",", "CSV", False), (";", "CSV", True), ("\t", "TSV", False), ("|", "CSV", False), ("^", "CSV", False)],
)
def test_the_separator_names_the_format_and_a_semicolon_the_decimal_comma(read, delimiter, name, comma):
    table = read(f"query{delimiter}label\nWho?{delimiter}safe\n")

    assert (table.format, table.decimal_comma, table.columns) == (name, comma, {"query": ["Who?"], "label": ["safe"]})
    assert table.notes == ([] if delimiter in ",\t" else [f"Cells are separated by {delimiter!r}."])


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a;b,c;d\n1;2;3\n", ";"),
        ("a,b;c\n1,2;3\n4,5,6;7\n", ";"),
        ("a,b\n1,2\n3\n", ","),
        ('"a;b;c",d\n"1;2;3",4\n', ","),
        ("word\nother\n", ","),
        ("", ","),
        ("\n\na|b\n1|2\n", "|"),
    ],
)
def test_the_separator_gives_most_columns_and_the_same_number_in_the_rows(text, separator):
    assert separator_of(text) == separator


def test_the_separator_is_found_in_the_first_fifty_rows():
    rows = "a;b\n" + "1;2\n" * 49 + "1,2,3;4\n" * 200

    assert separator_of(rows) == ";"


def test_a_stated_separator_goes_first_and_an_announced_one_second(read):
    assert read("sep=|\na;b|c\n1;2|3\n").columns == {"a;b": ["1;2"], "c": ["3"]}
    assert read("a;b|c\n1;2|3\n", delimiter="|").columns == {"a;b": ["1;2"], "c": ["3"]}
    assert read("SEP=;\na;b\n1;2\n").columns == {"a": ["1"], "b": ["2"]}
    with pytest.raises(ConfigurationError, match="--delimiter is '::'; it is one character"):
        read("a,b\n1,2\n", delimiter="::")


def test_a_row_begins_on_its_line_though_cells_and_blank_lines_take_several(read):
    table = read('query,label\n\n"two\nlines",safe\n,\nWho?,unsafe\n')

    assert (list(table.lines), table.columns["query"]) == ([3, 6], ["two\nlines", "Who?"])
    assert table.left_out == {"the row is empty": 1}


def test_a_row_with_another_number_of_cells_is_rejected_with_its_text(read):
    table = read("query,label\nWho, me?,safe\nWho?,safe\nWhen?\n")

    assert [(row.line, row.problem.split(";")[0], row.content) for row in table.rejected] == [
        (2, "has 3 cells, and there are 2 columns", "Who, me?,safe"),
        (4, "has 1 cell, and there are 2 columns", "When?"),
    ]
    assert (table.columns, list(table.lines)) == ({"query": ["Who?"], "label": ["safe"]}, [3])


def test_a_row_with_an_error_of_a_spreadsheet_is_rejected_and_leaves_no_cells(read):
    table = read("query,label\nWho?,#REF!\nWhen?,safe\nWho?, #NAME? \n")

    assert [(row.line, row.content) for row in table.rejected] == [(2, "Who?,#REF!"), (4, "Who?, #NAME? ")]
    assert table.rejected[0].problem == "'label' is #REF!, an error of the spreadsheet program; mend it there"
    assert (table.columns, list(table.lines)) == ({"query": ["When?"], "label": ["safe"]}, [3])


def test_cells_have_no_spaces_around_them_but_for_what_a_model_wrote(read):
    assert read("query, reply ,x\n Who? , me , \n").columns == {"query": ["Who?"], "reply": [" me "], "x": [None]}


@pytest.mark.parametrize(("row", "approve"), [("h,safe,,", None), ("h,safe", None), ("h,safe,x,", "x")])
def test_two_last_columns_for_the_requester_may_have_no_cells(read, row, approve):
    table = read(f"HITId,Answer,Approve,Reject\n{row}\n")

    assert (table.columns["Approve"], table.columns["Reject"], table.rejected) == ([approve], [None], [])
    assert len(read("HITId,Answer,Reject,Approve\nh,safe\n").rejected) == 1


def test_a_column_without_a_name_is_named_by_its_place(read):
    table = read("query,,label, \nWho?,a,safe,b\n")

    assert table.names == ("query", "column 2", "label", "column 4")
    assert table.notes == ["Columns without a name: column 2, column 4."]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("\n\nlabel, label \nsafe,safe\n", 3, "two columns are called 'label'; give each a name of its own"),
        ("query,label\n", None, "holds no rows: a table has a line of column names and rows below it"),
        (" ,\n", None, "is empty"),
        ('query,label\nWho?,safe\n"open,safe\n', 3, "is no CSV: "),
    ],
)
def test_a_text_that_is_no_table_is_refused_with_the_line(read, text, line, problem):
    with pytest.raises(DataError, match=problem) as refused:
        read(text)
    assert refused.value.line == line


def test_the_line_of_the_names_is_counted_from_one_and_the_lines_of_rows_stay(read):
    table = read("Title\n\nquery,label\nWho?,safe\n", header_line=3)

    assert (table.names, list(table.lines)) == (("query", "label"), [4])
    assert table.notes == ["The columns are named on line 3; 2 lines were left out above."]
    assert read("query,label\nWho?,safe\n", header_line=1).notes == []
    with pytest.raises(DataError, match="has no line 9"):
        read("query,label\nWho?,safe\n", header_line=9)


def test_a_line_above_the_names_may_announce_the_separator(read):
    assert read("sep=|\nTitle\na;b|c\n1;2|3\n", header_line=3).columns == {"a;b": ["1;2"], "c": ["3"]}


def test_a_cell_may_be_a_whole_document(read):
    assert read(f"query,label\n{'x' * 200_000},safe\n").columns["query"] == ["x" * 200_000]
