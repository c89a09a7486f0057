"""Benchmarks that leave a report little to say: it says so, without nan and without empty charts."""

import json
from dataclasses import replace

import pytest

import casewise
from casewise.evaluate.judged_runs import ReportOptions

FEW = ReportOptions()

ANSWERS = {"binary": "safe", "probability": 0.3, "score": 4, "scalar": -1.5}


def without_ratings(demo):
    return replace(demo, ratings=())


def with_one_vote_each(demo):
    return replace(demo, ratings=tuple({rating.item_id: rating for rating in demo.ratings}.values()))


def of_one_item(demo):
    return demo.keeping(demo.items[:1])


def of_one_query(demo):
    return demo.keeping(demo.items[:2])


def of_one_class(demo):
    return demo.keeping([item for item in demo.items if demo.votes[item.id].safe > 12])


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
    for figure in report.document.figures():
        assert figure.svg.count("<path") + figure.svg.count("<rect") > 2
        assert figure.behind is None or figure.behind.rows
    assert report.to_html().count("<h2") >= 3
