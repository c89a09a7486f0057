"""The formats of a document, each written out whole."""

import io
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from casewise.errors import ConfigurationError
from casewise.reports.document import (
    Document,
    Exhibit,
    Figure,
    Folded,
    Forest,
    ForestRow,
    MarkedText,
    Prose,
    Section,
    paragraph,
    table_of,
)
from casewise.reports.formats import (
    Report,
    column_widths,
    drawings,
    find_format,
    html,
    in_parts,
    latex,
    markdown,
    print_document,
    text,
    write_figures,
    write_tables,
)
from casewise.text import SyntheticNote

TABLE = table_of("numbers", "Numbers_1", ("Name", "n"), [("a|b", 1200), ("c", None)])
ITEM = Exhibit(
    "Fraud, safe",
    (("People", "18 of 21"),),
    MarkedText("Who was <there>?", "Who now was <there>?"),
    (("recipient", (("type", "a nurse"), ("role", "on duty"))),),
    reply="No *idea*.",
)
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>drawn</text></svg>'
FIGURE = Figure("curve", "A curve", "It falls.", SVG, TABLE)
FOREST = Forest(
    "rates", "Rates", (("judges", (ForestRow("x", 0.5, 0.25, 0.75, strong=True), ForestRow("y", None, 0.0, 1.0))),)
)
ANSWER = Section(
    "answer", "The answer", (Prose("It is *so*.", lead=True), paragraph("Mind.", notice=True), TABLE), first=True
)
ITEMS = Section("items", "Items", (Folded("More", (ITEM, FIGURE)),), brief=True)
DOCUMENT = Document("A #title", "sub & title", ("Beware.",), (ANSWER, ITEMS))


def test_markdown_has_everything_with_its_own_markup_alone():
    assert (
        markdown(DOCUMENT)
        == r"""# A \#title

sub &amp; title

> **Beware.**

## The answer

It is \*so\*.

> **Mind.**

**Numbers\_1**

| Name | n |
|---|---:|
| a\|b | 1,200 |
| c | – |

## Items

### More

### Fraud, safe

> Who\[+ now+\] was &lt;there&gt;?

- recipient
  - type: a nurse
  - role: on duty

- People: 18 of 21

> No \*idea\*.

**A curve** It falls.

| Name | n |
|---|---:|
| a\|b | 1,200 |
| c | – |
"""
    )


def test_a_chart_without_a_table_and_an_exhibit_without_a_reply_leave_nothing_out_in_markdown():
    bare = replace(FIGURE, behind=None), replace(ITEM, reply=None, context=()), FOREST
    page = markdown(replace(DOCUMENT, subtitle="", sections=(Section("s", "S", bare),)))

    assert page.endswith(
        """## S

**A curve** It falls.

### Fraud, safe

> Who\\[+ now+\\] was &lt;there&gt;?

- People: 18 of 21

**Rates**

| Name | Against | Accuracy | 95 % interval |
|---|---|---:|---:|
| x | judges | 0.500 | \\[0.250, 0.750\\] |
| y | judges | – | \\[0.000, 1.000\\] |
"""
    )


def test_latex_has_every_table_and_the_notices_as_comments():
    assert (
        latex(replace(DOCUMENT, notices=("Two\nlines.",), sections=(ANSWER,)))
        == r"""% Two lines.
\begin{table}
\caption{Numbers\_1}
\label{tab:numbers}
\begin{tabular}{lr}
\toprule
Name & n \\
\midrule
a|b & 1,200 \\
c & -- \\
\bottomrule
\end{tabular}
\end{table}

"""
    )


