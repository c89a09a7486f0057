"""The owner's own questions: beside respond and refuse on each page, and about the annotators at the end."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from casewise.prompting.context_words import FOR_ANNOTATORS
from casewise.studies.design.section import DesignSection, Slug, Words

__all__ = ["DEMOGRAPHICS", "LONGEST_TEXT", "Demographic", "OwnAnswer", "OwnQuestion", "OwnQuestionKind"]

OwnQuestionKind = Literal["scale", "confidence", "choice", "reasons", "text", "parameter"]

OwnAnswer = int | list[int] | str
"""A point of a scale (from 1), the place of an option, the places of several, or a text."""

LONGEST_TEXT = 2000

ASKED = {
    "confidence": "How sure are you?",
    "parameter": "What decided?",
    "text": "Why? Please write no names and nothing personal.",
}
ENDS = ("not sure at all", "entirely sure")
REQUEST = "the request itself"


class OwnQuestion(DesignSection):
    """A question on each page, beside whether the chatbot should respond."""

    name: Slug
    """In exports and reports."""
    kind: OwnQuestionKind
    ask: str = ""
    """What annotators read; `confidence`, `parameter` and `text` have words of their own."""
    options: tuple[Words, ...] = ()
    """For `choice` (one of them) and `reasons` (any number of them)."""
    points: int = Field(5, ge=2, le=11)
    low: str = ""
    """What the lowest point of a scale means; `high` the highest."""
    high: str = ""
    level: Literal["ordinal", "interval"] = "ordinal"
    """How a scale's points are taken in Krippendorff's alpha."""
    required: bool = True
    """Whether a page is only taken with an answer to it. A skipped page never needs one."""

    @model_validator(mode="after")
    def _can_be_answered(self) -> Self:
        if not (self.ask.strip() or self.kind in ASKED):
            raise ValueError(f"a question of the kind {self.kind!r} needs `ask`: what annotators read")
        if (self.kind in {"choice", "reasons"}) != bool(self.options):
            raise ValueError(f"`options` belong to the kinds 'choice' and 'reasons'; this is {self.kind!r}")
        if self.options and (len(self.options) < 2 or len(set(self.options)) < len(self.options)):
            raise ValueError("`options` needs two or more, all different")
        return self

    @property
    def words(self) -> str:
        """What annotators read."""
        return self.ask.strip() or ASKED[self.kind]

    @property
    def is_scale(self) -> bool:
        return self.kind in {"scale", "confidence"}

    @property
    def ends(self) -> tuple[str, str]:
        """What the lowest and the highest point of a scale mean."""
        low, high = ENDS if self.kind == "confidence" else ("", "")
        return self.low or low, self.high or high

    @property
    def offered(self) -> tuple[str, ...]:
        """The answers to be chosen from; none where people write."""
        if self.is_scale:
            return tuple(str(point) for point in range(1, self.points + 1))
        if self.kind == "parameter":
            return (REQUEST, *(words for name, words in FOR_ANNOTATORS.items() if "." in name))
        return self.options

    def asked_of(self, *, has_context: bool) -> bool:
        """Whether a page has this question: which parameter decided is asked only where there are some."""
        return has_context or self.kind != "parameter"

    def said(self, answer: OwnAnswer) -> str | int | list[str]:
        """An answer as exports have it: a number, or the words of what was chosen."""
        if isinstance(answer, str):
            return answer
        if isinstance(answer, list):
            return [self.offered[place] for place in answer]
        return answer if self.is_scale else self.offered[answer]


class Demographic(DesignSection):
    """A question about the annotator, asked at the end; never required."""

    name: Slug
    ask: Words
    options: tuple[Words, ...] = Field(min_length=2)


def demographic(name: str, ask: str, *options: str) -> Demographic:
    return Demographic(name=name, ask=ask, options=options)


DEMOGRAPHICS = (
    demographic("age", "Your age", "18 to 24", "25 to 34", "35 to 44", "45 to 54", "55 to 64", "65 or older"),
    demographic("gender", "Your gender", "Woman", "Man", "Another"),
    demographic(
        "education",
        "Your highest education",
        *("No school certificate", "School certificate", "Vocational training", "Bachelor's degree", "Higher degree"),
    ),
    demographic(
        "region",
        "Where you live",
        *("Africa", "Asia", "Europe", "North America", "Oceania", "South or Central America"),
    ),
    demographic(
        "english", "English is", "my first language", "a language I use every day", "a language I use now and then"
    ),
    demographic("chatbots", "You use chatbots", "every day", "every week", "now and then", "never"),
)
"""Asked where `study.toml` says nothing else; `demographics = []` asks nothing."""
