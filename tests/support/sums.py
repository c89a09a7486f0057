"""A kind of run that judges nothing: what two numbers add up to, asked of whoever says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from casewise.records.base import Record
from casewise.runs.engine import Executor, LiveExecutor
from casewise.runs.limits import Limits, RunProgress, Spend, Took, Watch
from casewise.runs.run import Asks, DurableRun, FolderLog, LoggedKind
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import AnyManifest, LogKind, RunFolder


class SumIdentity(Record):
    adder: str
    settings: dict[str, int]


class SumManifest(AnyManifest):
    format_version: int = 2
    kind: str = "sums"
    identity: SumIdentity


class Sum(Record):
    """One attempt at a sum; None where there was none."""

    left: int
    right: int
    attempt: int = 0
    value: int | None = None
    cost_usd: float = 0.0
    shared_with: str | None = None


def key(one: Sum) -> tuple[str, ...]:
    return (str(one.left), str(one.right))


def attempt(one: Sum) -> int:
    return one.attempt


SUMS = LogKind("sums", SumManifest, Sum, key=key, attempt=attempt, newest=2)


def sum_manifest(adder: str = "abacus", **settings: int) -> SumManifest:
    return SumManifest(identity=SumIdentity(adder=adder, settings=settings))


@dataclass(frozen=True)
class SumAsk:
    """A sum to be done."""

    left: int
    right: int
    attempt: int = 0


@dataclass(frozen=True)
class SumAnswer:
    """What somebody says it is; None where they do not say."""

    value: int | None
    cost_usd: float = 1.0
    shared_with: str | None = None


class SumKind(LoggedKind[SumAsk, SumAnswer, Sum]):
    """Sums in a run folder. Any value settles one."""

    log = SUMS

    def key(self, ask: SumAsk) -> tuple[str, ...]:
        return (str(ask.left), str(ask.right))

    def problem(self, answer: SumAnswer) -> str | None:
        return "says nothing" if answer.value is None else None

    def took(self, answer: SumAnswer) -> Took:
        return Took(2, 1, answer.cost_usd)

    def shared(self, answer: SumAnswer, by: SumAsk) -> SumAnswer:
        return replace(answer, cost_usd=0.0, shared_with=f"{by.left}+{by.right}")

    def record(self, ask: SumAsk, answer: SumAnswer) -> Sum:
        return Sum(left=ask.left, right=ask.right, attempt=ask.attempt, **vars(answer))

    def answer(self, record: Sum) -> SumAnswer:
        return SumAnswer(record.value, record.cost_usd, record.shared_with)

    def usable(self, record: Sum) -> bool:
        return record.value is not None

    def took_by(self, record: Sum) -> Took:
        return Took(2, 1, record.cost_usd)


def sums(*bundles: tuple[SumAsk, ...], retries: int = 0, commutes: bool = False) -> Asks[SumAsk]:
    """A plan of these bundles. If addition is known to commute, 1 + 2 and 2 + 1 share a call."""

    def shared_key(ask: SumAsk) -> str | None:
        return f"{sorted((ask.left, ask.right))} {ask.attempt}" if commutes else None

    return Asks(lambda: iter(bundles), sum(len(bundle) for bundle in bundles), retries, shared_key)


def each_alone(size: int, *, retries: int = 0) -> Asks[SumAsk]:
    """0 + 0, 1 + 0, 2 + 0 and so on."""
    return sums(*((SumAsk(n, 0),) for n in range(size)), retries=retries)


class Adder:
    """Adds, counts what it is asked, and says nothing where it is told to."""

    def __init__(self, *, silent: Callable[[SumAsk], bool] = lambda _ask: False) -> None:
        self.asked: list[SumAsk] = []
        self.silent = silent

    async def __call__(self, ask: SumAsk) -> SumAnswer:
        await asyncio.sleep(0)
        self.asked.append(ask)
        return self.said(ask)

    def said(self, ask: SumAsk) -> SumAnswer:
        """What it says, however it is asked."""
        return SumAnswer(None if self.silent(ask) else ask.left + ask.right)


def add_up(
    folder: Path,
    plan: Asks[SumAsk],
    executor: Executor[SumAsk, SumAnswer],
    *,
    limits: Limits = Limits(),
    watch: Watch | None = None,
    manifest: SumManifest | None = None,
) -> RunProgress:
    """One session of a run of sums."""
    kind = SumKind()
    with RunFolder.hold(folder, manifest or sum_manifest(), SUMS) as held:
        log = FolderLog(held, kind)
        run = DurableRun(kind, plan, log, executor, limits, lambda _ask: Spend(2.0, 5), watch or Watch())
        return asyncio.run(run.perform(RunProgress()))


def live(adder: Callable[[SumAsk], Awaitable[SumAnswer]], *, concurrency: int = 4) -> LiveExecutor[SumAsk, SumAnswer]:
    """An executor that asks `adder` and waits."""
    return LiveExecutor(adder, concurrency)


def logged(folder: Path) -> list[Sum]:
    """The lines of the log."""
    return list(read_jsonl(folder / SUMS.file, Sum))
