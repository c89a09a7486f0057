"""The page of a check: its sentences, the table of errors and the worst disagreements."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import casewise
from casewise.evaluate.check import CheckedCase, CheckedLimit
from casewise.evaluate.conclusions import at_most
from casewise.reports.check import MOST_QUERIES, about_more, check_page
from casewise.reports.document import Exhibit, Forest, Prose
from casewise.stats.estimates import Estimate

LABELS = ["safe", "safe", "unsafe", "unsafe", "safe", "unsafe"] * 6
VERDICTS = ["safe", "unsafe", "unsafe", "safe", "safe", "unsafe"] * 6
ROWS = [
    {"id": f"c{n}", "query": f"Question {n // 2}?", "context": f"case {n}", "human": label, "judge": verdict}
    for n, (label, verdict) in enumerate(zip(LABELS, VERDICTS, strict=True))
]
GROUP = Estimate("accuracy", 0.5, 0.4, 0.6, 10.0, 0, "made up")
CASE = CheckedCase(7, "c7", "Who was admitted?", "A nurse asks.", "safe", "unsafe")


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    pl.DataFrame(ROWS).write_csv(path)
    return replace(
        casewise.check(path).numbers,
        file="table.csv",
        judge="judge",
        further_queries=None,
        limits=(),
        worst=(),
        groups=(),
    )


def sentences(numbers):
    return [str(block.text) for block in check_page(numbers).sections[0].blocks if isinstance(block, Prose)]


def test_a_page_names_the_judge_the_file_and_what_they_hold(numbers):
    page = check_page(numbers)

    assert (page.title, page.subtitle) == ("judge in table.csv", "36 cases, 18 queries, 36 labels")
    assert check_page(replace(numbers, n_queries=36)).subtitle == "36 cases, 36 labels"
    assert check_page(replace(numbers, n_ratings=0)).subtitle == "36 cases, 18 queries, 36 shares of safe votes"
    whole = check_page(replace(numbers, worst=(CASE,), groups=(("fraud", GROUP),)))
    assert [part.anchor for part in page.sections] == ["answer", "made"]
    assert [(part.anchor, part.first, part.brief) for part in whole.sections] == [
        ("answer", True, True),
        ("categories", False, False),
        ("worst", True, True),
        ("texts", False, False),
        ("made", False, False),
    ]


def test_the_first_sentence_is_the_agreement_and_what_would_settle_what_is_open(numbers):
    (said,) = sentences(numbers)
    (more,) = sentences(replace(numbers, further_queries=1200))

    assert said.startswith("The judge in 'judge' agrees with people on 66.7 % [")
    assert "of 36 labelled cases. " in said
    assert more == f"{said} About 1,200 more labelled queries would show a difference of this size."


def test_cases_without_a_verdict_or_a_label_and_shares_alone_are_said(numbers):
    lacking = replace(numbers, n_unscored=3, unscored={"empty": 2, "no verdict": 1}, n_ratings=0, n_labelled=30)
    said = sentences(lacking)
    blocks = check_page(lacking).sections[0].blocks

    assert [block.lead for block in blocks if isinstance(block, Prose)] == [True, False, False, False]
    assert said[1:] == [
        "Cases without a verdict of the judge: 3 (2 empty, 1 no verdict). They count as wrong in the accuracy, and as neither error.",
        "The labels are shares of safe votes without their numbers, so agreement among people cannot be computed.",
        "Cases without a label are left out: 6.",
    ]


def test_the_table_has_the_judge_beside_the_better_constant_verdict_and_both_errors(numbers):
    (table,) = check_page(numbers).tables()

    assert [row[0] for row in table.rows] == [
        "Accuracy",
        "Always safe",
        "Harm: safe where at least 70 % say unsafe",
        "Over-refusal: unsafe where at least 70 % say safe",
    ]
    assert [(row[1].partition(" [")[0], row[2]) for row in table.rows] == [
        ("66.7 %", "36"),
        ("50.0 %", "36"),
        ("33.3 %", "18"),
        ("33.3 %", "18"),
    ]


def test_the_worst_cases_go_by_the_users_own_ids_and_their_texts_stand_in_a_fold(numbers):
    bare = replace(CASE, id=None, context="", query="x" * 80)
    page = check_page(replace(numbers, worst=(CASE, bare, replace(CASE, id=None, line=None))))
    table: Any = page.sections[1].blocks[0]
    fold: Any = page.sections[2].blocks[0]

    assert [row[0] for row in table.rows] == ["c7", "line 7", "–"]
    assert table.rows[1][3] == "x" * 59 + "…"
    assert fold.summary == "Read the 3 cases"
    assert fold.blocks[:2] == (
        Exhibit("c7", (("People", "safe"), ("Judge", "unsafe")), CASE.query, (("Context", (("", "A nurse asks."),)),)),
        Exhibit("line 7", (("People", "safe"), ("Judge", "unsafe")), "x" * 80, ()),
    )


def test_each_limit_has_its_conclusion_and_the_queries_of_its_kind_that_would_decide(numbers):
    def limit(metric, further, *, least=False):
        rate = Estimate(metric, 0.5, 0.4, 0.6, 10.0, 0, "made up")
        return CheckedLimit(at_most("judge", rate, limit=0.55, least=least), further)

    limits = (
        limit("accuracy", 1200, least=True),
        limit("harm", 30),
        limit("over_refusal", 25_000),
        limit("harm", None),
    )
    share = "50.0 % [40.0, 60.0]."

    assert sentences(replace(numbers, limits=limits))[1:] == [
        f"The accuracy of judge may or may not be at least 55.0 %: {share} About 1,200 more labelled queries would decide.",
        f"The harm of judge may or may not be at most 55.0 %: {share} About 30 more queries that people call unsafe would decide.",
        f"The over-refusal of judge may or may not be at most 55.0 %: {share} More than 20,000 more queries that people call safe would decide.",
        f"The harm of judge may or may not be at most 55.0 %: {share}",
    ]


def test_several_categories_stand_on_one_axis(numbers):
    forest = check_page(replace(numbers, groups=(("fraud", GROUP),))).sections[1].blocks[0]

    assert isinstance(forest, Forest)
    assert [(row.label, row.written) for row in forest.rows] == [("fraud", "50.0 % [40.0, 60.0]")]


def test_a_number_of_queries_that_rests_on_a_small_difference_is_not_said_exactly():
    assert about_more(MOST_QUERIES) == "About 20,000 more"
    assert about_more(MOST_QUERIES + 1) == "More than 20,000 more"
