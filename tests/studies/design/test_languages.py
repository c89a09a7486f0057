"""Every text that an annotator sees is there in every language, and says so of itself."""

import json
import re
from datetime import date
from importlib.resources import files
from pathlib import Path

import jinja2
import pytest
from tests.support.study import START, design

from casewise.ask.layouts import FOR_ANNOTATORS
from casewise.errors import ConfigurationError, StudyError
from casewise.records.translation import Translation
from casewise.studies.design import CONFIDENCE, DEMOGRAPHICS, LANGUAGES, REPLY_QUESTION, Speech, messages_in
from casewise.studies.freeze import ABOUT_YOU, read_translations, read_wording, write_translations
from casewise.studies.rounds import init_study, read_plan
from casewise.web.errors import SAYINGS, TITLES

TEMPLATES = Path(str(files("casewise.web"))) / "templates"
ANNOTATORS = [path for path in sorted((TEMPLATES / "study").glob("*.html")) if not path.name.startswith("owner")]
OTHERS = [language for language in LANGUAGES if language != "en"]
REFUSED = re.compile(r'HTTPException\(\s*\d+,\s*((?:"[^"]*"\s*)+)')
SAID = re.compile(r'\bt\("((?:[^"\\]|\\.)*)"')


def said_in_templates():
    for path in (*ANNOTATORS, TEMPLATES / "base.html", TEMPLATES / "problem.html"):
        yield from SAID.findall(path.read_text(encoding="utf-8"))


def said_in_code():
    package = Path(str(files("casewise")))
    for path in (*(package / "studies").glob("*.py"), package / "web/study.py"):
        yield from SAID.findall(path.read_text(encoding="utf-8"))
    yield from (ABOUT_YOU, *CONFIDENCE.values())
    yield from (words for words in FOR_ANNOTATORS.values())
    yield from (REPLY_QUESTION.ask, *REPLY_QUESTION.options)
    for question in DEMOGRAPHICS:
        yield from (question.ask, *question.options)
    yield from (f"{date(2026, month, 1):%B}" for month in range(1, 13))
    yield from (*TITLES.values(), *SAYINGS.values())
    for path in (package / "web/security.py", package / "web/study.py"):
        for words in REFUSED.findall(path.read_text(encoding="utf-8")):
            yield "".join(re.findall(r'"([^"]*)"', words))


@pytest.mark.parametrize("language", OTHERS)
def test_no_words_of_the_pages_are_missing(language):
    known = messages_in(language)
    missing = [words for words in {*said_in_templates(), *said_in_code()} if words not in known]
    assert missing == []


@pytest.mark.parametrize("language", OTHERS)
def test_each_message_has_the_places_of_its_english(language):
    for english, said in messages_in(language).items():
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", said)), english


@pytest.mark.parametrize("path", ANNOTATORS, ids=lambda path: path.name)
def test_annotators_templates_say_nothing_past_the_translator(path):
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"<kbd>[A-Z]</kbd>", " ", text)
    bare = re.findall(r"[^\W\d_]{2,}", re.sub(r"<[^>]*>", " ", text, flags=re.DOTALL))
    assert bare == []
    assert re.findall(r'(?:aria-label|placeholder|title)="[^"{]*[a-z]', text) == []


REPLIES = {"rates": "replies", "conditions": ["reply"], "questions": [REPLY_QUESTION.model_dump()]}


@pytest.mark.parametrize("changes", [{}, REPLIES], ids=["requests", "replies"])
@pytest.mark.parametrize("language", OTHERS)
def test_the_longer_texts_have_the_same_placeholders_quiz_and_checks(language, changes):
    plan = design(**changes)
    first, other = read_wording(plan, Path()), read_wording(plan, Path(), language)
    assert [question.right for question in first.quiz] == [question.right for question in other.quiz]
    assert {check.name: check.expected for check in first.checks} == {c.name: c.expected for c in other.checks}
    folder = "replies" if changes else "."
    texts = Path(str(files("casewise.studies"))) / "texts"
    for page in (texts / folder).glob("*.md"):
        ours, theirs = (
            set(re.findall(r"\{\{ \w+ \}\}", place.read_text(encoding="utf-8")))
            for place in (page, texts / language / folder / page.name)
        )
        assert ours == theirs, page


