"""Profiles of guards: how each is prompted and how its reply is read."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from casewise.ask.chat import chat_with
from casewise.ask.elicitations import LabelMass, mass_outcome, most_unlisted
from casewise.ask.json_in_reply import find_objects
from casewise.ask.layouts import ShownItem, filled, laid_out, turns_of_chat
from casewise.ask.reader import without_thoughts
from casewise.errors import ConfigurationError, DataError, did_you_mean
from casewise.models.local_models import MARKS, SHORTEST_BEGINNING
from casewise.models.protocol import Message, Position, Reply
from casewise.records import Elicitation, Scored, Unscored, UnscoredReason
from casewise.records.base import Record, digest, problems
from casewise.records.item import Judged
from casewise.storage.files import read_text

# A guard's profile: one TOML file that says what it is sent, where its verdict stands, and how each of that is
# known.


Rendering = Literal["policy", "conversation"]
"""How a guard is told of a context: as the policy that it applies, or as the chatbot's own system prompt."""


class GuardMessage(Record):
    """One message; a content of `{turns}` alone is the conversation, message by message."""

    role: Literal["system", "user", "assistant"]
    content: str


class LabelPlace(Record):
    """A place in a reply where a label may stand."""

    where: Literal["first", "after", "tag", "json"]
    """`first`: the reply's first word. `after`: the word behind `marker`. `tag`: what `<marker>` holds. `json`: what
    the key `marker` holds."""
    marker: str = ""


class HowRead(LabelPlace):
    """Where the verdict stands in a reply, and in which words."""

    otherwise: tuple[LabelPlace, ...] = ()
    """Where else this guard is known to put it, looked at in this order where the first place holds none."""
    safe: tuple[str, ...]
    unsafe: tuple[str, ...]
    middle: tuple[str, ...] = ()
    """Words for each; a middle class is its own and never safe."""
    categories_after: str | None = None
    """What stands before the list of categories, where there is one."""
    refusal_after: str | None = None
    """What stands before the word that says whether a reply refuses, where the guard says that."""

    @property
    def places(self) -> tuple[LabelPlace, ...]:
        """All of them, the usual one first."""
        return (self, *self.otherwise)

    @property
    def words(self) -> dict[str, str]:
        """Label word, in lower case, to what it means."""
        kinds = {"safe": self.safe, "unsafe": self.unsafe, "middle": self.middle}
        return {word.lower(): kind for kind, words in kinds.items() for word in words}


class GuardMode(Record):
    """One of the ways in which a guard can be asked, such as with and without thinking."""

    says: str = ""
    """What stands at `{mode}`, in messages and in arguments for the template."""
    thinks: bool = False
    """Whether its verdict stands behind thoughts, and needs all of `max_tokens`."""


class ProfileFact(Record):
    """Something that the profile takes for true of the guard, where it is written, and whether that was read there."""

    says: str
    source: str
    state: Literal["checked", "unverified"]


class GuardProfile(Record):
    """How one family of guards is asked and read."""

    name: str
    title: str
    licence: str
    template: str = "a profile of one's own"
    """The page that says how it is asked."""
    own_wording: bool = False
    """Whether casewise's words stand where the guard was trained on others."""
    kind: Literal["chat", "moderation", "classifier"] = "chat"
    """`chat`: a model that replies. `moderation`: a moderation endpoint, asked by its own judge. `classifier`: a model
    that gives a text probabilities of labels."""
    policy: tuple[GuardMessage, ...] = ()
    conversation: tuple[GuardMessage, ...] = ()
    """Messages of each rendering; a guard without a policy input has the second only. One with nothing but the first is
    sent that for a conversation too, with the context in the conversation and not in the policy."""
    system_turn: bool = True
    """Whether a conversation may have a system message; otherwise the context stands in the user's."""
    reads_replies: bool = False
    template_arguments: dict[str, Any] | None = None
    """What the chat template is given besides; texts among them are filled in as messages are."""
    prefill: str | None = None
    max_tokens: int = 1024
    tokens: bool = False
    """Whether P(safe) can be read from the label's tokens."""
    modes: dict[str, GuardMode] = Field(default_factory=dict)
    """Ways to ask it, by name; the first is the default."""
    read: HowRead
    facts: dict[str, ProfileFact] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if self.kind == "chat" and not self.renderings:
            raise ValueError("it has neither a 'policy' nor a 'conversation': there is nothing to send")
        if unnamed := [place.where for place in self.read.places if place.where != "first" and not place.marker]:
            raise ValueError(f"the verdict stands {unnamed[0]!r} a 'marker' that is not named")
        return self

    @property
    def renderings(self) -> tuple[Rendering, ...]:
        """Those that it has; the first is the default. A guard with a policy input can be given a bare policy and a conversation."""
        return ("policy", "conversation") if self.policy else ("conversation",) if self.conversation else ()

    @property
    def id(self) -> str:
        """Name and a digest of all that decides what is sent and read."""
        deciding = self.model_dump(mode="json", exclude={"facts", "title", "licence", "template", "own_wording"})
        return f"{self.name}+{digest(deciding)[:8]}"

    @property
    def unverified(self) -> tuple[str, ...]:
        """What it takes for true and nobody has read at its source."""
        return tuple(name for name, fact in self.facts.items() if fact.state == "unverified")


