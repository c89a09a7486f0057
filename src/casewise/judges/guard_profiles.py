"""Profiles of guards: how each is prompted and how its reply is read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from casewise.ask.elicitations import LabelMass, label_mass, mass_outcome
from casewise.ask.envelope import unwrapped, without_thoughts
from casewise.ask.frames import CONDITION, LIMITS, compiled, disowns
from casewise.ask.json_objects import find_objects
from casewise.ask.layouts import ContextRole, ShownItem, filled, laid_out, turns_of_chat
from casewise.ask.prompts import chat_with
from casewise.ask.reader import beginning
from casewise.errors import ConfigurationError, DataError, did_you_mean
from casewise.models.label_tokens import MARKS
from casewise.models.protocol import Message, Position, Reply, Role
from casewise.records import Elicitation, Scored, Unscored, UnscoredReason
from casewise.records.base import Record, digest, problems, shipped_toml
from casewise.storage.files import read_text

# A guard's profile: one TOML file with its messages, the place of its verdict, and the sources of both.

Rendering = Literal["policy", "conversation"]
"""The place of a context: the guard's policy, or the chatbot's system prompt."""


class GuardMessage(Record):
    """One message; a content of `{turns}` alone is the conversation, message by message."""

    role: Role
    content: str


class LabelPlace(Record):
    """A place in a reply where a label may stand."""

    where: Literal["first", "after", "tag", "json"]
    """`first`: the reply's first word. `after`: the word behind `marker`. `tag`: what `<marker>` holds. `json`: what
    the key `marker` holds."""
    marker: str = ""
    reply_marker: str = ""
    """The marker where a chatbot's reply is judged, if the guard labels request and reply apart."""


class VerdictLocation(LabelPlace):
    """The place and the words of the verdict in a reply."""

    otherwise: tuple[LabelPlace, ...] = ()
    """Other places where this guard puts it. The labels of all places have to agree."""
    safe: tuple[str, ...]
    unsafe: tuple[str, ...]
    middle: tuple[str, ...] = ()
    """Words for each class; a middle class is never safe."""
    categories_after: str | None = None
    """The text before the list of categories, if there is one."""
    refusal_after: str | None = None
    """The text before the word that tells whether a reply refuses, if there is one."""

    def places(self, *, replied: bool) -> tuple[LabelPlace, ...]:
        """Return all places of the label of the reply, or of the request; the usual one first."""
        places = (self, *self.otherwise)
        markers = ((replied and place.reply_marker) or place.marker for place in places)
        return tuple(
            LabelPlace(where=place.where, marker=marker) for place, marker in zip(places, markers, strict=True)
        )

    @property
    def words(self) -> dict[str, str]:
        """Classes by label word, in lower case."""
        kinds = {"safe": self.safe, "unsafe": self.unsafe, "middle": self.middle}
        return {word.lower(): kind for kind, words in kinds.items() for word in words}


class GuardMode(Record):
    """A way to ask a guard, such as with and without thinking."""

    says: str = ""
    """The text at `{mode}`, in messages and in arguments for the template."""
    thinks: bool = False
    """True if its verdict follows reasoning, and needs all of `max_tokens`."""


class Transcript(Record):
    """The form of a conversation in `{transcript}`: the words before each turn, and between two."""

    user: str = "User: "
    assistant: str = "Chatbot: "
    system: str = "System: "
    between: str = "\n\n"
    no_reply: str | None = None
    """The turn of the assistant where a request has no reply; None leaves it out."""

    def write(self, turns: tuple[Message, ...]) -> str:
        """Return the conversation as one text."""
        if self.no_reply is not None and turns[-1].role != "assistant":
            turns = (*turns, Message("assistant", self.no_reply))
        return self.between.join(f"{getattr(self, turn.role)}{turn.content}" for turn in turns)


class ProfileFact(Record):
    """A fact about the guard, its source, and whether it was read there."""

    says: str
    source: str
    state: Literal["checked", "unverified"]


