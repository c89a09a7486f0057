"""Paraphrases that a model made, read by people in a file: an arm uses those that were accepted, and no others."""

import json

import pytest
from tests.support.lied_to import DEMO, Known

from casewise import api
from casewise.errors import BenchmarkError, DataError
from casewise.transforms.catalogue import arm_named, attacks_named, setting_of, show_item


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    api.attack("demo", Known(), attacks="paraphrase:fake/rehearsal", noise="none", out=folder)
    return folder


def rows_in(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_arm_uses_what_a_person_accepted_and_leaves_the_rest_as_it_was(run, tmp_path):
    path = tmp_path / "checked.jsonl"
    assert api.write_paraphrases(run, path) > 90
    rows = rows_in(path)
    assert {tuple(row) for row in rows} == {("of", "source", "text", "reviewer")}
    rows[0]["reviewer"] = "Ana"
    rows[1] |= {"reviewer": "Ben", "language": "en", "translator": ""}  # as the review room wrote it
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (transform,) = attacks_named(f"checked:{path}")
    arm = arm_named(transform.name)
    found = setting_of(arm)
    assert (found.role if found else None, transform.rest.count("@")) == ("perturbation", 1)
    for row in rows[:2]:
        item = next(one for one in DEMO.items if row["source"] in DEMO.context[str(one.context_id)].texts().values())
        shown = show_item(arm, DEMO, item)
        own = DEMO.context[str(item.context_id)].shown()
        assert row["text"] in str(shown.context)
        assert row["source"] not in [text for group in shown.context.values() for text in group.values()]
        changed = [(g, n) for g, texts in own.items() for n, text in texts.items() if shown.context[g][n] != text]
        assert 1 <= len(changed) <= 2
    other = next(one for one in DEMO.items if "nobody has accepted" in str(show_item(arm, DEMO, one).problem))
    assert other.id in DEMO.item


def test_what_nobody_has_accepted_and_a_run_without_paraphrases_are_refused(run, tmp_path):
    api.write_paraphrases(run, tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="no paraphrase that anybody has accepted"):
        attacks_named(f"checked:{tmp_path / 'none.jsonl'}")
    api.attack("demo", Known(), attacks="order:reversed", noise="none", out=tmp_path / "plain")
    with pytest.raises(BenchmarkError, match="has no paraphrases"):
        api.write_paraphrases(tmp_path / "plain", tmp_path / "none.jsonl")
