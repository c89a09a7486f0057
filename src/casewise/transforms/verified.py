"""Facts from a file, the comparison of a context's claims with them, and the arms that show the result.

Only what is stated as data is trusted: a whole field that equals a fact, a day, a number, yes or no. A sentence is never
supported because it contains a fact: it is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from casewise.ask.layouts import Scene, ShownItem, groups
from casewise.errors import ConfigurationError, DataError
from casewise.records import ShownContext
from casewise.records.base import Record, digest
from casewise.records.context import Text, headings
from casewise.storage.files import numbered_lines, record
from casewise.transforms.channels import check_pinned_file, strip_marks, with_explanation

# Facts: what a source outside says about whom a context is about, with when it was issued and how long it holds.

ANYONE = "*"
"""The subject of a fact that holds of every context."""


class SourcedFact(Record):
    """One fact from a source: a line of `facts.jsonl`."""

    subject: Text
    """The id of a context, or of the first of its line of revisions; `*` for all."""
    field: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$")]
    """A parameter (`recipient.type`), or a heading under one (`recipient.background.licence`)."""
    value: Text | StrictBool | StrictInt | StrictFloat
    """A text, a number, yes or no; a day is a text such as 2026-01-31."""
    source: Text
    issued: date | None = None
    expires: date | None = None

    def holds(self, at: date) -> bool:
        """Return whether it has been issued and has not expired on that day; on the day it expires it still holds."""
        return (self.issued is None or self.issued <= at) and (self.expires is None or at <= self.expires)


@dataclass(frozen=True)
class Facts:
    """Facts by subject."""

    facts: tuple[SourcedFact, ...]

    @cached_property
    def by_subject(self) -> dict[str, list[SourcedFact]]:
        by_subject: dict[str, list[SourcedFact]] = {}
        for fact in self.facts:
            by_subject.setdefault(fact.subject, []).append(fact)
        return by_subject

    @cached_property
    def texts(self) -> dict[str, set[str]]:
        """Return every text that any fact has, by field."""
        texts: dict[str, set[str]] = {}
        for fact in self.facts:
            if isinstance(fact.value, str):
                texts.setdefault(fact.field, set()).add(normalised(fact.value))
        return texts

    @property
    def fingerprint(self) -> str:
        """A digest of the content of all facts."""
        return digest([fact.model_dump(mode="json") for fact in self.facts])[:8]


def read_facts(path: Path) -> Facts:
    """Return the facts of a file, a JSON object a line.

    Raises DataError: A line is no fact; the message names it and says what is wrong. Or the file holds none.
    """
    facts = []
    for number, line in numbered_lines(path):
        fact = record(line, SourcedFact, path=path, line=number)
        if fact.issued and fact.expires and fact.expires < fact.issued:
            raise DataError(path, number, f"it expires on {fact.expires}, before it was issued on {fact.issued}")
        facts.append(fact)
    if not facts:
        raise DataError(path, None, "holds no facts: write a line for each, with subject, field, value and source")
    return Facts(tuple(facts))


# Claims: what a context states under each of its fields, compared with the facts about the same field.


Status = Literal["supported", "contradicted", "expired", "not checked"]
"""A fact that holds says the same, or says something else; a fact said the same and does not hold on that day; everything else."""


@dataclass(frozen=True)
class CheckedClaim:
    """One claim of a context, a parameter or the text under one of its headings, with its status by the facts."""

    parameter: str
    heading: str
    text: str
    status: Status = "not checked"

    @property
    def field(self) -> str:
        """Return the name of the field that a fact about this claim has: the parameter and its heading."""
        below = self.heading.casefold().replace(", ", ".").replace(" ", "_")
        return f"{self.parameter}.{below}" if below else self.parameter


def find_claims(shown: ShownContext) -> Iterator[CheckedClaim]:
    """Yield every claim that `shown` makes, in reading order."""
    for group in groups(shown):
        for name, statement in group.statements:
            parameter = f"{group.name}.{name}" if name else group.name
            yield from (CheckedClaim(parameter, heading, text) for heading, text in headings(statement))


def verify(shown: ShownContext, subjects: Sequence[str], facts: Facts, *, at: date) -> tuple[CheckedClaim, ...]:
    """Compare every claim of what is shown with the facts about `subjects` on a day.

    A fact that holds and contradicts counts before one that supports, and that before one that has expired.
    """
    order: tuple[Status, ...] = ("contradicted", "supported", "expired", "not checked")
    about = [fact for subject in dict.fromkeys((*subjects, ANYONE)) for fact in facts.by_subject.get(subject, ())]
    checked = []
    for claim in find_claims(shown):
        candidates: list[Status] = [claim.status]
        for fact in about:
            is_same = matches_fact(fact, claim, facts) if fact.field == claim.field else None
            if is_same is not None and (is_same or fact.holds(at)):
                candidates.append("contradicted" if not is_same else "supported" if fact.holds(at) else "expired")
        checked.append(replace(claim, status=min(candidates, key=order.index)))
    return tuple(checked)


def matches_fact(fact: SourcedFact, claim: CheckedClaim, facts: Facts) -> bool | None:
    """Return whether the whole text of a claim is the value of a fact about the same field; None where they cannot be compared.

    Texts that differ cannot be compared, unless some fact has the claim's text for this field: then it is another value.
    """
    text = normalised(claim.text)
    if isinstance(fact.value, bool):
        return {"yes": fact.value, "no": not fact.value}.get(text)
    if isinstance(fact.value, (int, float)):
        return Decimal(text.replace(",", "")) == Decimal(str(fact.value)) if NUMBER.fullmatch(text) else None
    value = normalised(fact.value)
    if (expected := parse_day(value)) is not None and (stated := parse_day(text)) is not None:
        return stated == expected
    if text == value:
        return True
    return False if text in facts.texts[fact.field] else None


def normalised(text: str) -> str:
    """Return `text` in small letters with single spaces, without a full stop at its end.

    Examples
    --------
    >>> normalised(" A licensed  Nurse.")
    'a licensed nurse'
    """
    return " ".join(text.casefold().split()).removesuffix(".")


NUMBER = re.compile(r"-?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2} [a-z]+ [0-9]{4}")


def parse_day(text: str) -> date | None:
    """Return the day that a normalised text is, 2026-01-31 or 31 january 2026; None where it is none, or more than that."""
    for form in ("%Y-%m-%d", "%d %B %Y", "%d %b %Y") if DAY.fullmatch(text) else ():
        try:
            return datetime.strptime(text, form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    return None


# Facts as a defence: only what they support is shown, or each claim with what they say of it.

STATUS_MARKS = ("[supported]", "[contradicted]", "[expired]", "[not checked]")
ANNOTATED = (
    "Each statement of the circumstances ends with what a source outside the conversation says about it: [supported], [contradicted], "
    "[expired], or [not checked], which means that the source says nothing that can be compared with it."
)
ONLY_SUPPORTED = "Only those statements of the circumstances are shown that a source outside the conversation supports."


def keep_verified(shown: ShownItem, scene: Scene, argument: str) -> ShownItem:
    """Return the item with only those claims that facts support."""
    context = rewrite_claims(shown, scene, argument, lambda claim: claim.text if claim.status == "supported" else None)
    return with_explanation(replace(shown, context=context), ONLY_SUPPORTED)


def annotate_claims(shown: ShownItem, scene: Scene, argument: str) -> ShownItem:
    """Return every claim with its status by the facts. Text in a claim that looks like such a mark is removed."""
    context = rewrite_claims(
        shown, scene, argument, lambda claim: f"{strip_marks(claim.text, STATUS_MARKS)} [{claim.status}]"
    )
    return with_explanation(replace(shown, context=context), ANNOTATED)


def rewrite_claims(
    shown: ShownItem, scene: Scene, argument: str, write: Callable[[CheckedClaim], str | None]
) -> ShownContext:
    """Return the context with each claim written anew; a parameter of which nothing is left is left out."""
    facts, at = dated_facts(argument)
    subjects = () if scene.context is None else (scene.context.id, scene.context.lineage_id)
    context: ShownContext = {}
    for claim in verify(shown.context, subjects, facts, at=at):
        if (text := write(claim)) is not None:
            heading = f"{strip_marks(claim.heading, STATUS_MARKS)}: " if claim.heading else ""
            group, _, name = claim.parameter.partition(".")
            texts = context.setdefault(group, {}) if name else context
            before = f"{texts[name or group]}; " if (name or group) in texts else ""
            texts[name or group] = f"{before}{heading}{text}"
    return context


# Such an arm's name holds a digest of the facts and the day on which they are asked: other facts are another arm.


@cache
def dated_facts(argument: str) -> tuple[Facts, date]:
    """Return what `FILE@DIGEST@DAY` names: facts, and the day on which they are asked.

    Raises ConfigurationError: it is written otherwise, or the file holds other facts now. DataError: the file cannot be
    read, or a line is no fact.
    """
    try:
        path, fingerprint, day = argument.rsplit("@", 2)
        at = date.fromisoformat(day)
    except ValueError:
        raise ConfigurationError(
            f"{argument!r} is not FILE@DIGEST@DAY; --defences verified:FILE spells it out"
        ) from None
    facts = read_facts(Path(path))
    check_pinned_file(path, fingerprint, facts.fingerprint)
    return facts, at
