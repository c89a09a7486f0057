"""Claims: somebody says, in one of the channels, what should change the verdict. Ours, and a user's own in a TOML file.

Of ours a transform's rest is `CLAIM/CHANNEL/DIRECTION`; of a user's own it is `FILE#CLAIM/CHANNEL/DIRECTION@DIGEST`, so
that other words are another arm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError, DataError, did_you_mean
from casewise.models.protocol import Message
from casewise.records.base import digest
from casewise.records.toml import read_toml, shipped_toml
from casewise.showing.channels import CHANNELS, DIRECTIONS, Channel, Direction, said_in
from casewise.showing.shown import Scene, ShownItem

__all__ = ["Claim", "Saying", "claim", "own_claim", "own_said", "own_sayings", "said", "sayings"]


@dataclass(frozen=True)
class Claim:
    """What is claimed, in which channels it may stand, and its words in each direction."""

    title: str
    channels: tuple[Channel, ...]
    words: Mapping[Direction, str]
    opening: str | None = None
    """What the user is made to have said in an earlier turn; the words are then the assistant's answer to it."""


@dataclass(frozen=True)
class Saying:
    """A claim, in one channel and direction."""

    claim: Claim
    channel: Channel
    direction: Direction

    @property
    def text(self) -> str:
        return self.claim.words[self.direction]

    def put_into(self, shown: ShownItem) -> ShownItem:
        """What is shown once it has been said."""
        if self.claim.opening is None:
            return said_in(self.channel, self.text, shown)
        turns = (Message("user", self.claim.opening), Message("assistant", self.text))
        return replace(shown, placement=replace(shown.placement, earlier=(*shown.placement.earlier, *turns)))


@cache
def claims() -> dict[str, Claim]:
    """Those that come with casewise."""
    return {name: claim_of(table) for name, table in shipped_toml("casewise.showing", "claims.toml").items()}


def claim_of(table: Any) -> Claim:
    if not isinstance(table, Mapping):
        raise ValueError("it is no table with 'safe' and 'unsafe'")  # noqa: TRY004 - it becomes a DataError
    if unknown := sorted(set(table) - {"title", "channels", "opening", *DIRECTIONS}):
        raise ValueError(f"it has an unknown key {unknown[0]!r}; there are title, channels, opening, safe, unsafe")
    words = {direction: table[direction] for direction in DIRECTIONS if direction in table}
    channels = tuple(table.get("channels", ["user"]))
    if not words or not all(isinstance(text, str) and text.strip() for text in words.values()):
        raise ValueError("it has no words: write them as 'safe' or 'unsafe', the verdict that they argue for, or both")
    if not channels or not set(channels) <= set(CHANNELS):
        raise ValueError(f"'channels' is {list(channels)!r}; it holds some of {', '.join(CHANNELS)}")
    return Claim(str(table.get("title", "")), channels, words, table.get("opening"))


def sayings(found: Mapping[str, Claim] | None = None) -> Iterator[str]:
    """Every claim in every channel and direction that it has, by name."""
    for name, one in (claims() if found is None else found).items():
        yield from (f"{name}/{channel}/{direction}" for channel in one.channels for direction in one.words)


def said(rest: str) -> Saying:
    """What `CLAIM/CHANNEL/DIRECTION` names.

    Raises ConfigurationError: there is no such claim, or not in that channel and direction.
    """
    return said_among(rest, claims(), "claim:")


def said_among(rest: str, found: Mapping[str, Claim], before: str) -> Saying:
    known = tuple(sayings(found))
    if rest not in known:
        raise ConfigurationError(
            f"no attack is called {before + rest!r}{did_you_mean(rest, known)}; there are "
            f"{', '.join(before + name for name in found)}, each with its channel and direction: casewise attack --list"
        )
    name, channel, direction = rest.rsplit("/", 2)
    return Saying(found[name], channel, direction)  # type: ignore[arg-type]  # they are known


def claim(shown: ShownItem, _scene: Scene, rest: str) -> ShownItem:
    """What is shown once the claim has been made."""
    return said(rest).put_into(shown)


def read_claims(path: Path) -> dict[str, Claim]:
    """A user's own claims: a table for each, with `safe` and `unsafe`, and perhaps `channels`, `title` and `opening`."""
    found = {}
    for name, table in read_toml(path, "attacks").items():
        try:
            found[name] = claim_of(table)
        except ValueError as error:
            raise DataError(path, None, f"[{name}] is no attack: {error}") from error
    return found


def own_sayings(path: Path) -> Iterator[str]:
    """Every claim in a user's file in every channel and direction, as the rest of a transform's name."""
    found = read_claims(path)
    for name in sayings(found):
        yield f"{path}#{name}@{fingerprint(said_among(name, found, ''))}"


def fingerprint(one: Saying) -> str:
    return digest([one.text, one.claim.opening])[:8]


@cache
def own_said(rest: str) -> Saying:
    """What `FILE#CLAIM/CHANNEL/DIRECTION@DIGEST` names.

    Raises ConfigurationError: it is written otherwise, the file has no such attack, or other words than those of the
    digest. DataError: the file cannot be read.
    """
    where, _, mark = rest.rpartition("@")
    path, _, name = where.rpartition("#")
    if not path:
        raise ConfigurationError(
            f"'toml:{rest}' is not toml:FILE#NAME/CHANNEL/DIRECTION@DIGEST; --attacks toml:FILE spells it out"
        )
    found = said_among(name, read_claims(Path(path)), f"toml:{path}#")
    if fingerprint(found) != mark:
        raise ConfigurationError(
            f"{path}: {name} has other words now than when the arm was named; name it anew: toml:{path}#{name}"
        )
    return found


def own_claim(shown: ShownItem, _scene: Scene, rest: str) -> ShownItem:
    """What is shown once the user's own claim has been made."""
    return own_said(rest).put_into(shown)
