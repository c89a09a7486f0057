"""Cells as numbers, shares and lists, where a text can be read in one way only."""

import json
import math
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from tests.support.imported import BOMB, BREAD, labels, receipt_of, two

from casewise.errors import ConfigurationError, DataError
from casewise.records import RatingScale
from casewise.storage.intake.cells import (
    CaseCells,
    CaseFrame,
    Policies,
    cell_text,
    is_empty,
    parts,
    plain,
    separator_of,
    share_unit,
)
from casewise.storage.intake.roles import CaseColumns, find_columns
from casewise.storage.intake.table import Table
from casewise.storage.load import ImportOptions, import_cases, load_frame
from casewise.storage.words import VerdictWords


def unit(*cells, percent=False, decimal_comma=False):
    table = Table(
        path=Path("x.csv"), columns={"rate": [*cells]}, lines=range(2, len(cells) + 2), decimal_comma=decimal_comma
    )
    return share_unit(table, "rate", percent=percent)


def test_percentages_are_a_hundred_times_as_large_where_a_sign_or_somebody_says_so():
    assert [unit(0.5, None, 1), unit("50%", None, "1 %"), unit(50, 0.5, percent=True), unit(0, 1, percent=True)] == [
        *(1.0, 100.0),
        *(100.0, 100.0),
    ]
    assert unit("0,5", "1,000", decimal_comma=True) == 1.0
    assert unit(101, -1) == 1.0


@pytest.mark.parametrize(
    ("cells", "percent", "error", "problem"),
    [
        ((None, "50%", 0.5), False, DataError, "x.csv:4: 'rate' is 0.5 here and '50%' on line 3: one is a percentage"),
        ((0.5, "50%"), True, DataError, "x.csv:3: 'rate' is '50%' here and 0.5 on line 2"),
        ((0.5, 50), False, DataError, "x.csv:3: 'rate' is 50 here and 0.5 on line 2"),
        ((0, "0", 50), False, ConfigurationError, "'rate' is 50 on line 4; give --percent"),
        ((100,), False, ConfigurationError, "'rate' is 100 on line 2"),
        ((1.5,), False, ConfigurationError, "'rate' is 1.5 on line 2"),
        ((1, 50), False, DataError, "is 50 here and 1 on line 2"),
    ],
)
def test_shares_and_percentages_in_one_column_are_refused_with_both_places(cells, percent, error, problem):
    with pytest.raises(error, match=problem):
        unit(*cells, percent=percent)


def separator(*cells, known=("safe", "unsafe"), declared=None, decimal_comma=False):
    return separator_of(cells, "votes", lambda part: part in known, declared=declared, decimal_comma=decimal_comma)


def test_the_separator_is_the_one_that_every_cell_can_be_read_with():
    assert [separator(f"safe{mark}unsafe", "safe") for mark in ",;|\n/"] == [*",;|\n/"]
    assert separator("safe,unsafe,") == ","
    assert separator("safe", "unsafe") == ""
    assert separator('"safe", "unsafe"') == ","
    assert separator(["safe"], None, '["safe", "unsafe"]') == ""
    assert separator("no; idea", declared="; ") == "; "
    assert separator("word") == "", "the word is what cannot be read"


def test_a_text_that_may_be_one_rating_or_several_is_asked_about():
    known = ("1", "2", "1,2")

    with pytest.raises(
        ConfigurationError, match="'votes' is '1,2', which may be one rating or several; give --separator ''"
    ):
        separator("1,2", known=known)
    assert separator("1,2", known=known, decimal_comma=True) == ""
    with pytest.raises(ConfigurationError, match="'votes' is 'safe,maybe'; give the character between its ratings"):
        separator("safe,maybe", "safe")


def test_the_ratings_in_a_text_are_without_spaces_and_quotes():
    assert parts("'safe' ; \"unsafe\"", ";") == ["safe", "unsafe"]
    assert parts(" safe ", "") == [" safe "]


@pytest.mark.parametrize(
    ("cell", "scale", "ratings"),
    [
        ("safe, not sure, unsafe", None, ["safe", "unsure", "unsafe"]),
        ("safe|unsafe", None, ["safe", "unsafe"]),
        ('["safe", "not sure"]', None, ["safe", "unsure"]),
        ("['safe', 'unsafe']", None, ["safe", "unsafe"]),
        ("7/10, 8/10", 10, [7.0, 8.0]),
        ("[3, 4.5]", 10, [3.0, 4.5]),
        ("3.5", 10, [3.5]),
        ("safe; ; NA; unsafe", None, ["safe", "unsafe"]),
    ],
)
def test_a_cell_that_can_be_read_in_one_way_is(cell, scale, ratings):
    options = ImportOptions(scale_low=0, scale_high=scale) if scale else ImportOptions()
    found = load_cells(cell, options)

    assert [rating.verdict or rating.value for rating in found.ratings] == ratings