class GuardProfile(Record):
    """The prompt and the reading of one family of guards."""

    name: str
    title: str
    licence: str
    template: str = "a profile of one's own"
    """The page that documents the prompt."""
    not_compared: str = ""
    """The part of the prompt that could not be compared with a published one, and why."""
    own_wording: bool = False
    """True if the prompt has casewise's words although the guard was trained on others."""
    kind: Literal["chat", "moderation", "classifier"] = "chat"
    """`chat`: a model that replies. `moderation`: a moderation endpoint, asked by its own judge. `classifier`: a model
    that gives a text probabilities of labels."""
    policy: tuple[GuardMessage, ...] = ()
    conversation: tuple[GuardMessage, ...] = ()
    """Messages of each rendering; a guard without a policy input has the second only. One with nothing but the first is
    sent that for a conversation too, with the context in the conversation and not in the policy."""
    transcript: Transcript = Transcript()
    system_turn: bool = True
    """True if a conversation may have a system message; otherwise the context stands in the user's, and the roles alternate."""
    reads_replies: bool = False
    template_arguments: dict[str, Any] | None = None
    """Arguments of the chat template; texts among them are filled in as messages are."""
    prefill: str | None = None
    max_tokens: int = 1024
    tokens: bool = False
    """True if P(safe) can be read from the label's tokens."""
    modes: dict[str, GuardMode] = Field(default_factory=dict)
    """Ways to ask it, by name; the first is the default."""
    read: VerdictLocation
    facts: dict[str, ProfileFact] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if self.kind == "chat" and not self.renderings:
            raise ValueError("it has neither a 'policy' nor a 'conversation': there is nothing to send")
        if unnamed := [
            place.where for place in self.read.places(replied=False) if place.where != "first" and not place.marker
        ]:
            raise ValueError(f"the verdict stands {unnamed[0]!r} a 'marker' that is not named")
        return self

    @property
    def renderings(self) -> tuple[Rendering, ...]:
        """Its renderings; the first is the default. A guard with a policy input can have a bare policy and a conversation."""
        return ("policy", "conversation") if self.policy else ("conversation",) if self.conversation else ()

    @property
    def id(self) -> str:
        """Name and a digest of the prompt and the reading."""
        deciding = self.model_dump(
            mode="json",
            exclude={"facts", "title", "licence", "template", "not_compared", "own_wording"},
        )
        return f"{self.name}+{digest(deciding)[:8]}"

    @property
    def unverified(self) -> tuple[str, ...]:
        """Names of the facts that were not read at their source."""
        return tuple(name for name, fact in self.facts.items() if fact.state == "unverified")


@cache
def all_profiles() -> Mapping[str, GuardProfile]:
    """Return the profiles of casewise, by name."""
    folder = files("casewise.judges").joinpath("profiles")
    toml = [entry for entry in folder.iterdir() if entry.name.endswith(".toml")]
    profiles = [parse_profile(entry.name, entry.read_text(encoding="utf-8")) for entry in toml]
    return {profile.name: profile for profile in sorted(profiles, key=lambda profile: profile.name)}


def find_profile(name: str) -> GuardProfile:
    """Return the profile called `name`, or the one in a TOML file.

    Raises ConfigurationError: there is none; DataError: the file is none; the message says what is wrong.
    """
    if name.endswith(".toml"):
        return parse_profile(name, read_text(Path(name)))
    profiles = all_profiles()
    if name not in profiles:
        raise ConfigurationError(
            f"no guard is called {name!r}{did_you_mean(name, profiles)}; there are {', '.join(profiles)}, and TOML files (casewise show guards)"
        )
    return profiles[name]


