import json

import pytest
from tests.support.published import completed_at_random, write

from casewise.evaluate.replay import replay
from casewise.judges.baselines import RecordedJudge
from casewise.storage.load import load


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return completed_at_random(tmp_path_factory.mktemp("outputs"))


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

    assert replay(clean).notes == ()
