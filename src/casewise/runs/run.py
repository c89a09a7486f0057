"""One durable run: a plan of asks, a log of answers, resumed after any end."""

from __future__ import annotations

import hashlib
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import Unavailable
from casewise.models.batch_providers import client_of
from casewise.models.client import EndpointClient
from casewise.models.endpoints import Prices
from casewise.models.protocol import Message, Model, Rejected, Reply, ReplyOptions, Usage
from casewise.records.base import Record
from casewise.runs.batch import BatchExecutor, BatchOptions, BesideBatches
from casewise.runs.engine import Executor, Group, LiveExecutor, Workload
from casewise.runs.limits import (
    Budget,
    InFlight,
    Limits,
    Patience,
    RunProgress,
    Spend,
    Took,
    Watch,
    stopping_on_signals,
)
from casewise.storage.batch_jobs import JobLog
from casewise.storage.run_folder import LastAttempts, LogKind, RunFolder, Session

# What is asked, streamed, and what a kind of run has to say of its asks and answers; the room does the rest.


A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
B = TypeVar("B")
R = TypeVar("R", bound=Record)


class Numbered(Protocol[A_co]):
    """A plan whose asks have numbers, from 0 in its order, so that a log in columns is held against all of it at once."""

    @property
    def ends(self) -> NDArray[np.int64]:
        """Of each bundle the number after that of its last ask."""

    def numbers(self, log: pl.DataFrame) -> NDArray[np.int64]:
        """Of each row of a log in columns the number of its ask; -1 where the plan has no such ask."""

    def bundle(self, place: int) -> tuple[A_co, ...]:
        """The asks of the bundle at a place, in the order of their numbers."""


@dataclass(frozen=True)
class Asks(Generic[A]):
    """What to ask, in bundles; nothing larger than a bundle is ever held in memory."""

    bundles: Callable[[], Iterator[tuple[A, ...]]]
    """The plan from its beginning, each time. Only asks of one bundle can share a call."""
    size: int
    """How many asks it has."""
    retries: int = 0
    """How often an ask is repeated at most because its answer was of no use."""
    shared_key: Callable[[A], Hashable] = lambda _ask: None
    """Equal for asks that one call answers, as is its `str`, on every machine; None for one that shares its call with no other."""
    numbered: Callable[[], Numbered[A]] | None = None
    """The same bundles by numbers, where these are known before an ask is made."""

    def __iter__(self) -> Iterator[A]:
        for bundle in self.bundles():
            yield from bundle

    def grouped(self, bundle: tuple[A, ...]) -> Iterator[tuple[A, ...]]:
        """The asks of a bundle in groups that one call answers."""
        if len(bundle) == 1:
            yield bundle
            return
        groups: dict[Hashable, list[A]] = {}
        for place, ask in enumerate(bundle):
            key = self.shared_key(ask)
            groups.setdefault(place if key is None else key, []).append(ask)
        yield from (tuple(group) for group in groups.values())

    def groups(self) -> Iterator[tuple[A, ...]]:
        """The plan, a call at a time."""
        for bundle in self.bundles():
            yield from self.grouped(bundle)


