"""One notation for numbers: shares, intervals, differences and p values."""

import pytest

from casewise.notation import (
    count,
    hyphened,
    interval,
    interval_or,
    number,
    p_equation,
    p_value,
    percent,
    points,
    share,
    spoken,
    whole_number,
)

NAN = float("nan")


def test_what_rounds_to_zero_has_no_sign_and_no_p_is_zero():
    assert [number(-0.001, digits=2), number(-0.0004), number(-0.0006)] == ["0.00", "0.000", "-0.001"]
    assert percent(-0.0001) == percent(-1e-9) == "0.0 %"
    assert [interval(-0.0001, 0.0001), interval(-0.0001, 0.25)] == ["[0.000, 0.000]", "[0.000, 0.250]"]
    assert [p_value(1e-9), p_value(0.0001), p_value(0.04321), p_value(None)] == ["< 0.0001", "0.0001", "0.0432", "–"]
    assert [p_equation(1e-9), p_equation(0.0001), p_equation(0.04321)] == ["p < 0.0001", "p = 0.0001", "p = 0.0432"]


def test_thousands_are_separated_and_whole_numbers_without_digits_have_none():
    assert [number(-1234.5678, digits=2), number(1234.0, digits=0), number(0.25), number(2.0)] == [
        *("-1,234.57", "1,234", "0.250", "2.000"),
    ]
    assert [count(1234.0), count(1234.5), count(0)] == ["1,234", "1,234.5", "0"]


@pytest.mark.parametrize("value", [None, NAN])
def test_a_dash_stands_where_there_is_no_number(value):
    assert {number(value), count(value), percent(value), interval(value, 1), interval(0, value)} == {"–"}
    assert interval_or(None, 1, "one query only") == "one query only"
    assert interval_or(0, 1, "one query only") == "[0.000, 1.000]"


def test_a_share_is_written_in_per_cent_with_its_interval():
    assert [percent(0.6216), percent(0.6216, digits=0)] == ["62.2 %", "62 %"]
    assert share(0.622, 0.519, 0.716) == "62.2 % [51.9, 71.6]"
    assert share(0.622, None, 0.7) == share(0.622, 0.5, None) == "62.2 %"


def test_a_difference_of_shares_is_written_in_points():
    assert points(0.501, 0.387, 0.614) == "50.1 points [38.7, 61.4]"
    assert points(-0.0001, None, None) == "0.0 points"
    assert points(0.5, 0.1, None) == "50.0 points"
    assert (points(0.5, 0.1, 0.6, unit=""), points(None, 0.1, 0.2)) == ("50.0 [10.0, 60.0]", "–")


def test_an_identifier_is_spoken_in_words_and_written_with_hyphens_in_an_address():
    assert (spoken("safe_revised"), hyphened("max_harm a.b")) == ("safe revised", "max-harm-a-b")


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12), ("0", 0), ("999999999", 999999999), ("1000000000", None), ("-1", None), ("x", None), ("٣", None)],
)
def test_a_whole_number_has_ascii_digits_and_nine_at_most(text, number):
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["", None])
def test_no_text_states_no_number(text):
    assert whole_number(text) is None
