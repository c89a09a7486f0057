"""Facts, and claims of a context compared with them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, ValidationError

from casewise.ask.json_in_reply import find_objects
from casewise.ask.layouts import Scene, ShownItem, filled, spoken
from casewise.errors import ConfigurationError, DataError
from casewise.models.load import ModelOptions, load_classifier, load_model
from casewise.models.protocol import Message, PairClassifier, Reply, ReplyOptions, Usage, as_messages
from casewise.records import Context, ShownContext
from casewise.records.base import Record, digest, shipped_toml
from casewise.records.context import OPTIONAL, Text, headings, in_order
from casewise.runs.texts import Maker, made_in, text_key
from casewise.storage.files import numbered_lines, parse, read_text, record, what_is_wrong
from casewise.transforms.attacks import read_as_named
from casewise.transforms.defences import without_marks

# Claims: what a context states, sentence by sentence and heading by heading, and what can be read off its words.


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


# Facts: what a source outside says about whom a context is about, with when it was issued and how long it holds.


ANYONE = "*"
"""The subject of a fact that holds of every context."""


class SourcedFact(Record):
    """One thing that a source says: a line of `facts.jsonl`."""

    subject: Text
    """The id of a context, or of the first of its line of revisions; `*` for all."""
    field: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$")]
    """The parameter that it is about (`recipient.type`), or something that belongs to it (`recipient.background.licence`)."""
    value: Text | StrictBool | StrictInt | StrictFloat
    """A text, a number, yes or no; a date is a text such as 2026-01-31."""
    source: Text
    issued: date | None = None
    expires: date | None = None

    def holds(self, at: date) -> bool:
        """Whether it has been issued and has not expired on that day; on the day it expires it still holds."""
        return (self.issued is None or self.issued <= at) and (self.expires is None or at <= self.expires)

    @property
    def name(self) -> str:
        """What belongs to the parameter, in words: `licence`; the parameter's own last word where it is about all of it."""
        return self.field.rpartition(".")[2].replace("_", " ")


@dataclass(frozen=True)
class Facts:
    """Facts by whom they are about."""

    facts: tuple[SourcedFact, ...]
    by_subject: dict[str, tuple[SourcedFact, ...]] = field(repr=False)
    known: dict[str, frozenset[tuple[str, ...]]] = field(repr=False)
    """By field every value that any fact has, and each sentence of it, in plain words: what else could have been said there."""
    lengths: dict[str, tuple[int, ...]] = field(repr=False)
    """By field how many words these have."""

    @classmethod
    def of(cls, facts: Iterable[SourcedFact]) -> Facts:
        """Facts put in order."""
        every = tuple(facts)
        by_subject: dict[str, list[SourcedFact]] = {}
        known: dict[str, set[tuple[str, ...]]] = {}
        for one in every:
            by_subject.setdefault(one.subject, []).append(one)
            if isinstance(one.value, str):
                said = {plain_words(text) for text in (one.value, *sentences(one.value))}
                known.setdefault(one.field, set()).update(words for words in said if words)
        return cls(
            every,
            {subject: tuple(of_it) for subject, of_it in by_subject.items()},
            {name: frozenset(values) for name, values in known.items()},
            {name: tuple(sorted({len(value) for value in values}, reverse=True)) for name, values in known.items()},
        )

    def about(self, subjects: Sequence[str]) -> tuple[SourcedFact, ...]:
        """What is said of any of `subjects`, and of everyone."""
        wanted = dict.fromkeys((*subjects, ANYONE))
        return tuple(one for subject in wanted for one in self.by_subject.get(subject, ()))

    @property
    def fingerprint(self) -> str:
        """A digest of all that they say."""
        return digest([one.model_dump(mode="json") for one in self.facts])[:8]


def read_facts(path: Path) -> Facts:
    """The facts of a file, a JSON object a line.

    Raises DataError: a line is no fact; the message names it and says what is wrong. There are none.
    """
    return kept(path, path.stat().st_mtime_ns) if path.is_file() else fresh(path)


@lru_cache(maxsize=8)
def kept(path: Path, _changed: int) -> Facts:
    return fresh(path)


def fresh(path: Path) -> Facts:
    found = []
    for number, line in numbered_lines(path):
        one = record(line, SourcedFact, path=path, line=number)
        if one.issued and one.expires and one.expires < one.issued:
            raise DataError(path, number, f"it expires on {one.expires}, before it was issued on {one.issued}")
        found.append(one)
    if not found:
        raise DataError(path, None, "holds no facts: write a line for each, with subject, field, value and source")
    return Facts.of(found)


