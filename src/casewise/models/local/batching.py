"""Many single asks made into few batches: collected while the model is busy, sorted by length, cut by tokens."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar
from weakref import WeakSet

__all__ = ["Batch", "Batcher", "common_prefix", "drop_all_waiting", "length_sorted_batches"]

T = TypeVar("T")
R = TypeVar("R")


def length_sorted_batches(
    lengths: Sequence[int], *, batch_tokens: int, even_from: int | None = None
) -> Iterator[list[int]]:
    """Indices in batches of similar lengths, longest first, whose padded tokens do not exceed `batch_tokens`.

    One that is longer by itself is a batch of its own. A batch that holds `even_from` padded tokens takes in only what is at
    least nine tenths as long as its longest: where arithmetic is dear, padding costs more than another batch does.
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
    """How many leading tokens all `sequences` share, at least one of each being left over."""
    if not sequences:
        return 0
    first, last = min(sequences), max(sequences)
    longest = min(len(sequence) for sequence in sequences) - 1
    shared = next((i for i in range(min(longest, len(first), len(last))) if first[i] != last[i]), longest)
    return max(shared, 0)


Batch: TypeAlias = tuple[list[int], Callable[[], list[R]]]
"""Which asks of a round go through together, and what answers them, in that order."""


@dataclass(eq=False)
class Waiting(Generic[T, R]):
    """One ask, where its answer goes, and whether it is being answered."""

    ask: T
    kind: Hashable
    answer: asyncio.Future[R]
    begun: bool = False


class Batcher(Generic[T, R]):
    """Answers single asks in rounds: whatever waits when a round begins, of one kind, is cut into batches together.

    `work` is called in a thread with the asks of a round, and gives their batches. Each is answered as soon as it is done.
    `beside`: threads that take batches at the same time; None where one goes after the other.
    """

    def __init__(
        self,
        work: Callable[[Hashable, list[T]], Iterable[Batch[R]]],
        *,
        beside: Callable[[], Executor] | None = None,
        patience_s: float = 0.005,
    ) -> None:
        self._work, self._beside = work, beside
        self._patience_s = patience_s
        self._waiting: list[Waiting[T, R]] = []
        self._round: list[Waiting[T, R]] = []
        self._running: asyncio.Task[None] | None = None
        WAITING_ROOMS.add(self)

    async def ask(self, ask: T, kind: Hashable) -> R:
        """The answer to `ask`; only asks of equal `kind` go together."""
        waiting: Waiting[T, R] = Waiting(ask, kind, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._rounds())
        return await waiting.answer

    def drop_waiting(self) -> None:
        """Cancel what waits; batches under way are finished."""
        for one in (*self._waiting, *self._round):
            if not one.begun:
                one.answer.cancel()
        self._waiting.clear()

    async def close(self) -> None:
        """Drop what waits, and end."""
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
            self._round = [one for one in self._waiting if one.kind == kind]
            self._waiting = [one for one in self._waiting if one.kind != kind]
            try:
                await asyncio.to_thread(self._answer_all, kind, self._round, loop)
            except Exception as error:  # noqa: BLE001 - every asker is told
                settle(self._round, error)

    def _answer_all(self, kind: Hashable, asked: list[Waiting[T, R]], loop: asyncio.AbstractEventLoop) -> None:
        """Answer a round. Runs in a thread."""

        def answer(batch: Batch[R]) -> None:
            together = [asked[i] for i in batch[0]]
            if all(one.answer.done() for one in together):
                return
            for one in together:
                one.begun = True
            try:
                found: list[R] | Exception = batch[1]()
            except Exception as error:  # noqa: BLE001 - every asker is told
                found = error
            loop.call_soon_threadsafe(settle, together, found)

        batches = self._work(kind, [one.ask for one in asked])
        deque((map if self._beside is None else self._beside().map)(answer, batches), maxlen=0)


def settle(asked: Sequence[Waiting[T, R]], found: list[R] | Exception) -> None:
    """Hand answers, or the error in their place, to those that still wait for one."""
    for place, one in enumerate(asked):
        if one.answer.done():
            continue
        if isinstance(found, Exception):
            one.answer.set_exception(found)
        else:
            one.answer.set_result(found[place])


WAITING_ROOMS: WeakSet[Batcher[Any, Any]] = WeakSet()


def drop_all_waiting() -> None:
    """Cancel what waits for a model of this process, for the process is to end; batches under way are finished."""
    for room in list(WAITING_ROOMS):
        room.drop_waiting()
