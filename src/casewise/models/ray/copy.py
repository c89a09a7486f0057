"""One copy of a model in a process of its own, wherever Ray puts it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["Asked", "HasSettings", "ModelCopy", "Outcome"]

Asked = tuple[Any, ...]
"""The arguments of one ask."""

Outcome = tuple[Any, Exception | None]
"""An answer, or what was raised in its place."""


class HasSettings(Protocol):
    """What every model has that is copied."""

    def settings(self) -> dict[str, Any]: ...


L = TypeVar("L", bound=HasSettings)


class ModelCopy:
    """Loads a model when it is first asked about, and answers in batches as the model itself would.

    `load`: makes the model.
    `answer`: the name of the method that answers one ask.
    `threads`: of the processor, for torch: Ray leaves it one a process.
    """

    def __init__(self, load: Callable[[], HasSettings], answer: str, threads: int) -> None:
        self._load, self._answer, self._threads = load, answer, threads
        self._model: HasSettings | None = None

    def placed(self) -> None:
        """Says that there was room for it."""

    def about(self, members: Sequence[str]) -> dict[str, Any]:
        """The model's settings, and those of its attributes that are named. Loads it."""
        model = self.loaded()
        return {"settings": model.settings()} | {name: getattr(model, name) for name in members}

    def called(self, method: str, *arguments: Any) -> Any:
        """What a method of the model gives that waits for nothing."""
        return getattr(self.loaded(), method)(*arguments)

    async def answers(self, asks: Sequence[Asked]) -> list[Outcome]:
        """The outcome of each ask, in order."""
        method = getattr(self.loaded(), self._answer)
        return list(await asyncio.gather(*(outcome(method(*ask)) for ask in asks)))

    def loaded(self) -> HasSettings:
        if self._model is None:
            import torch

            torch.set_num_threads(self._threads)
            self._model = self._load()
        return self._model


async def outcome(answer: Awaitable[Any]) -> Outcome:
    try:
        return await answer, None
    except Exception as error:  # noqa: BLE001 - raised again where it was asked
        return None, error
