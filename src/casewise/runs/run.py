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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from casewise.errors import ConfigurationError
from casewise.models.asker import Asker
from casewise.models.batches.named import client_of
from casewise.models.prices import Spend, spend_of
from casewise.models.protocol import Usage
from casewise.options import Hidden
from casewise.records import Judgement
from casewise.runs.batch import BatchOptions, run_in_batches, skip_batch_calls, total_reserved
from casewise.runs.engine import A, Asks, C, RunLog, RunSession, run_live
from casewise.runs.limits import InFlight, Limits, RunObserver, RunProgress, stop_on_signals, unknown_spend
from casewise.storage.batch_jobs import JobLog
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import AnyManifest, LogKind, RunFolder, Session, judgement_summaries

M = TypeVar("M", bound=AnyManifest)
P = TypeVar("P", bound=RunProgress)


# Estimates before the first call.


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

    def plus(self, other: CallEstimate) -> CallEstimate:
        """Return the estimate of both together. A cost is None if it is unknown for either."""
        return CallEstimate(
            n_calls=self.n_calls + other.n_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=sum_if_known(self.cost_usd, other.cost_usd),
            cost_at_most_usd=sum_if_known(self.cost_at_most_usd, other.cost_at_most_usd),
        )


def sum_if_known(first: float | None, second: float | None) -> float | None:
    """Return the sum of two numbers; None if either is unknown."""
    return None if first is None or second is None else first + second


def estimate_calls(
    asker: Asker[A], plan: Asks[A], *, takes_call: Callable[[A], bool] = lambda _ask: True
) -> CallEstimate:
    """Return the calls, tokens and cost of `plan`, as if none were made yet. No call is made."""
    n_calls, sent, replied, most, prices = 0, 0, 0, Spend(), asker.prices
    for bundle in plan.bundles:
        for first, *_ in plan.groups(bundle):
            if not takes_call(first):
                continue
            usual = asker.estimate_usage(first)
            n_calls += 1
            sent, replied = sent + (usual.input_tokens or 0), replied + (usual.output_tokens or 0)
            most += asker.max_spend(first)
    return CallEstimate(
        n_calls=n_calls,
        input_tokens=sent,
        output_tokens=replied,
        cost_usd=prices.cost_of(Usage(sent, replied)) if prices else None,
        cost_at_most_usd=most.cost_usd if prices else None,
    )


# The log in a run folder.


class FolderLog(RunLog[A, C]):
    """The log of a run folder.

    `before`: called with each ask and its answer before it is written.
    """

    def __init__(self, folder: RunFolder[Any, C], before: Callable[[A, C], None] | None = None) -> None:
        super().__init__(folder.path, InFlight(folder.path))
        self.folder, self.key, self.before = folder, folder.kind.key, before
        brief = folder.brief()
        if not brief.is_empty():
            self.earlier_answers, self.spent = brief, sum_spend(brief)

    def answer_at(self, place: int) -> C:
        return self.folder.at(place)

    def sync(self) -> None:
        self.folder.sync()

    def write(self, ask: A, answer: C) -> None:
        if self.before is not None:
            self.before(ask, answer)
        self.folder.add(answer)


def sum_spend(log: pl.DataFrame) -> Spend:
    """Return cost and tokens of the calls in a log in columns."""
    return Spend(float(log["cost_usd"].sum() or 0.0), int(log["tokens"].sum()))


def run_spend(folder: Path, kind: LogKind[M, C]) -> Spend:
    """Return an upper bound of a run's spend so far, with its calls under way and its batch jobs; zero if there is no run."""
    log, logged = folder / kind.file, Spend()
    if log.exists() and kind.record is Judgement:
        logged = sum_spend(judgement_summaries(log))
    elif log.exists():
        logged = sum(map(spend_of, read_jsonl(log, kind.record, growing=True)), Spend())
    return logged + total_reserved(JobLog.read(folder)) + unknown_spend(folder)


@asynccontextmanager
async def folder_log(
    folder: Path,
    manifest: M,
    kind: LogKind[M, C],
    session: Session,
    *,
    private: bool = False,
    before: Callable[[A, C], None] | None = None,
    notes: Callable[[], Iterable[str]] = tuple,
) -> AsyncIterator[FolderLog[A, C]]:
    """Open the log of the run at `folder`, new or resumed, and keep other processes out.

    `private`: only the owner can read the folder (0700).
    `before`: called with each ask and its answer before it is written.
    `notes`: called at the end for the notes that a reader of the run needs.

    Raises RunConflict: the folder holds something else, or another process holds it.
    """
    with RunFolder.hold(folder, manifest, kind, private=private) as run_folder:
        run_folder.note_session(session)
        try:
            yield FolderLog(run_folder, before)
        finally:
            run_folder.keep_notes(notes())


def default_folder(name: str) -> Path:
    """Return the folder of a run of this name unless the user gives one."""
    return Path("runs") / "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name)


def new_session(
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
        options={name: value for name, value in vars(limits).items() if name != "spent_elsewhere"},
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


def check_limits(limits: Limits, asker: Asker[A], *, priced: bool | None = None) -> None:
    """Refuse a limit that cannot be kept, before the first call.

    `priced`: whether all prices are known, if the asker's own do not tell.

    Raises ConfigurationError: there is a limit on cost or tokens, and they are unknown.
    """
    is_priced = asker.is_priced if priced is None else priced
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
    asker: Asker[A],
    call_of: Callable[[A], Awaitable[C]],
    plan: Asks[A],
    log: AbstractAsyncContextManager[RunLog[A, C]],
    *,
    options: CallingOptions,
    progress: P,
    watch: RunObserver | None = None,
) -> P:
    """Answer every ask of a plan that the log does not settle, and count it in `progress`.

    The same call later resumes. A first Ctrl-C lets calls in flight finish.

    `call_of`: makes the call of an ask, and returns the record that the log keeps.

    Raises ModelError: no further call can succeed; answers so far are kept. ConfigurationError: there is a limit on cost or
    tokens, and they are unknown, or `asker` has no batch interface. All that `log` raises, such as RunConflict.
    """
    watch, limits, batch = watch or RunObserver(), options.limits, options.batch
    check_limits(limits, asker)
    client = (asker.client or client_of(asker.model, asker.name)) if batch else None
    asker.set_notifier(watch.say)
    async with log as opened:
        if opened.earlier_answers is None:
            opened.in_flight.count(await asker.prepare(ask for bundle in plan.bundles for ask in bundle))
        session = RunSession(plan, opened, asker.max_spend, progress, limits, watch)
        started = time.monotonic()
        try:
            with stop_on_signals(watch.stop, say=watch.say):
                if batch is not None and client is not None:
                    await run_in_batches(session, call_of, client, batch, asker=asker.name, priced=asker.is_priced)
                else:
                    skip_batch_calls(session)
                    await run_live(session, call_of, concurrency=max(limits.concurrency, asker.concurrency))
            progress.stopped = watch.stop.reason
            opened.in_flight.clear()
        finally:
            opened.sync()
            progress.seconds = time.monotonic() - started
    return progress
