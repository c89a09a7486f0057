"""A guard's profile: one TOML file that says what it is sent, where its verdict stands, and how each of that is known."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from casewise.errors import ConfigurationError, DataError, did_you_mean
from casewise.records.base import Record, digest
from casewise.storage.files.atomic import read_text
from casewise.storage.files.strict_json import what_is_wrong

__all__ = [
    "GuardMode",
    "GuardProfile",
    "HowRead",
    "ProfileFact",
    "Rendering",
    "all_profiles",
    "profile_named",
    "profile_notes",
]

Rendering = Literal["policy", "conversation"]
"""How a guard is told of a context: as the policy that it applies, or as the chatbot's own system prompt."""


class GuardMessage(Record):
    """One message; a content of `{turns}` alone is the conversation, message by message."""

    role: Literal["system", "user", "assistant"]
    content: str


class HowRead(Record):
    """Where the verdict stands in a reply."""

    where: Literal["first", "after", "tag", "json"]
    """`first`: the reply's first word. `after`: the word behind `marker`. `tag`: what `<marker>` holds. `json`: what
    the key `marker` holds."""
    marker: str = ""
    safe: tuple[str, ...]
    unsafe: tuple[str, ...]
    middle: tuple[str, ...] = ()
    """Words for each; a middle class is its own and never safe."""
    categories_after: str | None = None
    """What stands before the list of categories, where there is one."""
    refusal_after: str | None = None
    """What stands before the word that says whether a reply refuses, where the guard says that."""

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
        if self.read.where != "first" and not self.read.marker:
            raise ValueError(f"the verdict stands {self.read.where!r} a 'marker' that is not named")
        return self

    @property
    def renderings(self) -> tuple[Rendering, ...]:
        """Those that it has; the first is the default. A guard with a policy input can be given a bare policy and a conversation."""
        return ("policy", "conversation") if self.policy else ("conversation",) if self.conversation else ()

    @property
    def id(self) -> str:
        """Name and a digest of all that decides what is sent and read."""
        deciding = self.model_dump(mode="json", exclude={"facts", "title", "licence"})
        return f"{self.name}+{digest(deciding)[:8]}"

    @property
    def unverified(self) -> tuple[str, ...]:
        """What it takes for true and nobody has read at its source."""
        return tuple(name for name, fact in self.facts.items() if fact.state == "unverified")


@cache
def all_profiles() -> Mapping[str, GuardProfile]:
    """The profiles that casewise has, by name."""
    folder = files("casewise.judging.guards").joinpath("profiles")
    found = [
        profile_in(entry.name, entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    ]
    return {one.name: one for one in sorted(found, key=lambda one: one.name)}


def profile_named(name: str) -> GuardProfile:
    """The profile called `name`, or the one in a TOML file of one's own.

    Raises ConfigurationError: there is none; DataError: the file is none; the message says what is wrong.
    """
    if name.endswith(".toml"):
        return profile_in(name, read_text(Path(name)))
    known = all_profiles()
    if name not in known:
        raise ConfigurationError(
            f"no guard is called {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}, and TOML files (casewise guards)"
        )
    return known[name]


def profile_notes(name: str, profile: GuardProfile, told: str = "") -> tuple[str, ...]:
    """What a reader must know of a judge that a profile describes: its licence, and what of it nobody has checked."""
    said = [f"{name} is {profile.title} (licence: {profile.licence}){told}."]
    if profile.kind != "classifier" and not profile.policy:
        said.append(f"{profile.title} has no policy input: it cannot be told what is appropriate in a context.")
    if profile.read.middle:
        middle = ", ".join(profile.read.middle)
        said.append(f"{profile.title} has a middle class ({middle}): 0.5 as a scalar, unsafe as a verdict.")
    if profile.unverified:
        said.append(f"Not checked at the source for {profile.title}: {', '.join(profile.unverified)}.")
    return tuple(said)


def profile_in(path: str, text: str) -> GuardProfile:
    try:
        return GuardProfile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise DataError(path, None, f"is no TOML: {error}") from error
    except ValidationError as error:
        raise DataError(path, None, what_is_wrong(error)) from error
