"""From the answers on the pages through the export to the report."""

import json

import pytest
from tests.support.databases import new_database
from tests.support.study import START, begun, exported, opened_plan, tea

from casewise.reports.formats import markdown
from casewise.studies.answers import SubmittedAnswer, finish_batch, next_page, take_answer
from casewise.studies.design import OwnAnswer
from casewise.studies.report import study_report
from casewise.studies.rounds import read_plan

OWN = """
[[questions]]
name = "sure"
kind = "scale"
ask = "How sure?"
points = 3
[[questions]]
name = "why"
kind = "choice"
many = true
ask = "Why?"
options = ["Harm", "Law"]
"""


@pytest.fixture
def folder(tmp_path):
    """People who rate alike, and are as sure of an item as each other."""
    changes = ((r"(?m)^(conditions|contrasts) = .*$", ""), (r"checks_per_batch = \d+", "checks_per_batch = 0"))
    path = tea(tmp_path / "study.toml", "lab", *changes, (r"\A", 'conditions = ["no_context"]\n'), (r"\Z", OWN))
    plan = read_plan(path)
    with new_database(tmp_path / "casewise.db") as store:
        study = opened_plan(store, plan, "pilot")
        for name in "abcdefghijkl":
            who = begun(store, study, name)
            with study.write(store, START) as live:
                while (page := next_page(live, who)) is not None:
                    sure = 1 + page.text.count("e") % 3
                    own: dict[str, OwnAnswer] = {"sure": sure, "why": [0] if sure == 1 else [0, 1]}
                    given = SubmittedAnswer(page.position, page.step, "respond", seconds=4.0, own=own)
                    take_answer(live, who, given)
                finish_batch(live, who)
        exported(store, study, plan, tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.slow
def test_own_questions_are_exported_and_analysed_by_condition_and_level(folder):
    lines = [json.loads(line) for line in (folder / "own_answers.jsonl").read_text().splitlines()]
    assert len(lines) == 300
    assert all(set(line["answers"]) == {"sure", "why"} for line in lines)

    report = study_report(folder)
    sure, why = report.as_json()["own_questions"]
    given = [line["answers"]["sure"] for line in lines]
    assert sum(row["answers"] for row in sure["shares"] if row["answer"] == "3") == given.count(3)
    assert sure["alphas"]["all"]["alpha"] == pytest.approx(1.0)  # all are as sure of an item as each other
    assert sure["alphas"]["all"]["level"] == "ordinal"
    assert {row["share"] for row in why["shares"] if row["answer"] == "Harm"} == {1.0}
    assert why["alphas"]["Harm"]["alpha"] is None
    assert why["alphas"]["Law"]["alpha"] == pytest.approx(1.0)
    assert "### The study's own questions" in markdown(report.document)


@pytest.mark.slow
def test_answers_of_ratings_that_do_not_count_are_not_analysed(folder):
    lines = (folder / "own_answers.jsonl").read_text().splitlines()
    stranger = json.dumps({**json.loads(lines[0]), "annotator_id": "somebody-left-out"})
    (folder / "own_answers.jsonl").write_text("\n".join([*lines, stranger]) + "\n")
    sure = study_report(folder).as_json()["own_questions"][0]
    assert sum(row["answers"] for row in sure["shares"]) == 300