def test_a_terminal_shows_each_block_in_full():
    printed = text(replace(DOCUMENT, sections=(replace(ANSWER, first=False, brief=True), ITEMS)))

    assert (
        "\n".join(map(str.rstrip, printed.splitlines()))
        == """\
A #title
sub & title
╭──────────────────────────────────────────────────────────────────────────────────────────────────╮
│ Beware.                                                                                          │
╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
It is *so*.
╭──────────────────────────────────────────────────────────────────────────────────────────────────╮
│ Mind.                                                                                            │
╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
Numbers_1
┏━━━━━━┳━━━━━━━┓
┃ Name ┃     n ┃
┡━━━━━━╇━━━━━━━┩
│ a|b  │ 1,200 │
│ c    │     – │
└──────┴───────┘
Fraud, safe
╭─ query ──────────────────────────────────────────────────────────────────────────────────────────╮
│ Who[+ now+] was <there>?                                                                         │
╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
recipient
  type: a nurse
  role: on duty
People: 18 of 21
╭─ reply ──────────────────────────────────────────────────────────────────────────────────────────╮
│ No *idea*.                                                                                       │
╰──────────────────────────────────────────────────────────────────────────────────────────────────╯"""
    )


def test_a_terminal_draws_intervals_on_one_axis():
    rows = (
        ForestRow("x", 0.5, 0.25, 0.75, strong=True),
        ForestRow("y", 1.0, None, None),
        ForestRow("z", None, 0.0, 0.1),
    )
    forest = Forest("rates", "Rates", (("judges", rows),))

    assert (
        text(Document("T", "", (), (Section("s", "S", (forest,), first=True),)))
        == """\
T
Rates
judges
  x  ··········──────────●─────────··········  50.0 % [25.0, 75.0]
  y  ·······································○  100.0 %
  z  ─────···································  [0.0, 10.0]
     0 %              50 %              100 %
"""
    )


BRIEF, FIRST, OTHER = (
    Section("b", "B", (Prose("Brief."), Folded("F", (Prose("Folded."),))), brief=True),
    Section("f", "F", (Prose("First."), Folded("F", (Prose("Deep."),))), first=True),
    Section("o", "O", (Prose("Other."),)),
)


@pytest.mark.parametrize(
    ("sections", "full", "shown"),
    [
        ((FIRST, BRIEF, OTHER), False, ["First."]),
        ((FIRST, BRIEF, OTHER), True, ["First.", "Brief.", "Folded."]),
        ((BRIEF, OTHER), False, ["Brief.", "Folded."]),
    ],
)
def test_a_terminal_shows_the_answer_and_the_brief_sections_where_there_is_none_or_all_is_asked_for(
    sections, full, shown
):
    file = io.StringIO()
    print_document(Document("T", "", (), sections), Console(file=file), full=full)

    assert file.getvalue().split() == ["T", *shown]


def test_an_empty_table_and_an_item_without_context_say_so_in_a_terminal():
    blocks = (table_of("t", "Items", ("n",), []), replace(ITEM, context=(), reply=None))
    printed = text(Document("T", "", (), (Section("s", "S", blocks, brief=True),)))

    assert printed.splitlines()[1] == "Items: nothing"
    assert "\nno context\n" in printed
    assert "reply" not in printed


def test_a_page_marks_what_an_attack_changed_and_lets_long_names_be_broken():
    chart = replace(FOREST, groups=(("", (ForestRow("twin:recipient+data_mark", 0.5, None, None),)),))
    page = html(replace(DOCUMENT, sections=(Section("s", "S", (ITEM, chart)),)))

    assert "Who<ins> now</ins> was &lt;there&gt;?" in page
    assert "twin:<wbr>recipient+<wbr>data_<wbr>mark" in page


@pytest.mark.parametrize(
    ("name", "ending"), [("html", ".html"), ("html", ".htm"), ("markdown", ".md"), ("latex", ".tex"), ("text", ".txt")]
)
def test_a_format_is_found_by_its_name_or_by_the_ending_of_a_file(name, ending):
    assert find_format(name) is find_format(None, Path("page").with_suffix(ending))


