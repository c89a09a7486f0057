"""A study in two languages, by forms alone: chosen or asked for by the browser, and kept with each rating."""

import pytest
from sqlalchemy import select
from tests.support.study import START, Walker, design, material, opened

from casewise.database.tables import study as tables
from casewise.studies.freeze import Translated, read_wording, to_translate, translated_material
from casewise.studies.rounds import NewRound, load_round, open_round


@pytest.fixture
def app(app_on_either):
    return app_on_either


@pytest.fixture
def study(app, tmp_path):
    plan = design(languages=["en", "es"], conditions=["safe_revised"], attention={"checks_per_batch": 1})
    there = material(plan)
    said = [
        one.model_copy(update={"text": f"¡{one.source}!", "translator": "ana", "reviewer": "ben"})
        for one in to_translate(plan, there, "es")
    ]
    words = {"medical advice": "consejos médicos", "Somebody may be treated wrongly.": "Un trato erróneo."}
    new = NewRound(
        plan,
        "main",
        read_wording(plan, tmp_path),
        translated_material(plan, there, said),
        translated={"es": Translated(read_wording(plan, tmp_path, "es"), words)},
    )
    with app.state.database.write() as connection:
        return load_round(connection, open_round(connection, new, now=START))


def test_the_browsers_language_is_taken_where_the_study_has_it(app, study):
    walker = Walker(app, study)
    walker.guest.client.headers["accept-language"] = "fr;q=0.9, es-MX, en"
    walker.arrive()
    assert '<html lang="es" dir="ltr">' in walker.page
    assert "Antes de empezar" in walker.page
    assert "consejos médicos" in walker.page
    assert 'hreflang="en"' in walker.page


def test_a_chosen_language_goes_before_and_can_be_changed_on_every_page(app, study):
    walker = Walker(app, study)
    walker.arrive()
    assert '<html lang="en"' in walker.page
    walker.open("/language?to=es")
    assert "Tengo 18 años o más" in walker.page
    walker.open("/language?to=xx")
    assert '<html lang="es"' in walker.page
    where = walker.to_rating()
    while where == "/rate":
        shown = walker.page
        assert "¿Debería este chatbot responder en esta situación?" in shown
        assert "¡A &lt;b&gt;website&lt;/b&gt; about tea!" in shown
        decision = "refuse" if "pulse Negarse" in shown or "dice Negarse" in shown else "respond"
        where = walker.send("/rate", page=walker.token, decision=decision)
    assert "Ha respondido a todas las páginas" in walker.page
    assert walker.open("/language?to=en") == "/questions"
    assert "You have answered all pages" in walker.page
    with app.state.database.read() as connection:
        pages = connection.execute(select(tables.pages.c.language, tables.pages.c.state)).all()
    assert {page.language for page in pages if page.state == "rated"} == {"es"}


def test_error_pages_are_in_the_language_that_was_chosen(app, study):
    walker = Walker(app, study)
    walker.open("/language?to=es")
    walker.guest.client.headers["accept"] = "text/html"
    answer = walker.guest.client.get(f"{walker.at}/nowhere")
    assert '<html lang="es"' in answer.text
    assert "Aquí no hay nada" in answer.text


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"csrf": "of another page"}, "Este formulario ya no es válido"),
        ({"csrf": "x" * 2_000_000}, "Eso es más de lo que envía"),
        ({"csrf": "\0"}, "contiene un carácter"),
    ],
)
def test_a_form_that_is_refused_is_so_in_the_annotators_language(app, study, form, said):
    walker = Walker(app, study)
    walker.open("/language?to=es")
    walker.arrive()
    walker.guest.client.headers["accept"] = "text/html"
    answer = walker.guest.client.post(f"{walker.at}/consent", data=form)
    assert said in answer.text
    assert "No es para usted" not in answer.text


@pytest.mark.parametrize("place", ["{at}/nowhere", "/study/none/rate"])
def test_error_pages_are_in_the_browsers_language_where_none_was_chosen(app, study, place):
    walker = Walker(app, study)
    walker.guest.client.headers["accept-language"] = "es-MX, en"
    walker.arrive()
    walker.guest.client.headers["accept"] = "text/html"
    answer = walker.guest.client.get(place.format(at=walker.at))
    assert answer.status_code == 404
    assert "Aquí no hay nada" in answer.text


def test_an_error_page_of_a_study_in_english_alone_is_in_english(app):
    walker = Walker(app, opened(app.state.database, design(name="english")))
    walker.guest.client.headers["accept-language"] = "es-MX, en"
    walker.arrive()
    walker.guest.client.headers["accept"] = "text/html"
    assert '<html lang="en"' in walker.guest.client.get(f"{walker.at}/nowhere").text
