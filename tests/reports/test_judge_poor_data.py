"""Benchmarks that leave a report little to say: it says so, without nan and without empty charts."""

import json
from dataclasses import replace

import pytest
from tests.support.public_benchmarks import write_files

import casewise
from casewise.evaluate.judged_runs import ReportOptions
from casewise.reports.formats import markdown
from casewise.stats.labels import LabelPolicy
from casewise.storage.loaders.registry import loader_named

FEW = ReportOptions()

ANSWERS = {"binary": "safe", "probability": 0.3, "score": 4, "scalar": -1.5}


def without_ratings(demo):
    return replace(demo, ratings=())


def with_one_vote_each(demo):
    return replace(demo, ratings=tuple({rating.item_id: rating for rating in demo.ratings}.values()))


def of_one_item(demo):
    return demo.restricted_to(demo.items[:1])


def of_one_query(demo):
    return demo.restricted_to(demo.items[:2])


def of_one_class(demo):
    return demo.restricted_to([item for item in demo.items if demo.votes[item.id].safe > 12])


@pytest.mark.slow
@pytest.mark.parametrize("poor", [without_ratings, with_one_vote_each, of_one_item, of_one_query, of_one_class])
@pytest.mark.parametrize("elicitation", [*ANSWERS])
def test_a_report_on_poor_data_says_what_it_can(poor, elicitation):
    run = casewise.judge(
        poor(casewise.load("demo")), lambda query, context: ANSWERS[elicitation], elicitations=(elicitation,)
    )
    report = casewise.report(run, options=FEW)

    cells = [cell for table in report.document.tables() for row in table.rows for cell in row]
    assert not any("nan" in cell.lower().replace("[", " ").replace(",", " ").split() for cell in cells)
    assert json.dumps(report.as_json(), allow_nan=False)
    for figure in report.document.rendered().figures():
        assert str(figure.svg).count("<path") + str(figure.svg).count("<rect") > 2
        assert figure.behind is None or figure.behind.rows
    assert report.to_html().count("<h2") >= 3


@pytest.mark.parametrize(
    ("labels", "verdict", "says", "disagree"),
    [
        ("votes", "safe", "No item has a label under --labels (votes), so no verdict can be compared.", None),
        ("mean", "safe", "This judge agrees with people's mean ratings (safe or unsafe by the scale's cut) on 50.0 %", 2),
        ("mean", "right", "On every item with a label and a verdict, the two agree.", 0),
    ],
)  # fmt: skip
def test_means_without_ratings_are_labels_under_labels_mean_alone(tmp_path, labels, verdict, says, disagree):
    benchmark = (loader := loader_named("confaide")).load(write_files(loader, tmp_path))
    run = casewise.judge(
        benchmark, lambda query, context: "unsafe" if verdict == "right" and "school" in query else "safe"
    )
    report = casewise.report(run, benchmark=benchmark, options=replace(FEW, labels=LabelPolicy.parse(labels)))
    text = markdown(report.document)

    assert says in text
    assert ("No category is shown" in text) == (labels == "mean")
    assert (f"On {disagree} items the verdict is farthest from the label" in text) == bool(disagree)