@cache
def all_profiles() -> Mapping[str, GuardProfile]:
    """The profiles that casewise has, by name."""
    folder = files("casewise.judges").joinpath("profiles")
    profiles = [
        profile_in(entry.name, entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    ]
    return {profile.name: profile for profile in sorted(profiles, key=lambda profile: profile.name)}


def profile_named(name: str) -> GuardProfile:
    """The profile called `name`, or the one in a TOML file of one's own.

    Raises ConfigurationError: there is none; DataError: the file is none; the message says what is wrong.
    """
    if name.endswith(".toml"):
        return profile_in(name, read_text(Path(name)))
    profiles = all_profiles()
    if name not in profiles:
        raise ConfigurationError(
            f"no guard is called {name!r}{did_you_mean(name, profiles)}; there are {', '.join(profiles)}, and TOML files (casewise show guards)"
        )
    return profiles[name]


def profile_notes(name: str, profile: GuardProfile, remark: str = "") -> tuple[str, ...]:
    """What a reader must know of a judge that a profile describes: its licence, and what of it nobody has checked."""
    notes = [f"{name} is {profile.title} (licence: {profile.licence}){remark}."]
    if profile.kind != "classifier" and not profile.policy:
        notes.append(f"{profile.title} has no policy input: it cannot be told what is appropriate in a context.")
    if profile.read.middle:
        middle = ", ".join(profile.read.middle)
        notes.append(f"{profile.title} has a middle class ({middle}): 0.5 as a scalar, unsafe as a verdict.")
    if profile.own_wording:
        notes.append(
            f"{profile.title} was trained on a wording of its own ({profile.template}); casewise's own words stand in its "
            "place, and what that costs is not known."
        )
    if profile.unverified:
        notes.append(
            f"The profile of {profile.title} is not verified: {', '.join(profile.unverified)} could not be checked at the source."
        )
    return tuple(notes)


def profile_in(path: str, text: str) -> GuardProfile:
    try:
        return GuardProfile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise DataError(path, None, f"is no TOML: {error}") from error
    except ValidationError as error:
        raise DataError(path, None, problems(error, GuardProfile)[0]) from error


# What a guard is sent: its profile's messages with the policy, the conversation and the context in their places.


DEFAULT = GuardMode()

SPEAKERS = {"user": "User", "assistant": "Chatbot", "system": "System"}


def guard_messages(
    profile: GuardProfile,
    rendering: Rendering,
    shown: ShownItem,
    *,
    policy: str | None = None,
    reply: str | None = None,
    mode: GuardMode = DEFAULT,
) -> tuple[Message, ...]:
    """The messages that ask a guard about an item.

    `policy`: a deployer's own, in the place of ours; it may hold `{context}`.
    `reply`: a chatbot's reply, judged in the place of the request.
    """
    in_policy = rendering == "policy"
    bare = replace(shown, context={}) if in_policy else shown
    turns = conversation_of(bare, system_turn=profile.system_turn, reply=reply)
    context = context_text(shown)
    about = context if in_policy else wording()["in_conversation"]
    values = {
        "policy": policy_about(about, policy, judged=shown.judged),
        "mode": mode.says,
        "query": shown.query,
        "context": context,
        "transcript": "\n\n".join(f"{SPEAKERS[turn.role]}: {turn.content}" for turn in turns),
    }
    messages: list[Message] = []
    for policy_turn in profile.policy if in_policy or not profile.conversation else profile.conversation:
        messages += (
            turns
            if policy_turn.content == "{turns}"
            else [Message(policy_turn.role, filled(policy_turn.content, values))]
        )
    return tuple(messages)


def template_arguments(
    profile: GuardProfile,
    rendering: Rendering,
    shown: ShownItem,
    *,
    policy: str | None = None,
    mode: GuardMode = DEFAULT,
) -> dict[str, Any] | None:
    """What the guard's chat template is given besides the messages, filled in as these are."""
    arguments = profile.template_arguments
    if not arguments:
        return None
    about = context_text(shown) if rendering == "policy" else wording()["in_conversation"]
    values = {"policy": policy_about(about, policy, judged=shown.judged), "mode": mode.says}
    return {
        name: filled(argument, values) if isinstance(argument, str) else argument
        for name, argument in arguments.items()
    }


def conversation_of(shown: ShownItem, *, system_turn: bool, reply: str | None = None) -> tuple[Message, ...]:
    """The conversation that the chatbot is in: the context where the deployer would tell it, and what was said."""
    placed, chat = shown.placement, chat_with()
    before, last = turns_of_chat(shown.before), shown.query
    if shown.judged != "request":
        # What is judged is the assistant's turn; the request that it follows is the user's last one before, where there is one.
        reply = shown.query
        asked = bool(before) and before[-1].role == "user"
        before, last = (before[:-1], before[-1].content) if asked else (before, wording()["request_unknown"])
    query = last if system_turn else "\n\n".join((*placed.system, last))
    turns = chat.messages(
        query,
        shown.context,
        earlier=(*before, *placed.earlier),
        role="system" if system_turn else "user",
        system=placed.system if system_turn else (),
        layout=placed.layout,
    )
    return (*turns, Message("assistant", reply)) if reply is not None else turns


def context_text(shown: ShownItem) -> str:
    return laid_out(shown.context, shown.placement.layout or "list") if shown.context else wording()["nothing_known"]


def policy_about(context: str, own: str | None, *, judged: Judged = "request") -> str:
    """The policy with the context in its place; one of a deployer's own that has no place for it is followed by it."""
    ours = wording()["text" if judged == "request" else judged]
    text = ours if own is None else own if "{context}" in own else f"{own}\n\n# CIRCUMSTANCES\n{{context}}"
    return filled(text, {"context": context})


def policy_id(own: str | None) -> str:
    """Which policy: ours with its version, or a digest of the deployer's own."""
    return (
        f"{wording()['name']}@{wording()['version']}+{digest(wording()['text'])[:8]}"
        if own is None
        else f"own+{digest(own)[:8]}"
    )


@cache
def wording() -> dict[str, str]:
    text = files("casewise.judges").joinpath("policy.toml").read_text(encoding="utf-8")
    return {name: value.strip("\n") for name, value in tomllib.loads(text).items()}


# What a guard's reply comes to: its label word, or the probability of the tokens that begin one; its categories.


VALUES = {"safe": 1.0, "middle": 0.5, "unsafe": 0.0}

LONGEST_DETAIL = 120


@dataclass(frozen=True)
class GuardRead:
    """What a reply comes to, and what else it says."""

    outcome: Scored | Unscored
    categories: tuple[str, ...] | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    by_class: bool = False
    """Whether a probability was asked for and the class that the reply names stands in its place, as 0, 0.5 or 1."""


def read_guard(profile: GuardProfile, elicitation: Elicitation, reply: Reply) -> GuardRead:
    """What a guard's reply comes to.

    A middle class is 0.5 as a scalar, and as a verdict it is unsafe: never silently safe. It is kept as the detail `class`.
    A probability from a server that gives none of its tokens' is the class that the reply names: 0, 0.5 or 1.
    """
    if reply.finish_reason == "content_filter":
        return GuardRead(
            Unscored(reason=UnscoredReason.CONTENT_FILTER, detail="the endpoint's filter cut the reply off")
        )
    text = without_thoughts(reply.text.removeprefix(profile.prefill or ""))
    kinds = set(kinds_said(profile.read, text))
    detail: dict[str, Any] = {"class": next(iter(kinds))} if len(kinds) == 1 else {}
    if profile.read.refusal_after and (refuses := word_behind(profile.read.refusal_after, text)):
        detail["refusal_said"] = refuses
    categories = categories_in(profile.read, text)
    if elicitation == "probability":
        if not reply.token_logprobs and kinds:
            return GuardRead(by_word(kinds, "scalar", text, reply), categories, detail, by_class=True)
        outcome, mass = by_tokens(profile.read, reply)
        return GuardRead(outcome, categories, detail | (mass.as_detail() if mass else {}))
    return GuardRead(by_word(kinds, elicitation, text, reply), categories, detail)


def by_word(kinds: set[str], elicitation: Elicitation, text: str, reply: Reply) -> Scored | Unscored:
    shortened = " ".join(text.split())[:LONGEST_DETAIL] or None
    if len(kinds) > 1:
        return Unscored(reason=UnscoredReason.CONFLICTING, detail=shortened)
    if not kinds:
        why = UnscoredReason.TRUNCATED if reply.finish_reason == "length" else UnscoredReason.UNPARSED
        return Unscored(reason=why if text.strip() else UnscoredReason.EMPTY, detail=shortened)
    (kind,) = kinds
    return Scored(value=VALUES[kind] if elicitation == "scalar" else float(kind == "safe"))


def pattern(place: LabelPlace, words: Iterable[str]) -> re.Pattern[str]:
    labels = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    word = rf"[\s\"'*`]*({labels})(?![A-Za-z0-9]|\.\d)"
    marker = re.escape(place.marker)
    before = {"first": r"\A", "after": marker, "tag": rf"<{marker}>", "json": rf"[\"']{marker}[\"']\s*:"}[place.where]
    return re.compile(before + word, re.IGNORECASE)


def kinds_said(read: HowRead, text: str) -> list[str]:
    """What each label word means that stands in the first of the guard's places that holds any."""
    for place in read.places:
        if kinds := list(kinds_at(place, read.words, text)):
            return kinds
    return []


def kinds_at(place: LabelPlace, words: Mapping[str, str], text: str) -> Iterator[str]:
    if place.where == "json":
        objects, _ = find_objects(text)
        values = [
            str(record[place.marker]).strip().lower().removesuffix(".0") for record in objects if place.marker in record
        ]
        yield from (words[value] for value in values if value in words)
        if values:
            return
    yield from (words[match[1].lower()] for match in pattern(place, words).finditer(text))


def word_behind(marker: str, text: str) -> str | None:
    match = re.search(rf"{re.escape(marker)}\s*(\w+)", text, re.IGNORECASE)
    return match[1] if match else None


def categories_in(read: HowRead, text: str) -> tuple[str, ...] | None:
    """The categories that a reply lists; None where the guard lists none or this reply does not say."""
    if read.categories_after is None:
        return None
    match = re.search(rf"{re.escape(read.categories_after)}[ \t]*([^\n]*)", text, re.IGNORECASE)
    if match is None:
        return None
    names = (name.strip(" .[]\"'") for name in match[1].split(","))
    return tuple(name for name in names if name and name.lower() not in ("none", "n/a"))


def by_tokens(read: HowRead, reply: Reply) -> tuple[Scored | Unscored, LabelMass | None]:
    """P(safe) from the token with which the label begins: the share of safe among all labels; a middle class is not safe."""
    if not reply.token_logprobs:
        return Unscored(reason=UnscoredReason.NO_LOGPROBS, detail="the endpoint gave no log probabilities"), None
    position = label_position(read, reply.token_logprobs)
    if position is None:
        detail = f"no label stands where it should; the reply begins {reply.text[:40]!r}"
        return Unscored(reason=UnscoredReason.NO_LABEL_TOKEN, detail=detail), None
    mass = dict.fromkeys(VALUES, 0.0)
    listed = [(rival.token, rival.logprob) for rival in position.top] or [(position.token, position.logprob)]
    for token, logprob in listed:
        if (kind := kind_of(token, read.words)) is not None:
            mass[kind] += math.exp(logprob)
    mass_of_labels = LabelMass(mass["safe"], mass["unsafe"] + mass["middle"], most_unlisted(position))
    return mass_outcome(mass_of_labels, position, reply), mass_of_labels


def label_position(read: HowRead, positions: tuple[Position, ...]) -> Position | None:
    """The token that begins the label, wherever the profile says it stands; the last such: a guard that thinks may name one before."""
    pieces = [token.token.replace("Ġ", " ").replace("▁", " ").replace("Ċ", "\n") for token in positions]
    text = "".join(pieces)
    thoughts = len(text) - len(without_thoughts(text))
    match = next(
        (
            matches
            for matches in (list(pattern(place, read.words).finditer(text[thoughts:])) for place in read.places)
            if matches
        ),
        [],
    )
    if not match:
        return first_that_begins(positions) if read.where == "first" and not thoughts else None
    start, so_far = thoughts + match[-1].start(1), 0
    for piece, position in zip(pieces, positions, strict=True):
        so_far += len(piece)
        if start < so_far:
            return position
    return None


def first_that_begins(positions: tuple[Position, ...]) -> Position | None:
    """Of a reply that was cut off in its first word, its first token that is more than white space."""
    spoken = [token for token in positions if token.token.strip(MARKS)]
    return spoken[0] if spoken else None


def kind_of(token: str, words: Mapping[str, str]) -> str | None:
    """What the label means that a token says or begins; None where it begins none, or labels of two meanings."""
    bare = token.strip(MARKS).casefold()
    if bare in words:
        return words[bare]
    begun = (
        {kind for word, kind in words.items() if word.startswith(bare)} if len(bare) >= SHORTEST_BEGINNING else set()
    )
    return begun.pop() if len(begun) == 1 else None
