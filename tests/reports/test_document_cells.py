"""Cells, tables and paragraphs: how every report writes a number, and what it says where there is none."""

import copy
import math
import pickle
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import casewise
from casewise.notation import number, percent
from casewise.reports.document import (
    Columns,
    IntervalHead,
    Prose,
    difference_cell,
    document_of_tables,
    error_figures,
    estimate_cell,
    estimate_frame,
    estimate_of_row,
    from_document_folder,
    how_made,
    large_figures,
    next_for_judges,
    next_without_verdicts,
    paragraph,
    table_by,
    table_of,
    with_interval,
)
from casewise.stats.estimates import ALIKE, NO_SPREAD, ONE_CLUSTER, ONE_QUERY, Estimate
from casewise.stats.measured import NO_ITEMS
from casewise.text import Form, Noun, render

ACTIONS = Form(Noun("action", "actions"))


def estimate(value, low=None, high=None, *, name="accuracy", method="Student's t", n=90.0):
    return Estimate(name, value, low, high, n, 0, method)


@pytest.mark.parametrize(
    ("found", "cell", "plain"),
    [
        (estimate(0.622, 0.519, 0.716), "62.2 % [51.9, 71.6]", "0.622 [0.519, 0.716]"),
        (estimate(0.243, 0.1, 0.4, name="pearson"), "0.243 [0.100, 0.400]", "0.243 [0.100, 0.400]"),
        (estimate(0.5, method=NO_SPREAD), "50.0 % (all alike)", "0.500"),
        (estimate(0.5, method=ALIKE), "50.0 % (alike)", "0.500"),
        (estimate(0.5, method=ONE_QUERY), "50.0 % (one query)", "0.500"),
        (estimate(0.5, method=ONE_CLUSTER), "50.0 % (one cluster)", "0.500"),
        (estimate(None, method=NO_ITEMS), "– (no items)", "–"),
        (estimate(0.5, method="a reason of its own"), "50.0 % (a reason of its own)", "0.500"),
        (None, "–", "–"),
    ],
)
def test_an_estimate_is_written_in_one_way_with_the_reason_where_it_has_no_interval(found, cell, plain):
    assert (estimate_cell(found), with_interval(found)) == (cell, plain)


def test_a_reason_goes_by_the_noun_of_what_is_judged():
    assert render(estimate_cell(estimate(0.5, method=ONE_QUERY)), ACTIONS) == "50.0 % (one action)"


def test_a_plain_number_is_written_as_a_number():
    assert with_interval(0.25) == "0.250"


@pytest.mark.parametrize(
    ("found", "cell"),
    [
        (estimate(0.071, 0.044, 0.098), "7.1 points [4.4, 9.8]"),
        (estimate(-0.071, -0.098, -0.044), "-7.1 points [-9.8, -4.4]"),
        (estimate(0.0, method=ALIKE), "0.0 points (alike)"),
        (estimate(0.1, 0.05, 0.15, name="auroc"), "0.100 [0.050, 0.150]"),
        (estimate(None), "–"),
        (None, "–"),
    ],
)
def test_a_difference_of_shares_is_written_in_points_and_any_other_as_a_number(found, cell):
    assert difference_cell(found) == cell


def test_the_unit_of_a_difference_is_left_out_where_the_caption_names_it():
    assert difference_cell(estimate(0.071, 0.044, 0.098), unit="") == "7.1 [4.4, 9.8]"


def test_large_figures_have_an_interval_or_why_there_is_none_and_what_they_rest_on():
    known, alike = estimate(0.25, 0.1, 0.4, n=40.0), estimate(0.0, method=NO_SPREAD, n=12.0)
    figures = [("Harm", known, known.n), ("Over-refusal", alike, alike.n), ("Cost", ("0.300", "[0.2, 0.4]"), 90)]
    table = large_figures("figures", "Errors", figures, counted="Items labelled")

    assert table.large
    assert table.columns == ("Number", "Value", "95 % interval", "Items labelled")
    assert table.rows == (
        ("Harm", "25.0 %", "[10.0, 40.0]", "40"),
        ("Over-refusal", "0.0 %", "all alike", "12"),
        ("Cost", "0.300", "[0.2, 0.4]", "90"),
    )


