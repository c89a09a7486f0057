from io import StringIO

import pytest
from rich.console import Console

from casewise.reports.document import Forest, ForestRow, table_of
from casewise.reports.formats import print_forest, print_table
from casewise.reports.formats import without_controls as plain

HEAD = ("Metric", "Baseline", "Run", "Drop", "Bounds", "Allowed", "Decision")
ROWS = [
    ("accuracy", "0.911", "0.622", "0.289", "[0.178, 0.378]", "0.010", "fail"),
    ("over_refusal", "0.029", "0.029", "0.000", "[-0.169, 0.151]", "0.020", "inconclusive"),
    ("and a metric that is called by several words", "0.029", "0.029", "0.000", "–", "0.020", "fail"),
]


def printed(rows, *, width, head=HEAD):
    file = StringIO()
    print_table(table_of("t", "A caption", head, rows), Console(file=file, width=width))
    return file.getvalue()


@pytest.mark.parametrize(
    ("width", "whole"),
    [(90, {"over_refusal", "inconclusive", "[-0.169, 0.151]"}), (82, {"over_refusal", "inconclusive"})],
)
def test_no_word_is_broken_where_a_line_has_room_and_an_interval_is_folded_before_one(width, whole):
    text = printed(ROWS, width=width)

    assert whole <= {cell.strip() for cell in text.replace("\n", "│").split("│")}
    assert max(map(len, text.splitlines())) <= width


def test_a_long_name_is_broken_before_an_interval_is():
    text = printed(
        [("a-model-of-which-the-name-has-no-end-in-sight", "[0.178, 0.378]")], width=38, head=("Who", "Bounds")
    )

    assert "[0.178, 0.378]" in text
    assert max(map(len, text.splitlines())) <= 38


def test_columns_that_do_not_fit_beside_each_other_stand_below_each_other():
    heads = (
        "",
        "Judge",
        "Accuracy",
        "AUROC",
        "Spearman's",
        "Right flips",
        "False flips",
        "Over-refusal",
        "Harm",
    )
    rows = [
        (letter, f"{name} (probability)", *(f"0.{i}77" for i in range(7)))
        for letter, name in zip("AB", HEAD[:2], strict=True)
    ]

    text = printed(rows, width=80, head=heads)

    assert max(map(len, text.splitlines())) <= 80
    assert all(head in text for head in ("Accuracy", "Over-refusal", "Harm"))
    assert [text.count(word) for word in ("A caption", "(probability)", "0.077", "0.677")] == [1, 4, 2, 2]


def test_each_part_of_a_table_that_is_split_names_its_rows_behind_a_column_of_ranks():
    heads = ("Rank", "Judge", "Accuracy of it", "Over-refusal", "Harm of all", "Unscored rate")
    text = printed(
        [("1", "first", *["12.3 % [4.5, 67.8]"] * 4), ("2", "second", *["12.3 % [4.5, 67.8]"] * 4)],
        width=60,
        head=heads,
    )

    parts = text.count("Rank")
    assert parts > 1
    assert [text.count(word) for word in ("Judge", "first", "second")] == [parts] * 3


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_nothing_is_lost_at_any_width(width):
    rows = [("one two three", "0.123"), ("exceptionally-long-word", "4.567")]
    text = printed(rows, width=width, head=("What", "Value"))

    letters = "".join(c for c in text if c.isalnum())
    assert letters.count("0123") == letters.count("4567") == 1
    assert sorted("onetwothree" + "exceptionallylongword") == sorted(
        "".join(c for c in text.split("Value")[1] if c.isalpha() and c.isascii())
    )


def test_a_name_too_long_for_a_forest_is_cut_and_its_numbers_are_not():
    rows = tuple(ForestRow("claim:authority/document/safe+" * n, 0.5, 0.25, 0.75) for n in (1, 4))
    forest = Forest("f", "Turned", (("", rows),))
    console = Console(width=80, file=StringIO(), color_system=None)
    print_forest(forest, console)
    assert isinstance(console.file, StringIO)
    said = console.file.getvalue().splitlines()
    assert [line.endswith("50.0 % [25.0, 75.0]") for line in said] == [False, True, True, False]
    assert "…" in said[2]
    assert max(map(len, said)) <= 80


def test_a_line_that_ends_as_windows_ends_it_holds_no_damage():
    assert plain("one\r\ntwo\rthree") == "one\ntwo\ufffdthree"
