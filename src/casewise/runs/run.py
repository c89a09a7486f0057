"""One durable run: a plan of asks, a log of calls, resumed after any end.

        plan ──asks──▶ what the log does not settle ──calls──▶ executor ──answers──▶ log
                          ▲ resumed, copied               (live, or collected later)         │
                          └────────────────────── the same command again ◀──────────────────┘

A kind of run gives a record (`casewise.records.call.Call`), a `LogKind`, an ask with its key, and a function that
answers an ask with a record. `perform` does the rest.
"""

from __future__ import annotations

import hashlib
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

import polars as pl

from casewise.errors import Unavailable
from casewise.models.batch_providers import client_of
from casewise.models.client import EndpointClient
from casewise.models.endpoints import Prices
from casewise.models.protocol import Message, Model, Rejected, Reply, ReplyOptions, Usage
from casewise.options import Hidden
from casewise.records.call import Call
from casewise.runs.batch import BatchExecutor, BatchOptions, BesideBatches
from casewise.runs.engine import Executor, Group, LiveExecutor, Workload
from casewise.runs.limits import (
    GIVE_PRICES,
    Budget,
    InFlight,
    Limits,
    Patience,
    RunProgress,
    Spend,
    Took,
    Watch,
    check_limits,
    stopping_on_signals,
)
from casewise.storage.batch_jobs import JobLog
from casewise.storage.run_folder import AnyManifest, LogKind, RunFolder, Session, last_rows, now

# A plan: what is asked, and who answers.


