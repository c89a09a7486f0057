"""A live session of a run that has gone over a batch interface before: what may be paid for there is not asked for here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from casewise.runs.batch.jobs import reserved
from casewise.runs.engine import Call, Executor, Tally, Workload
from casewise.storage.runs.batch_jobs import BatchJob, JobLog

__all__ = ["BesideBatches"]

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class BesideBatches(Generic[A, B]):
    """Has calls made, but for those that are out, or answered and not in the run's log: a session over the interface collects them."""

    live: Executor[A, B]
    log: JobLog

    async def execute(self, work: Workload[A, B]) -> Tally:
        there = {name for job in self.log.jobs.values() for name in self.paid(job)}
        left: list[Call[tuple[A, ...]]] = []

        def others() -> Iterator[Call[tuple[A, ...]]]:
            for call in work.calls:
                if f"{self.log.run}-{work.name(call.payload[0])}" in there:
                    left.append(call)
                else:
                    yield call

        if work.control.budget is not None:
            work.control.budget.reserved += reserved(self.log)
        tally = await self.live.execute(replace(work, calls=others()))
        tally.pending += len(left)
        return tally

    def paid(self, job: BatchJob) -> Iterator[str]:
        """The requests of a job that are paid for, or may be yet."""
        if job.unsettled:
            yield from job.intended.names
        elif job.stands == "ended":
            yield from (name for name, place in self.log.places(job.mark) if place.status == 200)
