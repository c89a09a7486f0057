"""The texts that annotators read: ours, or the owner's own files where `study.toml` names them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from casewise.errors import ConfigurationError, DataError
from casewise.storage.files.atomic import read_text
from casewise.studies.design.design import Design
from casewise.studies.design.languages import ENGLISH, LanguageCode, Speech, in_english
from casewise.studies.design.questions import Check, Question, read_checks, read_quiz

__all__ = ["PAGES", "StudyWording", "fill", "read_wording"]

PAGES = ("warning", "consent", "tutorial", "quiz", "checks", "screened_out", "debriefing", "help")

PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class StudyWording:
    """All texts of a study, placeholders filled; Markdown but for `quiz` and `checks`."""

    warning: str
    consent: str
    tutorial: str
    screened_out: str
    debriefing: str
    help: str
    """Help lines, at the foot of every page."""
    quiz: tuple[Question, ...]
    checks: tuple[Check, ...]


def read_wording(design: Design, folder: Path, language: LanguageCode | None = None) -> StudyWording:
    """The texts of `design` in one of its languages (the first), whose file paths are relative to `folder`.

    An owner's own text `texts/consent.md` is in another language at `texts/LANGUAGE/consent.md`.

    Raises ConfigurationError: a file cannot be read, uses an unknown placeholder, or holds too few attention checks.
    """
    spoken = language or design.languages[0]
    known = values(design, Speech(spoken))
    texts = {page: fill(source(design, page, folder, spoken), known) for page in PAGES}
    checks = read_checks(texts.pop("checks"), source=place(design, "checks"))
    if len(checks) < design.attention.checks_per_batch:
        raise ConfigurationError(
            f"{place(design, 'checks')}: {len(checks)} checks, but attention.checks_per_batch is "
            f"{design.attention.checks_per_batch}; write more, or ask for fewer"
        )
    quiz = read_quiz(texts.pop("quiz"), source=place(design, "quiz"))
    return StudyWording(**texts, quiz=quiz, checks=checks)


def fill(text: str, known: dict[str, str]) -> str:
    """Replace each `{{ name }}` once; what is filled in is never filled again.

    Raises ConfigurationError: a name is not known; the message lists those that are.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in known:
            raise ConfigurationError(f"no placeholder is called {match[1]!r}; there are: {', '.join(sorted(known))}")
        return known[match[1]]

    return PLACEHOLDER.sub(value, text)


def values(design: Design, t: Speech = ENGLISH) -> dict[str, str]:
    """What the texts may speak of."""
    readers = design.eligibility.languages
    if t.language != design.languages[0] and in_english(t.language) not in readers:
        readers = ()  # whoever reads this page reads its language, and no other
    pay, ratings, pages = design.pay, design.ratings, design.ratings.per_annotator + design.attention.checks_per_batch
    minutes = round(pay.minutes_before + pages * pay.seconds_per_page / 60)
    return {
        "title": t(design.title),
        "researcher": design.contact.researcher,
        "institution": design.contact.institution,
        "email": design.contact.email,
        "ethics": design.contact.ethics_approval or t("This study has not been reviewed by an ethics board."),
        "minimum_age": str(design.eligibility.minimum_age),
        "languages": t(" or ").join(map(t, readers)) or t("the language of this page"),
        "items": str(ratings.per_annotator),
        "most_items": str(ratings.per_annotator * ratings.most_batches),
        "minutes": str(minutes),
        "pay": t.money(pay.per_batch, pay.currency),
        "screen_out_pay": t.money(pay.screen_out, pay.currency),
        "attempts": t("one attempt") if design.quiz.attempts == 1 else t("{n} attempts", n=design.quiz.attempts),
        "withdraw_until": t.day(design.privacy.withdraw_until),
        "keep_ids_until": t.day(design.privacy.keep_ids_until),
        "exclude_until": t.day(design.privacy.exclude_until),
        "may_skip": str(design.attention.most_skips(pages)),
        "own_questions": own_questions(design, t),
        "demographics": t(ABOUT_YOU) if design.demographics else "",
        "lease": t("{n} minutes", n=f"{ratings.lease_minutes:g}"),
    }


KEPT_AS_WRITTEN = " What you write in your own words is kept as you wrote it."
ABOUT_YOU = (
    "- What you tell us about yourself at the end, if you choose to. It is never published for single persons.\n"
)


def own_questions(design: Design, t: Speech) -> str:
    """What the consent page says of the owner's own questions; it begins with a space, or is empty."""
    if not design.questions:
        return ""
    asked = " ".join(f"*{t(question.words)}*" for question in design.questions)
    kept = t(KEPT_AS_WRITTEN) if any(question.kind == "text" for question in design.questions) else ""
    return t(" Each page also asks: {questions}", questions=asked) + kept


def place(design: Design, page: str) -> str:
    return getattr(design.texts, page) or f"the {page} that comes with casewise"


def source(design: Design, page: str, folder: Path, language: LanguageCode) -> str:
    name: str | None = getattr(design.texts, page)
    if name is None:
        ours = files("casewise.studies.design").joinpath("texts", *(() if language == "en" else (language,)))
        special = ours.joinpath("replies", f"{page}.md")
        found = special if design.rates == "replies" and special.is_file() else ours.joinpath(f"{page}.md")
        return found.read_text(encoding="utf-8")
    path = folder / name
    if language != design.languages[0]:
        path = path.parent / language / path.name
    try:
        return read_text(path)
    except DataError as error:
        raise ConfigurationError(f"texts.{page}: {error}") from error
