"""Limits of a run: budget, stopping, and its progress."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

from casewise.errors import ConfigurationError, DataError
from casewise.models.batcher import drop_all_waiting
from casewise.models.prices import Spend
from casewise.options import CONCURRENCY, SPEED_GROUP, Hidden, Parameter
from casewise.records.call import Call
from casewise.storage.files import write_text
from casewise.text import count_of

# Asynchronous work from synchronous code.


T = TypeVar("T")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, from another thread if an event loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


# Limits of a run, and its spending.


@dataclass(frozen=True)
class Limits:
    """Limits of a run; None is no limit. Money and tokens count over all sessions of a run."""

    concurrency: Annotated[int, Parameter(group=SPEED_GROUP)] = CONCURRENCY
    """Maximum number of calls at the same time."""
    max_cost: float | None = None
    """Maximum cost of all sessions together, in US dollars."""
    max_tokens_total: int | None = None
    """Maximum number of tokens, in and out, of all sessions together."""
    spent_elsewhere: Hidden[Spend] = field(default_factory=Spend)
    """Spend of other runs under the same limits."""

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ConfigurationError(f"--concurrency is {self.concurrency}; it is 1 or more")
        if self.max_cost is not None and not self.max_cost >= 0:
            raise ConfigurationError(f"--max-cost is {self.max_cost}; it is 0 or more, in US dollars")

    @property
    def has_budget(self) -> bool:
        """True if money or tokens are limited."""
        return self.max_cost is not None or self.max_tokens_total is not None

    def reduced_by(self, spent: Spend) -> Limits:
        """Return the same limits, reduced by the spend of another run."""
        return replace(self, spent_elsewhere=self.spent_elsewhere + spent)


IN_FLIGHT = "in_flight.json"


class InFlight:
    """An upper bound of the cost of live calls under way, in a file beside the log, so that a kill cannot hide it.

    The file holds a bound that is seldom written: half as much again as was under way. A session that ends in good order
    empties it; the bound that a killed session left counts as spent.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.path = None if folder is None else folder / IN_FLIGHT
        self.unknown = Spend() if folder is None else unknown_spend(folder)
        """The most that calls took that the log does not hold: those of killed sessions, and those before the first answer."""
        self._now, self._written = Spend(), Spend()

    def count(self, spend: Spend) -> None:
        """Add spend that the log does not record, for all sessions."""
        if spend != Spend():
            self.unknown += spend
            self._write(self._written)

    def begin(self, call: Spend) -> None:
        """Count a call that begins."""
        self._now += call
        if self._now.cost_usd > self._written.cost_usd or self._now.tokens > self._written.tokens:
            self._write(Spend(1.5 * self._now.cost_usd, 3 * self._now.tokens // 2))

    def end(self, call: Spend) -> None:
        """Count a call that ends."""
        self._now -= call

    def clear(self) -> None:
        """Empty the file after all calls have ended."""
        if self._written != Spend():
            self._write(Spend())

    def _write(self, at_most: Spend) -> None:
        self._written = at_most
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            bounds = {"unknown": asdict(self.unknown), "at_most": asdict(at_most)}
            write_text(self.path, json.dumps(bounds) + "\n")


def unknown_spend(folder: Path) -> Spend:
    """Return the most that calls took that were under way when sessions of a run were killed."""
    try:
        bounds = json.loads((folder / IN_FLIGHT).read_text(encoding="utf-8"))
        return Spend(**bounds["unknown"]) + Spend(**bounds["at_most"])
    except FileNotFoundError:
        return Spend()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(folder / IN_FLIGHT, None, f"cannot be read: {error}") from error


class Budget:
    """Lets a call through only if the most that it may cost fits, with all calls under way.

    A call that does not fit waits for those under way, which mostly cost less than was set aside for them; when none
    is under way and it still does not fit, the budget is used up. So a limit is never passed as long as the estimates
    are upper bounds. Nothing is awaited between a check and its reservation, so that no two calls take the same room.
    """

    def __init__(self, limits: Limits, *, spent: Spend | None = None, in_flight: InFlight | None = None) -> None:
        self.limits = limits
        self.spent = spent or Spend()
        self.reserved = Spend()
        self.in_flight = in_flight or InFlight()
        self._under_way = 0
        self._changed: asyncio.Event | None = None

    def exceeded_limit(self, call: Spend) -> str | None:
        """Return the limit that `call` would pass, in words, or None."""
        limits = self.limits
        after = limits.spent_elsewhere + self.spent + self.reserved + call
        if limits.max_cost is not None and after.cost_usd > limits.max_cost:
            return f"the cost limit of ${limits.max_cost:g}"
        if limits.max_tokens_total is not None and after.tokens > limits.max_tokens_total:
            return f"the limit of {count_of(limits.max_tokens_total, 'token')}"
        return None

    async def reserve(self, call: Spend) -> str | None:
        """Set aside what `call` may cost; return the limit that is used up, in words, if it cannot fit any more."""
        while (lack := self.exceeded_limit(call)) is not None:
            if not self._under_way:
                return lack
            self._changed = self._changed or asyncio.Event()
            await self._changed.wait()
        self.set_aside(call)
        self.in_flight.begin(call)
        return None

    def set_aside(self, call: Spend) -> None:
        """Reserve the maximum cost of a call that is already under way, such as a batch job."""
        self._under_way += 1
        self.reserved += call

    def hold_back(self, spend: Spend) -> None:
        """Reserve the maximum cost of calls that the session does not wait for."""
        self.reserved += spend

    def count(self, spend: Spend) -> None:
        """Count the cost of a call without a reservation."""
        self.spent += spend

    def settle(self, call: Spend, actual: Spend) -> Self:
        """Replace the reservation for a call by its actual cost and tokens."""
        self._under_way -= 1
        self.reserved -= call
        self.spent += actual
        if self._changed is not None:
            self._changed.set()
            self._changed = None
        return self


# Stopping in good order: calls in flight are finished, and none is begun.


class Stop:
    """A request to stop a run, with its first reason."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def ask(self, reason: str) -> None:
        """Request the stop: no more calls begin."""
        self.reason = self.reason or reason

    def __bool__(self) -> bool:
        return self.reason is not None


SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signals(stop: Stop, *, say: Callable[[str], None]) -> Iterator[None]:
    """Let a first Ctrl-C (or SIGTERM) ask for a stop; a second one has its usual effect.

    Asks that a local model has not begun are dropped: the same command asks them again.

    Does nothing outside the main thread, where no handler can be set. Call it inside a running event loop.
    """
    loop = asyncio.get_running_loop()

    def release() -> None:
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    def on_signal() -> None:
        release()
        stop.ask("interrupted")
        drop_all_waiting()
        say("finishing the calls under way; press Ctrl-C again to drop them")

    try:
        for number in SIGNALS:
            loop.add_signal_handler(number, on_signal)
    except (RuntimeError, ValueError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        release()


# The progress of a run, and its observer.


LONGEST_PROBLEM = 200


@dataclass(kw_only=True)
class RunProgress:
    """Counts of a session, and of the run after it.

    `n_calls`, `n_tries`, `seconds`, tokens and cost are of this session; `resumed` is the number of asks of the plan that
    were settled before it; `n_usable` and `n_unusable` are of the whole plan so far.
    """

    usable: ClassVar[str] = "usable"
    unusable: ClassVar[str] = "unusable"
    """The words of this kind of run for a usable answer and an unusable one."""

    n_calls: int = 0
    n_usable: int = 0
    n_unusable: int = 0
    n_unavailable: int = 0
    """Asks that failed in this session for a reason that may pass; the same command asks them again."""
    n_pending: int = 0
    """Calls that were handed over and are not answered yet; the same run later collects them."""
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    assumed_cost_usd: float | None = None
    """Upper bound of the cost of requests whose tokens the endpoint did not report; `cost_usd` leaves them out."""
    assumed_tokens: int = 0
    """Upper bound of the tokens of these requests."""
    resumed: int = 0
    n_tries: int = 0
    """Requests, including repeated ones."""
    stopped: str | None = None
    """The reason why the session ended before the plan."""
    problems: Counter[str] = field(default_factory=Counter, repr=False)
    """The problems of this session's unusable answers, and their counts."""

    @property
    def n_done(self) -> int:
        """Asks of the plan that were answered, usably or not."""
        return self.n_usable + self.n_unusable

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values, with the fields of a kind of run first.

        `seconds` is from the first call to the last line on disk. Of why the plan is not done there is only what there is: calls
        that failed or wait, and the reason for stopping.
        """
        progress = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in COUNTS}
        reasons = {"unavailable": self.n_unavailable, "pending": self.n_pending, "stopped": self.stopped}
        return {
            **{name: str(value) if isinstance(value, Path) else value for name, value in progress.items()},
            "n_calls": self.n_calls,
            f"n_{self.usable}": self.n_usable,
            f"n_{self.unusable}": self.n_unusable,
            "seconds": round(self.seconds, 3),
            "calls_per_second": round(self.n_calls / self.seconds, 3) if self.seconds > 0 else None,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
            **({"assumed_cost_usd": self.assumed_cost_usd, "assumed_tokens": n} if (n := self.assumed_tokens) else {}),
            "resumed": self.resumed,
            **{name: value for name, value in reasons.items() if value},
        }

    def add(self, part: RunProgress, *, answers: bool = True) -> None:
        """Add the counts of a part of the run; without `answers` only those of its calls."""
        counts = (
            *("n_calls", "n_tries", "seconds", "n_unavailable", "n_pending"),
            *("input_tokens", "output_tokens", "assumed_tokens"),
        )
        for name in (*counts, "n_usable", "n_unusable", "resumed") if answers else counts:
            setattr(self, name, getattr(self, name) + getattr(part, name))
        self._add_cost(part)
        self.stopped = self.stopped or part.stopped
        self.problems.update(part.problems)

    def count_call(self, call: Call) -> None:
        """Count one call. An item that was not shown counts as no call."""
        self.n_calls += call.tries > 0
        self.n_tries += call.tries
        self.input_tokens += call.input_tokens or 0
        self.output_tokens += call.output_tokens or 0
        self.assumed_tokens += call.assumed_tokens or 0
        self._add_cost(call)

    def _add_cost(self, part: RunProgress | Call) -> None:
        if part.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + part.cost_usd
        if part.assumed_cost_usd is not None:
            self.assumed_cost_usd = (self.assumed_cost_usd or 0.0) + part.assumed_cost_usd

    def count_outcome(self, problem: str | None, *, again: bool) -> None:
        """Count the outcome of an ask; if it is asked `again`, it has been counted as unusable."""
        self.n_unusable -= again
        if problem is None:
            self.n_usable += 1
        else:
            self.n_unusable += 1
            whole = len(problem) <= LONGEST_PROBLEM
            self.problems[problem if whole else f"{problem[: LONGEST_PROBLEM - 3]}..."] += 1


COUNTS = frozenset(each.name for each in fields(RunProgress))


@dataclass
class RunObserver:
    """An observer of a run, which may stop it."""

    progress: Callable[[RunProgress, int], None] | None = None
    """Called before the first answer and after every one, with the progress and the number of asks in the plan."""
    say: Callable[[str], None] = lambda _text: None
    stop: Stop = field(default_factory=Stop)
