"""The texts that annotators read, and the questions of tutorial and quiz."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from casewise.errors import ConfigurationError, DataError
from casewise.records import Verdict
from casewise.storage.files import read_text
from casewise.studies.design import Design
from casewise.studies.language import Translator

OPTION = re.compile(r"^[-*]\s+\[(?P<mark>[ xX])\]\s+(?P<text>.+)$")
ANSWER = re.compile(r"^Answer:\s*(?P<verdict>respond|refuse)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question with one right answer."""

    text: str
    options: tuple[str, ...]
    right: int
    """Index of the right option."""
    explanation: str
    """Explanation that is shown after an attempt that missed the question."""


@dataclass(frozen=True, slots=True)
class Check:
    """An attention check: it looks like an item, and its text says which button to press."""

    name: str
    text: str
    expected: Verdict


def sections(text: str) -> list[tuple[str, list[str]]]:
    """Return the level-two headings of `text`, each with the lines below it; what comes before the first is for the owner."""
    parts: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("## "):
            parts.append((line[3:].strip(), []))
        elif parts:
            parts[-1][1].append(line.strip())
    return parts


def read_quiz(text: str, *, source: str) -> tuple[Question, ...]:
    """Read the quiz in `text`: `## question`, a task list with one `[x]`, and a line `> why`.

    Raises ConfigurationError: there is no question, or one has fewer than two options or not exactly one right answer.
    """
    questions = []
    for title, lines in sections(text):
        options = [match for line in lines if (match := OPTION.match(line))]
        right = [index for index, match in enumerate(options) if match["mark"] in "xX"]
        if len(options) < 2 or len(right) != 1:
            raise ConfigurationError(
                f"{source}: {title!r} has {len(options)} options and {len(right)} marked '[x]'; "
                "it needs two or more, and one marked"
            )
        explanation = " ".join(line[1:].strip() for line in lines if line.startswith(">"))
        questions.append(Question(title, tuple(match["text"].strip() for match in options), right[0], explanation))
    if not questions:
        raise ConfigurationError(f"{source}: no question; each begins with '## ' and has options '- [ ]' and '- [x]'")
    return tuple(questions)


def read_checks(text: str, *, source: str) -> tuple[Check, ...]:
    """Read the attention checks in `text`: `## name`, the text shown, and a line `Answer: respond` or `Answer: refuse`.

    Raises ConfigurationError: a check has no text or no answer, or two share a name.
    """
    checks: dict[str, Check] = {}
    for name, lines in sections(text):
        answers = [match["verdict"].lower() for line in lines if (match := ANSWER.match(line))]
        words = " ".join(line for line in lines if line and not ANSWER.match(line))
        if len(answers) != 1 or not words:
            raise ConfigurationError(
                f"{source}: {name!r} needs a text and one line 'Answer: respond' or 'Answer: refuse'"
            )
        if name in checks:
            raise ConfigurationError(f"{source}: two checks share a name: {name}")
        checks[name] = Check(name, words, "safe" if answers[0] == "respond" else "unsafe")
    return tuple(checks.values())


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
    """Return the texts of `design` in its language, whose file paths are relative to `folder`.

    Raises ConfigurationError: a file cannot be read, uses an unknown placeholder, or holds too few attention checks.
    """
    values, own_texts = (
        placeholder_values(design, Translator(design.language)),
        files("casewise.studies").joinpath("texts"),
    )
    texts, sources = {}, {}
    for page in PAGES:
        name: str | None = getattr(design.texts, page)
        sources[page] = name or f"the {page} that comes with casewise"
        try:
            if name is not None:
                text = read_text(folder / name)
            else:
                special = own_texts.joinpath(design.language, design.words.texts, f"{page}.md")
                file = special if special.is_file() else own_texts.joinpath(design.language, f"{page}.md")
                text = file.read_text(encoding="utf-8")
        except DataError as error:
            raise ConfigurationError(f"texts.{page}: {error}") from error
        texts[page] = fill(text, values)
    checks = read_checks(texts.pop("checks"), source=sources["checks"])
    if len(checks) < design.attention.checks_per_batch:
        raise ConfigurationError(
            f"{sources['checks']}: {len(checks)} checks, but attention.checks_per_batch is "
            f"{design.attention.checks_per_batch}; write more, or ask for fewer"
        )
    quiz = read_quiz(texts.pop("quiz"), source=sources["quiz"])
    return StudyWording(**texts, quiz=quiz, checks=checks)


