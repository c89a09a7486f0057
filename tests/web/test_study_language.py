"""A study in Spanish, by forms alone: every page, error pages included, is in the study's language."""

import pytest
from tests.support.study import Walker, design, opened


@pytest.fixture
def app(app_on_either):
    return app_on_either


@pytest.fixture
def walker(app):
    plan = design(language="es", conditions=["safe_revised"], attention={"checks_per_batch": 1})
    walker = Walker(app, opened(app.state.database, plan))
    walker.guest.client.headers["accept-language"] = "en"
    return walker


@pytest.mark.slow
def test_every_page_is_in_the_studys_language_whatever_the_browser_asks_for(walker):
    walker.arrive()
    assert '<html lang="es">' in walker.page
    assert "Antes de empezar" in walker.page
    walker.open("/consent")
    assert "Tengo 18 años o más" in walker.page
    where = walker.to_rating()
    while where == "/rate":
        shown = walker.page
        assert "¿Debería este chatbot responder en esta situación?" in shown
        decision = "refuse" if "pulse Negarse" in shown or "dice Negarse" in shown else "respond"
        where = walker.send("/rate", step=walker.token, decision=decision)
    assert "Ha respondido a todas las páginas" in walker.page


def test_error_pages_are_in_the_studys_language(walker):
    walker.arrive()
    walker.guest.client.headers["accept"] = "text/html"
    answer = walker.guest.client.get(f"{walker.at}/nowhere")
    assert '<html lang="es"' in answer.text
    assert "Página no encontrada" in answer.text


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"csrf": "of another page"}, "Este formulario ya no es válido"),
        ({"csrf": "x" * 2_000_000}, "El envío es demasiado grande"),
        ({"csrf": "\0"}, "contiene un carácter"),
    ],
)
def test_a_form_that_is_refused_is_so_in_the_annotators_language(walker, form, said):
    walker.arrive()
    walker.guest.client.headers["accept"] = "text/html"
    answer = walker.guest.client.post(f"{walker.at}/consent", data=form)
    assert said in answer.text
    assert "Sin acceso" not in answer.text


def test_an_error_page_of_no_study_is_in_english(app):
    walker = Walker(app, opened(app.state.database, design(name="english")))
    walker.guest.client.headers |= {"accept-language": "es-MX, en", "accept": "text/html"}
    for place in (f"{walker.at}/nowhere", "/study/none/rate"):
        assert '<html lang="en"' in walker.guest.client.get(place).text
