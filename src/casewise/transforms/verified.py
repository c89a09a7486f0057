"""Facts from a file, and what a context states compared with them.

Only what is stated as data is compared: a whole statement under a parameter or heading that equals a fact, after case, space and
a full stop at its end. A sentence that contains a fact says something else too, so it is not checked: "The son of a licensed
nurse" is not supported by "a licensed nurse".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from casewise.ask.layouts import Scene, ShownItem
from casewise.errors import ConfigurationError, DataError
from casewise.records import Context, ShownContext
from casewise.records.base import Record, digest
from casewise.records.context import OPTIONAL, Text, headings
from casewise.storage.files import numbered_lines, record
from casewise.transforms.defences import without_marks

ANYONE = "*"
"""The subject of a fact that holds of every context."""


class SourcedFact(Record):
    """One thing that a source says: a line of `facts.jsonl`."""

    subject: Text
    """The id of a context, or of the first of its line of revisions; `*` for all."""
    field: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$")]
    """The parameter (`recipient.type`), or a heading under it (`recipient.background.licence`)."""
    value: Text | StrictBool | StrictInt | StrictFloat
    """A text, a number, yes or no; a date is a text such as 2026-01-31."""
    source: Text
    issued: date | None = None
    expires: date | None = None

    def holds(self, at: date) -> bool:
        """Whether it has been issued and has not expired on that day; on the day it expires it still holds."""
        return (self.issued is None or self.issued <= at) and (self.expires is None or at <= self.expires)


@dataclass(frozen=True)
class Facts:
    """Facts by whom they are about."""

    facts: tuple[SourcedFact, ...]
    by_subject: dict[str, tuple[SourcedFact, ...]] = field(repr=False)
    known: dict[str, frozenset[str]] = field(repr=False)
    """Field to every value that any fact has there, normalised: what else could have been stated."""

    @classmethod
    def of(cls, facts: Iterable[SourcedFact]) -> Facts:
        """Facts put in order."""
        every = tuple(facts)
        by_subject: dict[str, list[SourcedFact]] = {}
        known: dict[str, set[str]] = {}
        for fact in every:
            by_subject.setdefault(fact.subject, []).append(fact)
            known.setdefault(fact.field, set()).add(normalised(fact.value))
        subjects = {subject: tuple(of_it) for subject, of_it in by_subject.items()}
        return cls(every, subjects, {name: frozenset(values) for name, values in known.items()})

    def about(self, subjects: Sequence[str]) -> tuple[SourcedFact, ...]:
        """The facts about any of `subjects`, and about everyone."""
        wanted = dict.fromkeys((*subjects, ANYONE))
        return tuple(fact for subject in wanted for fact in self.by_subject.get(subject, ()))

    @property
    def fingerprint(self) -> str:
        """A digest of all facts."""
        return digest([fact.model_dump(mode="json") for fact in self.facts])[:8]


def read_facts(path: Path) -> Facts:
    """Read facts from a file, a JSON object a line.

    Raises
    ------
    DataError
        A line is no fact, a fact expires before it is issued, or there are none; the message names the line.
    """
    return cached_facts(path, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=8)
def cached_facts(path: Path, _changed: int) -> Facts:
    facts = []
    for number, line in numbered_lines(path):
        fact = record(line, SourcedFact, path=path, line=number)
        if fact.issued and fact.expires and fact.expires < fact.issued:
            raise DataError(path, number, f"it expires on {fact.expires}, before it was issued on {fact.issued}")
        facts.append(fact)
    if not facts:
        raise DataError(path, None, "holds no facts: write a line for each, with subject, field, value and source")
    return Facts.of(facts)


Status = Literal["supported", "contradicted", "expired", "not checked"]


@dataclass(frozen=True)
class Claim:
    """A statement of a context: its parameter, its heading if it has one, its words."""

    parameter: str
    heading: str
    text: str

    @property
    def field(self) -> str:
        """The field of a fact about it: `recipient.background.licence`."""
        return f"{self.parameter}.{self.heading.casefold().replace(' ', '_')}" if self.heading else self.parameter


@dataclass(frozen=True)
class CheckedClaim:
    """A claim, its status, and the fact that decided it."""

    claim: Claim
    status: Status
    fact: SourcedFact | None = None


def claims_in(shown: ShownContext) -> Iterator[Claim]:
    """Every statement of `shown`, in reading order."""
    for group, value in shown.items():
        stated = {group: value} if group in OPTIONAL else {f"{group}.{name}": said for name, said in value.items()}
        for parameter, statement in stated.items():
            for heading, text in headings(statement):
                yield Claim(parameter, heading, text)


def subjects_of(context: Context | None) -> tuple[str, ...]:
    """The ids by which a fact may name a context."""
    return () if context is None else tuple(dict.fromkeys((context.id, context.lineage_id)))


def verify(shown: ShownContext, subjects: Sequence[str], facts: Facts, *, at: date) -> tuple[CheckedClaim, ...]:
    """Compare every claim with what is known of its subjects on a day.

    A claim that equals a fact is `supported`, or `expired` where the fact does not hold on that day. One that equals another
    value that is known of its field, and no fact about its subjects, is `contradicted`; so is another number, date, yes or no
    under a heading that a fact is about. All else is `not checked`.
    """
    about = facts.about(subjects)
    return tuple(
        checked(claim, [fact for fact in about if fact.field == claim.field], facts, at) for claim in claims_in(shown)
    )


def checked(claim: Claim, about: Sequence[SourcedFact], facts: Facts, at: date) -> CheckedClaim:
    stated = normalised(claim.text)
    equal = [fact for fact in about if normalised(fact.value) == stated]
    holding = [fact for fact in about if fact.holds(at)]
    for fact in equal:
        if fact.holds(at):
            return CheckedClaim(claim, "supported", fact)
    if holding and (
        stated in facts.known[claim.field]
        or (claim.heading and is_data(stated) and is_data(normalised(holding[0].value)))
    ):
        return CheckedClaim(claim, "contradicted", holding[0])
    return CheckedClaim(claim, "expired", equal[0]) if equal else CheckedClaim(claim, "not checked")


def normalised(value: object) -> str:
    """A value as it is compared: case folded, space collapsed, without a full stop at its end; numbers and truths as words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = " ".join(str(value).casefold().split()).removesuffix(".")
    text = {"true": "yes", "false": "no"}.get(text, text)
    try:
        return f"{float(text.replace(',', '')):g}"
    except ValueError:
        return text