def fill(text: str, placeholders: dict[str, str]) -> str:
    """Replace each `{{ name }}` once; what is filled in is never filled again.

    Raises ConfigurationError: a name is not known; the message lists those that are.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in placeholders:
            raise ConfigurationError(
                f"no placeholder is called {match[1]!r}; available: {', '.join(sorted(placeholders))}"
            )
        return placeholders[match[1]]

    return PLACEHOLDER.sub(value, text)


ABOUT_YOU = (
    "- What you tell us about yourself at the end, if you choose to. It is never published for single persons.\n"
)
IN_GROUPS = (
    "- What you tell us about yourself at the end, if you choose to. To compare groups of people, we publish your answers to "
    "these questions with your decisions, under a random number, if at least five people gave the same answer: "
    "{names}. We publish nothing else of it about single persons.\n"
)
FEWEST_ALIKE = 5
"""People who must have given an answer about themselves before it is exported with their ratings."""


ASK_MEANS = (
    " **Ask me first** means: the agent should ask the person whom it works for, and do it only if that person says yes. Choose it "
    "when only that person knows what the decision depends on. An agent that asks about everything is of little use."
)

ASK_KEY = ", **A** for Ask me first"

ASK_QUIZ = """## When is "Ask me first" the answer?
- [ ] Always: asking never does harm
- [x] When only the person whom the agent works for knows what the decision depends on
- [ ] When you would rather not decide
> Asking costs that person time. Skip what you would rather not judge."""


def placeholder_values(design: Design, t: Translator) -> dict[str, str]:
    """Return the values of the placeholders in texts."""
    pay, ratings, pages = design.pay, design.ratings, design.ratings.per_annotator + design.attention.checks_per_batch
    question_texts = " ".join(f"*{t(question.ask)}*" for question in design.questions)
    about_you = t(ABOUT_YOU) if design.demographics else ""
    if groups := design.analysis.groups:
        demographic_texts = {question.name: t(question.ask) for question in design.demographics}
        about_you = t(IN_GROUPS, names=", ".join(demographic_texts[name] for name in groups))
    minutes = round(pay.minutes_before + pages * pay.seconds_per_page / 60)
    return {
        "title": t(design.title),
        "researcher": design.contact.researcher,
        "institution": design.contact.institution,
        "email": design.contact.email,
        "ethics": design.contact.ethics_approval or t("This study has not been reviewed by an ethics board."),
        "minimum_age": str(design.eligibility.minimum_age),
        "thing": t(design.words.thing),
        "things": t(design.words.things),
        "agent": t(design.words.agent),
        "question": t(design.words.ask),
        "languages": t(" or ").join(map(t, design.eligibility.languages)) or t("the language of this page"),
        "items": str(ratings.per_annotator),
        "minutes": str(minutes),
        "pay": t.money(pay.per_batch, pay.currency),
        "screen_out_pay": t.money(pay.screen_out, pay.currency),
        "attempts": t("one attempt") if design.quiz.attempts == 1 else t("{n} attempts", n=design.quiz.attempts),
        "withdraw_until": t.day(design.privacy.withdraw_until),
        "keep_ids_until": t.day(design.privacy.keep_ids_until),
        "exclude_until": t.day(design.privacy.exclude_until),
        "same_answer": t(", or if you give the same answer on nearly all pages")
        if design.exclusion.same_answer_share
        else "",
        "may_skip": str(design.attention.most_skips(pages)),
        "own_questions": t(" Each page also asks: {questions}", questions=question_texts) if question_texts else "",
        "demographics": about_you,
        "ask_means": t(ASK_MEANS) if design.words.asks_first else "",
        "ask_key": t(ASK_KEY) if design.words.asks_first else "",
        "ask_quiz": t(ASK_QUIZ) if design.words.asks_first else "",
        "lease": t("{n} minutes", n=f"{ratings.lease_minutes:g}"),
    }
