"""What every run has in common that asks: within which limits, by whom the calls are made, and what is left of its plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from casewise.models.batch.load import client_of
from casewise.models.http.client import EndpointClient
from casewise.models.protocol import Model
from casewise.runs.batch.beside import BesideBatches
from casewise.runs.batch.executor import BatchExecutor
from casewise.runs.batch.jobs import BatchOptions
from casewise.runs.durable import DurableRun
from casewise.runs.engine import Executor, LiveExecutor
from casewise.runs.limits import Limits, Spend
from casewise.runs.progress import RunProgress, Watch
from casewise.runs.run_kind import Asks, Attempted, RunKind
from casewise.runs.run_log import RunLog
from casewise.storage.runs.batch_jobs import JobLog

__all__ = ["Asking", "Batched", "CallingOptions"]

A = TypeVar("A", bound=Attempted)
B = TypeVar("B")
P = TypeVar("P", bound=RunProgress)


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
class Asking(Generic[A, B]):
    """How an ask is answered, and within what."""

    answer: Callable[[A], Awaitable[B]]
    at_most: Callable[[A], Spend]
    """What a call can take at most."""
    concurrency: int
    """How many calls whoever is asked wants under way at least."""
    limits: Limits
    over: Batched | None = None
    watch: Watch | None = None

    async def of(self, kind: RunKind[A, B], plan: Asks[A], log: RunLog[A, B], *, folder: Path, progress: P) -> P:
        """Ask what the log of a run does not settle, from this process or over a batch interface; `folder` is for its jobs."""
        watch, over = self.watch or Watch(), self.over
        many = max(self.limits.concurrency, self.concurrency)
        executor: Executor[A, B] = LiveExecutor(self.answer, many)
        if over is not None:
            jobs = JobLog.at(folder)
            executor = BatchExecutor(self.answer, over.client, over.name, jobs, over.priced, over.options, watch.say)
        elif (jobs := JobLog.read(folder)).jobs:
            executor = BesideBatches(executor, jobs)
        return await DurableRun(kind, plan, log, executor, self.limits, self.at_most, watch).perform(progress)
