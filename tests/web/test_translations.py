"""A study's texts translated in the review room: one writes, another reads both, and the study shows what both did."""

import json
from html import unescape

import pytest
from sqlalchemy import update
from sqlalchemy.exc import DBAPIError
from tests.support.app import form_token, signed_in
from tests.support.study import START, design

from casewise import api
from casewise.contexts.translations import RoomText, find_text, put_texts, sets_for, texts_of
from casewise.database.staff import Role
from casewise.database.tables import review
from casewise.records.translation import Translation
from casewise.studies.rounds import init_study, read_plan

ROOM = "/review/translations/tea/es"
TEXTS = [Translation(of=f"q_{n}", language="es", source=f"How do I brew tea {n}?") for n in range(2)]


@pytest.fixture
def room(app):
    with app.state.database.write() as connection:
        assert put_texts(connection, "tea", TEXTS) == 2
    return app.state.database


def done(store):
    with store.read() as connection:
        return texts_of(connection, "tea", "es")


def next_of(guest):
    return guest.get(f"{ROOM}/next").headers["location"]


def next_in(page):
    return unescape(page.partition('class="button quiet" href="')[2].partition('"')[0])


def followed(guest, answer):
    return guest.client.get(answer.headers["location"], follow_redirects=True).text


def write(guest, at, text, act="save"):
    page = guest.client.get(at).text
    seen = page.partition('name="seen" value="')[2].partition('"')[0]
    return guest.client.post(at, data={"csrf": form_token(page), "seen": seen, "text": text, "act": act})


def test_one_translates_another_reads_it_and_nobody_their_own(app, room, monkeypatch):
    ana, ben = (signed_in(app, name, Role.REVIEWER) for name in ("Ana", "Ben"))
    at = next_of(ana)
    page = ana.get(at).text
    assert "How do I brew tea 0?" in page
    assert "In Spanish" in page
    assert ana.get(next_in(page)).headers["location"] != at  # who would rather not goes on without writing
    told = followed(ana, write(ana, at, "¿Cómo preparo té 0?"))
    assert "Saved; somebody else reads it." in told
    assert f'href="{at}">back to the last' in told
    assert next_of(ana) != at
    assert "It says the same" not in ana.get(at).text
    assert write(ana, at, "¿Cómo preparo té 0?", "confirm").status_code == 409
    assert not done(room)[0].is_reviewed

    assert next_of(ben) == at
    assert "Does it say the same?" in ben.get(at).text
    assert "Read: it says the same." in followed(ben, write(ben, at, "¿Cómo preparo té 0?", "confirm"))
    first = done(room)[0]
    assert first.is_reviewed
    assert (first.translator[:3], first.reviewer[:3]) == ("Ana", "Ben")
    assert "1 of 2 texts are translated and read" in ben.get("/review/translations").text
    own = [guest.get(ROOM).text for guest in (ana, ben)]
    assert all(at in page and "tea 1" not in page for page in own)
    assert ("you translated it; somebody read it" in own[0], "you read it" in own[1]) == (True, True)
    monkeypatch.setattr("casewise.web.review_translations.OWN_A_PAGE", 1)
    monkeypatch.setattr("casewise.contexts.translations.OWN_A_PAGE", 1)
    write(ana, next_of(ana), "¿Cómo preparo té 1?")
    assert f'href="{ROOM}?from=1">More' in ana.get(ROOM).text
    assert "tea 1" in (last := ana.get(f"{ROOM}?from=1").text)
    assert ">More<" not in last


def test_who_changes_a_translation_has_made_it_and_a_source_that_changed_is_read_again(app, room):
    ana, ben = (signed_in(app, name, Role.REVIEWER) for name in ("Ana", "Ben"))
    at = next_of(ana)
    write(ana, at, "¿Cómo hago té?")
    write(ben, at, "¿Cómo preparo té?", "confirm")
    assert (done(room)[0].translator[:3], done(room)[0].reviewer) == ("Ben", "")
    write(ana, at, "¿Cómo preparo té?", "confirm")
    assert done(room)[0].is_reviewed
    with room.write() as connection:
        assert (
            put_texts(connection, "tea", [TEXTS[0].model_copy(update={"source": "How is tea brewed?"}), TEXTS[1]]) == 1
        )
    assert not done(room)[0].is_reviewed
    assert next_of(ana) == at


