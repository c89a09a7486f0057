"""Every text that an annotator sees is there in every language, and says so of itself."""

import re
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest
from tests.support.study import design

from casewise.ask.layouts import FOR_ANNOTATORS
from casewise.studies.answers import CHECK_REPLY, CHECK_SITUATION, OTHER_PARAMETER
from casewise.studies.design import DEMOGRAPHICS, RATED, REPLY_QUESTION
from casewise.studies.language import LanguageCode, Translator, messages_in
from casewise.studies.wording import ABOUT_YOU, read_wording
from casewise.web.pages import MESSAGES, TITLES

TEMPLATES = Path(str(files("casewise.web"))) / "templates"
ANNOTATORS = [path for path in sorted((TEMPLATES / "study").glob("*.html")) if not path.name.startswith("owner")]
LANGUAGES: tuple[LanguageCode, ...] = get_args(LanguageCode)
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
    yield from (ABOUT_YOU,)
    yield from (words for words in FOR_ANNOTATORS.values())
    yield from (*CHECK_SITUATION.values(), OTHER_PARAMETER, CHECK_REPLY)
    yield from (REPLY_QUESTION.ask, *REPLY_QUESTION.options)
    for words in RATED.values():
        yield from (
            words.heading,
            words.ask,
            words.ask_alone,
            words.yes,
            words.thing,
            words.things,
            words.agent,
            words.title,
        )
    yield from ("User", "Assistant", "System", "Tool")
    for question in DEMOGRAPHICS:
        yield from (question.ask, *question.options)
    yield from (f"{date(2026, month, 1):%B}" for month in range(1, 13))
    yield from (*TITLES.values(), *MESSAGES.values())
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
    first = read_wording(design(**changes), Path())
    other = read_wording(design(**changes, language=language), Path())
    assert [question.right for question in first.quiz] == [question.right for question in other.quiz]
    assert {check.name: check.expected for check in first.checks} == {c.name: c.expected for c in other.checks}
    folder = "replies" if changes else "."
    texts = Path(str(files("casewise.studies"))) / "texts"
    for page in (texts / "en" / folder).glob("*.md"):
        ours, theirs = (
            set(re.findall(r"\{\{ \w+ \}\}", place.read_text(encoding="utf-8")))
            for place in (page, texts / language / folder / page.name)
        )
        assert ours == theirs, page


def test_dates_and_numbers_are_those_of_the_language():
    assert Translator("en").day(date(2027, 1, 5)) == "5 January 2027"
    assert Translator("es").day(date(2027, 1, 5)) == "5 de enero de 2027"
    assert Translator("es")("You can skip {n} more.", n=2) == "Puede saltar 2 más."
    assert Translator("es")("{n} of {of}", n="{of}", of=3) == "{of} de 3"  # filled in once


def test_an_amount_is_written_as_the_language_writes_it():
    assert [Translator(language).money(1202.5, "EUR") for language in LANGUAGES] == ["1202.50 EUR", "1202,50 EUR"]