def test_errors_that_are_not_known_have_no_large_figure():
    shares = {"unscored_rate": estimate(0.1, 0.0, 0.2), "harm": estimate(0.5, 0.4, 0.6), "accuracy": estimate(0.5)}

    assert [row[:2] for row in error_figures("e", "Errors", shares).rows] == [
        ("Harm", "50.0 %"),
        ("Unscored", "10.0 %"),
    ]


def test_a_column_of_numbers_stands_flush_right_and_one_of_words_left():
    rows = [("a", 1200, "0.5 [0.4, 0.6]", "-3", "–", "3 items"), ("b", 0.5, "< 0.0001", "−2", "12 %", "1e-05")]
    table = table_of("t", "T", ("Name", "n", "Share", "Change", "Part", "Words"), rows)

    assert table.rows[0][:2] == ("a", "1,200")
    assert table.rows[1][:2] == ("b", "0.5")
    assert table.numeric == (False, True, True, True, True, False)


def test_a_table_without_rows_has_no_column_of_numbers():
    table = table_of("t", "T", ("Name", "n"), [])

    assert (table.rows, table.numeric, table.frame.columns) == ((), (False, False), ["Name", "n"])


def test_the_numbers_behind_a_table_are_unrounded_and_an_interval_has_columns_of_its_own():
    rows = [{"judge": "a", "rate": estimate(1 / 3, 0.25, 0.5, n=12.0), "n": 3}, {"judge": "b", "rate": None, "n": None}]
    table = table_by("t", "T", rows, {"Judge": "judge", IntervalHead("Rate"): "rate", "Items": "n"})

    assert table.rows == (("a", "33.3 % [25.0, 50.0]", "3"), ("b", "–", "–"))
    assert table.frame.to_dicts() == [
        {"Judge": "a", "Rate": 1 / 3, "Rate ci_low": 0.25, "Rate ci_high": 0.5, "Rate n": 12.0, "Items": 3},
        {"Judge": "b", "Rate": None, "Rate ci_low": None, "Rate ci_high": None, "Rate n": None, "Items": None},
    ]


def test_a_cell_is_found_by_a_path_by_a_function_of_paths_or_by_a_function_of_the_row():
    row = {"inner": [estimate(0.25, 0.1, 0.4)], "n": 4, "none": None}
    columns: Columns = {
        "Path": "inner.0.n",
        "Nothing": "none.deeper",
        "One": (percent, "inner.0.estimate"),
        "Two": ("{} of {}".format, "n", "inner.0.n"),
        "Row": lambda row: f"{len(row)} fields",
    }
    table = table_by("t", "T", [row], columns)

    assert table.rows == (("90", "–", "25.0 %", "4 of 90.0", "3 fields"),)
    assert table.frame.row(0) == (90.0, None, 0.25, "4 of 90.0", "3 fields")


@pytest.mark.parametrize(("judges", "heads"), [("aa", ("n",)), ("ab", ("Judge", "n"))])
def test_a_column_that_says_the_same_in_every_row_is_left_out(judges, heads):
    rows = [{"judge": judge, "n": 1} for judge in judges]

    assert table_by("t", "T", rows, {"Judge": "judge", "n": "n"}, several="Judge").columns == heads


def test_a_frame_is_itself_the_numbers_behind_its_table():
    frame, other = pl.DataFrame({"mean": [0.25], "hidden": [1]}), pl.DataFrame({"x": [1]})

    assert table_by("t", "T", frame, {"Mean": (number, "mean")}).frame is frame
    assert table_by("t", "T", frame, {"Mean": (number, "mean")}, frame=other).frame is other


def test_estimates_are_written_to_a_frame_and_read_back():
    found = [("a", estimate(0.5, 0.4, 0.6)), ("b", estimate(None, method="why"))]
    (first, second) = estimate_frame(found).to_dicts()

    assert (first["series"], second["series"]) == ("a", "b")
    assert estimate_of_row({"metric": first["name"], **first}) == found[0][1]
    assert estimate_of_row({"metric": second["name"], **second}) == found[1][1]


