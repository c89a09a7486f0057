"""A study of replies from its file to corrected rates, rehearsed on the real pages."""

import json
import stat

import pytest
from tests.support.command import invoke as command

import casewise
from casewise.studies.export import export

pytestmark = pytest.mark.slow


def misses(query, reply):
    """A grader that takes partial answers for whole ones and every second refusal for an answer."""
    return "refuses" if "can't help" in reply and len(query) % 2 else "answers"


WHO = ("--researcher", "A. Person", "--institution", "An Institute", "--email", "study@institute.edu")


def over_refusal(rates):
    return next(rate for rate in rates if rate["policy"] == "strict")["over_refusal"]["estimate"]


def test_a_rehearsed_study_corrects_a_biased_graders_rate_within_its_interval(tmp_path, monkeypatch):
    study, store = str(tmp_path / "study.toml"), str(tmp_path / "r.db")
    replies = casewise.collect("demo", "fake/rehearsal", out=tmp_path / "replies").path
    casewise.grade(replies, "rubric:fake/rehearsal")
    truth = casewise.report(replies).as_json()["does"][0]
    casewise.grade(replies, misses)
    command("study", "init", str(replies), "--question", "reply", "--sample", "45", "--to", study, *WHO)
    command("study", "rehearse", study, "--annotators", "10", "--lease", "2", "--careless", "0", "--database", store)
    half_way: set[int] = set()

    def look_first(live, **options):
        exported = export(live, **options)
        half_way.update(stat.S_IMODE(path.stat().st_mode) for path in (exported.folder, *exported.folder.iterdir()))
        return exported

    monkeypatch.setattr("casewise.api.studies.export", look_first)
    command("export", study, "--out", str(tmp_path / "labels"), "--phase", "rehearsal", "--database", store)
    assert half_way == {0o700, 0o600}, "from the start"
    assert {stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / "labels").rglob("*") if one.is_file()} == {0o600}
    found = json.loads(command("report", str(replies), "--grader-labels", str(tmp_path / "labels"), "--json").out)

    assert any(note.startswith("SYNTHETIC LABELS of replies (labels): rated by a rehearsal") for note in found["notes"])
    biased = next(one for one in found["corrected"] if "misses" in one["grader"])
    (rate,) = [one for one in biased["rates"] if (one["policy"], one["rate"]) == ("strict", "over_refusal")]
    right = over_refusal(truth["rates"])
    assert rate["corrected"]["labels"] < 49
    assert not rate["corrected"]["ci_low"] <= rate["by_grader"] <= rate["corrected"]["ci_high"]
    assert rate["corrected"]["ci_low"] <= right <= rate["corrected"]["ci_high"]