def load_cells(cell, options, policies=Policies()):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.jsonl"
        path.write_text(json.dumps({"query": BREAD, "votes": cell}))
        return import_cases(path, options=options, policies=policies)


def test_a_cell_that_can_be_read_in_two_ways_stops_the_import():
    scale = ImportOptions(scale_low=1, scale_high=5)
    with pytest.raises(ConfigurationError, match="one rating or several; give --separator ''"):
        load_cells("3,5", scale)
    assert [one.value for one in load_cells("3,5", scale, Policies(separator="")).ratings] == [3.5]
    assert [one.value for one in load_cells("3,5", scale, Policies(separator=",")).ratings] == [3.0, 5.0]
    with pytest.raises(ConfigurationError, match="--separator, and words that casewise does not know"):
        load_cells("gut, schlecht", ImportOptions())


def test_a_decimal_comma_is_one_number_in_a_file_with_semicolons(file):
    found = import_cases(
        file(f"query;votes\n{BREAD};3,5\n{BOMB};4,5\n"), options=ImportOptions(scale_low=1, scale_high=5)
    )
    assert [one.value for one in found.ratings] == [3.5, 4.5]


@pytest.mark.parametrize(
    ("rates", "policies", "found"),
    [
        (("70 %", "5%"), Policies(), [0.7, 0.05]),
        (("0,7", "0,05"), Policies(), [0.7, 0.05]),
        (("70", "5"), Policies(percent=True), [0.7, 0.05]),
    ],
)
def test_percentages_and_shares_are_told_apart(rates, policies, found):
    assert [item.published_rate for item in load_frame(two("safe_rate", *rates), policies=policies).items] == found


@pytest.mark.parametrize(
    ("rates", "problem"), [(("0.9", "95"), "one is a percentage"), (("70 %", "0.7"), "one is a percentage")]
)
def test_a_mixture_of_shares_and_percentages_is_refused_with_both_rows(rates, problem):
    with pytest.raises(DataError, match=problem) as found:
        load_frame(two("safe_rate", *rates))
    assert found.value.line == 2
    assert "on line 1" in str(found.value)
    with pytest.raises(ConfigurationError, match="--percent"):
        load_frame(two("safe_rate", "90", "95"))


@pytest.mark.parametrize("missing", ["", "NA", "N/A", "NaN", "nan", "None", "null", "<NA>"])
def test_a_missing_vote_is_no_vote_and_is_counted(file, missing):
    rows = f"query,label,rater\n{BREAD},safe,a\n{BREAD},unsafe,b\n{BREAD},{missing},c\n"
    found = import_cases(file(rows))

    assert labels(found) == [(1, 1, 0)]
    assert "Without a rating, though an annotator is named: 1 row." in receipt_of(found).notes
    assert [word.read_as for word in receipt_of(found).words if word.word == missing] == ["missing"] * bool(missing)
    declared = import_cases(file(rows), words=VerdictWords(unsure_word=(missing,)))
    assert labels(declared) == [(1, 1, 1)]


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (["1.0", "2.0"], ["1", "2"]),
        ([1.0, "2.0"], ["1", "2"]),
        (["1.0", "1.1"], ["1.0", "1.1"]),
        (["007", "01.02.2024"], ["007", "01.02.2024"]),
        ([12345678901234567891, 12345678901234567892], ["12345678901234567891", "12345678901234567892"]),
    ],
)
def test_names_that_a_program_wrote_as_decimals_are_whole_and_others_are_kept(ids, names):
    cases = [{"id": name, "query": query, "label": "safe"} for name, query in zip(ids, (BREAD, BOMB), strict=True)]
    assert [item.source_id for item in load_frame(cases).items] == names


def test_an_annotator_of_a_column_with_empty_cells_is_one_person():
    rows = [{"query": query, "annotator": name, "vote": "safe"} for query, name in ((BREAD, "1.0"), (BOMB, "1"))]
    assert {rating.annotator_id for rating in load_frame(rows).ratings} == {"1"}
    missing = [{"query": str(n), "label": "safe", "annotator": name} for n, name in enumerate(["1.0", "1", "NA"])]
    assert {rating.annotator_id for rating in load_frame(missing[:2]).ratings} == {"1"}
    with pytest.raises(DataError, match="say who gave this rating"):
        load_frame(missing)
    votes = [{"query": BREAD, "votes": ["safe", "unsafe"], "annotator": [1.0, 2.0]}]
    assert {rating.annotator_id for rating in load_frame(votes).ratings} == {"1", "2"}


