"""A run, and what is made of it, never prints the benchmark."""

from pathlib import Path

import pytest

import casewise
from casewise import api
from casewise.audits import AuditOptions
from casewise.contexts.selection import begin_draft
from casewise.studies.rounds import init_study

FEW = AuditOptions(splits=10, folds=5)


@pytest.fixture(scope="module")
def run():
    return casewise.judge("demo", "constant:safe")


def test_a_run_prints_what_it_is_in_a_line(run):
    assert repr(run) == "<Run on demo: 90 judged, 0 unscored>"


@pytest.mark.slow
def test_no_object_of_the_api_prints_what_it_holds(run, tmp_path):
    init_study("demo", path=tmp_path / "study.toml")
    demo = casewise.load("demo")
    report = run.report()
    made = {
        "benchmark": demo,
        "report": report,
        "runs": report.numbers.runs,
        "comparison": casewise.compare(run, casewise.judge("demo", "constant:intended")),
        "gate": casewise.gate(run, run, max_drop={"accuracy": 0.1}),
        "board": casewise.leaderboard(run),
        "audit": casewise.audit("demo", options=FEW),
        "paper": casewise.paper(benchmark="demo"),
        "item": api.show_benchmark("demo", "1"),
        "study": api.Study(tmp_path / "study.toml").plan(),
        "analysis": api.study_report("demo"),
        "queries": begin_draft(Path("demo"), draft="x", database=str(tmp_path / "x.db")),
        "judge": api.make_judge("fake/rehearsal", demo),
    }

    assert {name: repr(one) for name, one in made.items() if len(repr(one)) > 120} == {}
    assert repr(made["gate"]) == "<CIReport: Gate: PASS>"
    assert str(made["gate"]).startswith("Gate: PASS\n")
    assert repr(demo) == "<Benchmark demo 1.0.0: 45 queries, 90 contexts, 90 items, 1,890 ratings>"