def profile_notes(name: str, profile: GuardProfile, remark: str = "") -> tuple[str, ...]:
    """Return notes on a judge with a profile: its licence, and unverified facts."""
    notes = [f"{name} is {profile.title} (licence: {profile.licence}){remark}."]
    if profile.kind != "classifier" and not profile.policy:
        notes.append(f"{profile.title} has no policy input: it cannot be told what is appropriate in a context.")
    if profile.read.middle:
        middle = ", ".join(profile.read.middle)
        notes.append(f"{profile.title} has a middle class ({middle}): 0.5 as a scalar, unsafe as a verdict.")
    if profile.own_wording:
        notes.append(
            f"{profile.title} was trained on a wording of its own ({profile.template}); casewise's own words stand in its "
            "place, and the effect of that is not known."
        )
    if profile.unverified:
        notes.append(
            f"The profile of {profile.title} is not verified: {', '.join(profile.unverified)} could not be checked at the source."
        )
    return tuple(notes)


def parse_profile(path: str, text: str) -> GuardProfile:
    try:
        return GuardProfile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise DataError(path, None, f"is no TOML: {error}") from error
    except ValidationError as error:
        raise DataError(path, None, problems(error, GuardProfile)[0]) from error


# The prompt: the profile's messages with the policy, the conversation and the context in their places.


@dataclass(frozen=True)
class GuardPrompt:
    """A guard's prompt: its profile, with a rendering, a mode and a policy."""

    profile: GuardProfile
    rendering: Rendering
    mode_name: str | None = None
    """One of the profile's modes; None if it has none."""
    policy: str | None = None
    """A deployer's own policy instead of ours; it may contain `{context}`."""

    @property
    def mode(self) -> GuardMode:
        """The mode in which the guard is asked."""
        return self.profile.modes[self.mode_name] if self.mode_name else GuardMode()

    def messages(self, shown: ShownItem, reply: str | None = None) -> tuple[Message, ...]:
        """Return the messages that ask the guard about an item; it judges a chatbot's `reply` instead, if there is one."""
        profile, in_policy = self.profile, self.rendering == "policy"
        without_context = replace(shown, context={}) if in_policy else shown
        turns = conversation_of(without_context, system_turn=profile.system_turn, reply=reply)
        values = self._values(shown, reply) | {"query": shown.query, "transcript": profile.transcript.write(turns)}
        messages: list[Message] = []
        for turn in profile.policy if in_policy or not profile.conversation else profile.conversation:
            messages += turns if turn.content == "{turns}" else [Message(turn.role, filled(turn.content, values))]
        return tuple(messages)

    def template_arguments(self, shown: ShownItem, reply: str | None = None) -> dict[str, Any] | None:
        """Return the arguments of the guard's chat template besides the messages."""
        if not self.profile.template_arguments:
            return None
        values = self._values(shown, reply)
        return {
            name: filled(argument, values) if isinstance(argument, str) else argument
            for name, argument in self.profile.template_arguments.items()
        }

    def _values(self, shown: ShownItem, reply: str | None) -> dict[str, str]:
        defaults, context = wording(), wording()["nothing_known"]
        if shown.context:
            context = laid_out(shown.context, shown.placement.layout or "list")
        policy = defaults[shown.judged if shown.judged != "request" else "reply" if reply is not None else "text"]
        if self.policy is not None:  # one without a place for the context is followed by it
            has_place = "{context}" in self.policy
            policy = self.policy if has_place else f"{self.policy}\n\n# CIRCUMSTANCES\n{{context}}"
        about = context if self.rendering == "policy" else defaults["in_conversation"]
        return {"policy": filled(policy, {"context": about}), "mode": self.mode.says, "context": context}


def conversation_of(shown: ShownItem, *, system_turn: bool, reply: str | None = None) -> tuple[Message, ...]:
    """Return the chatbot's conversation, with the context where its deployer would state it."""
    placed, chat = shown.placement, chat_with()
    before, last = turns_of_chat(shown.before), shown.query
    if shown.judged != "request":
        # What is judged is the assistant's turn; the request that it follows is the user's last one before, where there is one.
        reply = shown.query
        follows_request = bool(before) and before[-1].role == "user"
        before, last = (before[:-1], before[-1].content) if follows_request else (before, wording()["request_unknown"])
    query = last if system_turn else "\n\n".join((*placed.system, last))
    role: ContextRole = "system" if system_turn else "user"
    system = placed.system if system_turn else ()
    placement = replace(placed, context_role=role, earlier=(*before, *placed.earlier), system=system)
    turns = chat.messages(query, shown.context, placement=placement)
    turns = (*turns, Message("assistant", reply)) if reply is not None else turns
    if system_turn:
        return turns
    # Templates without a system message demand that user and assistant alternate, beginning with the user.
    if turns[0].role != "user":
        turns = (Message("user", f"{turns[0].role}: {turns[0].content}"), *turns[1:])
    speeches = groupby(turns, key=lambda turn: turn.role)
    return tuple(Message(role, "\n\n".join(turn.content for turn in speech)) for role, speech in speeches)


