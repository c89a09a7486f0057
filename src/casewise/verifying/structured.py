"""The structured step: a claim held against facts by words, dates, numbers, yes and no. It asks no model.

It only ever says what can be read off: a fact's words in a claim support it, another date, number or known value in its place
contradicts it, and everything else is not stated. Not stated is not false.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from casewise.records import Context, ShownContext
from casewise.verifying.by_model import ModelStep, Said, pair_of
from casewise.verifying.claimed import Claimed, claims_in, dates_in, numbers_in, plain_words
from casewise.verifying.facts import Facts, SourcedFact

__all__ = ["STATUSES", "STEPS", "HeldClaim", "Status", "Step", "open_pairs", "subjects_of", "verify"]

Status = Literal["supported", "contradicted", "not stated", "expired"]
STATUSES: tuple[Status, ...] = ("supported", "contradicted", "expired", "not stated")

Step = str
STEPS: tuple[Step, ...] = ("words", "date", "number", "yes or no", "known value")
"""In the order in which they are tried; a verifier's name is another, tried behind these."""


@dataclass(frozen=True)
class HeldClaim:
    """What facts say of one claim."""

    claim: Claimed
    status: Status
    step: Step | None = None
    """How it was decided; None where nothing was."""
    fact: SourcedFact | None = None
    """The fact that decided it."""
    span: str = ""
    """The words of the claim that it was decided by."""


@dataclass(frozen=True)
class Match:
    """Whether a fact and a claim say the same (True) or exclude each other (False)."""

    agrees: bool
    step: Step
    span: str


def subjects_of(context: Context | None) -> tuple[str, ...]:
    """What a fact may name a context by."""
    return () if context is None else tuple(dict.fromkeys((context.id, context.lineage_id)))


def verify(
    shown: ShownContext, subjects: Sequence[str], facts: Facts, *, at: date, steps: Sequence[ModelStep] = ()
) -> tuple[HeldClaim, ...]:
    """Every claim of what is shown, held against what is known of its subjects on a day.

    A fact that holds and contradicts counts before one that supports, and that before one that would support but has
    expired. An expired fact contradicts nothing. `steps` are what models said of pairs, asked where that decides nothing.
    """
    about = facts.about(subjects)
    held = (found(claim, about, facts, at) for claim in claims_in(shown))
    return tuple(by_models(one, about, steps, at) if one.step is None and steps else one for one in held)


def open_pairs(held: HeldClaim, about: Sequence[SourcedFact]) -> Iterator[tuple[str, SourcedFact]]:
    """The facts that a claim which nothing decided could be held against by a model, each with the pair in words."""
    if held.step is None:
        yield from ((pair_of(fact, held.claim), fact) for fact in about if concerns(fact, held.claim))


def by_models(held: HeldClaim, about: Sequence[SourcedFact], steps: Sequence[ModelStep], at: date) -> HeldClaim:
    """What the first step says that says anything: of several facts a contradiction counts before support."""
    for step in steps:
        said = [(step.said.get(pair, "neither"), fact) for pair, fact in open_pairs(held, about)]
        for word, holds, status in DECIDES:
            fact = next((fact for one, fact in said if one == word and fact.holds(at) is holds), None)
            if fact is not None:
                return HeldClaim(held.claim, status, step.name, fact, held.claim.text)
    return held


DECIDES: tuple[tuple[Said, bool, Status], ...] = (
    ("contradicted", True, "contradicted"),
    ("entailed", True, "supported"),
    ("entailed", False, "expired"),
)


def found(claim: Claimed, about: Sequence[SourcedFact], facts: Facts, at: date) -> HeldClaim:
    supported = expired = None
    for fact in about:
        if not concerns(fact, claim):
            continue
        match = matched(fact, claim, facts)
        if match is None:
            continue
        if fact.holds(at):
            if not match.agrees:
                return HeldClaim(claim, "contradicted", match.step, fact, match.span)
            supported = supported or HeldClaim(claim, "supported", match.step, fact, match.span)
        elif match.agrees:
            expired = expired or HeldClaim(claim, "expired", match.step, fact, match.span)
    return supported or expired or HeldClaim(claim, "not stated")