def is_data(text: str) -> bool:
    """Whether a normalised text is a number, a date, yes or no."""
    if text in ("yes", "no"):
        return True
    for parse in (float, date.fromisoformat):
        try:
            parse(text)
        except ValueError:
            continue
        return True
    return False


# Facts as a defence: only claims that facts support are shown, or each claim with its status.


STATUS_EXPLAINED = (
    "Each statement of the circumstances ends with what could be found out about it: [supported], [contradicted], [expired] or "
    "[not checked], which means that nobody knows."
)
ONLY_SUPPORTED = "Of the circumstances only those are described that a source outside the conversation supports."
STATUS_MARKS = ("[supported]", "[contradicted]", "[expired]", "[not checked]", "[not stated]")


def day(at: date | str | None) -> date:
    """A day, given as such or as 2026-01-31; today where none is.

    Raises
    ------
    ConfigurationError
        It is written otherwise.
    """
    if at is None:
        return datetime.now(tz=UTC).date()
    if isinstance(at, date):
        return at
    try:
        return date.fromisoformat(at)
    except ValueError:
        raise ConfigurationError(f"{at!r} is no day; write it as 2026-01-31") from None


def spelt_out(kind: str, path: str, *, at: date | str | None) -> str:
    """The whole name of the defence `kind:FILE`: with a digest of the facts, and the day; today where none is given.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    return f"{kind}:{path}@{read_facts(Path(path)).fingerprint}@{day(at).isoformat()}"


@dataclass(frozen=True)
class FactsOnADay:
    """The facts of an arm, and the day on which they are asked."""

    facts: Facts
    at: date


@cache
def known_facts(rest: str) -> FactsOnADay:
    """The facts that `FILE@DIGEST@DAY` names.

    Raises
    ------
    ConfigurationError
        It is written otherwise, or the file holds other facts now.
    DataError
        The file cannot be read.
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
    return FactsOnADay(facts, at)


def verified(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Show only claims that facts support."""

    def only_supported(claim: CheckedClaim) -> str | None:
        return claim.claim.text if claim.status == "supported" else None

    return explained(replace(shown, context=rewritten(shown, scene, rest, only_supported)), ONLY_SUPPORTED)


def annotated(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Show every claim with its status. What looks like such a mark in a claim is taken out."""

    def marked(claim: CheckedClaim) -> str:
        return f"{without_marks(claim.claim.text, STATUS_MARKS)} [{claim.status}]"

    return explained(replace(shown, context=rewritten(shown, scene, rest, marked)), STATUS_EXPLAINED)


def explained(shown: ShownItem, text: str) -> ShownItem:
    return replace(shown, placement=replace(shown.placement, system=(*shown.placement.system, text)))


def rewritten(shown: ShownItem, scene: Scene, rest: str, write: Callable[[CheckedClaim], str | None]) -> ShownContext:
    """The context with each claim written anew; a parameter of which nothing is left is left out."""
    known = known_facts(rest)
    by_parameter: dict[str, list[str]] = {}
    for one in verify(shown.context, subjects_of(scene.context), known.facts, at=known.at):
        text = write(one)
        if text is not None:
            heading = f"{without_marks(one.claim.heading, STATUS_MARKS)}: " if one.claim.heading else ""
            by_parameter.setdefault(one.claim.parameter, []).append(f"{heading}{text}")
    left: ShownContext = {}
    for group, value in shown.context.items():
        if group in OPTIONAL:
            if group in by_parameter:
                left[group] = " ".join(by_parameter[group])
            continue
        kept = {name: " ".join(by_parameter[f"{group}.{name}"]) for name in value if f"{group}.{name}" in by_parameter}
        if kept:
            left[group] = kept
    return left
