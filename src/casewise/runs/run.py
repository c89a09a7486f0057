"""One durable run: a plan of asks, a log of calls, resumed after any end.

        plan ──asks──▶ asks that the log does not settle ──calls──▶ executor ──answers──▶ log
                          ▲ resumed, copied                    (live, or batches)            │
                          └────────────────────── the same command again ◀───────────────────┘

A kind of run has a record (`casewise.records.call.Call`), a `LogKind`, an ask with its key, and a function that answers an
ask with a record. `perform` does the rest.
"""

from __future__ import annotations

import platform
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import polars as pl

from casewise.errors import ConfigurationError, LeftUnanswered, Unavailable
from casewise.models.batch import client_of
from casewise.models.client import EndpointClient
from casewise.models.endpoints import FREE, Prices
from casewise.models.protocol import Message, Model, Rejected, Reply, ReplyOptions, Usage
from casewise.options import Hidden
from casewise.records.call import Call
from casewise.runs.batch import BatchOptions, in_batches, leave_to_batches
from casewise.runs.engine import Asks, RunLog, RunSession, live
from casewise.runs.limits import (
    InFlight,
    Limits,
    RunProgress,
    Spend,
    Watch,
    stopping_on_signals,
)
from casewise.storage.run_folder import AnyManifest, LogKind, RunFolder, Session

