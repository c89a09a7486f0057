"""A run, and what is made of it, never prints the benchmark."""

from pathlib import Path

import pytest

import casewise
from casewise import api
from casewise.audits import AuditOptions
from casewise.contexts.drafts import begin_draft
from casewise.studies.rounds import init_study

FEW = AuditOptions(splits=10, folds=5)


@pytest.fixture(scope="module")
def run():
    return casewise.judge("demo", "constant:safe")


def test_a_run_prints_what_it_is_in_a_line(run):
    assert repr(run) == "<Run on demo: 90 judged, 0 unscored>"


@pytest.mark.slow
def test_what_is_made_of_a_run_prints_in_a_line(run):
    made = (
        casewise.gate(run, run, max_drop={"accuracy": 0.1}),
        casewise.leaderboard(run),
        casewise.audit("demo", options=FEW),
        casewise.paper(benchmark="demo"),
    )

    assert [len(repr(one)) < 120 for one in made] == [True] * 4
    assert repr(made[0]) == "<CIReport: Gate: PASS>"


@pytest.mark.slow
def test_no_object_of_the_api_prints_what_it_holds(run, tmp_path):
    init_study("demo", path=tmp_path / "study.toml")
    demo = casewise.load("demo")
    report = run.report()
    made = {
        "benchmark": demo,
        "report": report,
        "runs": report.runs,
        "comparison": casewise.compare(run, casewise.judge("demo", "constant:intended")),
        "item": api.look_at("demo", "1"),
        "study": api.Study(tmp_path / "study.toml").plan(),
        "analysis": api.study_report("demo"),
        "queries": begin_draft(Path("demo"), draft="x", database=str(tmp_path / "x.db")),
        "judge": api.as_judge("fake/rehearsal", demo),
    }

    assert {name: repr(one) for name, one in made.items() if len(repr(one)) > 120} == {}
    assert repr(demo) == "<Benchmark demo 1.0.0: 45 queries, 90 contexts, 90 items, 1,890 ratings>"


@pytest.mark.slow
def test_a_notebook_shows_what_a_terminal_does_and_not_the_whole_page(run):
    report = run.report()

    assert "Worst disagreements" in report.to_html()
    assert "Worst disagreements" not in report._repr_html_()
    assert "The answer" in run._repr_html_()
    assert len(report._repr_html_()) < len(report.to_html()) / 2