class Ask(Protocol):
    """A dataclass of what is asked."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def key(self) -> tuple[str | int, ...]:
        """Tells this ask from every other of the run, whatever the attempt: the values of the key of its log."""

    @property
    def attempt(self) -> int:
        """The number of the attempt at it, from 0."""


A = TypeVar("A", bound=Ask)
A_contra = TypeVar("A_contra", contravariant=True)
R = TypeVar("R", bound=Call)
R_co = TypeVar("R_co", bound=Call, covariant=True)
M = TypeVar("M", bound=AnyManifest)
P = TypeVar("P", bound=RunProgress)


@dataclass(frozen=True)
class Asks(Generic[A]):
    """What to ask, in bundles, which may be made when they are come to."""

    bundles: Sequence[tuple[A, ...]]
    """Only asks of one bundle can share a call."""
    size: int
    """How many asks there are."""
    retries: int = 0
    """How often an ask is repeated at most because its answer was of no use."""
    shared_key: Callable[[A], Hashable] = lambda _ask: None
    """Equal for asks that one call answers, as is its `str`, on every machine; None for one that shares its call with no other."""
    all_keys: Callable[[], pl.LazyFrame] | None = None
    """What `keys` returns, where that is known before an ask is made."""

    def keys(self, names: Sequence[str]) -> pl.LazyFrame:
        """The keys of the asks, a row each in the order of the plan, with the number of the `bundle` of each."""
        if self.all_keys is not None:
            return self.all_keys().select("bundle", *names)
        rows = [(number, *ask.key) for number, bundle in enumerate(self.bundles) for ask in bundle]
        return pl.LazyFrame(rows, schema=["bundle", *names], orient="row")

    def groups(self, bundle: tuple[A, ...]) -> Iterator[tuple[A, ...]]:
        """The asks of a bundle in groups that one call answers."""
        if len(bundle) == 1:
            yield bundle
            return
        groups: dict[Hashable, list[A]] = {}
        for place, ask in enumerate(bundle):
            key = self.shared_key(ask)
            groups.setdefault(place if key is None else key, []).append(ask)
        yield from (tuple(group) for group in groups.values())


def each_alone(asks: Iterable[A], *, retries: int = 0) -> Asks[A]:
    """A plan of asks of which each has a call of its own."""
    bundles = [(ask,) for ask in asks]
    return Asks(bundles, len(bundles), retries)


class Asker(Protocol[A_contra]):
    """Who answers asks, and what that takes: a judge, a grader, a model with a task."""

    @property
    def name(self) -> str:
        """What reports and messages call it."""

    @property
    def concurrency(self) -> int:
        """How many calls it wants under way at least."""

    @property
    def prices(self) -> Prices | None:
        """What its tokens cost; None where nobody knows, and then no limit on cost can be kept."""

    @property
    def counts_tokens(self) -> bool:
        """Whether its answers say how many tokens they took; otherwise no limit on tokens can be kept."""

    def usually(self, ask: A_contra, /) -> Usage:
        """What a call takes, roughly."""

    def at_most(self, ask: A_contra, /) -> Spend:
        """What a call can take at most."""


# What a run would take, before the first call.


CHARACTERS_PER_TOKEN = 4.0
"""Of English prose, roughly, with the tokenizers in use."""

TEMPLATE_TOKENS = 64
"""What a chat template adds to a prompt, generously."""


def usually(messages: Iterable[Message], *, reply_tokens: int) -> Usage:
    """What a call takes, roughly, whose replies usually have so many tokens."""
    return Usage(round(sum(len(message.content) for message in messages) / CHARACTERS_PER_TOKEN), reply_tokens)


def at_most(messages: Iterable[Message], *, reply_tokens: int, prices: Prices | None) -> Spend:
    """What a call can take at most: a token for every two bytes of the prompt is more than any tokenizer needs for
    prose, and a reply is no longer than its limit. Failed tries are not billed by any provider we know."""
    sent = sum(len(message.content.encode()) for message in messages) // 2 + TEMPLATE_TOKENS
    cost = prices.of(Usage(sent, reply_tokens)) if prices else None
    return Spend(cost or 0.0, sent + reply_tokens)


@dataclass(frozen=True, kw_only=True)
class CallEstimate:
    """Calls, tokens and cost of a plan.

    Tokens in are estimated from the prompts' length, tokens out from what such replies usually take; `at_most` is the
    bound that a cost limit reckons with. Costs are None where nobody knows the price.
    """

    n_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    cost_at_most_usd: float | None


def estimate_calls(asker: Asker[A], plan: Asks[A]) -> CallEstimate:
    """What the calls of `plan` would take, as if none were made yet. No call is made."""
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


# Chat models that are asked by a run that is not a judge's.


NoReplyReason = Literal["bad_request", "content_filter", "unavailable"]


class ChatAsker(ABC, Generic[A_contra, R_co]):
    """A chat model with a task: what it is sent of an ask, and what its reply comes to.

    `patience`: how many calls in a row may fail, after all their retries, before the run stops.
    """

    counts_tokens = True
    usual_tokens: int
    """What a reply usually takes, roughly."""

    def __init__(self, model: Model, prices: Prices | None, *, patience: int = 30) -> None:
        self.model, self.prices, self.name = model, prices, model.name
        self._patience = Patience(patience)

    @abstractmethod
    def messages(self, ask: A_contra, /) -> tuple[Message, ...]:
        """What the model is sent."""

    @abstractmethod
    def options(self, ask: A_contra, /) -> ReplyOptions:
        """How the reply is wanted."""

    @abstractmethod
    def read(self, ask: A_contra, reply: Reply, took: dict[str, Any], /) -> R_co:
        """What a reply comes to; `took` are the fields of a `Call` that say what the call took."""

    @abstractmethod
    def unanswered(self, ask: A_contra, reason: NoReplyReason, detail: str, /) -> R_co:
        """What a call without a reply comes to."""

    @property
    def sends_to(self) -> str | None:
        """Whom texts are sent to; None where they do not leave this machine."""
        return self.model.sends_to

    @property
    def concurrency(self) -> int:
        """How many calls the model wants under way at least."""
        return self.model.concurrency

    def usually(self, ask: A_contra, /) -> Usage:
        """From the length of the prompt, and what such replies usually take."""
        return usually(self.messages(ask), reply_tokens=min(self.usual_tokens, self.options(ask).max_tokens))

    def at_most(self, ask: A_contra, /) -> Spend:
        """From the length of the prompt, and the limit of a reply."""
        return at_most(self.messages(ask), reply_tokens=self.options(ask).max_tokens, prices=self.prices)

    async def answer(self, ask: A_contra, /) -> R_co:
        """What the model says. Raises ModelError: no further call can succeed."""
        try:
            reply = await self.model.reply(self.messages(ask), self.options(ask))
        except Rejected as error:
            filtered = error.reason == "content_filter"
            return self.unanswered(ask, "content_filter" if filtered else "bad_request", str(error))
        except Unavailable as error:
            self._patience.failed(error)
            return self.unanswered(ask, "unavailable", str(error))
        self._patience.answered()
        took = {
            "latency_s": round(reply.latency_s, 4),
            "model_version": reply.model_version,
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
            "cost_usd": self.prices.of(reply.usage) if self.prices else None,
        }
        return self.read(ask, reply, took)

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self.model.close()


# The log: what earlier sessions of a run answered, and where answers go.


class RunLog(ABC, Generic[A, R]):
    """Where answers go, and what earlier sessions answered: nothing, unless a subclass says so."""

    key: tuple[str, ...] = ()
    """The fields of a record that say what was asked."""
    held: pl.DataFrame | None = None
    """What was answered before this session, as `RunFolder.brief` gives it; None for nothing."""
    spent = Spend()
    """What all earlier sessions took."""

    def __init__(self, jobs: Path, in_flight: InFlight) -> None:
        self.jobs = jobs
        """The folder in which batch jobs are noted."""
        self.in_flight = in_flight
        """What calls under way can take, and what those of killed sessions took at most."""

    def at(self, place: int) -> R:
        """The answer at a place of the log."""
        raise LookupError(f"nothing is held at {place}")

    @abstractmethod
    def write(self, ask: A, answer: R) -> None:
        """Keep an answer, whatever becomes of this process."""

    def sync(self) -> None:
        """Put what was written on the disk, now."""


class FolderLog(RunLog[A, R]):
    """The log of a run folder."""

    def __init__(self, folder: RunFolder[Any, R], *, before: Callable[[A, R], None] | None = None) -> None:
        super().__init__(folder.path, InFlight(folder.path))
        self.folder, self.key, self.before = folder, folder.kind.key, before
        held = folder.brief()
        if not held.is_empty():
            self.held, self.spent = held, spent_in_columns(held)

    def at(self, place: int) -> R:
        return self.folder.at(place)

    def write(self, ask: A, answer: R) -> None:
        if self.before is not None:
            self.before(ask, answer)
        self.folder.add(answer)

    def sync(self) -> None:
        self.folder.sync()


def spent_in_columns(log: pl.DataFrame) -> Spend:
    """What the calls took that are in a log in columns."""
    return Spend(float(log["cost_usd"].sum() or 0.0), int(log["tokens"].sum()))


@asynccontextmanager
async def folder_log(
    folder: Path,
    manifest: M,
    kind: LogKind[M, R],
    session: Session,
    *,
    private: bool = False,
    before: Callable[[Any, R], None] | None = None,
    notes: Callable[[], Iterable[str]] = tuple,
) -> AsyncIterator[FolderLog[Any, R]]:
    """The log of the run at `folder`, begun or resumed, with nobody else at it.

    `private`: the folder is its owner's alone (0700).
    `before`: told of each answer before the log says so.
    `notes`: asked at the end what a reader of the run must know.

    Raises RunConflict: the folder holds something else, or another process holds it.
    """
    with RunFolder.hold(folder, manifest, kind, private=private) as held:
        held.note_session(session)
        try:
            yield FolderLog(held, before=before)
        finally:
            held.keep_notes(notes())


class LastAttempt(NamedTuple):
    """The last attempt at an ask: where it stands in the log, its number, whether it is an answer, and whether nothing is left to ask."""

    place: int
    attempt: int
    usable: bool
    settled: bool


def last_attempts(plan: Asks[Any], log: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """The last attempt at each ask of a plan, a row an ask in the order of the plan, with its `bundle`; null where there was none.

    An ask is settled by an answer, or by enough attempts; one that failed for a reason that passes, such as a server that
    was down, is asked again by every later session.
    """
    asks = plan.keys(key)
    types = {name: kind for name, kind in asks.collect_schema().items() if name in key}
    last = last_rows(log.select(*key, "place", "attempt", "usable", "passing"), key).lazy().cast(types)  # type: ignore[arg-type]
    settled = pl.col("usable") | (~pl.col("passing") & (pl.col("attempt") >= plan.retries))
    joined = asks.join(last, on=key, how="left", maintain_order="left")  # lazily: the keys are not needed afterwards
    return joined.select("bundle", "place", "attempt", "usable", settled=settled).collect()


NOTHING_TAKEN: dict[str, Any] = dict.fromkeys(("latency_s", "input_tokens", "output_tokens", "cost_usd"))


# A run: every ask of a plan answered once, whatever happens in between.


@dataclass(frozen=True, kw_only=True)
class CallingOptions:
    """How the calls of a run are made; nothing that an answer depends on."""

    limits: Hidden[Limits] = field(default_factory=Limits)
    """Money and tokens count over all sessions of the run."""
    command: Hidden[str | None] = None
    """What was typed."""
    batch: Hidden[BatchOptions | None] = None
    """How the calls go over a batch interface; None where they are made from this process."""


async def perform(
    asker: Asker[A],
    answer: Callable[[A], Awaitable[R]],
    plan: Asks[A],
    log: AbstractAsyncContextManager[RunLog[A, R]],
    *,
    options: CallingOptions,
    progress: P,
    watch: Watch | None = None,
    executor: Executor[A, R] | None = None,
) -> P:
    """Have every ask of a plan answered that the log does not settle, and count it in `progress`.

    The same call later resumes with what is left. A first Ctrl-C lets what is in flight finish.

    `answer`: answers an ask with the record that the log keeps.
    `executor`: who makes the calls; by default they are made as `options` say.

    Raises ModelError: no further call can succeed; what was answered before is kept. ConfigurationError: there is a
    limit on cost or tokens, and nobody knows what is to be counted, or `asker` has no batch interface. Whatever `log`
    raises, such as RunConflict.
    """
    watch, limits, batch = watch or Watch(), options.limits, options.batch
    model = getattr(asker, "model", None)
    priced, to_price = asker.prices is not None, GIVE_PRICES if model is not None else ""
    check_limits(limits, asker.name, priced=priced, counts_tokens=asker.counts_tokens, to_price=to_price)
    client = getattr(asker, "client", None) if batch else None
    if batch and not isinstance(client, EndpointClient):
        client = client_of(model, asker.name)
    async with log as opened:
        if executor is None:
            executor = LiveExecutor(answer, max(limits.concurrency, asker.concurrency))
            if batch is not None and client is not None:
                opened.jobs.mkdir(parents=True, exist_ok=True)
                executor = BatchExecutor(answer, client, asker.name, JobLog.at(opened.jobs), priced, batch, watch.say)
            elif (earlier := JobLog.read(opened.jobs)).jobs:
                executor = BesideBatches(executor, earlier)
        run = DurableRun(plan, opened, asker.at_most, progress, limits, watch)
        work = run.workload()
        started = time.monotonic()
        try:
            with stopping_on_signals(watch.stop, say=watch.say):
                tally = await executor.execute(work)
            progress.stopped, progress.n_pending = tally.stopped, tally.pending
            opened.in_flight.settled()
        finally:
            opened.sync()
            progress.seconds = time.monotonic() - started
    return progress


@dataclass
class DurableRun(Generic[A, R]):
    """One session of work on a plan: what is left of it, and what becomes of an answer."""

    plan: Asks[A]
    log: RunLog[A, R]
    at_most: Callable[[A], Spend]
    """What a call can take at most; only a budget asks."""
    progress: RunProgress
    limits: Limits = field(default_factory=Limits)
    watch: Watch = field(default_factory=Watch)

    @cached_property
    def last(self) -> pl.DataFrame | None:
        """The last attempt at each ask of the plan (see `last_attempts`); None where the log is empty."""
        return None if self.log.held is None else last_attempts(self.plan, self.log.held, self.log.key)

    def workload(self) -> Workload[A, R]:
        """What is left of the plan, counted. Calls under way when a session was killed count as spent, at most."""
        if self.last is not None:
            usable, settled = int(self.last["usable"].sum()), int(self.last["settled"].sum())
            self.progress.count_held(n=self.last["place"].count(), usable=usable, settled=settled)
        self.show()
        unknown = self.log.in_flight.unknown
        if self.limits.bounded and unknown != Spend():
            self.watch.say(
                "a session of this run was killed; its calls under way are counted as spent, "
                f"{unknown.tokens:,} tokens and ${unknown.cost_usd:.4f} at most"
            )
        budget = Budget(self.limits, spent=self.log.spent + unknown)
        budget.in_flight = self.log.in_flight
        stop = self.watch.stop
        return Workload(
            self.calls(), self.keep, self.name, self.at_most, lambda answer: took(answer).spend, stop, budget
        )

    def show(self) -> None:
        if self.watch.progress is not None:
            self.watch.progress(self.progress, self.plan.size)

    def name(self, ask: A) -> str:
        """The name of a call wherever it is answered: what is asked, by whichever of the asks that share it."""
        shared = self.plan.shared_key(ask)
        parts = (*(ask.key if shared is None else (shared,)), ask.attempt)
        return hashlib.blake2b("\n".join(map(str, parts)).encode(), digest_size=16).hexdigest()

    def calls(self) -> Iterator[Group[A]]:
        """The calls that are left; what another ask's call in the log answers is copied from there."""
        if self.last is None:
            for bundle in self.plan.bundles:
                yield from map(self.group, self.plan.groups(bundle))
            return
        unsettled = self.last.filter(~pl.col("settled").fill_null(value=False))["bundle"].unique(maintain_order=True)
        starts, ends = (self.last["bundle"].search_sorted(unsettled, side) for side in ("left", "right"))
        for number, start, end in zip(unsettled, starts, ends, strict=True):
            bundle = self.plan.bundles[number]
            rows = self.last[start:end].select(LastAttempt._fields).iter_rows()
            last = {
                ask.key: None if row[0] is None else LastAttempt(*row) for ask, row in zip(bundle, rows, strict=True)
            }
            for asks in self.plan.groups(bundle):
                if left := self.left_after_copying(asks, last):
                    yield self.group(left)

    def left_after_copying(
        self, group: tuple[A, ...], last: Mapping[tuple[str | int, ...], LastAttempt | None]
    ) -> tuple[A, ...]:
        """Copy to the asks of `group` what the log holds for another of them; those that must still be asked."""
        attempts = [attempt for ask in group if (attempt := last[ask.key]) is not None]
        if not attempts:
            return group
        best = max(attempts, key=lambda attempt: (attempt.usable, attempt.attempt))
        for ask in group:
            own = last[ask.key]
            if own is None or (best.usable and not own.usable):
                number = best.attempt if own is None else max(best.attempt, own.attempt + 1)
                copied = replace(ask, attempt=number)
                self.write(copied, self.shared(self.log.at(best.place), copied), again=own is not None)
        return () if best.settled else tuple(replace(ask, attempt=best.attempt + 1) for ask in group)

    def group(self, asks: tuple[A, ...]) -> Group[A]:
        return Group(asks, self.at_most(asks[0]) if self.limits.bounded else Spend())

    def keep(self, group: Group[A], answer: R) -> tuple[Group[A], ...]:
        """Write an answer for every ask it answers; ask again where it is of no use and that is wanted."""
        first, attempt = group.asks[0], group.asks[0].attempt
        self.progress.count_call(took(answer))
        for ask in group.asks:
            self.write(ask, answer if ask is first else self.shared(answer, ask), again=attempt > 0)
        self.show()
        if attempt < self.plan.retries and answer.failure is not None:
            return (self.group(tuple(replace(ask, attempt=attempt + 1) for ask in group.asks)),)
        if answer.may_pass:
            self.progress.n_unavailable += len(group.asks)
        return ()

    def shared(self, answer: R, ask: A) -> R:
        """An answer, as that of another ask which the same call answers: it took nothing of its own."""
        key = dict(zip(self.log.key, ask.key, strict=True))
        shared_with = answer.shared_with or str(getattr(answer, self.log.key[0]))
        return answer.model_copy(
            update={**NOTHING_TAKEN, **key, "attempt": ask.attempt, "shared_with": shared_with, "at": now()}
        )

    def write(self, ask: A, answer: R, *, again: bool) -> None:
        self.log.write(ask, answer)
        self.progress.count_outcome(answer.failure, outcome_known=again)


def took(answer: Call) -> Took:
    """What the call that gave an answer took."""
    return Took.of(answer, tries=answer.tries)


def default_folder(name: str) -> Path:
    """Where a run of this name goes unless the user says otherwise."""
    return Path("runs") / "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name)


def session_now(
    limits: Limits, *, command: str | None = None, items: int | None = None, asks: dict[str, int] | None = None
) -> Session:
    """A session that begins now: the versions that matter, its limits, what was typed, and what its plan wants."""
    versions = {name: version(name) for name in ("casewise", "numpy", "polars", "pydantic", "aiohttp")}
    return Session(
        started=datetime.now(UTC),
        versions={"python": platform.python_version(), **versions},
        options=vars(limits),
        command=command,
        planned_items=items,
        planned_asks=asks,
    )
