"""What has come of every request of a run, whichever of its jobs brought it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from casewise.models.http.retry import is_retried
from casewise.storage.runs.batch_jobs import BatchJob, JobLog, ResultPlace

__all__ = ["Results"]


class Results:
    """Results by request, in the order in which they came; and how often a request was asked for nothing."""

    def __init__(self, log: JobLog) -> None:
        self.log = log
        self._places: dict[str, list[ResultPlace]] = {}
        self._asked: Counter[str] = Counter()
        for job in log.jobs.values():
            if job.stands == "ended":
                self.take_in(job)

    def take_in(self, job: BatchJob) -> tuple[str, ...]:
        """Take in the results of a job that has ended; the names of those that had a good one before."""
        late = []
        for name in job.intended.names:
            self._asked[name] += 1
        for name, place in self.log.places(job.mark):
            if not good(place):
                continue
            there = self._places.setdefault(name, [])
            if place.status == 200 and any(one.status == 200 for one in there):
                late.append(name)
            there.append(place)
        return tuple(late)

    def of(self, name: str) -> Iterable[ResultPlace]:
        """The results of a request that may be its answer."""
        return self._places.get(name, ())

    def asked(self, name: str) -> int:
        """In how many jobs that ended it was."""
        return self._asked[name]


def good(place: ResultPlace) -> bool:
    """Whether a result is one, or a refusal that no other try would cure."""
    return not is_retried(place.status)