def day(at: date | str | None) -> date:
    """A day, given as such or as 2026-01-31; today where none is.

    Raises ConfigurationError: it is written otherwise.
    """
    if at is None:
        return datetime.now(tz=UTC).date()
    if isinstance(at, date):
        return at
    try:
        return date.fromisoformat(at)
    except ValueError:
        raise ConfigurationError(f"{at!r} is no day; write it as 2026-01-31") from None


# Steps that ask a model where the structured one says nothing: does a fact's sentence entail a claim, or
# contradict it?
#
# `hf:PATH` is a local cross-encoder with labels for entailment and contradiction; `rubric:MODEL` any model that chats. Each is asked about
# pairs of a fact and a claim, and its word is one step more: what the steps before decided is not asked again.


Said = Literal["entailed", "contradicted", "neither"]


def pair_of(fact: SourcedFact, claim: Claimed) -> str:
    """A fact and a claim in words, as one text that tells this pair from every other."""
    about = f"{spoken(claim.parameter.partition('.')[0])}, {spoken(fact.name)}"
    said = f"{claim.heading}: {claim.text}" if claim.heading else claim.text
    return pair_in_words(f"Of the {about}: {fact.value}", f"Of the {about}: {said}")


def pair_in_words(fact: str, claim: str) -> str:
    """Two sentences as one text."""
    return json.dumps({"fact": fact, "claim": claim}, ensure_ascii=False)


def pair_texts(pair: str) -> dict[str, str]:
    """The `fact` and the `claim` of such a text."""
    found: dict[str, str] = json.loads(pair)
    return found


@dataclass(frozen=True)
class ModelStep:
    """What one verifier said, by pair; pairs of which it said nothing that could be read are absent."""

    name: str
    said: Mapping[str, Said]
    asked: int = 0


def check_verifier(name: str) -> str:
    """`hf:PATH` or `rubric:MODEL`. Raises ConfigurationError: it is neither."""
    kind, _, rest = name.partition(":")
    if kind not in ("hf", "rubric") or not rest:
        raise ConfigurationError(
            f"no verifier is called {name!r}; there are hf:PATH (a local cross-encoder) and rubric:MODEL"
        )
    return name


@cache
def rubric() -> dict[str, str]:
    found: dict[str, str] = shipped_toml("casewise.transforms", "rubric.toml")["entailment"]
    return found


def rubric_maker(name: str, options: ModelOptions | None = None) -> Maker:
    """The model of `rubric:MODEL`, with its task.

    Raises ConfigurationError: there is no such model, or its key is not set.
    """
    fakes = replace(options or ModelOptions(), fakes={"fake/rehearsal": rehearsed})
    return Maker(name, load_model(name.partition(":")[2], fakes), rubric()["version"], asked, read, max_tokens=256)


def asked(pair: str) -> tuple[Message, ...]:
    return as_messages(filled(rubric()["prompt"].strip(), pair_texts(pair)))


def read(reply: str) -> str:
    said = {str(found["verdict"]).strip().lower() for found in find_objects(reply)[0] if "verdict" in found}
    if len(said) != 1 or not said <= set(get_args(Said)):
        raise ValueError('the reply is no JSON object with a "verdict"')
    return said.pop()


def replied(within: Path, name: str, pairs: Sequence[str]) -> ModelStep:
    """What a rubric's model said of pairs, as the folder of its replies has it."""
    made = made_in(within)
    found = {pair: one.made for pair in pairs if (one := made.get((name, text_key(pair)))) and one.made}
    return ModelStep(name, found, len(pairs))  # type: ignore[arg-type]  # `read` lets no other word through


async def classified(name: str, pairs: Sequence[str], options: ModelOptions | None = None) -> ModelStep:
    """What a local cross-encoder says of pairs: its likeliest label.

    Raises ConfigurationError: there is no such model, or its labels name neither entailment nor contradiction.
    """
    model = load_classifier(name, options)
    try:
        words = {label: meant(label) for label in model.labels}
        if not isinstance(model, PairClassifier):
            raise ConfigurationError(f"{name} takes no two texts; give a cross-encoder that runs here, hf:PATH")
        if not {"entailed", "contradicted"} <= set(words.values()):
            raise ConfigurationError(
                f"{name} has the labels {', '.join(model.labels)}; a verifier needs one with 'entail' and one with 'contradict'"
            )
        likeliest = await asyncio.gather(*(likeliest_label(model, pair) for pair in pairs))
    finally:
        await model.close()
    return ModelStep(name, {pair: words[label] for pair, label in zip(pairs, likeliest, strict=True)}, len(pairs))