class Attempted(Protocol):
    """A dataclass of what is asked, which says the how manieth attempt at it this is, from 0."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def attempt(self) -> int: ...


Q = TypeVar("Q", bound=Attempted)


class RunKind(ABC, Generic[Q, B]):
    """What is asked (`Q`) and what is answered (`B`)."""

    @abstractmethod
    def key(self, ask: Q) -> tuple[str, ...]:
        """Tells this ask from every other of the run, whatever the attempt."""

    @abstractmethod
    def problem(self, answer: B) -> str | None:
        """Why an answer is of no use, in words; None where it settles its ask."""

    @abstractmethod
    def took(self, answer: B) -> Took:
        """What the call that gave an answer took."""

    def passes(self, _answer: B) -> bool:
        """Whether an answer tells of a failure that may pass, so that the next session asks again."""
        return False

    def shared(self, answer: B, by: Q) -> B:
        """The answer to `by`, as that of another ask which the same call answers: it took nothing of its own.

        Only kinds whose asks can share a call need it.
        """
        raise TypeError(f"a call answers {self.key(by)} alone: {type(answer).__name__} cannot be shared")


class Held(NamedTuple):
    """What a session must know of a line of its log: where it stands, what it answers, and what it took."""

    place: int
    key: tuple[str, ...]
    attempt: int
    usable: bool
    passing: bool
    tokens: int
    cost_usd: float | None


class LoggedKind(RunKind[Q, B], Generic[Q, B, R]):
    """A kind of run whose answers are records in a run folder."""

    log: LogKind[Any, R]

    @abstractmethod
    def record(self, ask: Q, answer: B) -> R:
        """The line of the log."""

    @abstractmethod
    def answer(self, record: R) -> B:
        """The answer that a record holds."""

    @abstractmethod
    def usable(self, record: R) -> bool:
        """Whether a record settles its ask, as `problem` says of an answer."""

    def passing(self, _record: R) -> bool:
        """Whether a record tells of a failure that may have passed since."""
        return False

    def took(self, answer: Any) -> Took:
        return Took.of(answer)

    def took_by(self, record: Any) -> Took:
        """What a record took."""
        return Took.of(record)

    def held(self, folder: RunFolder[Any, R]) -> Iterator[Held]:
        """What a session must know of each line of the log, in order."""
        for place, record in folder.places():
            took = self.took_by(record)
            yield Held(
                place,
                self.log.key(record),
                self.log.attempt(record),
                self.usable(record),
                self.passing(record),
                took.input_tokens + took.output_tokens,
                took.cost_usd,
            )

    def in_columns(self, _folder: RunFolder[Any, R]) -> pl.DataFrame | None:
        """The same in columns: those of `Held` but for the key, and what a plan tells its asks by. None where a kind has no such thing."""
        return None


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


def estimate_calls(
    plan: Asks[A], *, usually: Callable[[A], Usage], at_most: Callable[[A], Spend], prices: Prices | None
) -> CallEstimate:
    """What the calls of `plan` would take. None is made.

    `usually`, `at_most`: what a call takes, roughly; and what it can take at most.
    """
    n_calls, sent, replied, most = 0, 0, 0, Spend()
    for first, *_ in plan.groups():
        usual = usually(first)
        n_calls += 1
        sent, replied = sent + (usual.input_tokens or 0), replied + (usual.output_tokens or 0)
        most += at_most(first)
    return CallEstimate(
        n_calls=n_calls,
        input_tokens=sent,
        output_tokens=replied,
        cost_usd=prices.of(Usage(sent, replied)) if prices else None,
        cost_at_most_usd=most.cost_usd if prices else None,
    )


# Calls of a chat model by a run that is not a judge's: what came back, or why nothing did.


NoReplyReason = Literal["bad_request", "content_filter", "unavailable"]


@dataclass(frozen=True)
class NoReply:
    """A call that came to nothing."""

    reason: NoReplyReason
    detail: str

    @property
    def problem(self) -> str:
        """The same in words."""
        return f"{self.reason.replace('_', ' ')}: {self.detail}"


class ChatCalls:
    """A model, what its tokens cost, and how long its failures are borne."""

    def __init__(self, model: Model, prices: Prices | None, *, patience: int = 30) -> None:
        self.model, self.prices = model, prices
        self._patience = Patience(patience)

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply | NoReply:
        """What the model replies. What no further call can survive is raised."""
        try:
            reply = await self.model.reply(messages, options)
        except Rejected as error:
            return NoReply("content_filter" if error.reason == "content_filter" else "bad_request", str(error))
        except Unavailable as error:
            self._patience.failed(error)
            return NoReply("unavailable", str(error))
        self._patience.answered()
        return reply

    def at_most(self, messages: tuple[Message, ...], options: ReplyOptions) -> Spend:
        """What a call can take at most."""
        return at_most(messages, reply_tokens=options.max_tokens, prices=self.prices)

    def took(self, reply: Reply) -> dict[str, Any]:
        """Model version, tokens and cost of a reply, under the names that records have for them."""
        return {
            "model_version": reply.model_version,
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
            "cost_usd": self.prices.of(reply.usage) if self.prices else None,
        }


# What the log of a run settles of its plan before a session begins: counted, and what is left, a bundle at a
# time.
#
# A log in columns is held against a plan whose asks have numbers, all at once: some 20 bytes an ask beside the columns. Any other is looked up key by key.


class LastAttempt(NamedTuple):
    """The last attempt at an ask: where it stands in the log, its number, and whether it settled the ask.

    One that failed for a reason that passes, such as a server that was down, is asked again by every later session.
    """

    place: int
    attempt: int
    usable: bool
    passing: bool = False

    def settles(self, retries: int) -> bool:
        """Whether nothing is left to ask: there is an answer, or there were enough attempts and no failure that passes."""
        return self.usable or (not self.passing and self.attempt >= retries)


LastOfBundle = Sequence[LastAttempt | None]


class HeldOfPlan(Protocol[A_co]):
    """What earlier sessions left of a plan."""

    def count(self, progress: RunProgress) -> None:
        """Count it."""

    def left(self) -> Iterator[tuple[tuple[A_co, ...], LastOfBundle]]:
        """The bundles of which something is left, with the last attempt at each of their asks."""


class HeldByKey(Generic[A]):
    """By a log that is asked for one key after another."""

    def __init__(
        self, plan: Asks[A], key: Callable[[A], tuple[str, ...]], last: Callable[[tuple[str, ...]], LastAttempt | None]
    ) -> None:
        self.plan, self.key, self.last = plan, key, last

    def count(self, progress: RunProgress) -> None:
        for ask in self.plan:
            if (last := self.last(self.key(ask))) is not None:
                settled = last.settles(self.plan.retries)
                progress.count_held(n=1, usable=int(last.usable), settled=int(settled))

    def left(self) -> Iterator[tuple[tuple[A, ...], LastOfBundle]]:
        for bundle in self.plan.bundles():
            found = [self.last(self.key(ask)) for ask in bundle]
            if any(one is None or not one.settles(self.plan.retries) for one in found):
                yield bundle, found


class HeldInColumns(Generic[A]):
    """By a log in columns (see `LoggedKind.in_columns`), of a plan whose asks have numbers."""

    def __init__(self, plan: Numbered[A], log: pl.DataFrame, retries: int) -> None:
        self.plan, numbers = plan, plan.numbers(log)
        attempts = log["attempt"].to_numpy()
        rows = np.argsort(attempts, kind="stable") if attempts.any() else np.arange(len(log))
        rows = rows[numbers[rows] >= 0]
        self._row = np.full(plan.ends[-1] if len(plan.ends) else 0, -1, dtype=np.int32)
        """For each ask the row of its last attempt; of two with one number, of the one that stands later."""
        self._row[numbers[rows]] = rows
        self._log = tuple(log[name].to_numpy() for name in LastAttempt._fields)
        _place, attempt, usable, passing = self._log
        self._usable, self._settles = usable, usable | (~passing & (attempt >= retries))

    def count(self, progress: RunProgress) -> None:
        rows = self._row[self._row >= 0]
        progress.count_held(n=len(rows), usable=int(self._usable[rows].sum()), settled=int(self._settles[rows].sum()))

    def left(self) -> Iterator[tuple[tuple[A, ...], LastOfBundle]]:
        ends, settled = self.plan.ends, self._row >= 0
        settled[settled] = self._settles[self._row[settled]]
        for place in np.unique(np.searchsorted(ends, np.flatnonzero(~settled), side="right")).tolist():
            rows = self._row[ends[place - 1] if place else 0 : ends[place]]
            yield self.plan.bundle(place), [None if row < 0 else self._last(row) for row in rows.tolist()]

    def _last(self, row: int) -> LastAttempt:
        return LastAttempt(*(column[row].item() for column in self._log))


def spent_in_columns(log: pl.DataFrame) -> Spend:
    """What the calls took that are in a log in columns."""
    return Spend(float(log["cost_usd"].sum()), int(log["tokens"].sum()))


# Where a run goes, what it knows of what was answered before, and where it writes what is answered now.


Attempt = TypeVar("Attempt", bound=Attempted)
Ask_contra = TypeVar("Ask_contra", contravariant=True)


class RunLog(Protocol[Ask_contra, B]):
    """What was answered in all sessions of a run. A folder is one; a database can be another."""

    @property
    def empty(self) -> bool:
        """Whether nothing was answered before, so that nothing need be looked up."""

    @property
    def spent(self) -> Spend:
        """What all earlier sessions took."""

    @property
    def in_flight(self) -> InFlight:
        """What calls under way can take, and what those of killed sessions took at most."""

    def columns(self) -> pl.DataFrame | None:
        """What was answered before this session, in columns (see `LoggedKind.in_columns`); None where it is looked up by keys."""

    def last(self, key: tuple[str, ...]) -> LastAttempt | None:
        """The last attempt at the ask with this key before this session."""

    def answer(self, last: LastAttempt) -> B:
        """What that attempt came to."""

    def write(self, ask: Ask_contra, answer: B) -> None:
        """Keep an answer, whatever becomes of this process."""

    def sync(self) -> None:
        """Put what was written on the disk, now."""


class FolderLog(Generic[Attempt, B, R]):
    """The log of a run folder: in columns where its kind reads it so, else indexed in about 200 bytes an ask."""

    def __init__(self, folder: RunFolder[Any, R], kind: LoggedKind[Attempt, B, R]) -> None:
        self.folder, self.kind, self.spent = folder, kind, Spend()
        self.in_flight = InFlight(folder.path)
        self._last: LastAttempts[bytes, LastAttempt] = LastAttempts(lambda last: last.attempt)
        self._columns = kind.in_columns(folder)
        if self._columns is not None:
            self.empty = self._columns.is_empty()
            self.spent = spent_in_columns(self._columns)
            return
        cost, tokens = 0.0, 0
        for one in kind.held(folder):
            self._last.note(hashed(one.key), LastAttempt(one.place, one.attempt, one.usable, one.passing))
            cost, tokens = cost + (one.cost_usd or 0.0), tokens + one.tokens
        self.spent, self.empty = Spend(cost, tokens), not self._last.by_key

    def columns(self) -> pl.DataFrame | None:
        return self._columns

    def last(self, key: tuple[str, ...]) -> LastAttempt | None:
        return self._last.by_key.get(hashed(key))

    def answer(self, last: LastAttempt) -> B:
        return self.kind.answer(self.folder.at(last.place))

    def write(self, ask: Attempt, answer: B) -> None:
        self.folder.add(self.kind.record(ask, answer))

    def sync(self) -> None:
        self.folder.sync()


def hashed(key: tuple[str, ...]) -> bytes:
    """A key in 16 bytes, the same in every process."""
    return hashlib.blake2b("\n".join(key).encode(), digest_size=16).digest()


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


# One durable run: every ask of a plan answered once, whatever happens in between.
#
#         plan ──asks──▶ what the log does not settle ──calls──▶ executor ──answers──▶ log
#                           ▲ held, copied                (live, or collected later)         │
#                           └────────────────────── the same command again ◀─────────────────┘
#
# It knows asks and answers, and nothing of what they mean: that is a `RunKind`'s to say.


P = TypeVar("P", bound=RunProgress)


@dataclass
class DurableRun(Generic[Attempt, B]):
    """One session of work on a plan. The same plan with the same log later goes on with what is left."""

    kind: RunKind[Attempt, B]
    plan: Asks[Attempt]
    log: RunLog[Attempt, B]
    executor: Executor[Attempt, B]
    limits: Limits = field(default_factory=Limits)
    at_most: Callable[[Attempt], Spend] = lambda _ask: Spend()
    """What a call can take at most; only a budget asks."""
    watch: Watch = field(default_factory=Watch)

    async def perform(self, progress: P) -> P:
        """Do what is left of the plan, and count it in `progress`. A first Ctrl-C lets what is in flight finish."""
        self.count_held(progress)
        self.show(progress)
        work = Workload(
            self.calls(progress),
            lambda group, answer: self.keep(group.asks, answer, progress),
            self.name,
            self.at_most,
            lambda answer: self.kind.took(answer).spend,
            self.watch.stop,
            self.budget(),
        )
        started = time.monotonic()
        try:
            with stopping_on_signals(self.watch.stop, say=self.watch.say):
                tally = await self.executor.execute(work)
            progress.stopped, progress.n_pending = tally.stopped, tally.pending
            self.log.in_flight.settled()
        finally:
            self.log.sync()
            progress.seconds = time.monotonic() - started
        return progress

    def budget(self) -> Budget:
        """What is left of the limits. Calls under way when a session was killed count as spent, at most."""
        unknown = self.log.in_flight.unknown
        if self.limits.bounded and unknown != Spend():
            self.watch.say(
                "a session of this run was killed: calls under way then are counted as spent, "
                f"{unknown.tokens:,} tokens and ${unknown.cost_usd:.4f} at most"
            )
        found = Budget(self.limits, spent=self.log.spent + unknown)
        found.in_flight = self.log.in_flight
        return found

    def show(self, progress: RunProgress) -> None:
        if self.watch.progress is not None:
            self.watch.progress(progress, self.plan.size)

    def name(self, ask: Attempt) -> str:
        """What names a call wherever it is answered: what is asked, by whichever of the asks that share it."""
        shared = self.plan.shared_key(ask)
        whole = self.kind.key(ask) if shared is None else (str(shared),)
        return hashed((*whole, str(ask.attempt))).hex()

    def count_held(self, progress: RunProgress) -> None:
        if not self.log.empty:
            self.held.count(progress)

    @cached_property
    def held(self) -> HeldOfPlan[Attempt]:
        """What earlier sessions left of the plan."""
        columns = self.log.columns()
        if columns is None or self.plan.numbered is None:
            return HeldByKey(self.plan, self.kind.key, self.log.last)
        return HeldInColumns(self.plan.numbered(), columns, self.plan.retries)

    def calls(self, progress: RunProgress) -> Iterator[Group[Attempt]]:
        """The calls that are left; what another ask's call in the log answers is copied from there."""
        if self.log.empty:
            yield from map(self.call, self.plan.groups())
            return
        for bundle, found in self.held.left():
            last = dict(zip(map(self.kind.key, bundle), found, strict=True))
            for group in self.plan.grouped(bundle):
                if left := self.left_after_copying(group, last, progress):
                    yield self.call(left)

    def left_after_copying(
        self, group: tuple[Attempt, ...], last: Mapping[tuple[str, ...], LastAttempt | None], progress: RunProgress
    ) -> tuple[Attempt, ...]:
        """Copy to the asks of `group` what the log holds for another of them; those that must still be asked."""
        known = [(there, ask) for ask in group if (there := last[self.kind.key(ask)]) is not None]
        if not known:
            return group
        best, holder = max(known, key=lambda pair: (pair[0].usable, pair[0].attempt))
        for ask in group:
            mine = last[self.kind.key(ask)]
            if mine is None or (best.usable and not mine.usable):
                attempt = best.attempt if mine is None else max(best.attempt, mine.attempt + 1)
                copy = self.kind.shared(self.log.answer(best), holder)
                self.write(replace(ask, attempt=attempt), copy, progress, known=mine is not None)
        return () if best.settles(self.plan.retries) else self.another(group, best.attempt + 1)

    def another(self, group: tuple[Attempt, ...], attempt: int) -> tuple[Attempt, ...]:
        return tuple(replace(ask, attempt=attempt) for ask in group)

    def call(self, group: tuple[Attempt, ...]) -> Group[Attempt]:
        return Group(group, self.at_most(group[0]) if self.limits.bounded else Spend())

    def keep(
        self, group: tuple[Attempt, ...], answer: B, progress: RunProgress
    ) -> tuple[Group[Attempt], ...]:
        """Write an answer for every ask it answers; ask again where it is of no use and that is wanted."""
        first, attempt = group[0], group[0].attempt
        progress.count_call(self.kind.took(answer))
        for ask in group:
            mine = answer if ask is first else self.kind.shared(answer, first)
            self.write(ask, mine, progress, known=attempt > 0)
        self.show(progress)
        if attempt < self.plan.retries and self.kind.problem(answer) is not None:
            return (self.call(self.another(group, attempt + 1)),)
        progress.n_unavailable += len(group) if self.kind.passes(answer) else 0
        return ()

    def write(self, ask: Attempt, answer: B, progress: RunProgress, *, known: bool) -> None:
        self.log.write(ask, answer)
        progress.count_outcome(self.kind.problem(answer), known=known)