def test_of_two_who_act_at_once_the_second_is_told_and_loses_nothing(app, room):
    ana, ben = (signed_in(app, name, Role.REVIEWER) for name in ("Ana", "Ben"))
    at = next_of(ana)
    page = ben.client.get(at).text
    write(ana, at, "¿Té?")
    late = ben.client.post(at, data={"csrf": form_token(page), "seen": "0", "text": "Mi versión", "act": "save"})
    assert late.status_code == 409
    assert "Somebody has changed this text" in late.text
    assert "Mi versión" in late.text
    assert done(room)[0].text == "¿Té?"
    assert write(ben, at, " ").status_code == 409
    assert ben.get(f"{ROOM}/0").status_code == 404


def test_the_database_itself_lets_nobody_read_their_own(app, room):
    ana = signed_in(app, "Ana", Role.REVIEWER)
    write(ana, next_of(ana), "¿Té?")
    with pytest.raises(DBAPIError), room.write() as connection:
        connection.execute(update(review.translations).values(reviewer_id=review.translations.c.translator_id))


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMINISTRATOR])
def test_only_reviewers_and_experts_translate(app, room, role):
    assert signed_in(app, "Olga", role).get("/review/translations").status_code == 403


def test_the_whole_way_from_the_study_to_the_room_and_back(app, tmp_path):
    path = tmp_path / "study.toml"
    init_study("demo", preset="lab", name="tea", path=path, today=START.date(), contact=design().contact)
    path.write_text('languages = ["en", "es"]\n' + path.read_text())
    store = app.state.database
    texts, lacking = api.studies.translate(path, "es", into_room=True, database=store.url.database)
    assert texts == lacking > 100
    ana, ben = (signed_in(app, name, Role.REVIEWER) for name in ("Ana", "Ben"))
    with store.read() as connection:
        (waiting,) = sets_for(connection, "nobody")
    assert waiting.waiting == texts
    at = next_of(ana)
    write(ana, at, "Uno")
    write(ben, at, "Uno", "confirm")
    with store.write() as connection:  # the rest as if it had been done so
        one = find_text(connection, RoomText(*at.split("/")[-3:]))
        assert one is not None
        people = {"translator_id": one.translator_id, "reviewer_id": one.reviewer_id, "text": "Texto"}
        connection.execute(update(review.translations).where(review.translations.c.text == "").values(**people))
    assert api.studies.translate(path, "es", to=tmp_path / "es.jsonl", from_room=True, database=store.url.database) == (
        texts,
        0,
    )
    assert json.loads((tmp_path / "es.jsonl").read_text().splitlines()[0])["text"] == "Uno"
    path.write_text('translations = "es.jsonl"\n' + path.read_text())
    assert read_plan(path).translated["es"].words


def test_what_a_file_holds_already_is_read_in_the_room_and_what_was_read_is_not_asked_for_again(app, tmp_path):
    path, file = tmp_path / "study.toml", tmp_path / "es.jsonl"
    init_study("demo", preset="lab", name="tea", path=path, today=START.date(), contact=design().contact)
    path.write_text('languages = ["en", "es"]\ntranslations = "es.jsonl"\n' + path.read_text())
    file.write_text("")
    first = tmp_path / "first.jsonl"
    api.studies.translate(path, "es", to=first)
    rows = [json.loads(line) for line in first.read_text().splitlines()]
    read = [row | {"text": "Texto", "translator": "Zoe", "reviewer": "Yan"} for row in rows[1:-1]]
    draft = rows[0] | {"text": "Borrador", "translator": "Zoe"}
    file.write_text("".join(json.dumps(row) + "\n" for row in (draft, *read)))
    url = app.state.database.url.database

    assert api.studies.translate(path, "es", into_room=True, database=url) == (len(rows), 2)
    assert [(one.of, one.text) for one in done(app.state.database)] == [(draft["of"], "Borrador"), (rows[-1]["of"], "")]
    ben = signed_in(app, "Ben", Role.REVIEWER)
    write(ben, next_of(ben), "Borrador", "confirm")
    back = tmp_path / "back.jsonl"
    assert api.studies.translate(path, "es", to=back, from_room=True, database=url) == (len(rows), 1)
    told = json.loads(back.read_text().splitlines()[0])
    assert (told["text"], told["translator"], told["reviewer"][:3]) == ("Borrador", "Zoe", "Ben")
