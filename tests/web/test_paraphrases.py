"""Paraphrases that a model made, read by a person in the review room: an arm uses those that were accepted, and no others."""

import json

import pytest
from tests.support.app import form_token, signed_in
from tests.support.lied_to import DEMO, Known

from casewise import api
from casewise.database.staff import Role
from casewise.errors import BenchmarkError, DataError
from casewise.records.base import digest
from casewise.transforms.catalogue import arm_named, attacks_named, setting_of, show_item


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    api.attack("demo", Known(), attacks="paraphrase:fake/rehearsal", noise="none", out=folder)
    return folder


def act(guest, at, does, text=None):
    page = guest.client.get(at).text
    seen = page.partition('name="seen" value="')[2].partition('"')[0]
    said = page.partition('rows="6" required>')[2].partition("</textarea>")[0] if text is None else text
    return guest.client.post(at, data={"csrf": form_token(page), "seen": seen, "text": said, "act": does})


def test_an_arm_uses_what_a_person_accepted_and_leaves_the_rest_as_it_was(app, run, tmp_path):
    database = app.state.database.url.database
    put = api.check_paraphrases(run, into_room=True, database=database)
    assert (put.made > 90, put.accepted) == (True, 0)
    ana, ben = (signed_in(app, name, Role.REVIEWER) for name in ("Ana", "Ben"))
    room = f"/review/translations/paraphrases-{digest([DEMO.digest, ['paraphrase:fake/rehearsal']])[:12]}/en"

    first = ana.get(f"{room}/next").headers["location"]
    assert "Does it say the same?" in ana.get(first).text
    assert act(ana, first, "confirm").headers["location"].startswith(f"{room}/next?")
    second = ana.get(f"{room}/next").headers["location"]
    act(ana, second, "leave out")
    assert "Left out" in ana.get(second).text
    third = ana.get(f"{room}/next").headers["location"]
    assert len({first, second, third}) == 3
    act(ana, third, "save", text="Said by a person.")
    assert ana.get(f"{room}/next").headers["location"] != third  # nobody reads their own
    act(ben, third, "confirm")
    assert f"{put.made - 3} wait to be read" in ben.get("/review/translations").text

    done = api.check_paraphrases(run, to=tmp_path / "checked.jsonl", database=database)
    rows = [json.loads(line) for line in (tmp_path / "checked.jsonl").read_text().splitlines()]
    assert (done.accepted, len(rows)) == (2, 2)
    (transform,) = attacks_named(f"checked:{tmp_path / 'checked.jsonl'}")
    arm = arm_named(transform.name)
    found = setting_of(arm)
    assert (found.role if found else None, transform.rest.count("@")) == ("perturbation", 1)
    for row in rows:
        item = next(one for one in DEMO.items if row["source"] in DEMO.context[str(one.context_id)].texts().values())
        shown = show_item(arm, DEMO, item)
        own = DEMO.context[str(item.context_id)].shown()
        assert row["text"] in str(shown.context)
        assert row["source"] not in [text for group in shown.context.values() for text in group.values()]
        changed = [(g, n) for g, texts in own.items() for n, text in texts.items() if shown.context[g][n] != text]
        assert 1 <= len(changed) <= 2
    other = next(one for one in DEMO.items if "nobody has accepted" in str(show_item(arm, DEMO, one).problem))
    assert other.id in DEMO.item


def test_what_nobody_has_accepted_and_a_run_without_paraphrases_are_refused(app, run, tmp_path):
    database = app.state.database.url.database
    api.check_paraphrases(run, to=tmp_path / "none.jsonl", database=database)
    with pytest.raises(DataError, match="no paraphrase that anybody has accepted"):
        attacks_named(f"checked:{tmp_path / 'none.jsonl'}")
    api.attack("demo", Known(), attacks="order:reversed", noise="none", out=tmp_path / "plain")
    with pytest.raises(BenchmarkError, match="has no paraphrases"):
        api.check_paraphrases(tmp_path / "plain", database=database)
