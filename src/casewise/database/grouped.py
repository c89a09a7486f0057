"""Short writes that wait for a commit go along with the next one: a disk takes as long for twenty as for one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection

__all__ = ["GroupedWrites"]

T = TypeVar("T")

MOST_TOGETHER = 32


@dataclass(slots=True)
class AwaitedWrite:
    """A write, and where its result is waited for."""

    work: Callable[[Connection], Any]
    result: Future[Any] = field(default_factory=Future)


class GroupedWrites:
    """Performs writes in one thread, as many in a transaction as have come while the one before was being committed.

    A result is there after its commit. Where a group fails, nothing of it was kept, and each of it is written by itself:
    so an error is that of one write alone, and a write may be performed twice and must change nothing but the database.
    With several `threads` each write is a transaction of its own: PostgreSQL writes side by side, and whoever locked two
    people's rows at once could wait in a circle.
    """

    def __init__(self, write: Callable[[], AbstractContextManager[Connection]], *, threads: int) -> None:
        self._write = write
        self._groups = threads == 1
        self._waiting: deque[AwaitedWrite] = deque()
        self._threads = ThreadPoolExecutor(threads, "casewise writes")

    def submit(self, work: Callable[[Connection], T]) -> Future[T]:
        """What `work` returns, once it is committed."""
        if not self._groups:
            return self._threads.submit(self._alone, work)
        awaited = AwaitedWrite(work)
        self._waiting.append(awaited)
        self._threads.submit(self._write_waiting)
        return awaited.result

    def close(self) -> None:
        """Perform what was submitted, and take nothing more."""
        self._threads.shutdown()

    def _alone(self, work: Callable[[Connection], T]) -> T:
        with self._write() as connection:
            return work(connection)

    def _write_waiting(self) -> None:
        taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
        group = [one for one in taken if one.result.set_running_or_notify_cancel()]
        if len(group) > 1 and self._performed_together(group):
            return
        for one in group:
            try:
                found = self._alone(one.work)
            except BaseException as error:  # noqa: BLE001 - it is raised where the result is waited for
                one.result.set_exception(error)
            else:
                one.result.set_result(found)

    def _performed_together(self, group: list[AwaitedWrite]) -> bool:
        try:
            with self._write() as connection:
                found = [one.work(connection) for one in group]
        except Exception:  # noqa: BLE001 - whose it is comes out when each is performed by itself
            return False
        for one, result in zip(group, found, strict=True):
            one.result.set_result(result)
        return True