def test_a_paragraph_is_made_of_a_template_and_says_whether_it_leads_or_warns():
    lead, warning = paragraph("{n:item} of {queries}.", n=2, lead=True), paragraph("Stop.", notice=True)

    assert (lead, warning) == (Prose("2 items of queries.", lead=True), Prose("Stop.", notice=True))
    assert render(lead.text, ACTIONS) == "2 items of actions."


def test_tables_alone_are_numbers_and_under_a_sentence_the_answer():
    table = table_of("t", "T", ("n",), [(1,)])
    numbers, answer = document_of_tables("T", [table], ["A remark."]), document_of_tables("T", [table], lead="Yes.")

    assert [(part.heading, part.first, part.brief) for part in numbers.sections] == [("Numbers", False, True)]
    assert numbers.sections[0].blocks == (table, Prose("A remark."))
    assert [(part.heading, part.first, part.brief) for part in answer.sections] == [("The answer", True, True)]
    assert answer.sections[0].blocks == (Prose("Yes.", lead=True), table)


@pytest.mark.parametrize(
    ("judge", "decided", "step"),
    [
        ("openai/gpt", True, "casewise recommend runs/0 tests whether to deploy it."),
        ("openai/gpt", False, "casewise power judges --from runs/0 runs/1 says how many queries would tell"),
        ("linear", True, "judge the same items with a model: casewise judge BENCHMARK --judge"),
        ("linear:query", True, "judge the same items with a model"),
        ("recorded:x", True, "judge the same items with a model"),
        ("linear", False, "casewise power judges --from runs/0 runs/1 says"),
        ("linear-probe/gpt", True, "casewise recommend runs/0 tests"),
        ("recorded-by-me", True, "casewise recommend runs/0 tests"),
    ],
)
def test_after_a_comparison_the_first_judge_is_deployed_or_a_study_is_planned(judge, decided, step):
    next_step = next_for_judges([Path("runs/0"), Path("runs/1")], judge=judge, decided=decided)

    assert next_step.text.startswith(f"Next: {step}")


def test_without_two_runs_the_next_command_has_places_for_them():
    assert "--from RUN RUN says" in next_for_judges([Path("runs/0")], judge="gpt", decided=False).text
    assert "casewise recommend RUN tests" in next_for_judges([], judge="", decided=True).text


def test_two_judges_of_one_run_are_told_apart_by_no_runs_of_its_own():
    runs = [Path("runs/0"), Path("runs/0"), Path("runs/1"), Path("runs/2")]

    assert "--from runs/0 runs/1 says" in next_for_judges(runs, judge="a", decided=False).text


def test_a_run_without_verdicts_is_read_again_by_a_path_that_a_shell_can_read():
    assert next_without_verdicts(Path("my runs/a")).text.startswith("Next: casewise reread 'my runs/a' shows")


def test_a_path_stands_as_other_readers_can_use_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert [from_document_folder(path) for path in (Path("runs/a"), tmp_path / "b" / "c", tmp_path.parent / "d")] == [
        "runs/a",
        "b/c",
        "d",
    ]


@pytest.mark.parametrize(("labels", "ending"), [("votes", "runs/a runs/b"), ("mean", "runs/a runs/b --labels 'mean'")])
def test_a_report_says_the_command_that_makes_it_again_and_folds_its_settings(labels, ending):
    fold: Any
    again, fold = how_made("compare", (Path("runs/a"), Path("runs/b")), labels, [("Seed", "7")])

    assert isinstance(again, Prose)
    assert again.text == f"To make this report again: casewise compare {ending}"
    assert fold.summary == "Sources and settings"
    assert fold.blocks[0].rows == (("Seed", "7"),)


def test_not_a_number_is_written_as_nothing():
    assert table_of("t", "T", ("n",), [(math.nan,), (None,)]).rows == (("–",), ("–",))


def test_the_head_of_numbers_with_intervals_is_made_in_one_way_and_names_the_numbers():
    assert (head := IntervalHead("Rate")) == "Rate, 95 % interval"
    assert (pickle.loads(pickle.dumps(head)).name, copy.copy(head).name) == ("Rate", "Rate")
    rooms = (Path(casewise.__file__).parent / room for room in ("reports", "studies"))
    literal = re.compile(r'[^}], 95 % interval"\s*[:,)]')
    assert not [file for room in rooms for file in room.glob("*.py") if literal.search(file.read_text())]