# What every run has in common that asks: within which limits, by whom the calls are made, and what is left of its
# plan.


@dataclass(frozen=True, kw_only=True)
class CallingOptions:
    """How the calls of a run are made; nothing that an answer depends on."""

    limits: Limits = field(default_factory=Limits)
    """Money and tokens count over all sessions of the run."""
    command: str | None = None
    """What was typed."""
    batch: BatchOptions | None = None
    """How the calls go over a batch interface; None where they are made from this process."""


@dataclass(frozen=True)
class Batched:
    """Whose batch interface calls go over, and how."""

    client: EndpointClient
    name: str
    """Who is asked, as the user calls them."""
    priced: bool
    options: BatchOptions

    @classmethod
    def of(cls, model: Model | None, name: str, options: BatchOptions | None, *, priced: bool) -> Batched | None:
        """The interface of a model behind an endpoint; None where calls do not go over one.

        Raises ConfigurationError: it is to be asked so, and has none.
        """
        return None if options is None else cls(client_of(model, name), name, priced, options)


@dataclass(frozen=True)
class Asking(Generic[Attempt, B]):
    """How an ask is answered, and within what."""

    answer: Callable[[Attempt], Awaitable[B]]
    at_most: Callable[[Attempt], Spend]
    """What a call can take at most."""
    concurrency: int
    """How many calls whoever is asked wants under way at least."""
    limits: Limits
    over: Batched | None = None
    watch: Watch | None = None

    async def of(
        self, kind: RunKind[Attempt, B], plan: Asks[Attempt], log: RunLog[Attempt, B], *, folder: Path, progress: P
    ) -> P:
        """Ask what the log of a run does not settle, from this process or over a batch interface; `folder` is for its jobs."""
        watch, over = self.watch or Watch(), self.over
        many = max(self.limits.concurrency, self.concurrency)
        executor: Executor[Attempt, B] = LiveExecutor(self.answer, many)
        if over is not None:
            jobs = JobLog.at(folder)
            executor = BatchExecutor(self.answer, over.client, over.name, jobs, over.priced, over.options, watch.say)
        elif (jobs := JobLog.read(folder)).jobs:
            executor = BesideBatches(executor, jobs)
        return await DurableRun(kind, plan, log, executor, self.limits, self.at_most, watch).perform(progress)