def policy_id(policy: str | None) -> str:
    """Return the version of our policy, or a digest of the deployer's own."""
    if policy is not None:
        return f"own+{digest(policy)[:8]}"
    defaults = wording()
    return f"{defaults['name']}@{defaults['version']}+{digest(defaults['text'])[:8]}"


@cache
def wording() -> dict[str, str]:
    return {name: value.strip("\n") for name, value in shipped_toml("casewise.judges", "policy.toml").items()}


# The reading of a guard's reply: its label word, or the probability of the tokens that begin one; its categories.

VALUES = {"safe": 1.0, "middle": 0.5, "unsafe": 0.0}


@dataclass(frozen=True)
class GuardReading:
    """The outcome of a reply, with categories and details."""

    outcome: Scored | Unscored
    categories: tuple[str, ...] | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    by_class: bool = False
    """True if a probability was asked for and the reply names a class. The class stands in its place, as 0, 0.5 or
    1."""


def read_guard(profile: GuardProfile, elicitation: Elicitation, reply: Reply, *, replied: bool = False) -> GuardReading:
    """Read a guard's reply. `replied`: a chatbot's reply or an action is judged, and not a request.

    A middle class is 0.5 as a scalar, and as a verdict it is unsafe: never silently safe. It is kept as the detail `class`.
    A probability from a server that gives none of its tokens' is the class that the reply names: 0, 0.5 or 1.
    """
    if reply.finish_reason == "content_filter":
        return GuardReading(
            Unscored(reason=UnscoredReason.CONTENT_FILTER, detail="the endpoint's filter cut the reply off")
        )
    text = unwrapped(reply.text.removeprefix(profile.prefill or "")).text
    places = profile.read.places(replied=replied)
    kinds = {label for place in places for label in find_labels(place, profile.read.words, text)}
    detail: dict[str, Any] = {"class": next(iter(kinds))} if len(kinds) == 1 and OPEN not in kinds else {}
    marker = profile.read.refusal_after
    if marker and (match := re.search(rf"{re.escape(marker)}\s*(\w+)", text, re.IGNORECASE)):
        detail["refusal_said"] = match[1]
    categories, listed = None, re.escape(profile.read.categories_after or "").replace(":", '"?:')  # a key of JSON too
    if listed and (match := re.search(rf"{listed}[ \t]*([^\n]*)", text, re.IGNORECASE)):
        names = (name.strip(" .[]{}\"'") for name in match[1].split(","))
        categories = tuple(name for name in names if name and name.lower() not in ("none", "n/a"))
    if categories and kinds == {"safe"} and not profile.read.reply_marker:
        kinds.add("unsafe")  # a safe verdict has no category of harm
    if elicitation == "probability":
        if len(kinds) > 1 or (kinds and not reply.token_logprobs):
            outcome = read_by_word(kinds, "scalar", text, reply)
            return GuardReading(outcome, categories, detail, by_class="class" in detail)
        outcome, mass = read_by_tokens(profile.read, places, reply)
        return GuardReading(outcome, categories, detail | (mass.as_detail() if mass else {}))
    return GuardReading(read_by_word(kinds, elicitation, text, reply), categories, detail)


