"""One session of a durable run: its plan, its log, the calls that are left, and the calls made from this process."""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import polars as pl

from casewise.models.prices import Spend, metered, spend_of
from casewise.models.wire import MOST_TOKENS
from casewise.records.call import Call
from casewise.runs.limits import Budget, InFlight, Limits, RunObserver, RunProgress
from casewise.storage.run_folder import last_rows, now
from casewise.text import count_of

# A plan.


Key: TypeAlias = tuple[str | int, ...]
"""The values of the fields that are a log's key."""


class Ask(Protocol):
    """One question of a run: a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def attempt(self) -> int:
        """The number of the attempt, from 0."""

    @property
    def key(self) -> Key:
        """The key, which tells this ask from every other of the run, whatever the attempt."""


A = TypeVar("A", bound=Ask)
C = TypeVar("C", bound=Call)


@dataclass(frozen=True)
class Asks(Generic[A]):
    """The asks of a run in bundles, which may be made when they are read."""

    bundles: Sequence[tuple[A, ...]]
    """Only asks of one bundle can share a call."""
    size: int
    """Number of asks."""
    retries: int = 0
    """Maximum repetitions of an ask whose answer is not usable."""
    shared_key: Callable[[A], Hashable] = lambda _ask: None
    """Equal for asks that one call answers, as is its `str`, on every machine; None for an ask with a call of its own."""
    all_keys: Callable[[], pl.LazyFrame] | None = None
    """Returns what `keys` returns, if that is known before an ask is made."""

    def keys(self, names: Sequence[str]) -> pl.LazyFrame:
        """Return the keys of the asks, a row each in the order of the plan, with the number of the `bundle`."""
        if self.all_keys is not None:
            return self.all_keys().select("bundle", *names)
        rows = [(number, *ask.key) for number, bundle in enumerate(self.bundles) for ask in bundle]
        return pl.LazyFrame(rows, schema=["bundle", *names], orient="row")

    def groups(self, bundle: tuple[A, ...]) -> Iterator[tuple[A, ...]]:
        """Yield the asks of a bundle in groups that one call answers."""
        if len(bundle) == 1:
            yield bundle
            return
        groups: dict[Hashable, list[A]] = {}
        for place, ask in enumerate(bundle):
            key = self.shared_key(ask)
            groups.setdefault(place if key is None else key, []).append(ask)
        yield from (tuple(group) for group in groups.values())


def separate_calls(asks: Iterable[A], *, retries: int = 0) -> Asks[A]:
    """Return a plan with one call for each ask."""
    bundles = [(ask,) for ask in asks]
    return Asks(bundles, len(bundles), retries)


# The log.


class RunLog(Generic[A, C]):
    """The answers of a run: those of earlier sessions, and those to come. By default there are no earlier ones."""

    key: tuple[str, ...] = ()
    """The fields of a record that identify an ask."""
    earlier_answers: pl.DataFrame | None = None
    """The answers of earlier sessions, as `RunFolder.brief` gives them."""
    spent = Spend()
    """Cost and tokens of all earlier sessions."""

    def __init__(self, jobs: Path, in_flight: InFlight) -> None:
        self.jobs = jobs
        """The folder in which batch jobs are noted."""
        self.in_flight = in_flight

    def answer_at(self, place: int) -> C:
        """Return the answer at a place of the log."""
        raise LookupError(f"nothing is held at {place}")

    def write(self, ask: A, answer: C) -> None:
        """Store an answer, so that it survives a kill of this process."""
        raise NotImplementedError

    def sync(self) -> None:
        """Flush all written answers to the disk."""


class LastAttempt(NamedTuple):
    """The last attempt at an ask: its place in the log, its number, whether its answer is usable, and whether it settles the ask."""

    place: int
    attempt: int
    usable: bool
    settled: bool


def plan_attempts(plan: Asks[A], log: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """Return the last attempt at each ask of a plan, a row an ask in the order of the plan, with its `bundle`; null for none.

    An ask is settled by a usable answer, or by enough attempts; one that failed for a reason that passes, such as a server
    that was down, is asked again by every later session.
    """
    asks = plan.keys(key)
    types = {name: kind for name, kind in asks.collect_schema().items() if name in key}
    last = last_rows(log.select(*key, "place", "attempt", "usable", "passing"), key).lazy().cast(types)  # type: ignore[arg-type]
    settled = pl.col("usable") | (~pl.col("passing") & (pl.col("attempt") >= plan.retries))
    joined = asks.join(last, on=key, how="left", maintain_order="left")  # lazily: the keys are not needed afterwards
    return joined.select("bundle", "place", "attempt", "usable", settled=settled).collect()


NO_USAGE: dict[str, Any] = dict.fromkeys(
    ("latency_s", "input_tokens", "output_tokens", "cost_usd", "assumed_cost_usd", "assumed_tokens")
)


# A session.


@dataclass(frozen=True)
class PlannedCall(Generic[A]):
    """The asks that one call answers; the call is made for the first one."""

    asks: tuple[A, ...]
    max_spend: Spend = field(default_factory=Spend)
    """Upper bound of what the call takes; zero without a budget."""


@dataclass
class RunSession(Generic[A, C]):
    """One session of work on a plan: the remaining calls, the budget, and the storage of answers."""

    plan: Asks[A]
    log: RunLog[A, C]
    max_spend: Callable[[A], Spend]
    """Upper bound of what the call of an ask takes."""
    progress: RunProgress
    limits: Limits = field(default_factory=Limits)
    watch: RunObserver = field(default_factory=RunObserver)

    def __post_init__(self) -> None:
        self.last = (
            None
            if self.log.earlier_answers is None
            else plan_attempts(self.plan, self.log.earlier_answers, self.log.key)
        )
        if self.last is not None:
            usable, settled = int(self.last["usable"].sum()), int(self.last["settled"].sum())
            self.progress.resumed += settled
            self.progress.n_usable += usable
            self.progress.n_unusable += self.last["place"].count() - usable
        unknown = self.log.in_flight.unknown
        if self.limits.has_budget and unknown != Spend():
            self.watch.say(
                "calls that the log does not hold, of a killed session or before the first answer, count as spent: "
                f"{count_of(unknown.tokens, 'token')} and ${unknown.cost_usd:.4f} at most"
            )
        self.budget = Budget(self.limits, spent=self.log.spent + unknown, in_flight=self.log.in_flight)
        self.stop = self.watch.stop
        self.calls = self._calls()
        """The calls that are left, made when they are read."""
        self.show()

    def show(self) -> None:
        """Report the progress."""
        if self.watch.progress is not None:
            self.watch.progress(self.progress, self.plan.size)

    def name(self, ask: A) -> str:
        """Return the name of a call by its first ask: the same in every session and on every machine, another for each attempt."""
        shared = self.plan.shared_key(ask)
        parts = (*(ask.key if shared is None else (shared,)), ask.attempt)
        return hashlib.blake2b("\n".join(map(str, parts)).encode(), digest_size=16).hexdigest()

    def _calls(self) -> Iterator[PlannedCall[A]]:
        """Yield the calls that are left; an answer in the log to another ask of the same call is copied."""
        if self.last is None:
            for bundle in self.plan.bundles:
                yield from map(self._planned_call, self.plan.groups(bundle))
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
                if remaining := self._left_after_copying(asks, last):
                    yield self._planned_call(remaining)

    def skip(self, names: Collection[str], reserved: Spend) -> None:
        """Skip the calls of these `names`, which count as pending, and reserve their maximum cost."""
        self.calls = self._skipping(names, self.calls)
        self.budget.hold_back(reserved)

    def _skipping(self, names: Collection[str], calls: Iterator[PlannedCall[A]]) -> Iterator[PlannedCall[A]]:
        for call in calls:
            if self.name(call.asks[0]) in names:
                self.progress.n_pending += 1
            else:
                yield call

    def _left_after_copying(self, group: tuple[A, ...], last: Mapping[Key, LastAttempt | None]) -> tuple[A, ...]:
        """Copy the log's answer to one ask of `group` to the others; return those that must still be asked."""
        attempts = [attempt for ask in group if (attempt := last[ask.key]) is not None]
        if not attempts:
            return group
        best = max(attempts, key=lambda attempt: (attempt.usable, attempt.attempt))
        for ask in group:
            previous = last[ask.key]
            if previous is None or (best.usable and not previous.usable):
                number = best.attempt if previous is None else max(best.attempt, previous.attempt + 1)
                copied = replace(ask, attempt=number)
                self._write(copied, self._shared(self.log.answer_at(best.place), copied), again=previous is not None)
        return () if best.settled else tuple(replace(ask, attempt=best.attempt + 1) for ask in group)

    def _planned_call(self, asks: tuple[A, ...]) -> PlannedCall[A]:
        return PlannedCall(asks, self.max_spend(asks[0]) if self.limits.has_budget else Spend())

    def with_assumed_usage(self, ask: A, answer: C, *, n_unreported: int) -> C:
        """Return an answer with the assumed usage of its requests that report no tokens: an upper bound for each."""
        if not n_unreported:
            return answer
        most = self.max_spend(ask) * n_unreported
        return answer.model_copy(
            update={"assumed_cost_usd": most.cost_usd or None, "assumed_tokens": min(most.tokens, MOST_TOKENS)}
        )

    def store_answer(self, call: PlannedCall[A], answer: C) -> tuple[PlannedCall[A], ...]:
        """Write an answer for every ask of a call, once a call in any order; return the call that repeats it, if one is needed."""
        first, attempt = call.asks[0], call.asks[0].attempt
        self.progress.count_call(answer)
        for ask in call.asks:
            self._write(ask, answer if ask is first else self._shared(answer, ask), again=attempt > 0)
        self.show()
        if attempt < self.plan.retries and answer.failure is not None:
            return (self._planned_call(tuple(replace(ask, attempt=attempt + 1) for ask in call.asks)),)
        if answer.may_pass:
            self.progress.n_unavailable += len(call.asks)
        return ()

    def _shared(self, answer: C, ask: A) -> C:
        """Return an answer as that of another ask of the same call: without tokens, cost and latency."""
        key = dict(zip(self.log.key, ask.key, strict=True))
        shared_with = answer.shared_with or str(getattr(answer, self.log.key[0]))
        return answer.model_copy(
            update={**NO_USAGE, **key, "attempt": ask.attempt, "shared_with": shared_with, "at": now()}
        )

    def _write(self, ask: A, answer: C, *, again: bool) -> None:
        self.log.write(ask, answer)
        self.progress.count_outcome(answer.failure, again=again)


async def run_live(session: RunSession[A, C], call_of: Callable[[A], Awaitable[C]], *, concurrency: int) -> None:
    """Make the calls of a session from this process, `concurrency` at a time.

    An error of `call_of` or of the log stops the run: calls in flight are cancelled, and the error is raised. A stop lets
    calls in flight finish.
    """
    follow_ups: deque[PlannedCall[A]] = deque()
    budget = session.budget if session.limits.has_budget else None

    async def worker() -> None:
        while not session.stop:
            call = follow_ups.popleft() if follow_ups else next(session.calls, None)
            if call is None:
                return
            if budget is not None and (limit := await budget.reserve(call.max_spend)) is not None:
                session.stop.ask(limit)
                return
            actual = Spend()
            try:
                with metered() as meter:
                    answered = await call_of(call.asks[0])
                answered = session.with_assumed_usage(call.asks[0], answered, n_unreported=meter.n_unreported)
                if budget is not None:
                    actual = spend_of(answered)
            finally:
                if budget is not None:
                    budget.settle(call.max_spend, actual)
                    budget.in_flight.end(call.max_spend)
            follow_ups.extend(session.store_answer(call, answered))

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(max(1, concurrency)):
                tasks.create_task(worker())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
