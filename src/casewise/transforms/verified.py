"""Facts from a file, the comparison of a context's claims with them, and the arms that show the result.

Only what is stated as data is trusted: a whole field that equals a fact, a day, a number, yes or no. A sentence is never
supported because it contains a fact: it is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from casewise.ask.layouts import Scene, ShownItem
from casewise.errors import ConfigurationError, DataError
from casewise.records import ShownContext
from casewise.records.base import Record, digest
from casewise.records.context import OPTIONAL, Text, headings
from casewise.storage.files import numbered_lines, record
from casewise.transforms.defences import explained, without_marks

# Facts: what a source outside says about whom a context is about, with when it was issued and how long it holds.

ANYONE = "*"
"""The subject of a fact that holds of every context."""


class SourcedFact(Record):
    """One thing that a source says: a line of `facts.jsonl`."""

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
    """Facts by whom they are about."""

    facts: tuple[SourcedFact, ...]
    by_subject: dict[str, tuple[SourcedFact, ...]] = field(repr=False)
    texts: dict[str, frozenset[str]] = field(repr=False)
    """By field every text that any fact has: what else could have been stated there."""

    @classmethod
    def of(cls, facts: Iterable[SourcedFact]) -> Facts:
        """Facts put in order."""
        every = tuple(facts)
        by_subject: dict[str, list[SourcedFact]] = {}
        texts: dict[str, set[str]] = {}
        for one in every:
            by_subject.setdefault(one.subject, []).append(one)
            if isinstance(one.value, str):
                texts.setdefault(one.field, set()).add(normalised(one.value))
        return cls(
            every,
            {subject: tuple(of_it) for subject, of_it in by_subject.items()},
            {name: frozenset(values) for name, values in texts.items()},
        )

    def about(self, subjects: Sequence[str]) -> tuple[SourcedFact, ...]:
        """Return what is said of any of `subjects`, and of everyone."""
        wanted = dict.fromkeys((*subjects, ANYONE))
        return tuple(one for subject in wanted for one in self.by_subject.get(subject, ()))

    @property
    def fingerprint(self) -> str:
        """A digest of all that they say."""
        return digest([one.model_dump(mode="json") for one in self.facts])[:8]


def read_facts(path: Path) -> Facts:
    """Return the facts of a file, a JSON object a line.

    Raises
    ------
    DataError
        A line is no fact; the message names it and says what is wrong. Or the file holds none.
    """
    return cached_facts(path, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=8)
def cached_facts(path: Path, _changed: int) -> Facts:
    facts = []
    for number, line in numbered_lines(path):
        one = record(line, SourcedFact, path=path, line=number)
        if one.issued and one.expires and one.expires < one.issued:
            raise DataError(path, number, f"it expires on {one.expires}, before it was issued on {one.issued}")
        facts.append(one)
    if not facts:
        raise DataError(path, None, "holds no facts: write a line for each, with subject, field, value and source")
    return Facts.of(facts)


# Claims: what a context states under each of its fields, compared with the facts about the same field.


@dataclass(frozen=True)
class Claim:
    """One thing that a context states: a plain parameter as a whole, or what stands under one heading."""

    parameter: str
    heading: str
    text: str

    @property
    def field(self) -> str:
        """Return what a fact about the same is called: the parameter, and its heading in a fact's spelling."""
        below = self.heading.casefold().replace(", ", ".").replace(" ", "_")
        return f"{self.parameter}.{below}" if below else self.parameter


def claims_in(shown: ShownContext) -> Iterator[Claim]:
    """Every claim that `shown` makes, in reading order."""
    for group, value in shown.items():
        stated = {group: value} if group in OPTIONAL else {f"{group}.{name}": one for name, one in value.items()}
        for parameter, statement in stated.items():
            yield from (Claim(parameter, heading, text) for heading, text in headings(statement))


Status = Literal["supported", "contradicted", "expired", "not checked"]
"""A fact that holds says the same, or says something else; a fact said the same and does not hold on that day; everything else."""


@dataclass(frozen=True)
class CheckedClaim:
    """What facts say of one claim."""

    claim: Claim
    status: Status
    fact: SourcedFact | None = None
    """The fact that decided it."""


def verify(shown: ShownContext, subjects: Sequence[str], facts: Facts, *, at: date) -> tuple[CheckedClaim, ...]:
    """Compare every claim of what is shown with the facts about `subjects` on a day.

    A fact that holds and contradicts counts before one that supports, and that before one that has expired.
    """
    about = facts.about(subjects)
    return tuple(check_claim(claim, about, facts, at) for claim in claims_in(shown))


def check_claim(claim: Claim, about: Sequence[SourcedFact], facts: Facts, at: date) -> CheckedClaim:
    """Compare one claim with the facts about whom it is made."""
    supported = expired = None
    for fact in about:
        same = says_the_same(fact, claim, facts) if fact.field == claim.field else None
        if same is False and fact.holds(at):
            return CheckedClaim(claim, "contradicted", fact)
        if same and fact.holds(at):
            supported = supported or CheckedClaim(claim, "supported", fact)
        elif same:
            expired = expired or CheckedClaim(claim, "expired", fact)
    return supported or expired or CheckedClaim(claim, "not checked")