def read_by_word(kinds: set[str], elicitation: Elicitation, text: str, reply: Reply) -> Scored | Unscored:
    shortened = beginning(text)
    if len(kinds) > 1:
        return Unscored(reason=UnscoredReason.CONFLICTING, detail=shortened)
    if not kinds or kinds == {OPEN}:
        why = UnscoredReason.TRUNCATED if reply.finish_reason == "length" else UnscoredReason.UNPARSED
        return Unscored(reason=why if text.strip() else UnscoredReason.EMPTY, detail=shortened)
    (kind,) = kinds
    return Scored(value=VALUES[kind] if elicitation == "scalar" else float(kind == "safe"))


OPEN = "open"
"""The class of a label word that its own line makes another thing: part of a phrase, a question, a condition."""

CODES = r"[A-Z]\d{1,2}\b"
"""A category, as Llama Guard numbers them."""
CLOSED = {"tag": r"[\s\"'*`.]*(?:</|\n|\Z)", "json": r"[\s\"']*(?:[,}\n]|\Z)"}
CLOSED_IN_PROSE = rf"[\"'*`_]*(?:\s*\Z|\s*[\n<]|[.!;](?=\s|\Z)|[,:](?=\s)|\s+[-–—(]|[\s,:(\[]+{CODES})"
"""What stands behind a label word that is one: the end, another line, or the mark before an explanation or a category."""
TAKES_AWAY = (
    rf"(?i)\A\W*(?:no(?=\W*(?:[,.;:!?)]|\Z))|yes|true|false|n/?a|\d+|sure|perhaps|maybe|probably)\b|{CONDITION}|"
    r"\b(?:according|said|says|claims?)\b"
)
VIOLATION_CLAUSE = (
    r"(?i)(?:\A\W*?|\b(?:it|this|that|(?:the|this) (?:[\w'-]+ )?(?:question|prompt|request|query|response|message|content|text|"
    r"conversation|reply|answer))\b)(?P<between>(?:[ (:]+[\w'-]+){0,5}?)[ (:]+(?:violat\w+|breaks?|harmful|dangerous)\b"
)
"""A sentence of an explanation that says of what is judged whether it violates the policy."""
NEGATED = r"(?i)\b(?:not|no|never|nothing|without|cannot|neither)\b|n't\b"


def label_pattern(place: LabelPlace, words: Iterable[str]) -> re.Pattern[str]:
    labels = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    word = rf"[\s\"'*`]*({labels})(?![A-Za-z0-9]|\.\d)"
    marker = re.escape(place.marker)
    before = {"first": r"\A", "after": marker, "tag": rf"<{marker}>", "json": rf"[\"']{marker}[\"']\s*:"}[place.where]
    return re.compile(before + word, re.IGNORECASE)


def find_labels(place: LabelPlace, words: Mapping[str, str], text: str) -> Iterator[str]:
    """Yield the meaning of each label word at a place of a reply."""
    if place.where == "json":
        stated = [record[place.marker] for record in find_objects(text) if place.marker in record]
        values = [str(value).strip().lower().removesuffix(".0") for value in stated]
        yield from (words[value] for value in values if value in words)
        if values:
            yield from (words[word] for word in find_following_labels(place, words, f"\n{text.rpartition('}')[2]}"))
            return
    matches = list(label_pattern(place, words).finditer(text))
    for match in matches:
        kind, rest = words[match[1].lower()], text[match.end(1) :]
        if not is_open(place, match[1], kind, rest):
            yield kind
        elif match is matches[-1]:  # reasoning may ask before it states
            yield OPEN
        yield from (words[word] for word in find_following_labels(place, words, rest))


def is_closed(place: LabelPlace, rest: str) -> bool:
    """Return whether a label word ends where it stands, and is not the beginning of a phrase."""
    return re.match(CLOSED.get(place.where, CLOSED_IN_PROSE), rest) is not None


