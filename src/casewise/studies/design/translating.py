"""What of a study needs a translation, and the translations that there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from casewise.errors import ConfigurationError, DataError, StudyError
from casewise.records.translation import Translation
from casewise.storage.files.jsonl import numbered_lines
from casewise.studies.design.design import Design
from casewise.studies.design.languages import LanguageCode, messages_in
from casewise.studies.design.material import Material, StudyItem
from casewise.studies.design.wording import StudyWording

__all__ = [
    "Translated",
    "check_alike",
    "read_translations",
    "to_translate",
    "translated_material",
    "words_of",
    "write_translations",
]

WORDS = "words:"


@dataclass(frozen=True, slots=True)
class Translated:
    """A study's texts in another of its languages."""

    wording: StudyWording
    words: Mapping[str, str]
    """The owner's own words, as `study.toml` has them, and in this language."""


def read_translations(path: Path) -> list[Translation]:
    """The translations in a file of JSON lines.

    Raises DataError: the file cannot be read, or a line is no translation.
    """
    found = []
    for number, line in numbered_lines(path):
        try:
            found.append(Translation.model_validate_json(line))
        except ValidationError as error:
            raise DataError(path, number, f"is no translation: {error.errors()[0]['msg']}") from None
    return found


def write_translations(translations: list[Translation], path: Path) -> None:
    """Write a file of JSON lines. Raises ConfigurationError: there is one already."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(one.model_dump_json() + "\n" for one in translations)
    except FileExistsError as error:
        raise ConfigurationError(f"{path} is there already; name another file") from error


def to_translate(design: Design, material: Material, language: LanguageCode) -> Iterator[Translation]:
    """Everything that people would read in `language` and that casewise does not ship, each once, untranslated."""
    seen: set[str] = set()
    for of, source in (*own_words(design, material, language), *shown_texts(material)):
        if of not in seen:
            seen.add(of)
            yield Translation(of=of, language=language, source=source)


def own_words(design: Design, material: Material, language: LanguageCode) -> Iterator[tuple[str, str]]:
    said = [design.title, *(words for category in material.categories for words in category if words)]
    for question in design.questions:
        said += [question.words, *question.ends, *(() if question.is_scale else question.offered)]
    for asked in design.demographics:
        said += [asked.ask, *asked.options]
    known = messages_in(language)
    return ((WORDS + words, words) for words in said if words and words not in known)


def shown_texts(material: Material) -> Iterator[tuple[str, str]]:
    for item in material.items:
        yield item.query_id, item.shown["query"]
        yield from ((of, text) for of, _path, text in parameters(item))


def parameters(item: StudyItem) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """What a context's parameter is called in a translation, where it stands, and what it says."""
    for group, said in item.shown["context"].items():
        if isinstance(said, str):
            yield f"{item.context_id}.{group}", (group,), said
        else:
            for name, text in said.items():
                yield f"{item.context_id}.{group}.{name}", (group, name), text


def check_alike(first: StudyWording, other: StudyWording, language: str) -> None:
    """See that quiz and checks are the same in another language.

    Raises StudyError: they differ in number, in what is right, or in the names of the checks.
    """
    quiz = [[(len(question.options), question.right) for question in one.quiz] for one in (first, other)]
    checks = [{check.name: check.expected for check in one.checks} for one in (first, other)]
    if quiz[0] != quiz[1]:
        raise StudyError(f"the quiz in {language!r} has not the same questions with the same right options")
    if checks[0] != checks[1]:
        raise StudyError(f"the attention checks in {language!r} have not the same names with the same answers")


def words_of(translations: list[Translation], language: LanguageCode) -> dict[str, str]:
    """The owner's own words in a language."""
    found = (one for one in translations if one.language == language and one.of.startswith(WORDS) and one.is_reviewed)
    return {one.of.removeprefix(WORDS): one.text for one in found}


def translated_material(design: Design, material: Material, translations: list[Translation]) -> Material:
    """The material with every item in each language of the design.

    Raises StudyError: something has no translation that a second person has read.
    """
    items = material.items
    for language in design.languages[1:]:
        there = {one.of: one.text for one in translations if one.language == language and one.is_reviewed}
        missing = [one.of for one in to_translate(design, material, language) if one.of not in there]
        if missing:
            raise StudyError(
                f"{len(missing):,} texts have no {language!r} translation that a second person has read, {missing[0]!r} "
                f"for one; write what is to be translated with: casewise study translate {language}"
            )
        items = tuple(replace(item, shown=with_language(item, language, there)) for item in items)
    return replace(material, items=items)


def with_language(item: StudyItem, language: str, there: Mapping[str, str]) -> dict[str, Any]:
    context: dict[str, Any] = {}
    for of, path, _text in parameters(item):
        if len(path) == 1:
            context[path[0]] = there[of]
        else:
            context.setdefault(path[0], {})[path[1]] = there[of]
    said = {"query": there[item.query_id], "context": context}
    return item.shown | {"in": item.shown.get("in", {}) | {language: said}}
