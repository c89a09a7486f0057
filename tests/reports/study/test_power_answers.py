import pytest

from casewise.errors import CasewiseError
from casewise.reports.power import (
    anova,
    chi_square,
    kruskal,
    proportions,
    with_allowance,
)


def test_the_paper_design_with_its_allowance_and_its_bonferroni_level():
    answer = anova(5, 0.4, allowance="30%")

    assert answer.numbers["n_per_group"] == 16
    assert answer.numbers["n_per_group_with_allowance"] == 21
    assert answer.numbers["bonferroni_n_per_group"] == 22
    assert "needs 22 per condition" in answer.remarks[1]
    assert answer.as_json()["actual_power"] == pytest.approx(0.803084508495068)


@pytest.mark.parametrize(("allowance", "expected"), [("5", 21), ("30%", 21), ("31.25 %", 21), ("0", 16), ("10%", 18)])
def test_an_allowance_is_people_or_a_share_rounded_up(allowance, expected):
    assert with_allowance(16, allowance) == expected


@pytest.mark.parametrize("allowance", ["many", "-3", "nan"])
def test_an_allowance_that_is_none_is_an_error(allowance):
    with pytest.raises(CasewiseError):
        with_allowance(16, allowance)


def test_the_inverse_questions_are_answered():
    assert anova(5, 0.4, n=16).numbers["actual_power"] == pytest.approx(0.803084508495068)
    assert anova(5, None, n=16).numbers["actual_power"] == pytest.approx(0.8)
    assert proportions(0.5, None, n=93).numbers["p2"] == pytest.approx(0.7, abs=0.001)
    assert chi_square(4, None, n=1194).numbers["effect_size"] == pytest.approx(0.1, abs=1e-4)


def test_a_question_from_nothing_says_what_to_give():
    with pytest.raises(CasewiseError, match="give --effect-size, or --n"):
        anova(5, None)


def test_rates_that_are_no_numbers_are_an_error():
    with pytest.raises(CasewiseError, match=r"write safe rates as 0\.4,0\.8,0\.2"):
        kruskal("high,low")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (anova(5, 0.4), "If 5 conditions differ with an effect of f = 0.4, 16 annotators in each (80 in all) find it with a probability of 80.3 %"),
        (anova(5, 0.4, n=22), "22 annotators in each (110 in all) find it with a probability of 92.6 %"),
        (proportions(0.5, 0.7), "If the safe rates are 50.0 % and 70.0 %, 93 annotators in each condition find the difference"),
        (chi_square(4, 0.1), "If the effect is w = 0.1, 1,194 ratings in all find it with a probability of 80.0 %"),
    ],
)  # fmt: skip
def test_a_page_begins_with_the_answer_and_what_it_supposes(answer, said):
    first = next(answer.document.blocks)

    assert (first.lead, said in first.text) == (True, True), first.text


def test_a_curve_marks_the_answer():
    drawn = proportions(0.5, 0.7).curve()

    assert drawn.startswith("<svg")
    assert "n = 93" in drawn


def test_a_table_says_everything_in_words():
    (table,) = kruskal("0.2,0.8", repeats=500, n=10).document.tables()
    rows = {row[0]: row[1] for row in table.rows}

    assert rows["Safe rates"] == "0.2, 0.8"
    assert rows["Exact p"] == "yes"
