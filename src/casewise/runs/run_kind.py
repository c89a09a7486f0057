"""What a kind of run has to say of its asks and answers; the room does the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from casewise.records.base import Record
from casewise.runs.progress import Took
from casewise.storage.runs.log_kind import LogKind

__all__ = ["LoggedKind", "RunKind"]

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R", bound=Record)


class RunKind(ABC, Generic[A, B]):
    """What is asked (`A`) and what is answered (`B`)."""

    @abstractmethod
    def key(self, ask: A) -> tuple[str, ...]:
        """Tells this ask from every other of the run, whatever the attempt."""

    @abstractmethod
    def attempt(self, ask: A) -> int:
        """Which attempt at it this is, from 0."""

    @abstractmethod
    def again(self, ask: A, attempt: int) -> A:
        """The same ask as another attempt."""

    @abstractmethod
    def problem(self, answer: B) -> str | None:
        """Why an answer is of no use, in words; None where it settles its ask."""

    @abstractmethod
    def took(self, answer: B) -> Took:
        """What the call that gave an answer took."""

    def shared(self, answer: B, by: A) -> B:
        """The answer to `by`, as that of another ask which the same call answers: it took nothing of its own.

        Only kinds whose asks can share a call need it.
        """
        raise TypeError(f"a call answers {self.key(by)} alone: {type(answer).__name__} cannot be shared")


class LoggedKind(RunKind[A, B], Generic[A, B, R]):
    """A kind of run whose answers are records in a run folder."""

    log: LogKind[Any, R]

    @abstractmethod
    def record(self, ask: A, answer: B) -> R:
        """The line of the log."""

    @abstractmethod
    def answer(self, record: R) -> B:
        """The answer that a record holds."""

    @abstractmethod
    def usable(self, record: R) -> bool:
        """Whether a record settles its ask, as `problem` says of an answer."""

    @abstractmethod
    def took_by(self, record: R) -> Took:
        """What a record took."""
