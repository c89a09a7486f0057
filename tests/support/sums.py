"""A kind of run that judges nothing: what two numbers add up to, asked of whoever says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from casewise.models.asker import Asker
from casewise.models.prices import Spend
from casewise.records.base import Record
from casewise.records.call import Call
from casewise.runs.engine import Asks
from casewise.runs.limits import Limits, RunObserver, RunProgress
from casewise.runs.run import CallingOptions, folder_log, new_session, perform
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import AnyManifest, LogKind


class SumIdentity(Record):
    adder: str
    settings: dict[str, int]


class SumManifest(AnyManifest):
    format_version: int = 2
    kind: str = "sums"
    identity: SumIdentity


class Sum(Call):
    """One attempt at a sum; None where there was none. Each takes 2 tokens in, 1 out, and a dollar."""

    left: int
    right: int
    value: int | None = None

    @property
    def failure(self) -> str | None:
        return "says nothing" if self.value is None else None


SUMS = LogKind("sums", SumManifest, Sum, key=("left", "right"), newest=2)


def sum_manifest(adder: str = "abacus", **settings: int) -> SumManifest:
    return SumManifest(identity=SumIdentity(adder=adder, settings=settings))


@dataclass(frozen=True)
class SumAsk:
    """A sum to be done."""

    left: int
    right: int
    attempt: int = 0

    @property
    def key(self) -> tuple[int, int]:
        return (self.left, self.right)


def sums(*bundles: tuple[SumAsk, ...], retries: int = 0, commutes: bool = False) -> Asks[SumAsk]:
    """A plan of these bundles. If addition is known to commute, 1 + 2 and 2 + 1 share a call."""

    def shared_key(ask: SumAsk) -> str | None:
        return f"{sorted((ask.left, ask.right))} {ask.attempt}" if commutes else None

    return Asks(bundles, sum(len(bundle) for bundle in bundles), retries, shared_key)


def separate_calls(size: int, *, retries: int = 0) -> Asks[SumAsk]:
    """0 + 0, 1 + 0, 2 + 0 and so on."""
    return sums(*((SumAsk(n, 0),) for n in range(size)), retries=retries)


class Counter(Asker[SumAsk]):
    """Who is asked, and what a call can take at most."""

    name = "counter"

    def max_spend(self, _ask: SumAsk, /) -> Spend:
        return Spend(2.0, 5)


class Adder:
    """Adds, counts what it is asked, and says nothing where it is told to."""

    def __init__(self, *, silent: Callable[[SumAsk], bool] = lambda _ask: False) -> None:
        self.asked: list[SumAsk] = []
        self.silent = silent

    async def __call__(self, ask: SumAsk) -> Sum:
        await asyncio.sleep(0)
        self.asked.append(ask)
        return self.said(ask)

    def said(self, ask: SumAsk) -> Sum:
        """What it says, however it is asked."""
        value = None if self.silent(ask) else ask.left + ask.right
        took = {"input_tokens": 2, "output_tokens": 1, "cost_usd": 1.0}
        return Sum.model_validate({"value": value, **vars(ask), **took})


def add_up(
    folder: Path,
    plan: Asks[SumAsk],
    adder: Callable[[SumAsk], Awaitable[Sum]],
    *,
    concurrency: int = 4,
    limits: Limits = Limits(),
    watch: RunObserver | None = None,
    manifest: SumManifest | None = None,
) -> RunProgress:
    """One session of a run of sums, which `adder` is asked for."""
    limits = replace(limits, concurrency=concurrency)
    options, progress = CallingOptions(limits=limits), RunProgress()
    return asyncio.run(
        perform(
            Counter(),
            adder,
            plan,
            folder_log(folder, manifest or sum_manifest(), SUMS, new_session(limits)),
            options=options,
            progress=progress,
            watch=watch,
        )
    )


def logged(folder: Path) -> list[Sum]:
    """The lines of the log."""
    return list(read_jsonl(folder / SUMS.file, Sum))