def meant(label: str) -> Said:
    lowered = label.casefold()
    if "contradict" in lowered or lowered.startswith(("not", "non")):
        return "contradicted" if "contradict" in lowered else "neither"
    return "entailed" if "entail" in lowered else "neither"


async def likeliest_label(model: PairClassifier, pair: str) -> str:
    both = pair_texts(pair)
    found = await model.classify_pair(both["fact"], both["claim"])
    return max(found.probabilities, key=lambda label: found.probabilities[label])


def rehearsed(messages: Iterable[Message], _options: ReplyOptions) -> Reply:
    """A made-up verifier: a claim that has all words of the fact is entailed."""
    prompt = "\n".join(one.content for one in messages)
    fact, claim = (prompt.partition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0] for tag in ("fact", "claim"))
    verdict = "entailed" if set(plain_words(fact)) <= set(plain_words(claim)) else "neither"
    return Reply(json.dumps({"verdict": verdict}), "stop", usage=Usage(len(prompt) // 4, 6))


# The structured step: a claim held against facts by words, dates, numbers, yes and no. It asks no model.
#
# It only ever says what can be read off: a fact's words in a claim support it, another date, number or known value in its place
# contradicts it, and everything else is not stated. Not stated is not false.


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


# What arms go by: facts alone, or a verification that was written down, with what its verifiers said of pairs.


class SaidOfPair(Record):
    """A verifier's word on a fact and a claim."""

    fact: str
    claim: str
    verdict: Said


class StepFile(Record):
    """All that one verifier said."""

    verifier: str
    asked: int
    said: tuple[SaidOfPair, ...]


class WrittenVerification(BaseModel):
    """What of the JSON that `casewise contexts verify --out` writes an arm goes by: nobody has to be asked again."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    verification: Literal[1] = 1
    at: date
    every_fact: tuple[SourcedFact, ...]
    verifiers: tuple[StepFile, ...]

    @classmethod
    def of(cls, facts: Facts, steps: Iterable[ModelStep], *, at: date) -> WrittenVerification:
        """Facts, and what verifiers said."""
        files = (
            StepFile(
                verifier=one.name,
                asked=one.asked,
                said=tuple(SaidOfPair(**pair_texts(pair), verdict=word) for pair, word in one.said.items()),
            )
            for one in steps
        )
        return cls(at=at, every_fact=facts.facts, verifiers=tuple(files))


@dataclass(frozen=True)
class KnownByFile:
    """Facts, what verifiers said besides, and the day on which that was asked; None where only facts are given."""

    facts: Facts
    steps: tuple[ModelStep, ...] = ()
    at: date | None = None

    @property
    def fingerprint(self) -> str:
        """A digest of all that can decide."""
        if not self.steps:
            return self.facts.fingerprint
        return digest([self.facts.fingerprint, [[one.name, dict(one.said)] for one in self.steps]])[:8]


def read_decided(path: Path) -> KnownByFile:
    """What a file of facts says, or, where it is called `.json`, a verification that was written down.

    Raises DataError: it cannot be read, or is neither.
    """
    if path.suffix != ".json":
        return KnownByFile(read_facts(path))
    try:
        found = WrittenVerification.model_validate(parse(read_text(path), path=path))
    except ValidationError as error:
        raise DataError(
            path, None, f"is no verification that casewise contexts verify --out wrote: {what_is_wrong(error)}"
        ) from error
    steps = (
        ModelStep(one.verifier, {pair_in_words(s.fact, s.claim): s.verdict for s in one.said}, one.asked)
        for one in found.verifiers
    )
    return KnownByFile(Facts.of(found.every_fact), tuple(steps), found.at)


# What a deployer's own systems know of the parameters of a context: a line each, its source named, unknown kept
# as unknown.


class KnownParameter(Record):
    """What one source says of one parameter: a line of `known.jsonl`."""

    subject: Text
    """The id of a context, or of the first of its line of revisions; `*` for all."""
    parameter: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$")]
    """`recipient.type`, or another that a context may state."""
    value: Text | None = None
    """None where nobody knows."""
    source: Text


@dataclass(frozen=True)
class Known:
    """What is known, by whom it is about."""

    rows: tuple[KnownParameter, ...]
    by_subject: dict[str, dict[str, str]] = field(repr=False)

    @classmethod
    def of(cls, rows: Iterable[KnownParameter]) -> Known:
        """Rows put in order; of two about the same the first with a value counts."""
        kept, found = tuple(rows), dict[str, dict[str, str]]()
        for one in kept:
            if one.value is not None:
                found.setdefault(one.subject, {}).setdefault(one.parameter, one.value)
        return cls(kept, found)

    def about(self, subjects: Sequence[str]) -> ShownContext:
        """What is known of any of `subjects`, or of everyone, as a context; what is said of them by name counts first."""
        said: dict[str, str] = {}
        for subject in dict.fromkeys((*subjects, ANYONE)):
            said = {**self.by_subject.get(subject, {}), **said}
        shown: ShownContext = {}
        for name in in_order(said):
            group, _, own = name.partition(".")
            shown[group] = said[name] if group in OPTIONAL else {**shown.get(group, {}), own: said[name]}
        return shown

    @property
    def fingerprint(self) -> str:
        """A digest of all of it."""
        return digest([one.model_dump(mode="json") for one in self.rows])[:8]


def merged(rows: Iterable[KnownParameter], names: Sequence[str]) -> tuple[KnownParameter, ...]:
    """One row a subject and parameter: the first with a value, or that nobody knows; for all of `names`, in their order."""
    by_subject: dict[str, dict[str, KnownParameter]] = {}
    for one in rows:
        of_it = by_subject.setdefault(one.subject, {})
        if one.parameter not in of_it or (of_it[one.parameter].value is None and one.value is not None):
            of_it[one.parameter] = one
    return tuple(
        found.get(name) or KnownParameter(subject=subject, parameter=name, source="no source says")
        for subject, found in by_subject.items()
        for name in dict.fromkeys((*names, *found))
    )


def read_known(path: Path) -> Known:
    """What a file says, a JSON object a line.

    Raises DataError: a line is none; the message names it. There are none.
    """
    found = [record(line, KnownParameter, path=path, line=number) for number, line in numbered_lines(path)]
    if not found:
        raise DataError(path, None, "says nothing: casewise contexts extract writes such a file")
    return Known.of(found)


# Roles and permissions: whether a policy lets the role that facts give a recipient ask about a category of query.


ROLE = "recipient.role"
"""The field of a fact that says who a recipient is, for a policy."""

MODEL = """[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act, eft
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = g(r.sub, p.sub) && keyMatch(r.obj, p.obj) && keyMatch(r.act, p.act)
"""


@dataclass(frozen=True)
class Permission:
    """What a policy says of one context."""

    context_id: str
    role: str | None
    """By a fact about `recipient.role`, or by the one that supports `recipient.type`; None where no fact says."""
    category: str
    allowed: bool | None
    """None where the role is not known: that is never taken for forbidden."""
    rule: str
    """The line that decided; empty where none allows it."""

    @property
    def flagged(self) -> bool:
        """Whether the role is known and may not ask this."""
        return self.allowed is False


class Policy:
    """A pycasbin policy file: `p, ROLE, CATEGORY, ask, allow` or `deny` a line, `g, ROLE, GROUP` for roles within others.

    A category may end with `*`. What no line allows is forbidden, and a line that denies counts before all that allow.

    Raises ConfigurationError: the extra `[verify]` is not installed. DataError: the file cannot be read, or a line is
    no rule.
    """

    def __init__(self, path: Path) -> None:
        try:
            from casbin import Enforcer
            from casbin.model import Model
            from casbin.persist.adapters import FileAdapter
        except ImportError as error:
            raise ConfigurationError(f"a policy needs pycasbin: pip install 'casewise[verify]' ({error})") from error
        check_lines(path)
        model = Model()
        model.load_model_from_text(MODEL)
        self._enforcer: Any = Enforcer(model, FileAdapter(str(path)))

    def of(self, context: Context, held: Iterable[HeldClaim], category: str, *, facts: Facts, at: date) -> Permission:
        """Whether the recipient of a context may ask a query of this category."""
        role = role_of(context, held, facts, at)
        if role is None:
            return Permission(context.id, None, category, None, "")
        allowed, rule = self._enforcer.enforce_ex(role, category, "ask")
        return Permission(context.id, role, category, bool(allowed), ", ".join(rule))


def role_of(context: Context, held: Iterable[HeldClaim], facts: Facts, at: date) -> str | None:
    stated = (one for one in facts.about(subjects_of(context)) if one.field == ROLE and one.holds(at))
    supports = (
        one.fact
        for one in held
        if one.fact is not None and one.status == "supported" and one.claim.parameter == "recipient.type"
    )
    fact = next(stated, None) or next(supports, None)
    return None if fact is None else str(fact.value)


WIDTHS = {"p": (5,), "g": (3,)}


def check_lines(path: Path) -> None:
    for number, line in enumerate(read_text(path).splitlines(), 1):
        parts = [part.strip() for part in line.partition("#")[0].split(",")]
        if parts == [""]:
            continue
        if len(parts) not in WIDTHS.get(parts[0], ()) or (parts[0] == "p" and parts[4] not in ("allow", "deny")):
            raise DataError(
                path, number, "is no rule: write 'p, ROLE, CATEGORY, ask, allow' (or deny), or 'g, ROLE, GROUP'"
            )


# Facts as a defence: only what they support is shown, or each claim with what they say of it.


TOLD = (
    "Each statement of the circumstances ends with what could be found out about it: [supported], [contradicted], [expired] or "
    "[not stated], which means that nobody knows."
)
ONLY_KNOWN = "Of the circumstances only those are described that the deployer's own systems know."
ONLY_VERIFIED = "Of the circumstances only those are described that a source outside the conversation supports."


def spelt_out(kind: str, path: str, *, at: date | str | None) -> str:
    """The whole name of the defence `kind:FILE`: with a digest of what decides, and the day.

    That is `at`, else the day of a verification that was written down, else today.

    Raises DataError: the file cannot be read.
    """
    found = read_decided(Path(path))
    return f"{kind}:{path}@{found.fingerprint}@{(day(at) if at or not found.at else found.at).isoformat()}"


@cache
def known_facts(rest: str) -> KnownByFile:
    """What `FILE@DIGEST@DAY` names, on that day.

    Raises ConfigurationError: it is written otherwise, or the file holds other facts now. DataError: the file cannot be read.
    """
    parts = rest.rsplit("@", 2)
    try:
        path, mark, written = parts
        at = date.fromisoformat(written)
    except ValueError:
        raise ConfigurationError(f"{rest!r} is not FILE@DIGEST@DAY; --defences verified:FILE spells it out") from None
    found = read_decided(Path(path))
    if found.fingerprint != mark:
        raise ConfigurationError(
            f"{path} holds other facts now than when the arm was named; name it anew: verified:{path}"
        )
    return replace(found, at=at)


@cache
def known_systems(rest: str) -> Known:
    """What `FILE@DIGEST` names. Raises as `read_as_named`."""
    return read_as_named("known", rest, read_known)


def known(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Only what one's own systems know of the context, in their words, whatever it states."""
    return told(replace(shown, context=known_systems(rest).about(subjects_of(scene.context))), ONLY_KNOWN)


def verified(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """What is left when only claims are shown that facts support."""

    def only_supported(claim: HeldClaim) -> str | None:
        return claim.claim.text if claim.status == "supported" else None

    return told(replace(shown, context=rewritten(shown, scene, rest, only_supported)), ONLY_VERIFIED)


def annotated(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Every claim with what facts say of it. What looks like such a mark in a claim is taken out."""

    def marked(claim: HeldClaim) -> str:
        return f"{without_marks(claim.claim.text, STATUS_MARKS)} [{claim.status}]"

    return told(replace(shown, context=rewritten(shown, scene, rest, marked)), TOLD)


STATUS_MARKS = ("[supported]", "[contradicted]", "[expired]", "[not stated]")


def told(shown: ShownItem, text: str) -> ShownItem:
    return replace(shown, placement=replace(shown.placement, system=(*shown.placement.system, text)))


def rewritten(shown: ShownItem, scene: Scene, rest: str, write: Callable[[HeldClaim], str | None]) -> ShownContext:
    """The context with each claim written anew; a parameter of which nothing is left is left out."""
    known = known_facts(rest)
    by_parameter: dict[str, list[str]] = {}
    for one in verify(shown.context, subjects_of(scene.context), known.facts, at=day(known.at), steps=known.steps):
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