@pytest.mark.parametrize(
    ("name", "problem"), [("1.23457E+16", "has cut a long number"), (2.0**60, "last digits are lost")]
)
def test_a_name_whose_digits_are_lost_is_refused(name, problem):
    with pytest.raises(DataError, match=f"{problem}; save the column as text"):
        load_frame([{"id": name, "query": BREAD, "label": "safe"}])


# The cells of a table by part of a case.


SCALE = RatingScale(low=1, high=5)


def cells_of(columns, stated=CaseColumns(), *, form="CSV", decimal_comma=False, **frame):
    n = len(next(iter(columns.values())))
    lines = range(2, n + 2)
    table = Table(
        path=Path("t.csv"), columns=columns, lines=lines, format=form, decimal_comma=decimal_comma, notes=["Read."]
    )
    roles = find_columns(table.names, stated, scale="scale" in frame, has_ratings=False)
    return CaseCells(table, roles, CaseFrame(**frame))


def test_a_part_is_found_under_its_own_name_and_is_empty_without_a_column():
    cells = cells_of({"Prompt": ["Who?", None], "label": ["safe", "NA"]})

    assert [cells.get(place, "query") for place in (0, 1)] == ["Who?", None]
    assert [cells.get(place, "label") for place in (0, 1)] == ["safe", None]
    assert cells.get(0, "context") is None
    assert cells.name(cells.table.row(0), 0, "id") is None
    with pytest.raises(DataError, match=r"t\.csv:3: 'label' is 'NA', which is odd"):
        cells.refuse(1, "label", ", which is odd")


def test_missing_words_are_counted_as_declared_or_listed_and_texts_are_taken_as_they_are():
    columns = {"query": ["NA", "none"], "label": ["NA", "-"], "recipient.type": ["n/a", "nurse"], "id": ["null", "x"]}
    cells = cells_of(columns, words=VerdictWords(missing_word=("-",)))

    assert cells.words == {
        ("label", "NA", "missing", "listed"): 1,
        ("label", "-", "missing", "declared"): 1,
        ("recipient.type", "n/a", "missing", "listed"): 1,
    }
    assert (cells.by_part["query"], cells.by_part["id"]) == (["NA", "none"], ["null", "x"])
    assert cells.table.columns["recipient.type"] == [None, "nurse"]
    assert cells.table.columns["label"] == ["NA", "-"], "the table keeps what the file says"


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["7.0", "NA", 3], ["7", "NA", 3]),
        (["7.0", "8.5"], ["7.0", "8.5"]),
        (["7.0", "x"], ["7.0", "x"]),
        (["007", "8.0"], ["007", "8"]),
        ([None, "7.0"], [None, "7"]),
    ],
)
def test_names_are_whole_where_all_of_a_column_are(names, found):
    assert cells_of({"query": ["Who?"] * len(names), "id": names}).by_part["id"] == found


@pytest.mark.parametrize(
    ("names", "form", "line"),
    [
        (["x", "1.5E+16"], "CSV", 3),
        (["1,25E+10"], "CSV", 2),
        ([1, 10**15], "Excel", 3),
        ([-(10**15)], "Excel", 2),
    ],
)
def test_a_long_number_that_a_program_has_cut_is_refused_with_its_line(names, form, line):
    with pytest.raises(DataError, match=rf"t\.csv:{line}: 'id' is .*: a spreadsheet program has cut a long number"):
        cells_of({"query": ["Who?"] * len(names), "id": names}, form=form)


@pytest.mark.parametrize(
    ("names", "form"), [([10**15], "CSV"), ([10**15 - 1], "Excel"), (["1E+16"], "CSV"), (["1.5e+16"], "CSV")]
)
def test_other_numbers_are_names(names, form):
    assert cells_of({"query": ["Who?"], "id": names}, form=form).by_part["id"] == names


@pytest.mark.parametrize(
    ("queries", "place"),
    [
        (["Who?", "Total"], 1),
        (["Who?", "GRAND TOTAL"], 1),
        (["Total"], None),
        (["Total", "Who?"], None),
        (["Who?", None], None),
    ],
)
def test_the_last_of_several_rows_may_be_their_sums(queries, place):
    assert cells_of({"query": queries}).place_of_sums == place


