"""What a session of a run did, what its plan has come to, and who is told of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from casewise.runs.limits import Counted, Spend
from casewise.runs.stopping import Stop

__all__ = ["RunProgress", "Took", "Watch"]

LONGEST_PROBLEM = 200


@dataclass(frozen=True, slots=True)
class Took:
    """What one call took; a cost of None is unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    tries: int = 1
    """Requests, with those that were tried again."""

    @classmethod
    def of(cls, counted: Counted, *, tries: int = 1) -> Took:
        """What a record of a call, or an answer, says that it took."""
        return cls(counted.input_tokens or 0, counted.output_tokens or 0, counted.cost_usd, tries)

    @property
    def spend(self) -> Spend:
        """As a budget counts it."""
        return Spend(self.cost_usd or 0.0, self.input_tokens + self.output_tokens)


@dataclass(kw_only=True)
class RunProgress:
    """What a session did, and what the run holds after it.

    `n_calls`, `n_tries`, `seconds`, tokens and cost are of this session; `resumed` is how many asks of the plan were
    settled before it; `n_usable` and `n_unusable` are of the whole plan so far.
    """

    unusable: ClassVar[str] = "unusable"
    """What this kind of run calls an answer that is none."""

    n_calls: int = 0
    n_usable: int = 0
    n_unusable: int = 0
    n_pending: int = 0
    """Calls that were handed over and are not answered yet; the same run later collects them."""
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    resumed: int = 0
    n_tries: int = 0
    """Requests, with those that were tried again."""
    stopped: str | None = None
    """Why the session ended before the plan did."""
    problems: Counter[str] = field(default_factory=Counter, repr=False)
    """Why answers of this session were of no use, in words, and how often."""

    @property
    def n_done(self) -> int:
        """Asks of the plan that were answered, well or not."""
        return self.n_usable + self.n_unusable

    def count_held(self, *, n: int, usable: int, settled: int) -> None:
        """Take into account what earlier sessions left of `n` asks: how many were answered well, and how many need no more."""
        self.resumed += settled
        self.n_usable += usable
        self.n_unusable += n - usable

    def count_call(self, took: Took) -> None:
        """Take one call into account."""
        self.n_calls += 1
        self.n_tries += took.tries
        self.input_tokens += took.input_tokens
        self.output_tokens += took.output_tokens
        if took.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + took.cost_usd

    def count_outcome(self, problem: str | None, *, known: bool) -> None:
        """Take what an ask came to into account; a `known` one was of no use before and is counted anew."""
        self.n_unusable -= known
        if problem is None:
            self.n_usable += 1
        else:
            self.n_unusable += 1
            self.problems[shortened(problem)] += 1


def shortened(problem: str) -> str:
    return problem if len(problem) <= LONGEST_PROBLEM else f"{problem[: LONGEST_PROBLEM - 3]}..."


@dataclass
class Watch:
    """Who is told how a run gets on, and who may stop it."""

    progress: Callable[[RunProgress, int], None] | None = None
    """Told before the first answer and after every one: the progress so far, and how many asks the plan has."""
    say: Callable[[str], None] = lambda _text: None
    stop: Stop = field(default_factory=Stop)