def says_the_same(fact: SourcedFact, claim: Claim, facts: Facts) -> bool | None:
    """Return whether the whole text of a claim is the value of a fact about the same field; None where they cannot be compared.

    Texts that differ cannot be compared, unless some fact has the claim's text for this field: then it is another value.
    """
    text = normalised(claim.text)
    if isinstance(fact.value, bool):
        return {"yes": fact.value, "no": not fact.value}.get(text)
    if isinstance(fact.value, (int, float)):
        return Decimal(text.replace(",", "")) == Decimal(str(fact.value)) if NUMBER.fullmatch(text) else None
    wanted = normalised(fact.value)
    if (expected := day_in(wanted)) is not None and (stated := day_in(text)) is not None:
        return stated == expected
    if text == wanted:
        return True
    return False if text in facts.texts[fact.field] else None


def normalised(text: str) -> str:
    """`text` in small letters with single spaces, without a full stop at its end.

    Examples
    --------
    >>> normalised(" A licensed  Nurse.")
    'a licensed nurse'
    """
    return " ".join(text.casefold().split()).removesuffix(".")


NUMBER = re.compile(r"-?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2} [a-z]+ [0-9]{4}")


def day_in(text: str) -> date | None:
    """The day that a normalised text is, 2026-01-31 or 31 january 2026; None where it is none, or more than that."""
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


def verified(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Return what is left when only claims are shown that facts support."""

    def only_supported(one: CheckedClaim) -> str | None:
        return one.claim.text if one.status == "supported" else None

    return explained(replace(shown, context=rewritten(shown, scene, rest, only_supported)), ONLY_SUPPORTED)


def annotated(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Every claim with what facts say of it. What looks like such a mark in a claim is taken out."""

    def marked(one: CheckedClaim) -> str:
        return f"{without_marks(one.claim.text, STATUS_MARKS)} [{one.status}]"

    return explained(replace(shown, context=rewritten(shown, scene, rest, marked)), ANNOTATED)


def rewritten(shown: ShownItem, scene: Scene, rest: str, write: Callable[[CheckedClaim], str | None]) -> ShownContext:
    """The context with each claim written anew; a parameter of which nothing is left is left out."""
    facts, at = known_facts(rest)
    subjects = () if scene.context is None else (scene.context.id, scene.context.lineage_id)
    by_parameter: dict[str, list[str]] = {}
    for one in verify(shown.context, subjects, facts, at=at):
        text = write(one)
        if text is not None:
            heading = f"{without_marks(one.claim.heading, STATUS_MARKS)}: " if one.claim.heading else ""
            by_parameter.setdefault(one.claim.parameter, []).append(f"{heading}{text}")
    texts = {parameter: "; ".join(written) for parameter, written in by_parameter.items()}
    left: ShownContext = {}
    for group, value in shown.context.items():
        if group in OPTIONAL:
            left |= {group: texts[group]} if group in texts else {}
        elif kept := {name: texts[f"{group}.{name}"] for name in value if f"{group}.{name}" in texts}:
            left[group] = kept
    return left


# Such an arm's name holds a digest of the facts and the day on which they are asked: other facts are another arm.


def spelt_out(kind: str, path: str, *, at: date | str | None) -> str:
    """The whole name of the defence `kind:FILE`, asked on the day `at`, by default today.

    Raises
    ------
    ConfigurationError
        `at` is no day.
    DataError
        The file cannot be read, or a line is no fact.
    """
    return f"{kind}:{path}@{read_facts(Path(path)).fingerprint}@{day(at).isoformat()}"


def day(at: date | str | None) -> date:
    if at is None:
        return datetime.now(tz=UTC).date()
    try:
        return at if isinstance(at, date) else date.fromisoformat(at)
    except ValueError:
        raise ConfigurationError(f"{at!r} is no day; write it as 2026-01-31") from None


class DatedFacts(NamedTuple):
    """Facts, and the day on which they are asked."""

    facts: Facts
    at: date


@cache
def known_facts(rest: str) -> DatedFacts:
    """Return what `FILE@DIGEST@DAY` names.

    Raises
    ------
    ConfigurationError
        It is written otherwise, or the file holds other facts now.
    DataError
        The file cannot be read, or a line is no fact.
    """
    parts = rest.rsplit("@", 2)
    try:
        path, mark, written = parts
        at = date.fromisoformat(written)
    except ValueError:
        raise ConfigurationError(f"{rest!r} is not FILE@DIGEST@DAY; --defences verified:FILE spells it out") from None
    facts = read_facts(Path(path))
    if facts.fingerprint != mark:
        raise ConfigurationError(
            f"{path} holds other facts now than when the arm was named; name it anew: verified:{path}"
        )
    return DatedFacts(facts, at)