@pytest.mark.parametrize(
    ("name", "path", "message"),
    [
        (
            "markdwn",
            None,
            "--format is 'markdwn' (did you mean 'markdown'?); it can be html, markdown, latex, text, json",
        ),
        (
            None,
            Path("page.doc"),
            "--out is page.doc: casewise knows no format by this ending. Give --format: html, markdown",
        ),
        (None, None, "--out is None: casewise knows no format by this ending."),
    ],
)
def test_a_format_that_there_is_not_is_refused_with_those_that_there_are(name, path, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        find_format(name, path)


def test_tables_are_written_as_the_numbers_behind_them(tmp_path):
    write_tables(replace(DOCUMENT, sections=(ANSWER, Section("r", "R", (FOREST,)))), tmp_path)

    assert pl.read_parquet(tmp_path / "numbers.parquet").to_dicts() == [
        {"Name": "a|b", "n": 1200},
        {"Name": "c", "n": None},
    ]
    assert pl.read_parquet(tmp_path / "rates-table.parquet").height == 2


def test_figures_are_written_as_svg_and_png_and_those_of_synthetic_data_say_so(tmp_path):
    real = Document("T", "", ("Note.",), (Section("s", "S", (replace(FOREST, ends=(0.0, 4.0)), FIGURE)),))
    made_up = replace(real, notices=(SyntheticNote("made up"),))

    write_figures(replace(real, sections=(Section("s", "S", (FOREST,)),)), tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["rates.png", "rates.svg"]
    assert drawings(real).keys() == {"curve", "rates"}
    assert "x (judges)" in drawings(real)["rates"]
    assert ">4.0</text>" in drawings(real)["rates"]
    assert not any("SYNTHETIC" in drawn for drawn in drawings(real).values())
    assert drawings(made_up)["curve"].startswith(SVG.removesuffix("</svg>") + '<text x="50%"')
    assert all(drawn.endswith("SYNTHETIC DATA</text></svg>") for drawn in drawings(made_up).values())
    assert r"\caption{Synthetic data. Numbers\_1}" in latex(made_up)
    assert "Synthetic data." not in latex(real)


def test_a_report_is_its_numbers_and_every_format_of_their_page():
    report = Report({"n": 3}, lambda numbers: replace(DOCUMENT, title=f"{numbers['n']} items"))

    assert report.as_json() == {"n": 3}
    assert repr(report) == "<Report: 3 items>"
    assert report.document is report.document
    assert report.tables.keys() == {"numbers"}
    assert report.tables["numbers"].equals(TABLE.frame)
    assert report.to_markdown() == markdown(report.document)
    assert report.to_html() == html(report.document)
    assert "Mind." in str(report)
    assert "Fraud, safe" not in str(report)
    assert "<h1>3 items</h1>" in report._repr_html_()
    assert "<h2>Items</h2>" not in report._repr_html_()


def widths(rows, room, columns=("Name", "n")):
    return column_widths(table_of("t", "T", columns, rows), room)


@pytest.mark.parametrize(
    ("room", "found"),
    [
        (100, [11, 5]),
        (23, [11, 5]),  # two columns take 7 cells for borders
        (22, [10, 5]),
        (17, [5, 5]),
        (16, None),
    ],
)
def test_columns_are_as_wide_as_their_cells_then_fold_between_words_and_never_break_a_number(room, found):
    assert widths([("three words", "1,200")], room) == found


def test_a_word_is_broken_beyond_fourteen_letters_where_there_is_no_room_and_first_has_what_is_left():
    assert widths([("w" * 20, "1")], 22) == [14, 1]
    assert widths([("w" * 20, "1")], 25) == [17, 1]
    assert widths([("w" * 20, "1")], 21) is None
    assert widths([("w" * 20, "two words and more")], 14 + 5 + 7 + 3) == [17, 5]


def test_columns_that_do_not_fit_stand_in_parts_that_each_begin_with_what_a_row_is():
    table = table_of("t", "T", ("Judge", "a", "b", "c"), [("gpt", "0.100", "0.200", "0.300")])

    assert in_parts(table, 100) == [table]
    assert [part.columns for part in in_parts(table, 26)] == [("Judge", "a", "b"), ("Judge", "c")]
    assert [part.rows for part in in_parts(table, 26)] == [(("gpt", "0.100", "0.200"),), (("gpt", "0.300"),)]
    assert [part.numeric for part in in_parts(table, 26)] == [(False, True, True), (False, True)]
    assert in_parts(table, 10) == [table]