A_contra = TypeVar("A_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)
P = TypeVar("P", bound=RunProgress)


class Asker:
    """A judge, a grader, or a model with a task. The defaults are those of one that costs nothing and sends nothing."""

    name: str
    """Its name in reports and messages."""
    sends_to: str | None = None
    """The receiver of texts; None if they do not leave this machine."""
    concurrency: int = 1
    """Minimum number of calls under way."""
    prices: Prices | None = FREE
    """Prices of its tokens; None if they are unknown, and then no limit on cost can be kept."""
    counts_tokens: bool = True
    """True if its answers state their tokens; otherwise no limit on tokens can be kept."""
    model: Model | None = None
    """The chat model that it asks, if it asks one."""
    client: EndpointClient | None = None
    """The client of the endpoint that it calls, if it has one of its own."""

    def settings(self) -> dict[str, Any]:
        """Return the settings that its answers depend on, as JSON values; part of a run's identity."""
        return {}

    def notes(self) -> tuple[str, ...]:
        """Return the notes that a reader of its report needs."""
        return ()

    def usually(self, _ask: Any, /) -> Usage:
        """Return an estimate of a call's tokens."""
        return Usage(0, 0)

    def at_most(self, _ask: Any, /) -> Spend:
        """Return an upper bound of a call's cost and tokens."""
        return Spend()

    async def prepare(self, asks: Iterable[Any], /) -> None:
        """Check before the first call of a new run that the asks of its plan can be answered."""

    async def close(self) -> None:
        """Release connections and memory."""


# Estimates before the first call.


CHARACTERS_PER_TOKEN = 4.0
"""Of English prose, roughly, with the tokenizers in use."""

TEMPLATE_TOKENS = 64
"""Upper bound of the tokens that a chat template adds to a prompt."""


@dataclass(frozen=True, kw_only=True)
class CallEstimate:
    """Calls, tokens and cost of a plan.

    Input tokens are estimated from the prompts' length, output tokens from typical replies; `cost_at_most_usd` is the
    bound that a cost limit uses. Costs are None if the price is unknown.
    """

    n_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    cost_at_most_usd: float | None


def estimate_calls(asker: Asker, plan: Asks) -> CallEstimate:
    """Return the calls, tokens and cost of `plan`, as if none were made yet. No call is made."""
    n_calls, sent, replied, most, prices = 0, 0, 0, Spend(), asker.prices
    for bundle in plan.bundles:
        for first, *_ in plan.groups(bundle):
            usual = asker.usually(first)
            n_calls += 1
            sent, replied = sent + (usual.input_tokens or 0), replied + (usual.output_tokens or 0)
            most += asker.at_most(first)
    return CallEstimate(
        n_calls=n_calls,
        input_tokens=sent,
        output_tokens=replied,
        cost_usd=prices.of(Usage(sent, replied)) if prices else None,
        cost_at_most_usd=most.cost_usd if prices else None,
    )


def usually(messages: Iterable[Message], *, reply_tokens: int) -> Usage:
    """Return an estimate of a call's tokens from the length of its prompt."""
    return Usage(round(sum(len(message.content) for message in messages) / CHARACTERS_PER_TOKEN), reply_tokens)


def at_most(messages: Iterable[Message], *, reply_tokens: int, prices: Prices | None) -> Spend:
    """Return an upper bound of a call: a token for every two bytes of the prompt is more than any tokenizer needs for
    prose, and a reply is no longer than its limit. No known provider bills failed tries."""
    sent = sum(len(message.content.encode()) for message in messages) // 2 + TEMPLATE_TOKENS
    cost = prices.of(Usage(sent, reply_tokens)) if prices else None
    return Spend(cost or 0.0, sent + reply_tokens)


# Chat models as askers.


NoReplyReason = Literal["bad_request", "content_filter", "no_logprobs", "unavailable"]


class ChatAsker(Asker, ABC, Generic[A_contra, R_co]):
    """A chat model with a task.

    `patience`: the run stops after so many calls in a row that failed, each after all its retries.
    """

    model: Model
    usual_tokens: int
    """Tokens of a typical reply."""

    def __init__(self, model: Model, prices: Prices | None, *, patience: int = 30) -> None:
        self.model, self.prices, self.name = model, prices, model.name
        self.sends_to, self.concurrency = model.sends_to, model.concurrency
        self.patience, self._n_failed = patience, 0

    @abstractmethod
    def messages(self, ask: A_contra, /) -> tuple[Message, ...]:
        """Return the messages to the model."""

    @abstractmethod
    def reply_options(self, ask: A_contra, /) -> ReplyOptions:
        """Return the options of the reply."""

    @abstractmethod
    def read(self, ask: A_contra, reply: Reply, took: dict[str, Any], /) -> R_co:
        """Return the record of a reply; `took` has the fields of a `Call` for cost, tokens and latency."""

    @abstractmethod
    def unanswered(self, ask: A_contra, reason: NoReplyReason, detail: str, /) -> R_co:
        """Return the record of a call without a reply."""

    def usually(self, ask: A_contra, /) -> Usage:
        """Return an estimate from the length of the prompt, and the tokens of a typical reply."""
        return usually(self.messages(ask), reply_tokens=min(self.usual_tokens, self.reply_options(ask).max_tokens))

    def at_most(self, ask: A_contra, /) -> Spend:
        """Return a bound from the length of the prompt, and the limit of a reply."""
        return at_most(self.messages(ask), reply_tokens=self.reply_options(ask).max_tokens, prices=self.prices)

    async def answer(self, ask: A_contra, /) -> R_co:
        """Ask the model. Raises ModelError: no further call can succeed."""
        reply = await self.replied(ask)
        return self.read(ask, reply, self.took(reply)) if isinstance(reply, Reply) else reply

    async def replied(self, ask: A_contra, /) -> Reply | R_co:
        """Return the model's reply, or the record of a call without one; errors are those of `answer`."""
        try:
            reply = await self.model.reply(self.messages(ask), self.reply_options(ask))
        except Rejected as error:
            return self.unanswered(ask, error.reason, str(error))
        except Unavailable as error:
            self._n_failed += not isinstance(error, LeftUnanswered)
            if self._n_failed >= self.patience:
                raise Unavailable(
                    f"{self._n_failed} calls in a row failed: {error}. Answers so far are kept; the same command resumes"
                ) from error
            return self.unanswered(ask, "unavailable", str(error))
        self._n_failed = 0
        return reply

    def took(self, reply: Reply) -> dict[str, Any]:
        """Return latency, model version, tokens and cost of a reply, as fields of a `Call`."""
        return {
            "latency_s": round(reply.latency_s, 4),
            "model_version": reply.model_version,
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
            "cost_usd": self.prices.of(reply.usage) if self.prices else None,
        }

    async def close(self) -> None:
        """Release the model's connections."""
        await self.model.close()


# The log in a run folder.


class FolderLog(RunLog):
    """The log of a run folder.

    `before`: called with each ask and its answer before it is written.
    """

    def __init__(self, folder: RunFolder[Any, Any], before: Callable[[Any, Any], None] | None = None) -> None:
        super().__init__(folder.path, InFlight(folder.path))
        self.folder, self.key, self.before = folder, folder.kind.key, before
        held = folder.brief()
        if not held.is_empty():
            self.held, self.spent = held, spent_in_columns(held)

    def at(self, place: int) -> Call:
        record: Call = self.folder.at(place)
        return record

    def sync(self) -> None:
        self.folder.sync()

    def write(self, ask: Any, answer: Any) -> None:
        if self.before is not None:
            self.before(ask, answer)
        self.folder.add(answer)


def spent_in_columns(log: pl.DataFrame) -> Spend:
    """Return cost and tokens of the calls in a log in columns."""
    return Spend(float(log["cost_usd"].sum() or 0.0), int(log["tokens"].sum()))


@asynccontextmanager
async def folder_log(
    folder: Path,
    manifest: AnyManifest,
    kind: LogKind[Any, Any],
    session: Session,
    *,
    private: bool = False,
    before: Callable[[Any, Any], None] | None = None,
    notes: Callable[[], Iterable[str]] = tuple,
) -> AsyncIterator[FolderLog]:
    """Open the log of the run at `folder`, new or resumed, and keep other processes out.

    `private`: only the owner can read the folder (0700).
    `before`: called with each ask and its answer before it is written.
    `notes`: called at the end for the notes that a reader of the run needs.

    Raises RunConflict: the folder holds something else, or another process holds it.
    """
    with RunFolder.hold(folder, manifest, kind, private=private) as held:
        held.note_session(session)
        try:
            yield FolderLog(held, before)
        finally:
            held.keep_notes(notes())


def default_folder(name: str) -> Path:
    """Return the folder of a run of this name unless the user gives one."""
    return Path("runs") / "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name)


def session_now(
    limits: Limits,
    *,
    command: str | None = None,
    items: int | None = None,
    asks: dict[str, int] | None = None,
    weights_bytes: int | None = None,
) -> Session:
    """Return a session that begins now, with versions, limits, the command that was typed, and the sizes of plan and model."""
    versions = {name: version(name) for name in ("casewise", "numpy", "polars", "pydantic", "aiohttp")}
    return Session(
        started=datetime.now(UTC),
        versions={"python": platform.python_version(), **versions},
        options=vars(limits),
        command=command,
        planned_items=items,
        planned_asks=asks,
        weights_bytes=weights_bytes,
    )


# The run.


@dataclass(frozen=True, kw_only=True)
class CallingOptions:
    """Options of making a run's calls; no answer depends on it."""

    limits: Hidden[Limits] = field(default_factory=Limits)
    """Money and tokens count over all sessions of the run."""
    command: Hidden[str | None] = None
    """The command that was typed."""
    batch: Hidden[BatchOptions | None] = None
    """Options of the batch interface; None makes the calls from this process."""


def check_limits(limits: Limits, asker: Asker, *, priced: bool | None = None) -> None:
    """Refuse a limit that cannot be kept, before the first call.

    `priced`: whether all prices are known, if the asker's own do not tell.

    Raises ConfigurationError: there is a limit on cost or tokens, and they are unknown.
    """
    is_priced = asker.prices is not None if priced is None else priced
    if limits.max_cost is not None and not is_priced:
        give = "give --price-in and --price-out (US dollars for a million tokens), or " if asker.model else ""
        raise ConfigurationError(
            f"the price of {asker.name} is unknown, so a cost limit cannot be enforced; {give}remove --max-cost"
        )
    if limits.max_tokens_total is not None and not asker.counts_tokens:
        raise ConfigurationError(
            f"{asker.name} does not report its tokens, so a limit on them cannot be enforced; remove --max-tokens-total"
        )


async def perform(
    asker: Asker,
    call_of: Callable[[Any], Awaitable[Call]],
    plan: Asks,
    log: AbstractAsyncContextManager[RunLog],
    *,
    options: CallingOptions,
    progress: P,
    watch: Watch | None = None,
) -> P:
    """Answer every ask of a plan that the log does not settle, and count it in `progress`.

    The same call later resumes. A first Ctrl-C lets calls in flight finish.

    `call_of`: makes the call of an ask, and returns the record that the log keeps.

    Raises ModelError: no further call can succeed; answers so far are kept. ConfigurationError: there is a limit on cost or
    tokens, and they are unknown, or `asker` has no batch interface. All that `log` raises, such as RunConflict.
    """
    watch, limits, batch = watch or Watch(), options.limits, options.batch
    check_limits(limits, asker)
    client = (asker.client or client_of(asker.model, asker.name)) if batch else None
    async with log as opened:
        if opened.held is None:
            await asker.prepare(ask for bundle in plan.bundles for ask in bundle)
        session = RunSession(plan, opened, asker.at_most, progress, limits, watch)
        started = time.monotonic()
        try:
            with stopping_on_signals(watch.stop, say=watch.say):
                if batch is not None and client is not None:
                    priced = asker.prices is not None
                    await in_batches(session, call_of, client, batch, asker=asker.name, priced=priced)
                else:
                    leave_to_batches(session)
                    await live(session, call_of, concurrency=max(limits.concurrency, asker.concurrency))
            progress.stopped = watch.stop.reason
            opened.in_flight.settled()
        finally:
            opened.sync()
            progress.seconds = time.monotonic() - started
    return progress
