"""What a report says first."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

import casewise
from casewise.records.item import RatingScale
from casewise.reports.document import Forest
from casewise.reports.formats import print_document
from casewise.storage.benchmark import About
from casewise.storage.intake.cases import benchmark_from_rows


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
    beside = next(iter(report.as_json()["baselines"].values()))
    assert f"a constant verdict ({100 * beside['constant']:.1f} %)" in answer["sentences"][1]


@pytest.mark.slow
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


@pytest.mark.slow
def test_every_row_of_the_page_has_its_marks_on_the_axis(report):
    html = report.to_html()
    marks = [float(place) for place in re.findall(r'class="(?:dot|span)" style="left:([\d.]+)%', html)]

    assert len(marks) >= 8
    assert np.all((np.array(marks) >= 0) & (np.array(marks) <= 100))
