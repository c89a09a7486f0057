"""An adaptive attacker: a model that is told a judge's verdict and rewrites its claim, turn by turn.

Source: Chao et al. (2023), Jailbreaking Black Box Large Language Models in Twenty Queries (PAIR), arXiv:2310.08419. Here the attacker
rewrites a claim about the circumstances and leaves the request as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from casewise.ask.layouts import Scene, ShownItem, filled
from casewise.errors import ConfigurationError, did_you_mean, one_of
from casewise.models.protocol import Message
from casewise.records import Transform
from casewise.runs.texts import Maker, TextAsk
from casewise.transforms.channels import CHANNELS, DIRECTIONS, Channel, Direction, put_into
from casewise.transforms.texts import MakingOptions, as_text, made_texts_of, makers_named, tasks

TASK = "adapt"
"""The task of an attacker, in `by_model.toml`."""

STANDS: dict[Channel, str] = {
    "user": "the person asking adds it to the request",
    "parameter": "it ends the description of the person asking",
    "document": "it is the text of a document attached to the request",
    "system": "it stands in the system message",
    "earlier": "the person asking said it before the request",
    "later": "the person asking says it after the request",
    "tool": "it is the result of a tool that looked the request up",
}
"""The place of a claim, in the words that the attacker is told."""


@dataclass(frozen=True)
class Adaptive:
    """An adaptive attack: who writes the claims, how often, and where they stand."""

    attacker: str | None = None
    """A model for an adaptive attack: it gets the judge's verdict and rewrites its claim."""
    turns: int = 5
    """Maximum number of attempts on an item."""
    channel: Channel = "user"
    """The place of the attacker's claim."""

    def __post_init__(self) -> None:
        if self.turns < 1:
            raise ConfigurationError(f"--turns is {self.turns}; it is 1 or more")
        if self.channel not in CHANNELS:
            raise ConfigurationError(
                f"no channel is called {self.channel!r}{did_you_mean(self.channel, CHANNELS)}; there are {', '.join(CHANNELS)}"
            )

    def turn(self, number: int, direction: Direction, defence: str) -> AdaptiveTurn:
        """Return one turn of the attack."""
        return AdaptiveTurn(str(self.attacker), self.channel, direction, number, defence)


WRITTEN = re.compile(rf"(.+?)/({'|'.join(CHANNELS)})/({'|'.join(DIRECTIONS)})/([1-9][0-9]*)@(.+)")


@dataclass(frozen=True)
class AdaptiveTurn:
    """One turn of an attacker on all items: the rest of the transform's name."""

    model: str
    channel: Channel
    direction: Direction
    number: int
    defence: str
    """The defence that the attacker meets; `none` for none. What it writes depends on the verdicts under it."""

    @classmethod
    def named(cls, rest: str) -> Self:
        """Return what `MODEL/CHANNEL/DIRECTION/TURN@DEFENCE` names. Raises ConfigurationError: it is written otherwise."""
        parts = WRITTEN.fullmatch(rest)
        if parts is None:
            raise ConfigurationError(
                f"'adaptive:{rest}' is not adaptive:MODEL/CHANNEL/DIRECTION/TURN@DEFENCE; casewise attack --attacker MODEL names it"
            )
        channel, direction = one_of(parts[2], CHANNELS, "channel"), one_of(parts[3], DIRECTIONS, "direction")
        return cls(parts[1], channel, direction, int(parts[4]), parts[5])

    @property
    def transform(self) -> Transform:
        rest = f"{self.model}/{self.channel}/{self.direction}/{self.number}@{self.defence}"
        return Transform(kind="adaptive", rest=rest)

    @property
    def maker(self) -> str:
        return f"{TASK}:{self.model}"

    def place(self, query_id: str, context_id: str | None) -> str:
        """Return what the claim about an item is kept under."""
        return " ".join([self.transform.name, query_id, context_id or ""])


def adaptive(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Return `shown` with the claim that the attacker wrote for this item and turn. Raises ValueError: it wrote none."""
    turn = AdaptiveTurn.named(rest)
    place = turn.place(scene.query.id, None if scene.context is None else scene.context.id)
    return put_into(turn.channel, made_texts_of(scene).written(turn.maker, place), shown)


@dataclass(frozen=True)
class Tried:
    """A claim of an earlier turn, and what the judge decided."""

    claim: str
    verdict: str


def attacker_named(attack: Adaptive, options: MakingOptions) -> Maker:
    """Return the model that writes the claims. Raises ConfigurationError: there is no such model, or its key is not set."""
    (maker,) = makers_named([f"{TASK}:{attack.attacker}"], options).values()
    return maker


def claim_wanted(turn: AdaptiveTurn, shown: ShownItem, place: str, tried: Sequence[Tried]) -> TextAsk:
    """Return what the attacker is asked at a turn: the item, and its earlier claims with the judge's verdicts."""
    task = tasks()[TASK]
    words = {"text": as_text(shown), "towards": turn.direction, "stands": STANDS[turn.channel]}
    messages = [Message("user", filled(task["prompt"].strip(), words))]
    for attempt in tried:
        messages += [
            Message("assistant", json.dumps({"claim": attempt.claim}, ensure_ascii=False)),
            Message("user", filled(task["again"].strip(), {"verdict": attempt.verdict, "towards": turn.direction})),
        ]
    return TextAsk(place, tuple(messages))
