"""What is asked, streamed, and what a kind of run has to say of its asks and answers; the room does the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.records.base import Record
from casewise.runs.progress import Took
from casewise.storage.runs.log_kind import LogKind
from casewise.storage.runs.run_folder import RunFolder

__all__ = ["Asks", "Attempted", "Held", "LoggedKind", "Numbered", "RunKind"]


A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
B = TypeVar("B")
R = TypeVar("R", bound=Record)


class Numbered(Protocol[A_co]):
    """A plan whose asks have numbers, from 0 in its order, so that a log in columns is held against all of it at once."""

    @property
    def ends(self) -> NDArray[np.int64]:
        """Of each bundle the number after that of its last ask."""

    def numbers(self, log: pl.DataFrame) -> NDArray[np.int64]:
        """Of each row of a log in columns the number of its ask; -1 where the plan has no such ask."""

    def bundle(self, place: int) -> tuple[A_co, ...]:
        """The asks of the bundle at a place, in the order of their numbers."""


@dataclass(frozen=True)
class Asks(Generic[A]):
    """What to ask, in bundles; nothing larger than a bundle is ever held in memory."""

    bundles: Callable[[], Iterator[tuple[A, ...]]]
    """The plan from its beginning, each time. Only asks of one bundle can share a call."""
    size: int
    """How many asks it has."""
    retries: int = 0
    """How often an ask is repeated at most because its answer was of no use."""
    shared_key: Callable[[A], Hashable] = lambda _ask: None
    """Equal for asks that one call answers, as is its `str`, on every machine; None for one that shares its call with no other."""
    numbered: Callable[[], Numbered[A]] | None = None
    """The same bundles by numbers, where these are known before an ask is made."""

    def __iter__(self) -> Iterator[A]:
        for bundle in self.bundles():
            yield from bundle

    def grouped(self, bundle: tuple[A, ...]) -> Iterator[tuple[A, ...]]:
        """The asks of a bundle in groups that one call answers."""
        if len(bundle) == 1:
            yield bundle
            return
        groups: dict[Hashable, list[A]] = {}
        for place, ask in enumerate(bundle):
            key = self.shared_key(ask)
            groups.setdefault(place if key is None else key, []).append(ask)
        yield from (tuple(group) for group in groups.values())

    def groups(self) -> Iterator[tuple[A, ...]]:
        """The plan, a call at a time."""
        for bundle in self.bundles():
            yield from self.grouped(bundle)


class Attempted(Protocol):
    """A dataclass of what is asked, which says the how manieth attempt at it this is, from 0."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def attempt(self) -> int: ...


Q = TypeVar("Q", bound=Attempted)


class RunKind(ABC, Generic[Q, B]):
    """What is asked (`Q`) and what is answered (`B`)."""

    @abstractmethod
    def key(self, ask: Q) -> tuple[str, ...]:
        """Tells this ask from every other of the run, whatever the attempt."""

    @abstractmethod
    def problem(self, answer: B) -> str | None:
        """Why an answer is of no use, in words; None where it settles its ask."""

    @abstractmethod
    def took(self, answer: B) -> Took:
        """What the call that gave an answer took."""

    def shared(self, answer: B, by: Q) -> B:
        """The answer to `by`, as that of another ask which the same call answers: it took nothing of its own.

        Only kinds whose asks can share a call need it.
        """
        raise TypeError(f"a call answers {self.key(by)} alone: {type(answer).__name__} cannot be shared")


class Held(NamedTuple):
    """What a session must know of a line of its log: where it stands, what it answers, and what it took."""

    place: int
    key: tuple[str, ...]
    attempt: int
    usable: bool
    passing: bool
    tokens: int
    cost_usd: float | None


class LoggedKind(RunKind[Q, B], Generic[Q, B, R]):
    """A kind of run whose answers are records in a run folder."""

    log: LogKind[Any, R]

    @abstractmethod
    def record(self, ask: Q, answer: B) -> R:
        """The line of the log."""

    @abstractmethod
    def answer(self, record: R) -> B:
        """The answer that a record holds."""

    @abstractmethod
    def usable(self, record: R) -> bool:
        """Whether a record settles its ask, as `problem` says of an answer."""

    def passing(self, _record: R) -> bool:
        """Whether a record tells of a failure that may have passed since."""
        return False

    def took(self, answer: Any) -> Took:
        return Took.of(answer)

    def took_by(self, record: Any) -> Took:
        """What a record took."""
        return Took.of(record)

    def held(self, folder: RunFolder[Any, R]) -> Iterator[Held]:
        """What a session must know of each line of the log, in order."""
        for place, record in folder.places():
            took = self.took_by(record)
            yield Held(
                place,
                self.log.key(record),
                self.log.attempt(record),
                self.usable(record),
                self.passing(record),
                took.input_tokens + took.output_tokens,
                took.cost_usd,
            )

    def in_columns(self, _folder: RunFolder[Any, R]) -> pl.DataFrame | None:
        """The same in columns: those of `Held` but for the key, and what a plan tells its asks by. None where a kind has no such thing."""
        return None
