"""Few batches of many single asks: collected while a model is busy, sorted by length, cut by tokens."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar
from weakref import WeakSet

T = TypeVar("T")
R = TypeVar("R")


def length_sorted_batches(
    lengths: Sequence[int], *, batch_tokens: int, even_from: int | None = None
) -> Iterator[list[int]]:
    """Yield indices in batches of similar lengths, longest first, with at most `batch_tokens` padded tokens.

    A longer sequence is a batch of its own. A batch of `even_from` padded tokens takes in only sequences at least nine
    tenths as long as its longest: on a processor, padding costs more than another batch.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch:
            longest = lengths[batch[0]]
            uneven = even_from is not None and len(batch) * longest >= even_from and lengths[index] < 0.9 * longest
            if uneven or (len(batch) + 1) * longest > batch_tokens:
                yield batch
                batch = []
        batch.append(index)
    if batch:
        yield batch


def common_prefix(sequences: Sequence[list[int]]) -> int:
    """Return the number of leading tokens that all `sequences` share, with at least one token of each left over."""
    first, last, longest = min(sequences), max(sequences), min(map(len, sequences)) - 1
    return next((i for i in range(longest) if first[i] != last[i]), longest)


Batch: TypeAlias = tuple[list[int], Callable[[], list[R]]]
"""Places of asks of a round, and the function that answers them, in that order."""


@dataclass(eq=False)
class PendingAsk(Generic[T, R]):
    """A waiting ask, with the future of its answer."""

    ask: T
    kind: Hashable
    answer: asyncio.Future[R]
    begun: bool = False


class Batcher(Generic[T, R]):
    """Answers single asks in rounds: the asks of one kind that wait when a round begins are cut into batches.

    `work` is called in a thread with the asks of a round, and yields their batches. Asks are answered batch by batch.
    `threads`: threads that take batches at the same time; None for one batch after the other.
    """

    def __init__(
        self,
        work: Callable[[Hashable, list[T]], Iterable[Batch[R]]],
        *,
        threads: Callable[[], Executor] | None = None,
        patience_s: float = 0.005,
    ) -> None:
        self._work, self._threads = work, threads
        self._patience_s = patience_s
        self._waiting: list[PendingAsk[T, R]] = []
        self._round: list[PendingAsk[T, R]] = []
        self._running: asyncio.Task[None] | None = None
        QUEUES.add(self)

    async def ask(self, ask: T, kind: Hashable) -> R:
        """Return the answer to `ask`; only asks of equal `kind` share a batch."""
        waiting: PendingAsk[T, R] = PendingAsk(ask, kind, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._rounds())
        return await waiting.answer

    def drop_waiting(self) -> None:
        """Cancel the waiting asks; batches under way are finished."""
        for waiting in (*self._waiting, *self._round):
            if not waiting.begun:
                waiting.answer.cancel()
        self._waiting.clear()

    async def close(self) -> None:
        """Stop answering."""
        if self._running is not None:
            self._running.cancel()
            self._running = None

    async def _rounds(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(self._patience_s)
            if not self._waiting:
                return
            kind = self._waiting[0].kind
            self._round = [waiting for waiting in self._waiting if waiting.kind == kind]
            self._waiting = [waiting for waiting in self._waiting if waiting.kind != kind]
            try:
                await asyncio.to_thread(self._answer_all, kind, self._round, loop)
            except Exception as error:  # noqa: BLE001 - every asker is told
                settle(self._round, error)

    def _answer_all(self, kind: Hashable, requests: list[PendingAsk[T, R]], loop: asyncio.AbstractEventLoop) -> None:
        """Answer a round of requests, in a thread."""

        def answer(batch: Batch[R]) -> None:
            together = [requests[i] for i in batch[0]]
            if all(request.answer.done() for request in together):
                return
            for request in together:
                request.begun = True
            try:
                results: list[R] | Exception = batch[1]()
            except Exception as error:  # noqa: BLE001 - every asker is told
                results = error
            loop.call_soon_threadsafe(settle, together, results)

        batches = self._work(kind, [request.ask for request in requests])
        deque((map if self._threads is None else self._threads().map)(answer, batches), maxlen=0)


def settle(requests: Sequence[PendingAsk[T, R]], results: list[R] | Exception) -> None:
    """Answer, or fail with an error, the asks that still wait for one."""
    for place, request in enumerate(requests):
        if request.answer.done():
            continue
        if isinstance(results, Exception):
            request.answer.set_exception(results)
        else:
            request.answer.set_result(results[place])


class Queue(Protocol):
    """The asks that wait for a model of this process."""

    def drop_waiting(self) -> None:
        """Cancel the waiting asks; those under way are finished."""


QUEUES: WeakSet[Queue] = WeakSet()


def drop_all_waiting() -> None:
    """Cancel all asks that wait for a model of this process; those under way are finished."""
    for queue in list(QUEUES):
        queue.drop_waiting()
