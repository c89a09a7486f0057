import json

import pytest
from tests.audits.builders import looked
from tests.support.published import completed_at_random, output_rows, write

from casewise.audits.audit import audit, audit_outputs
from casewise.audits.subject import AuditOptions
from casewise.evaluate.replay import replay
from casewise.judges.baselines import RecordedJudge
from casewise.storage.load import load


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return completed_at_random(tmp_path_factory.mktemp("outputs"))


def test_an_output_that_was_filled_in_by_chance_is_a_finding(planted):
    part = looked(audit_outputs, [planted])

    (finding,) = part.findings
    assert finding.code == "outputs.filled-in"
    assert finding.evidence["values"] == 25
    assert finding.evidence["r_of_others"] > 0.8 > finding.evidence["r"]


def test_replay_and_a_recorded_judge_say_so(planted):
    demo = load("demo")

    found = replay(planted)

    assert "look filled in by chance" in found.notes[0]
    assert any("look filled in by chance" in note for note in RecordedJudge.read(planted, demo).notes())
    assert found.as_json()["notes"] == list(found.notes)


def test_whole_numbers_that_follow_the_votes_are_no_finding(planted, tmp_path):
    rows = json.loads(planted.read_text())
    for row in rows:
        if isinstance(row["some-model"], int):
            row["some-model"] = round(1 + 9 * row["scores"][:20].count(1) / 20)
    clean = write(tmp_path / "safety_some-model" / "output_score.json", rows)

    assert looked(audit_outputs, [clean]).findings == []
    assert replay(clean).notes == ()


def test_words_cannot_be_tested_and_that_is_said(tmp_path):
    words = write(tmp_path / "safety_a" / "output_binary.json", output_rows(["safe", "unsafe"] * 20))

    part = looked(audit_outputs, [words, tmp_path / "output_gone.json"])

    assert part.findings == []
    assert any("cannot be tested" in line for line in part.left_out)
    assert any("output_gone.json" in line for line in part.left_out)


@pytest.mark.slow
def test_an_audit_looks_at_outputs_where_they_are_given(planted):
    quick = AuditOptions(splits=5, folds=3)

    found = audit(load("demo"), options=quick, outputs=[planted])

    assert "outputs.filled-in" in {finding.code for finding in found.findings}
    assert found.as_json()["measured"]["outputs"]
    assert "outputs" not in audit(load("demo"), options=quick).parts
