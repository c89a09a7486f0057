"""What a report says first."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

import casewise
from casewise.evaluate.conclusions import Unknown, against_person, errs_more
from casewise.evaluate.yardsticks import error_sentences
from casewise.records.item import RatingScale
from casewise.reports.document import Forest, ForestRow
from casewise.reports.formats import print_document
from casewise.stats.ceilings import NewPersonTest
from casewise.stats.costs import RefusalRates
from casewise.stats.estimates import Estimate
from casewise.storage.benchmark import About
from casewise.storage.intake.cases import benchmark_from_rows
from casewise.storage.wording import LabelWords


def printed(document, *, full=False, width=80):
    file = io.StringIO()
    print_document(document, Console(file=file, width=width, color_system=None), full=full)
    return file.getvalue()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return casewise.judge("demo", "linear", out=tmp_path_factory.mktemp("run")).report()


@pytest.mark.slow
def test_a_terminal_shows_the_answer_in_forty_lines_and_the_rest_only_when_asked(report):
    short, full = printed(report.document), printed(report.document, full=True)

    assert len(short.splitlines()) <= 40
    assert max(map(len, short.splitlines())) <= 80
    assert "agrees with people on" in " ".join(short.split())
    assert "Labels: votes" not in short
    assert "Labels: votes" in full
    assert full.startswith(short)


@pytest.mark.slow
def test_the_answer_has_the_numbers_of_the_tables_below(report):
    answer = report.as_json()["answers"][0]
    accuracy = next(row for row in report.as_json()["metrics"] if row["metric"] == "accuracy")

    assert answer["accuracy"]["estimate"] == accuracy["estimate"]
    assert f"{100 * accuracy['estimate']:.1f} %" in answer["sentences"][0]
    beside = next(iter(report.as_json()["beside"].values()))
    assert f"a constant verdict ({100 * beside['constant']:.1f} %)" in answer["sentences"][1]


def test_yardsticks_have_intervals_of_the_same_kind_and_one_new_person_stands_against_the_same_others(report):
    """The annotators of the demo are known: they are in the intervals of the judge and of its yardstick, which is the same."""
    forest = next(block for block in report.document.sections[0].blocks if isinstance(block, Forest))
    (_, all_votes), (_, others) = forest.groups

    assert len({row.written for row in all_votes if row.label in {"This judge", "Words alone"}}) == 1
    assert {row.label for row in others} == {"One new person", "This judge"}
    assert "One new person" not in {row.label for row in all_votes}
    person = report.as_json()["answers"][0]["one_new_person"]
    assert next(row.estimate for row in others if not row.strong) == person["estimate"]
    assert all((row.low or 1) < (row.estimate or 0) < (row.high or 0) for row in others)


def share(value, low=None, high=None):
    return Estimate("x", value, low, high, 10.0, 0, "made up")


def rates(harm, over, *, n_safe=10, n_unsafe=10):
    nothing = share(0.0)
    return RefusalRates(0.7, n_safe, n_unsafe, over, harm, nothing, nothing)


@pytest.mark.parametrize(
    ("harm", "over", "way"),
    [
        (share(0.3, 0.2, 0.4), share(0.05, 0.01, 0.1), "errs more by answering"),
        (share(0.05, 0.01, 0.1), share(0.3, 0.2, 0.4), "errs more by refusing"),
        (share(0.05, 0.01, 0.2), share(0.3, 0.1, 0.4), ""),
        (share(0.05), share(0.3, 0.1, 0.4), ""),
    ],
)
def test_which_way_it_errs_is_said_only_where_the_intervals_part(harm, over, way):
    found = errs_more("J", rates(harm, over))

    assert ("" if isinstance(found.outcome, Unknown) else found.predicate) == way


@pytest.mark.parametrize(
    ("low", "high", "margin", "sentence"),
    [
        (0.001, 0.1, None, "agrees more often than one person (80.0 %)"),
        (0.001, 0.1, 0.05, "agrees more often than one person (80.0 %)"),
        (0.0, 0.1, None, "is not told apart from one person (80.0 %)"),
        (0.0, 0.1, 0.05, "agrees as often as one person (80.0 %), or at most 5 points less"),
        (-0.009, 0.043, 0.05, "agrees as often as one person (80.0 %), or at most 5 points less"),
        (-0.04, 0.0, 0.05, "agrees as often as one person (80.0 %), or at most 5 points less"),
        (-0.04, -0.001, 0.025, "agrees less often than one person (80.0 %), by at most 2.5 points"),
        (-0.2, 0.0, None, "is not told apart from one person (80.0 %)"),
        (-0.2, -0.001, None, "agrees less often than one person (80.0 %)"),
    ],
)
def test_a_comparison_says_no_more_than_the_interval_of_its_difference(low, high, margin, sentence):
    size = 0.05 if margin is None else margin
    numbers = {"judge": 0.8, "person": 0.8, "difference": (low + high) / 2, "low": low, "ci_low": low, "ci_high": high}
    test = NewPersonTest(
        **numbers, margin=size, p=0.01, not_worse=margin is not None, power=0.8, detectable=0.1, items=20, clusters=10
    )

    assert against_person("J", test).predicate == sentence


def test_an_error_without_items_is_not_spoken_of():
    harm_alone, none = rates(share(0.1), share(None), n_safe=0), rates(share(None), share(None), n_safe=0, n_unsafe=0)

    assert "refuses" not in error_sentences(harm_alone, LabelWords("people"), unscored=0)
    assert "its errors cannot be split" in error_sentences(none, LabelWords("people"), unscored=0)


@pytest.mark.slow
def test_a_judge_without_verdicts_is_told_how_to_get_some(tmp_path):
    run = casewise.judge("demo", lambda query, context: len(query) / 1000, elicitations="scalar", out=tmp_path / "run")

    page = " ".join(printed(run.report().document).split())

    assert "gives values and no verdicts. To derive verdicts from them, use --fit-thresholds" in page
    assert "Spearman" in page


@pytest.mark.parametrize(
    ("row", "says"), [({"mean": 25}, " To take people's mean ratings as labels, use --labels mean."), ({}, "")]
)
def test_a_judge_of_items_without_labels_is_told_why_and_what_to_do(tmp_path, row, says):
    about = About(name="made", scale=RatingScale(low=0, high=100, cut=50), labels_by="people")
    unlabelled = benchmark_from_rows([{"query": text, **row} for text in ("Who?", "When?")], about, source="rows.csv")
    text = casewise.report(
        casewise.judge(unlabelled, "constant:safe", out=tmp_path), benchmark=unlabelled
    ).to_markdown()

    assert f"No item has a label under --labels votes, so no agreement can be measured.{says}\n" in text.replace(
        "**", ""
    )


def test_a_forest_has_an_axis_from_the_tenth_below_everything_and_one_where_all_numbers_are_alike():
    rows = (ForestRow("a", 0.62, 0.55, 0.7), ForestRow("b", None, 0.51, 0.93))
    forest = Forest("f", "", (("", rows),))
    alike = Forest("h", "Mean H", (("", (ForestRow("all", 0.0, None, None),)),), ends=(0.0, 0.0))

    assert forest.ticks == (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert [forest.place(value) for value in (0.5, 0.75, 1.0, 0.2)] == [0, 50, 100, 0]
    assert [row[2:] for row in forest.table.rows] == [("0.620", "[0.550, 0.700]"), ("–", "[0.510, 0.930]")]
    assert (alike.ticks, alike.place(0.0)) == ((0.0, 0.25, 0.5, 0.75, 1.0), 0)


@pytest.mark.parametrize(("least", "first", "names"), [(0.42, 0.4, 7), (0.39, 0.2, 5), (0.0, 0.0, 6), (1.0, 0.9, 2)])
def test_a_long_axis_is_named_at_every_fifth(least, first, names):
    ticks = Forest("f", "", (("", (ForestRow("a", least, None, None),)),)).ticks

    assert ticks[0] == first
    assert ticks[-1] == 1.0
    assert len(ticks) == names


@pytest.mark.slow
def test_every_row_of_the_page_has_its_marks_on_the_axis(report):
    html = report.to_html()
    marks = [float(place) for place in re.findall(r'class="(?:dot|span)" style="left:([\d.]+)%', html)]

    assert len(marks) >= 8
    assert np.all((np.array(marks) >= 0) & (np.array(marks) <= 100))
