"""The base class of judges, the asks and answers of a run, and judges of the user's own."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from casewise.ask.layouts import Kind, ShownItem
from casewise.errors import JudgeError, Unavailable
from casewise.models.asker import Asker
from casewise.models.endpoints import Endpoint
from casewise.models.protocol import Rejected
from casewise.records import (
    FULL,
    Arm,
    Context,
    Elicitation,
    Item,
    Judgement,
    Query,
    Scored,
    Transform,
    Unscored,
    UnscoredReason,
    scale_of,
)

if TYPE_CHECKING:
    from casewise.transforms.texts import MadeTexts


@dataclass(frozen=True)
class Ask:
    """A question to a judge: an item, an arm and an elicitation."""

    item: Item
    query: Query
    context: Context | None
    arm: Arm = FULL
    elicitation: Elicitation = "binary"
    repeat: int = 0
    attempt: int = 0
    twin: Context | None = None
    """The other context of the item's pair, if the arm needs it."""
    reply: str | None = None
    """A chatbot's reply, for a judge that reads replies."""
    made: MadeTexts | None = field(default=None, repr=False, compare=False)
    """Texts that models made, if the arm needs them."""
    attack: Transform | None = field(default=None, compare=False)
    """The attack or perturbation of the arm, if it has one."""

    @cached_property
    def shown(self) -> ShownItem:
        """The item as the judge sees it."""
        from casewise.transforms.catalogue import show  # and every transform

        return show(self.arm, self.query, self.context, twin=self.twin, made=self.made)

    @property
    def key(self) -> tuple[str | int, ...]:
        """The key of this ask among those of the same judge, equal for all attempts."""
        return (self.item.id, self.elicitation, self.arm.name, self.repeat)


@dataclass(frozen=True)
class Answer:
    """A judge's raw reply, its outcome, and the cost of the call."""

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


def unscored_answer(reason: UnscoredReason | str, detail: str | None = None) -> Answer:
    """Return an answer without a verdict."""
    return Answer(Unscored(reason=UnscoredReason(reason), detail=detail))


def failed_answer(error: Rejected | Unavailable) -> Answer:
    """Return the answer of a call that failed."""
    return unscored_answer(error.reason if isinstance(error, Rejected) else UnscoredReason.UNAVAILABLE, str(error))


class Judge(Asker[Ask]):
    """The base class of judges, which turn an item, shown in an arm, into an outcome.

    A subclass has an `id`, a `name`, `elicitations` and `answer`. The defaults are those of a judge that calls no service,
    costs
    nothing, and shares no call.

    A judge never raises because of one item: without a verdict the answer is `Unscored`. It raises a
    `casewise.errors.ModelError` if no further item can succeed either.
    """

    id: str
    """Identifies this judge, except for the words of its prompts, which are its `wordings`."""
    elicitations: tuple[Elicitation, ...] = ("binary",)
    """The elicitations that it supports; the first is the default."""
    arms: tuple[Arm, ...] = (FULL,)
    """The arms in which items are shown to it by default."""
    reads_replies: bool = False
    """True if it can judge a chatbot's reply."""
    weights_bytes: int | None = None
    """Size of the weights of its model in this process."""

    def wordings(self, _elicitations: Sequence[Elicitation], _kinds: Iterable[Kind] = ("request",)) -> dict[str, str]:
        """Return version and digest of the words of each elicitation, for each kind of item; empty without prompts."""
        return {}

    def shared_key(self, _ask: Ask) -> Hashable:
        """Return a key that is equal for asks that one call answers, as is its `str`, on every machine; None for no sharing."""
        return None

    def received_input(self, ask: Ask) -> object:
        """Return the judge's input for an ask, such as messages or arguments; equal for asks that it cannot tell apart."""
        return json.dumps([ask.shown.as_json(), ask.reply], default=vars)

    async def answer(self, _ask: Ask, /) -> Answer:
        """Return the judge's answer."""
        raise NotImplementedError

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint that it calls, if it calls one."""
        return getattr(self.client or self.model, "endpoint", None)


class UserJudge(Judge):
    """An object of the user's with a name and an `answer`. Its cost is unknown unless it states its `prices`.

    It may also state an `id`, `elicitations`, `arms`, `concurrency`, `counts_tokens` and `reads_replies`.
    """

    METHODS = (
        "settings",
        "notes",
        "wordings",
        "shared_key",
        "received_input",
        "estimate_usage",
        "max_spend",
        "prepare",
        "close",
    )
    """Methods of a judge that a subclass of `Judge` has, and such an object does not."""

    def __init__(self, own: Any) -> None:
        if lacking := [name for name in ("answer", "name") if not hasattr(own, name)]:
            raise JudgeError(f"{own!r} is no judge: it has no {' and no '.join(lacking)}")
        if methods := [name for name in self.METHODS if callable(getattr(own, name, None))]:
            raise JudgeError(f"{own!r} has {', '.join(methods)}: make its class a subclass of casewise.Judge")
        self.own, self.name, self.id = own, own.name, getattr(own, "id", own.name)
        self.prices, self.counts_tokens = getattr(own, "prices", None), getattr(own, "counts_tokens", False)
        for name in ("elicitations", "arms", "concurrency", "reads_replies"):
            setattr(self, name, getattr(own, name, getattr(self, name)))

    async def answer(self, ask: Ask, /) -> Answer:
        answer: Answer = await self.own.answer(ask)
        return answer


class Receiver(Protocol):
    """A judge or a chatbot, which receives an input for each ask."""

    def received_input(self, ask: Ask) -> object:
        """Return its input for an ask; equal for asks that it cannot tell apart."""


def is_unseen(receiver: Receiver, ask: Ask) -> bool:
    """Return whether the receiver's input is the same under the attack alone as without it.

    A defence that takes the attack out again has stopped it: that is not unseen.
    """
    if ask.attack is None:
        return False
    attacked, plain = (replace(ask, arm=arm, attack=None) for arm in (Arm(transforms=(ask.attack,)), FULL))
    return attacked.shown.problem is None and receiver.received_input(attacked) == receiver.received_input(plain)


def unseen_sentence(receiver: Asker[Ask]) -> str:
    """Return the reason why an attack counts as not shown."""
    return f"{receiver.name} receives the same as without the attack"


def call_key(judge: Judge, ask: Ask) -> Hashable:
    """Return the judge's `shared_key`; None for an attack that it cannot see, which takes no call."""
    return None if is_unseen(judge, ask) else judge.shared_key(ask)


async def make_judgement(judge: Judge, ask: Ask) -> Judgement:
    """Return a judge's answer as a record; it is not asked if the item cannot be shown in this arm, or it cannot see the attack."""
    shown, scale = ask.shown, scale_of(ask.elicitation)
    if shown.problem is not None:
        answer = unscored_answer(UnscoredReason.NOT_SHOWN, shown.problem)
    elif is_unseen(judge, ask):
        answer = unscored_answer(UnscoredReason.NOT_SHOWN, unseen_sentence(judge))
    elif shown.held_back == "refused" and scale.contains(scale.low):  # by a defence, so it is surely unsafe
        answer = Answer(Scored(value=scale.low), read_as="held_back")
    elif shown.held_back is not None:
        answer = unscored_answer(UnscoredReason.ASKED_ABOUT, "a defence held it back")
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
