"""Asks handed to copies of a model in chunks, and their answers handed back as they come.

        asks ──▶ what waits ──chunks──▶ copies ──answers──▶ whoever asked
                     ▲                    │
                     └── a copy is lost ──┘ its asks wait again, and another copy is started where there is room

Nothing is kept here: what was answered stands in the run's log, and what was not is asked again by the same command.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from casewise.errors import CasewiseError, ConfigurationError, ModelError, Unavailable
from casewise.models.ray.cluster import CopyRoom
from casewise.models.ray.copy import Asked, HasSettings, ModelCopy

__all__ = ["CopyPool"]

CHUNK = 512
"""Asks that go to a copy together, at most."""

AHEAD = 2
"""Chunks that a copy holds at once, so that it never waits for the next."""

PATIENCE_S = 0.005
"""How long a copy that is free waits for more asks to come together."""

LOSSES = 3
"""So many copies lost over one ask, and it is taken for what ends them."""

IN_A_ROW = 10
"""So many losses for each copy with no answer in between, and no copy is thought to last."""

PLACED_WITHIN_S = 120.0


@dataclass(eq=False)
class WaitingAsk:
    """An ask, where its answer goes, and how many copies were lost over it."""

    ask: Asked
    answer: asyncio.Future[Any]
    losses: int = 0


class CopyPool:
    """Copies of one model in a Ray cluster.

    `ray`: Ray, connected.
    `load`, `answer`: what makes the model in a copy, and the name of the method that answers one ask.
    `members`: attributes of the model that are wanted here.

    Raises CasewiseError: what loading the model raised.
    """

    def __init__(
        self, ray: Any, load: Callable[[], HasSettings], answer: str, *, room: CopyRoom, members: Sequence[str] = ()
    ) -> None:
        self._ray, self._made, self.room, self._members = ray, (load, answer, room.threads), room, tuple(members)
        self._kind = ray.remote(num_cpus=1, num_gpus=room.gpus, max_restarts=0, scheduling_strategy="SPREAD")(ModelCopy)
        self._copies = [self._start() for _ in range(room.copies)]
        self._waiting: deque[WaitingAsk] = deque()
        self._keepers: list[asyncio.Task[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._more = asyncio.Event()
        self._failure: Exception | None = None
        self._lost = 0
        self.tell: Callable[[str], None] = lambda _line: None
        self.about: dict[str, Any] = self._first("about", self._members)

    def _start(self) -> Any:
        return self._kind.remote(*self._made)

    def _first(self, method: str, *arguments: Any) -> Any:
        """What a copy says, whichever is the first to be there. Loading may take long; being given room may not."""
        placed, _ = self._ray.wait([copy.placed.remote() for copy in self._copies], timeout=PLACED_WITHIN_S)
        if not placed:
            raise ConfigurationError(
                f"the Ray cluster has no room for a copy of the model (a CPU and {self.room.gpus:g} GPUs) after "
                f"{PLACED_WITHIN_S:g} s"
            )
        done, _ = self._ray.wait([getattr(copy, method).remote(*arguments) for copy in self._copies])
        try:
            return self._ray.get(done[0])
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            raise ModelError(f"a copy of the model was lost as it was loaded: {one_line(error)}") from None

    def called(self, method: str, *arguments: Any) -> Any:
        """What a method of the model gives that waits for nothing."""
        return self._first("called", method, *arguments)

    async def ask(self, *ask: Any) -> Any:
        """The answer to an ask, or what was raised for it.

        Raises Unavailable: copy after copy was lost over it. ModelError: no copy can be loaded any more.
        """
        self._begin()
        waiting = WaitingAsk(ask, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._more.set()
        return await waiting.answer

    async def close(self) -> None:
        """Drop what waits, and end the copies."""
        for keeper in self._keepers:
            keeper.cancel()
        self._keepers.clear()
        for copy in self._copies:
            self._ray.kill(copy)

    def _begin(self) -> None:
        """Have every copy kept busy by the loop that runs now: a run may be gone on with in another."""
        if self._failure is not None:
            raise self._failure
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._more = loop, asyncio.Event()
            self._waiting.clear()
            self._keepers = [loop.create_task(self._keep(place)) for place in range(len(self._copies))]

    async def _keep(self, place: int) -> None:
        """Have the copy at `place` answer, and where it is lost another in its place."""
        while self._failure is None:
            copy = self._copies[place]
            try:
                await self._serve(copy)
            except self._ray.exceptions.RayTaskError as error:
                self._fail(error.cause)
            except self._ray.exceptions.RayError as error:
                self._lost += 1
                if self._lost >= IN_A_ROW * len(self._copies):
                    self._fail(error)
                    return
                self.tell(f"a copy of the model was lost ({type(error).__name__}); another is started")
                self._ray.kill(copy)
                self._copies[place] = self._start()

    async def _serve(self, copy: Any) -> None:
        await copy.about.remote(self._members)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(AHEAD):
                    group.create_task(self._answer(copy))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _answer(self, copy: Any) -> None:
        while True:
            chunk = await self._next_chunk()
            try:
                outcomes = await copy.answers.remote([one.ask for one in chunk])
            except BaseException:  # cancelled too: the copy was lost over its other chunk
                self._again(chunk)
                raise
            self._lost = 0
            for one, (answer, error) in zip(chunk, outcomes, strict=True):
                settle(one, answer, error)

    async def _next_chunk(self) -> list[WaitingAsk]:
        """What a copy is given next: its share of what waits."""
        while True:
            while not self._waiting:
                self._more.clear()
                await self._more.wait()
            await asyncio.sleep(PATIENCE_S)
            share = min(CHUNK, -(-len(self._waiting) // (AHEAD * len(self._copies))))
            chunk = [self._waiting.popleft() for _ in range(share)]
            if wanted := [one for one in chunk if not one.answer.done()]:
                return wanted

    def _again(self, chunk: list[WaitingAsk]) -> None:
        """Have asks wait again whose copy was lost; an ask over which copy after copy is lost fails."""
        for one in chunk:
            one.losses += 1
            if one.losses < LOSSES:
                self._waiting.appendleft(one)
            else:
                settle(one, None, Unavailable(f"{one.losses} copies of the model were lost while they answered"))
        self._more.set()

    def _fail(self, cause: Exception) -> None:
        """No copy can be loaded any more, so nothing that waits will be answered."""
        known = isinstance(cause, CasewiseError)
        self._failure = cause if known else ModelError(f"no copy of the model lasts: {one_line(cause)}")
        for one in self._waiting:
            settle(one, None, self._failure)
        self._waiting.clear()


def settle(waiting: WaitingAsk, answer: Any, error: Exception | None) -> None:
    """Hand an outcome to who asked, unless nobody waits for it any more."""
    if waiting.answer.done():
        return
    if error is None:
        waiting.answer.set_result(answer)
    else:
        waiting.answer.set_exception(error)


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())
