"""The texts that annotators read: ours, or the owner's own files where `study.toml` names them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from casewise.errors import ConfigurationError
from casewise.studies.design.design import Design
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


def read_wording(design: Design, folder: Path) -> StudyWording:
    """The texts of `design`, whose file paths are relative to `folder`.

    Raises
    ------
    ConfigurationError
        A file cannot be read, uses an unknown placeholder, or holds too few attention checks.
    """
    texts = {page: fill(source(design, page, folder), values(design)) for page in PAGES}
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

    Raises
    ------
    ConfigurationError
        A name is not known; the message lists those that are.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in known:
            raise ConfigurationError(f"no placeholder is called {match[1]!r}; there are: {', '.join(sorted(known))}")
        return known[match[1]]

    return PLACEHOLDER.sub(value, text)


def values(design: Design) -> dict[str, str]:
    """What the texts may speak of."""
    pay, ratings, pages = design.pay, design.ratings, design.ratings.per_annotator + design.attention.checks_per_batch
    minutes = round(pay.minutes_before + pages * pay.seconds_per_page / 60)
    return {
        "title": design.title,
        "researcher": design.contact.researcher,
        "institution": design.contact.institution,
        "email": design.contact.email,
        "ethics": design.contact.ethics_approval or "This study has not been reviewed by an ethics board.",
        "minimum_age": str(design.eligibility.minimum_age),
        "languages": " or ".join(design.eligibility.languages) or "the language of this page",
        "items": str(ratings.per_annotator),
        "minutes": str(minutes),
        "pay": f"{pay.per_batch:.2f} {pay.currency}",
        "screen_out_pay": f"{pay.screen_out:.2f} {pay.currency}",
        "attempts": "one attempt" if design.quiz.attempts == 1 else f"{design.quiz.attempts} attempts",
        "withdraw_until": f"{design.privacy.withdraw_until:%-d %B %Y}",
        "keep_ids_until": f"{design.privacy.keep_ids_until:%-d %B %Y}",
        "exclude_until": f"{design.privacy.exclude_until:%-d %B %Y}",
        "may_skip": str(design.attention.most_skips(pages)),
        "own_questions": own_questions(design),
        "demographics": ABOUT_YOU if design.demographics else "",
        "lease": f"{ratings.lease_minutes:g} minutes",
    }


ABOUT_YOU = (
    "- What you tell us about yourself at the end, if you choose to. It is never published for single persons.\n"
)


def own_questions(design: Design) -> str:
    """What the consent page says of the owner's own questions; it begins with a space, or is empty."""
    if not design.questions:
        return ""
    asked = " ".join(f"*{question.words}*" for question in design.questions)
    kept = " What you write in your own words is kept as you wrote it." * any(
        q.kind == "text" for q in design.questions
    )
    return f" Each page also asks: {asked}{kept}"


def place(design: Design, page: str) -> str:
    return getattr(design.texts, page) or f"the {page} that comes with casewise"


def source(design: Design, page: str, folder: Path) -> str:
    name: str | None = getattr(design.texts, page)
    if name is None:
        return files("casewise.studies.design").joinpath("texts", f"{page}.md").read_text(encoding="utf-8")
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"texts.{page}: cannot read {folder / name}: {error}") from error