def concerns(fact: SourcedFact, claim: Claimed) -> bool:
    return fact.field == claim.parameter or fact.field.startswith(f"{claim.parameter}.")


def matched(fact: SourcedFact, claim: Claimed, facts: Facts) -> Match | None:
    """What a fact and a claim say of each other; None where nothing."""
    value = fact.value
    if isinstance(value, bool):
        return as_yes_or_no(value, fact, claim)
    if isinstance(value, (int, float)):
        return among(float(value), list(numbers_in(claim.text)), "number", claim, sure=is_named(fact, claim))
    day = next((day for day, said in dates_in(value) if said == value.strip()), None)
    if day is not None:
        return among(day, list(dates_in(claim.text)), "date", claim, sure=is_named(fact, claim))
    return as_words(value, fact, claim, facts)


def is_named(fact: SourcedFact, claim: Claimed) -> bool:
    """Whether the claim is about the very thing: its heading is the fact's name, or its words are in it."""
    name = plain_words(fact.name)
    return position(name, plain_words(claim.heading)) is not None or position(name, plain_words(claim.text)) is not None


def among(value: object, said: Sequence[tuple[object, str]], step: Step, claim: Claimed, *, sure: bool) -> Match | None:
    """The value is among those that are said; or others are, of what is surely the same thing."""
    for one, span in said:
        if one == value:
            before = plain_words(claim.text.partition(span)[0])
            numbered = before[:-1] if before[-1:] == ("no",) else before  # licence no. 4711
            return None if turned_about(numbered) else Match(True, step, span)
    return Match(False, step, said[0][1]) if said and sure else None


def as_yes_or_no(value: bool, fact: SourcedFact, claim: Claimed) -> Match | None:
    if plain_words(claim.heading)[-len(plain_words(fact.name)) :] != plain_words(fact.name):
        return None
    said = {"yes": True, "no": False}.get(" ".join(plain_words(claim.text)))
    return None if said is None else Match(said == value, "yes or no", claim.text)


def as_words(value: str, fact: SourcedFact, claim: Claimed, facts: Facts) -> Match | None:
    """The fact's words in the claim; or, where it says something else that is known of this field, not the fact's."""
    words, wanted = plain_words(claim.text), plain_words(value)
    at = position(wanted, words)
    if at is not None:
        return None if turned_about(words[:at]) else Match(True, "words", value)
    inside = position(words, wanted)
    if inside is not None and len(words) >= FEWEST:
        return None if turned_about(wanted[:inside]) else Match(True, "words", claim.text)
    known = facts.known.get(fact.field, frozenset())
    for n in facts.lengths.get(fact.field, ()):
        for place in range(len(words) - n + 1 if n else 0):
            other = words[place : place + n]
            if other in known and position(other, wanted) is None and not turned_about(words[:place]):
                return Match(False, "known value", " ".join(other))
    return None


FEWEST = 3
"""Words that a sentence of a longer fact must have to be supported by it."""

TURNING = frozenset(
    ("not", "no", "never", "former", "formerly", "ex", "retired", "without", "nor", "isn", "wasn", "aspiring")
)


def turned_about(before: tuple[str, ...]) -> bool:
    """Whether what stands just before says that it is not so, or not any more: then nothing is read off these words."""
    return not TURNING.isdisjoint(before[-3:])


def position(inner: tuple[str, ...], words: tuple[str, ...]) -> int | None:
    """Where `inner` stands in `words`, whole words side by side."""
    n = len(inner)
    if not n or n > len(words):
        return None
    first = inner[0]
    return next((at for at in range(len(words) - n + 1) if words[at] == first and words[at : at + n] == inner), None)
