"""Batch jobs on disk: what was sent, what came back, and what is pending."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from casewise.errors import DataError
from casewise.records.base import Record
from casewise.storage.files import append_line, read_jsonl, replacing
from casewise.storage.run_folder import cut_torn_line

BATCHES = "batches.jsonl"
RESULTS = "batches"

JobStage = Literal["intended", "uploaded", "out", "seen", "ended", "refused", "lost"]


class JobEvent(Record):
    """A step of a batch job."""

    job: str
    stage: JobStage
    at: datetime
    provider: str = ""
    model: str = ""
    path: str = ""
    names: tuple[str, ...] = ()
    """The requests, each by its ask's hash."""
    capabilities: dict[str, Any] = Field(default_factory=dict)
    """The capabilities that the endpoint was thought to have when the requests were written."""
    cost_at_most_usd: float | None = None
    tokens_at_most: int = 0
    file: str | None = None
    batch: str | None = None
    expires: datetime | None = None
    state: str = ""
    words: str = ""
    n_done: int | None = None
    late: tuple[str, ...] = ()
    """Requests that another job had answered before: recorded, and not counted."""


@dataclass
class BatchJob:
    """The state of a job after its recorded steps."""

    mark: str
    intended: JobEvent
    stage: JobStage = "intended"
    file: str | None = None
    batch: str | None = None
    expires: datetime | None = None
    state: str = ""
    words: str = ""
    n_done: int = 0
    late: tuple[str, ...] = ()

    @property
    def unsettled(self) -> bool:
        """True if its requests may still be answered: the job is out, or its state is unknown."""
        return self.stage in ("intended", "uploaded", "out")

    def step(self, event: JobEvent) -> None:
        """Apply a step of the job's log."""
        if event.stage != "seen":
            self.stage = event.stage
        for name in ("file", "batch", "expires", "state", "words", "late"):
            if value := getattr(event, name):
                setattr(self, name, value)
        self.n_done = self.n_done if event.n_done is None else event.n_done


class ResultPlace(NamedTuple):
    """The place of a result in its job's file, and its status."""

    job: str
    offset: int
    status: int


@dataclass
class JobLog:
    """The jobs of one run folder."""

    folder: Path
    jobs: dict[str, BatchJob] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: Path) -> JobLog:
        """Return the jobs of the run at `folder`, which the caller has locked. Raises DataError: a line of their log is
        invalid."""
        log = cls(folder)
        cut_torn_line(log.path)
        return log.with_steps()

    @classmethod
    def read(cls, folder: Path) -> JobLog:
        """Return the same of a folder that another process may be working on: nothing is written."""
        return cls(folder).with_steps()

    def with_steps(self) -> JobLog:
        for event in read_jsonl(self.path, JobEvent, growing=True) if self.path.exists() else ():
            self.step(event)
        return self

    @property
    def path(self) -> Path:
        return self.folder / BATCHES

    @property
    def run(self) -> str:
        """The prefix that the marks of all jobs of this run share."""
        return next(iter(self.jobs), secrets.token_hex(4)).partition("-")[0]

    def step(self, event: JobEvent) -> BatchJob:
        if event.job not in self.jobs and event.stage != "intended":
            problem = (
                f"the first step of the job {event.job!r} is {event.stage!r} and not 'intended'; restore the whole log"
            )
            raise DataError(self.path, None, problem)
        job = self.jobs.setdefault(event.job, BatchJob(event.job, event))
        job.step(event)
        return job

    def note(self, event: JobEvent) -> BatchJob:
        """Write a step, and see to it that it is on the disk. Raises ConfigurationError: it cannot be written."""
        append_line(self.path, event, sync=True)
        return self.step(event)

    def results_of(self, mark: str) -> Path:
        """Return the path of a job's results."""
        return self.folder / RESULTS / f"{mark}.jsonl"

    async def keep_results(self, mark: str, results: AsyncIterator[tuple[str, int, str]]) -> None:
        """Keep a job's results, whole or not at all: for each request its name, a status, and a body."""
        with replacing(self.results_of(mark)) as file:
            async for name, status, text in results:
                file.write((json.dumps([name, status, text]) + "\n").encode())

    def places(self, mark: str) -> Iterator[tuple[str, ResultPlace]]:
        """Yield a job's results by name, each with its place; none where they have not come."""
        path = self.results_of(mark)
        if not path.exists():
            return
        with path.open("rb") as file:
            offset = 0
            for line in file:
                name, status, _ = json.loads(line)
                yield name, ResultPlace(mark, offset, status)
                offset += len(line)

    def text_at(self, place: ResultPlace) -> str:
        """Return the body at this place."""
        with self.results_of(place.job).open("rb") as file:
            file.seek(place.offset)
            return str(json.loads(file.readline())[2])


def discard_results(folder: Path) -> None:
    """Remove the results that providers sent. The jobs' steps stay."""
    for file in (folder / RESULTS).glob("*.jsonl"):
        file.unlink()
