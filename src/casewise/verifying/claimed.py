"""Claims: what a context states, sentence by sentence and heading by heading, and what can be read off its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from casewise.records import ShownContext
from casewise.records.context import OPTIONAL
from casewise.records.statement import headings

__all__ = ["Claimed", "claims_in", "dates_in", "numbers_in", "plain_words", "sentences"]


@dataclass(frozen=True)
class Claimed:
    """One thing that a context says: under which parameter and heading, in which words."""

    parameter: str
    heading: str
    text: str


SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z\[<])")


def claims_in(shown: ShownContext) -> Iterator[Claimed]:
    """Every sentence that `shown` states, in reading order."""
    for group, value in shown.items():
        stated = {group: value} if group in OPTIONAL else {f"{group}.{name}": one for name, one in value.items()}
        for parameter, statement in stated.items():
            for heading, text in headings(statement):
                yield from (Claimed(parameter, heading, said) for said in sentences(text))


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [said for said in SENTENCES.split(text) if said.strip()]


WORD = re.compile(r"[^\W_]+")


def plain_words(text: str) -> tuple[str, ...]:
    """The words of `text` in small letters, without punctuation.

    Examples
    --------
    >>> plain_words("A licensed nurse, on duty.")
    ('a', 'licensed', 'nurse', 'on', 'duty')
    """
    return tuple(WORD.findall(text.casefold()))


NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w-]|\.\d)")
ISO = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
WRITTEN = re.compile(r"\b(\d{1,2}) ([A-Z][a-z]+) (\d{4})\b")


def dates_in(text: str) -> Iterator[tuple[date, str]]:
    """The days that `text` names, `2026-01-31` or `31 January 2026`, each with its words."""
    for match in ISO.finditer(text):
        try:
            yield date.fromisoformat(match[0]), match[0]
        except ValueError:
            continue
    for match in WRITTEN.finditer(text):
        for form in ("%d %B %Y", "%d %b %Y"):
            try:
                yield datetime.strptime(match[0], form).date(), match[0]  # noqa: DTZ007 - a day has no zone
            except ValueError:
                continue
            break


def numbers_in(text: str) -> Iterator[tuple[float, str]]:
    """The numbers in `text`, dates left out, each with its words."""
    for _, said in dates_in(text):
        text = text.replace(said, " ")
    for match in NUMBER.finditer(text):
        yield float(match[0].replace(",", "")), match[0]
