"""The protocol of a judge, and how judges are made from what a user names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Protocol, cast

from casewise.ask.layouts import Kind, ShownItem
from casewise.errors import JudgeError
from casewise.models.endpoints import FREE, Prices
from casewise.models.protocol import Model, Usage
from casewise.records import (
    FULL,
    Arm,
    Context,
    Elicitation,
    Item,
    Judgement,
    Query,
    Scored,
    Unscored,
    UnscoredReason,
    scale_of,
)
from casewise.runs.limits import Spend
from casewise.runs.run import Asker
from casewise.transforms.catalogue import show
from casewise.transforms.texts import MadeTexts


@dataclass(frozen=True)
class Ask:
    """What a judge is asked: an item, how it is shown, and how the answer is to be given."""

    item: Item
    query: Query
    context: Context | None
    arm: Arm = FULL
    elicitation: Elicitation = "binary"
    repeat: int = 0
    attempt: int = 0
    twin: Context | None = None
    """The other context of the item's pair, where the arm asks for it."""
    reply: str | None = None
    """A chatbot's reply, for a judge that reads replies."""
    made: MadeTexts | None = field(default=None, repr=False, compare=False)
    """What models made of texts, where the arm asks for that."""

    @cached_property
    def shown(self) -> ShownItem:
        """What the judge sees of the item."""
        return show(self.arm, self.query, self.context, twin=self.twin, made=self.made)

    @property
    def key(self) -> tuple[str | int, ...]:
        """Tells this ask from every other of the same judge, whatever the attempt."""
        return (self.item.id, self.elicitation, self.arm.name, self.repeat)


@dataclass(frozen=True)
class Answer:
    """What a judge replied, and what the reply came to."""

    outcome: Scored | Unscored
    raw_reply: str | None = None
    latency_s: float | None = None
    model_version: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    shared_with: str | None = None
    read_as: str | None = None
    categories: tuple[str, ...] | None = None
    detail: dict[str, Any] | None = None


class Judge(Asker[Ask], Protocol):
    """Turns an item, shown in an arm, into an outcome.

    A judge never raises because of one item: what gives no verdict is an `Unscored` answer. It raises a
    `casewise.errors.ModelError` when no further item can succeed either. `LocalJudge` has a default for all but its
    `id`, `name`, `elicitations` and `answer`.
    """

    @property
    def id(self) -> str:
        """Tells this judge from every other, but for the words that it asks in: those are `wordings`."""

    @property
    def elicitations(self) -> tuple[Elicitation, ...]:
        """How it can be asked; the first is the default."""

    @property
    def arms(self) -> tuple[Arm, ...]:
        """How items are shown to it unless the user says otherwise."""

    @property
    def sends_to(self) -> str | None:
        """Whom texts are sent to; None where they do not leave this machine."""

    @property
    def model(self) -> Model | None:
        """The chat model it asks, where it asks one."""

    @property
    def reads_replies(self) -> bool:
        """Whether it can be shown a chatbot's reply to judge."""

    @property
    def weights_bytes(self) -> int | None:
        """What the weights of its model take; None where it has none here."""

    @property
    def sees_layouts(self) -> bool:
        """Whether it sees how a context is laid out; otherwise another layout is not shown to it."""

    def settings(self) -> dict[str, Any]:
        """What else its answers depend on, as JSON values; part of a run's identity."""

    def wordings(self, elicitations: Sequence[Elicitation], kinds: Iterable[Kind] = ("request",)) -> dict[str, str]:
        """Version and digest of the words that each elicitation is asked in, of each kind of what is judged; empty where it
        asks nobody in words."""

    def notes(self) -> tuple[str, ...]:
        """What a reader of its report must know about it."""

    def shared_key(self, ask: Ask) -> Hashable:
        """Equal for asks that one call answers, as is its `str`, on every machine; None for an ask that shares its call with no other."""

    async def answer(self, ask: Ask) -> Answer:
        """The judge's answer."""

    async def close(self) -> None:
        """Let go of connections and memory."""


class Costless:
    """What judges and graders without a network have in common: they cost nothing, send nothing, have nothing to close."""

    sends_to: str | None = None
    concurrency: int = 1
    prices: Prices | None = FREE
    counts_tokens: bool = True

    def settings(self) -> dict[str, Any]:
        return {}

    def notes(self) -> tuple[str, ...]:
        return ()

    def usually(self, _asked: Any) -> Usage:
        return Usage(0, 0)

    def at_most(self, _asked: Any) -> Spend:
        return Spend()

    async def close(self) -> None:
        return


class LocalJudge(Costless):
    """A judge without a network that sees all that it is shown, and shares no call."""

    arms: tuple[Arm, ...] = (FULL,)
    model: Model | None = None
    reads_replies: bool = False
    sees_layouts: bool = True
    weights_bytes: int | None = None

    def wordings(self, _elicitations: Sequence[Elicitation], _kinds: Iterable[Kind] = ("request",)) -> dict[str, str]:
        return {}

    def shared_key(self, _ask: Ask) -> Hashable:
        return None


class Unsaid(LocalJudge):
    """What is taken for granted where a user's judge does not say; of its cost that is nothing."""

    elicitations: tuple[Elicitation, ...] = ("binary",)
    prices: Prices | None = None
    counts_tokens: bool = False


def completed(judge: object) -> Judge:
    """A user's judge with every member that a `Judge` has; what it lacks is as in `LocalJudge`, its cost unknown.

    Raises
    ------
    JudgeError
        It cannot answer, or has no name.
    """
    if lacking := [name for name in ("answer", "name") if not hasattr(judge, name)]:
        raise JudgeError(f"{judge!r} is no judge: it has no {' and no '.join(lacking)}")
    members = [name for name in (*vars(Asker), *vars(Judge)) if not name.startswith("_")]
    members_there = {name: getattr(judge, name) for name in members if hasattr(judge, name)}
    if len(members_there) == len(members):
        return cast("Judge", judge)
    if not isinstance(members_there.get("model"), Model):
        members_there.pop("model", None)
    unsaid = Unsaid()
    taken = {name: getattr(unsaid, name) for name in members if name not in members_there and hasattr(unsaid, name)}
    return cast("Judge", SimpleNamespace(**{"id": members_there["name"], **taken, **members_there}))


async def judgement_of(judge: Judge, ask: Ask) -> Judgement:
    """What a judge answers, as a record; it is not asked where the item cannot be shown in this arm."""
    shown, scale = ask.shown, scale_of(ask.elicitation)
    if shown.placement.layout is not None and not judge.sees_layouts:
        answer = Answer(Unscored(reason=UnscoredReason.NOT_SHOWN, detail=f"{judge.name} sees no layout"))
    elif shown.problem is not None:
        answer = Answer(Unscored(reason=UnscoredReason.NOT_SHOWN, detail=shown.problem))
    elif shown.held_back == "refused" and scale.holds(scale.low):  # by a defence, so it is surely unsafe
        answer = Answer(Scored(value=scale.low), read_as="held_back")
    elif shown.held_back is not None:
        answer = Answer(Unscored(reason=UnscoredReason.ASKED_ABOUT, detail="a defence held it back"))
    else:
        answer = await judge.answer(ask)
    return Judgement(
        item_id=ask.item.id,
        judge_id=judge.id,
        elicitation=ask.elicitation,
        arm=ask.arm.name,
        repeat=ask.repeat,
        attempt=ask.attempt,
        at=datetime.now(UTC),
        **vars(answer),
    )