def test_what_was_decided_for_a_whole_column_is_noted():
    cells = cells_of({"query": ["Who?"], "safe_rate": ["50 %"], "votes": ["safe|unsafe"]})

    assert (cells.unit, cells.separator) == (100.0, "|")
    assert cells.notes == ["Read.", "'safe_rate' was read as percentages.", "Cells of 'votes' were split at '|'."]
    assert cells.table.notes == ["Read."]
    plain = cells_of({"query": ["Who?"], "safe_rate": [0.5], "votes": ["safe"]})
    assert (plain.unit, plain.separator, plain.notes) == (1.0, "", ["Read."])
    assert (cells_of({"query": ["Who?"]}).unit, cells_of({"query": ["Who?"]}).separator) == (1.0, "")


def test_policies_settle_what_a_column_leaves_open():
    cells = cells_of(
        {"query": ["Who?"], "safe_rate": [50], "votes": ["1,5"]},
        policies=Policies(percent=True, separator=","),
        scale=SCALE,
    )
    assert (cells.unit, cells.separator) == (100.0, ",")
    comma = cells_of({"query": ["Who?"], "votes": ["1,5"]}, scale=SCALE, decimal_comma=True)
    assert comma.separator == ""


@pytest.mark.parametrize(
    ("part", "is_one"),
    [
        *(("safe", True), ("yes", True), ("NA", True), ("1", True), ("5", True), ("3/5", True)),
        *(("perhaps", False), ("6", False), ("0.5", False), ("", False), ("3/7", False)),
    ],
)
def test_a_text_is_one_rating_if_it_is_a_word_or_a_number_on_the_scale(part, is_one):
    cells = cells_of({"query": ["Who?"], "votes": ["safe"]}, scale=SCALE)

    assert cells.can_read(part) == is_one


def test_without_a_scale_a_number_is_a_word():
    cells = cells_of({"query": ["Who?"], "votes": ["safe"]})
    assert [cells.can_read(part) for part in ("3", "1", "safe")] == [False, True, True]


def test_each_word_of_a_column_is_counted_with_its_reading():
    cells = cells_of({"query": ["Who?"], "label": ["safe"], "votes": ["safe"]}, words=VerdictWords(unsure_word=("?",)))
    read = [cells.verdict_in(0, "label", word) for word in ("safe", "Unsafe", ["safe"], '["?"]', "safe")]

    assert read == ["safe", "unsafe", "safe", "unsure", "safe"]
    assert cells.words == {
        ("label", "safe", "safe", "listed"): 3,
        ("label", "Unsafe", "unsafe", "listed"): 1,
        ("label", "?", "unsure", "declared"): 1,
    }
    assert cells.verdict_in(0, "x", True, name="is_safe") == "safe"


@pytest.mark.parametrize("word", ["perhaps", ["safe", "unsafe"], {"a": 1}, []])
def test_a_word_without_a_meaning_is_refused_and_the_separator_named_for_lists_alone(word):
    cells = cells_of({"query": ["Who?"], "label": ["safe"], "votes": ["safe"]})
    said = "and no option says whether that is safe; name the words with --safe-word, --unsafe-word, --unsure-word and"
    for column, ends in (("label", False), ("votes", True)):
        with pytest.raises(DataError, match=rf"t\.csv:2: '{column}' is .*, {said} --missing-word") as refused:
            cells.verdict_in(0, column, word)
        assert str(refused.value).endswith(", or the character between ratings with --separator") == ends


def test_words_about_replies_say_nothing_of_what_a_reply_does():
    replies = cells_of(
        {"query": ["Who?"], "reply": ["No."], "label": ["refuse"]}, CaseColumns(judged="reply", reply="reply")
    )
    with pytest.raises(DataError, match="'label' is 'refuse'"):
        replies.verdict_in(0, "label", "refuse")
    assert cells_of({"query": ["Who?"], "label": ["refuse"]}).verdict_in(0, "label", "refuse") == "unsafe"


def test_a_cell_is_shown_as_json_and_an_empty_one_in_a_word():
    assert [cell_text(cell) for cell in (None, "a", 1.5, [1])] == ["empty", "'a'", "1.5", "[1]"]


@pytest.mark.parametrize(
    ("value", "empty"),
    [
        *((None, True), ("", True), (" ", True), ([], True), ({}, True), (math.nan, True)),
        *((0, False), (False, False), ("a", False), ([None], False), (0.0, False)),
    ],
)
def test_null_and_what_holds_nothing_is_empty(value, empty):
    assert is_empty(value) == empty


def test_a_cell_is_a_plain_value_in_which_what_is_empty_is_null():
    assert plain({1: (date(2026, 1, 2), 1.5, True, None)}) == {"1": ["2026-01-02", 1.5, True, None]}
    assert plain({"a": "", "b": [" ", {}, {"c": math.nan}]}) == {"a": None, "b": [None, None, {"c": None}]}
    assert plain(np.int64(3)) == "3"