def test_dates_numbers_and_direction_are_those_of_the_language():
    assert Speech("en").day(date(2027, 1, 5)) == "5 January 2027"
    assert Speech("es").day(date(2027, 1, 5)) == "5 de enero de 2027"
    assert Speech("es")("You can skip {n} more.", n=2) == "Puede saltar 2 más."
    assert Speech("es")("{n} of {of}", n="{of}", of=3) == "{of} de 3"  # filled in once
    assert Speech("es").direction == "ltr"
    assert Speech("ar").direction == "rtl"  # type: ignore[arg-type]  # no page is in it yet; the direction is known


def test_every_annotators_template_can_be_read():
    environment = jinja2.Environment(autoescape=True)
    for path in ANNOTATORS:
        environment.parse(path.read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "study.toml"
    init_study("demo", preset="lab", name="tea", path=found, today=START.date(), contact=design().contact)
    found.write_text('languages = ["en", "es"]\ntranslations = "es.jsonl"\n' + found.read_text())
    return found


def translated(path, **changes):
    """Everything translated, by putting a mark before it."""
    from casewise import api

    bare = path.with_name("bare.toml")
    bare.write_text(path.read_text().replace('translations = "es.jsonl"\n', ""))
    wanted, lacking = api.studies.translate(bare, "es", to=path.parent / "wanted.jsonl")
    assert wanted == lacking
    lines = [json.loads(line) for line in (path.parent / "wanted.jsonl").read_text().splitlines()]
    said = [one | {"text": f"ES {one['source']}", "translator": "ana", "reviewer": "ben"} | changes for one in lines]
    (path.parent / "es.jsonl").write_text("".join(json.dumps(one) + "\n" for one in said))


def test_a_study_in_two_languages_shows_each_item_in_both_under_one_id(path):
    translated(path)
    plan = read_plan(path)
    item = next(item for item in plan.material.items if item.shown["context"])
    assert item.shown["in"]["es"]["query"] == f"ES {item.shown['query']}"
    assert item.shown["in"]["es"]["context"].keys() == item.shown["context"].keys()
    assert plan.translated["es"].wording.consent.startswith("### De qué se trata")
    assert "que lee bien la lengua de esta página" in " ".join(plan.translated["es"].wording.consent.split())
    assert "that you read English well" in " ".join(plan.wording.consent.split())
    assert "ES " in next(iter(plan.translated["es"].words.values()))


def test_what_nobody_else_has_read_is_not_shown(path):
    translated(path, reviewer="ana")
    with pytest.raises(StudyError, match="that a second person has read"):
        read_plan(path)


def test_a_translation_that_is_changed_after_freezing_is_a_departure(path):
    from casewise.studies.rounds import freeze_plan

    translated(path)
    freeze_plan(read_plan(path), at=START)
    translations = path.parent / "es.jsonl"
    translations.write_text(translations.read_text().replace("ES ", "Es "))
    assert [one.setting for one in read_plan(path).departures] == ["languages.es", "items"]


def test_an_owners_own_text_is_asked_for_in_every_language(path):
    translated(path)
    (path.parent / "consent.md").write_text("### Mine")
    path.write_text(path.read_text().replace("# [texts] ", '[texts]\nconsent = "consent.md" # '))
    with pytest.raises(ConfigurationError, match=r"es/consent\.md"):
        read_plan(path)


def test_an_amount_is_written_as_the_language_writes_it():
    assert [Speech(language).money(1202.5, "EUR") for language in LANGUAGES] == ["1202.50 EUR", "1202,50 EUR"]


def test_translations_of_texts_with_lines_come_back_from_their_file(tmp_path):
    texts = [Translation(of="q_1", language="es", source="one\u2028two\x85three", text="uno\u2029dos")]
    write_translations(texts, tmp_path / "translations.jsonl")
    assert read_translations(tmp_path / "translations.jsonl") == texts
