"""Many single asks made into few batches: collected while the model is busy, sorted by length, cut by tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Batcher", "common_prefix", "length_sorted_batches"]

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


@dataclass
class Waiting(Generic[T, R]):
    """One ask and where its answer goes."""

    ask: T
    kind: Hashable
    answer: asyncio.Future[R]


class Batcher(Generic[T, R]):
    """Answers single asks in rounds: whatever waits when a round begins, of one kind, goes together.

    `work` is called in a thread with the asks of a round, and gives their answers in order.
    """

    def __init__(self, work: Callable[[Hashable, list[T]], list[R]], *, patience_s: float = 0.005) -> None:
        self._work = work
        self._patience_s = patience_s
        self._waiting: list[Waiting[T, R]] = []
        self._running: asyncio.Task[None] | None = None

    async def ask(self, ask: T, kind: Hashable) -> R:
        """The answer to `ask`; only asks of equal `kind` go together."""
        waiting: Waiting[T, R] = Waiting(ask, kind, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._rounds())
        return await waiting.answer

    async def close(self) -> None:
        """Drop what waits."""
        if self._running is not None:
            self._running.cancel()
            self._running = None

    async def _rounds(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._patience_s)
            kind = self._waiting[0].kind
            together = [one for one in self._waiting if one.kind == kind]
            self._waiting = [one for one in self._waiting if one.kind != kind]
            try:
                answers = await asyncio.to_thread(self._work, kind, [one.ask for one in together])
            except Exception as error:  # noqa: BLE001 - every asker is told
                for one in together:
                    if not one.answer.done():
                        one.answer.set_exception(error)
                continue
            for one, answer in zip(together, answers, strict=True):
                if not one.answer.done():
                    one.answer.set_result(answer)