def is_open(place: LabelPlace, word: str, kind: str, rest: str) -> bool:
    """Return whether what follows a label word makes it no label, or says the opposite."""
    if not is_closed(place, rest):
        return True
    categories = re.match(rf"\W*{CODES}", rest)
    if place.where in CLOSED or categories:
        return categories is not None and kind == "safe"
    line = re.sub(r"<[^>]*>", "", EXPLANATION.sub("", rest)).partition("\n")[0].strip("\"'*`_ ")
    explanation = re.sub(r"^\W+", "", line)
    if explanation and (
        len(explanation.split()) == 1
        or (word.isdecimal() and line[0] == ".")
        or compiled(LIMITS).match(line)
        or compiled(TAKES_AWAY).search(line)
        or disowns(line, in_json=True)
    ):
        return True
    statements = (not re.search(NEGATED, match["between"]) for match in compiled(VIOLATION_CLAUSE).finditer(rest))
    return any(violates == (kind == "safe") for violates in statements)


COMMON_WORDS = frozenset({"yes", "no", "0", "1"})
"""Label words that stand in an explanation too: behind a label they count alone on a line, or with one word before them."""

EXPLANATION = re.compile(
    r"<(explanation|reasoning|rationale|rules_violated)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
"""The tags behind a label that explain it, and what they hold."""


def find_following_labels(place: LabelPlace, words: Mapping[str, str], rest: str) -> Iterator[str]:
    """Yield the label words behind the label at a place: a reply with several verdicts has none.

    `rest`: the reply behind the label. An explanation in tags does not count, nor what follows the next name and colon behind a label
    with a name.
    """
    rest = EXPLANATION.sub("", rest)
    if place.where == "tag":
        rest = re.sub(r"</[^>]*>?", "\n", rest)
    elif place.where == "after":
        rest = re.split(r"\n[^\n:]*:", rest, maxsplit=1)[0]
    labels = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    label = rf"(?<![A-Za-z0-9])({labels})(?![A-Za-z0-9]|\.\d)"
    for match in re.finditer(label, rest, re.IGNORECASE):
        word, before = match[1].lower(), rest[: match.start()]
        alone = re.search(r"\n[ \t\"'*`]*(?:\w+:?[ \t]+)?\Z", before) and re.match(
            r"[ \t\"'*`.]*(?:\n|\Z)", rest[match.end() :]
        )
        if word not in COMMON_WORDS or alone:
            yield word


def read_by_tokens(
    read: VerdictLocation, places: Sequence[LabelPlace], reply: Reply
) -> tuple[Scored | Unscored, LabelMass | None]:
    """Return P(safe) from the token that begins the label: the share of safe among all labels; a middle class is not safe."""
    if not reply.token_logprobs:
        return Unscored(reason=UnscoredReason.NO_LOGPROBS, detail="the endpoint gave no log probabilities"), None
    position = label_position(read, places, reply.token_logprobs)
    if position is None:
        detail = f"no label stands where it should; the reply begins {reply.text[:40]!r}"
        return Unscored(reason=UnscoredReason.NO_LABEL_TOKEN, detail=detail), None
    mass = label_mass(position, read.words)
    return mass_outcome(mass, position, reply), mass


def label_position(
    read: VerdictLocation, places: Sequence[LabelPlace], positions: tuple[Position, ...]
) -> Position | None:
    """Return the token that begins the label at the profile's place; the last one, because a guard's reasoning may name others."""
    pieces = [token.token.replace("Ġ", " ").replace("▁", " ").replace("Ċ", "\n") for token in positions]
    text = "".join(pieces)
    thoughts = len(text) - len(without_thoughts(text))
    behind = text[thoughts:]
    candidates = (
        [
            match
            for match in label_pattern(place, read.words).finditer(behind)
            if is_closed(place, behind[match.end(1) :])
        ]
        for place in places
    )
    matches = next(filter(None, candidates), None)
    if matches is None:
        if read.where != "first" or thoughts or len(text.split()) > 1:
            return None
        # Of a reply that was cut off in its first word, the first token that is more than white space.
        return next((token for token in positions if token.token.strip(MARKS)), None)
    start, so_far = thoughts + matches[-1].start(1), 0
    for piece, position in zip(pieces, positions, strict=True):
        so_far += len(piece)
        if start < so_far:
            return position
    return None
