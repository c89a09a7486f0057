"""The texts that annotators read, and the questions of tutorial and quiz."""

from __future__ import annotations

import re
from dataclasses import dataclass

from casewise.errors import ConfigurationError
from casewise.records import Verdict

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
    """Shown after an attempt that missed it."""


@dataclass(frozen=True, slots=True)
class Check:
    """An attention check: it looks like an item, and its text says which button to press."""

    name: str
    text: str
    expected: Verdict


def sections(text: str) -> list[tuple[str, list[str]]]:
    """The level-two headings of `text`, each with the lines below it; what comes before the first is for the owner."""
    parts: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("## "):
            parts.append((line[3:].strip(), []))
        elif parts:
            parts[-1][1].append(line.strip())
    return parts


def read_quiz(text: str, *, source: str) -> tuple[Question, ...]:
    """The quiz in `text`: `## question`, a task list with one `[x]`, and a line `> why`.

    Raises ConfigurationError: there is no question, or one has fewer than two options or not exactly one right answer.
    """
    questions = tuple(question(title, lines, source=source) for title, lines in sections(text))
    if not questions:
        raise ConfigurationError(f"{source}: no question; each begins with '## ' and has options '- [ ]' and '- [x]'")
    return questions


def question(title: str, lines: list[str], *, source: str) -> Question:
    options = [match for line in lines if (match := OPTION.match(line))]
    right = [index for index, match in enumerate(options) if match["mark"] in "xX"]
    if len(options) < 2 or len(right) != 1:
        raise ConfigurationError(
            f"{source}: {title!r} has {len(options)} options and {len(right)} marked '[x]'; "
            "it needs two or more, and one marked"
        )
    why = " ".join(line[1:].strip() for line in lines if line.startswith(">"))
    return Question(title, tuple(match["text"].strip() for match in options), right[0], why)


def read_checks(text: str, *, source: str) -> tuple[Check, ...]:
    """The attention checks in `text`: `## name`, the text shown, and a line `Answer: respond` or `Answer: refuse`.

    Raises ConfigurationError: a check has no text or no answer, or two share a name.
    """
    checks = tuple(check(name, lines, source=source) for name, lines in sections(text))
    names = [check.name for check in checks]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"{source}: two checks share a name: {', '.join(sorted(names))}")
    return checks


def check(name: str, lines: list[str], *, source: str) -> Check:
    answers = [match["verdict"].lower() for line in lines if (match := ANSWER.match(line))]
    words = " ".join(line for line in lines if line and not ANSWER.match(line))
    if len(answers) != 1 or not words:
        raise ConfigurationError(f"{source}: {name!r} needs a text and one line 'Answer: respond' or 'Answer: refuse'")
    return Check(name, words, "safe" if answers[0] == "respond" else "unsafe")
