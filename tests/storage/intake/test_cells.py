"""Cells as numbers, shares and lists, where a text can be read in one way only."""

from pathlib import Path

import pytest

from casewise.errors import ConfigurationError, DataError
from casewise.storage.intake.cells import parts, separator_of, share_unit
from casewise.storage.intake.table import Table


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
