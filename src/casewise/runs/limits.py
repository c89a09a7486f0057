"""What bounds a run: budget, concurrency, consent, stopping, and its progress."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeVar

import platformdirs

from casewise.errors import ConfigurationError, DataError, LeftUnanswered, Unavailable
from casewise.models.local import drop_all_waiting
from casewise.options import CONCURRENCY, SPEED_GROUP, Parameter
from casewise.storage.files import write_text

# Waiting for what is asynchronous, from code that is not.


T = TypeVar("T")


def finished(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, in a thread of its own where an event loop is running already, as in a notebook."""
    return apart(lambda: asyncio.run(work))


def apart(work: Callable[[], T]) -> T:
    """The result of `work`, which starts an event loop itself: in a thread of its own where one is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    outcome: list[T | BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001  (raised again in the caller's thread)
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


# To whom this user has agreed to send harmful text: asked once for each provider, whatever is to be sent.


def allow_sending(content: str, to: str | None, *, agreed: bool, ask: Callable[[str], bool] | None = None) -> None:
    """Make sure that the user agrees to send harmful text to a provider; asked once for each.

    Parameters
    ----------
    content
        What is sent, in words and in the plural: `the benchmark's queries`.
    to
        Whom it is sent to; None where it does not leave this machine.
    agreed
        The user has said so already.
    ask
        Tells the person what is to be sent, and asks; None where nobody can be asked.

    Raises
    ------
    ConfigurationError
        The user does not agree, or cannot be asked.
    """
    if to is None or to in known_hosts():
        return
    warning = f"This sends {content}, which are harmful by design, to {to}."
    if not agreed:
        if ask is None:
            raise ConfigurationError(f"{warning} If its terms and yours allow that, add --yes.")
        if not ask(warning):
            raise ConfigurationError("nothing was sent")
    note_consent(to)


def consent_file() -> Path:
    return Path(platformdirs.user_config_dir("casewise")) / "may-send-to.json"


def note_consent(host: str) -> None:
    file = consent_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, json.dumps(sorted({*known_hosts(), host}), indent=1) + "\n")


def known_hosts() -> set[str]:
    try:
        hosts = json.loads(consent_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {host for host in hosts if isinstance(host, str)} if isinstance(hosts, list) else set()


# What a run may take, and what it has taken.


GIVE_PRICES = "give --price-in and --price-out (US dollars for a million tokens)"


@dataclass(frozen=True, slots=True)
class Spend:
    """Money in US dollars, and tokens in and out together."""

    cost_usd: float = 0.0
    tokens: int = 0

    def __add__(self, more: Spend) -> Spend:
        return Spend(self.cost_usd + more.cost_usd, self.tokens + more.tokens)

    def __sub__(self, less: Spend) -> Spend:
        return Spend(self.cost_usd - less.cost_usd, self.tokens - less.tokens)


class Counted(Protocol):
    """A record of a call, as far as it says what that took."""

    @property
    def cost_usd(self) -> float | None: ...

    @property
    def input_tokens(self) -> int | None: ...

    @property
    def output_tokens(self) -> int | None: ...


def spent_of(records: Iterable[Counted]) -> Spend:
    """What calls took together."""
    spends = (
        Spend(record.cost_usd or 0.0, (record.input_tokens or 0) + (record.output_tokens or 0)) for record in records
    )
    return sum(spends, Spend())


@dataclass(frozen=True)
class Limits:
    """What a run may take; None is no limit. Money and tokens count over all sessions of a run."""

    concurrency: Annotated[int, Parameter(group=SPEED_GROUP)] = CONCURRENCY
    """Maximum number of calls at the same time."""
    max_cost: float | None = None
    """Maximum cost of all sessions together, in US dollars."""
    max_tokens_total: int | None = None
    """Maximum number of tokens, in and out, of all sessions together."""

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ConfigurationError(f"--concurrency is {self.concurrency}; it is 1 or more")
        if self.max_cost is not None and not self.max_cost >= 0:
            raise ConfigurationError(f"--max-cost is {self.max_cost}; it is 0 or more, in US dollars")

    @property
    def bounded(self) -> bool:
        """Whether money or tokens are limited."""
        return self.max_cost is not None or self.max_tokens_total is not None

    def less(self, spent: Spend) -> Limits:
        """What is left of them, where others share them."""
        cost, tokens = self.max_cost, self.max_tokens_total
        return replace(
            self,
            max_cost=None if cost is None else max(0.0, cost - spent.cost_usd),
            max_tokens_total=None if tokens is None else max(0, tokens - spent.tokens),
        )


def check_limits(limits: Limits, name: str, *, priced: bool, counts_tokens: bool, to_price: str = "") -> None:
    """Refuse a limit that cannot be kept, before the first call.

    `name`: who is asked.
    `priced`: whether it is known what it costs.
    `counts_tokens`: whether it says how many tokens it took.
    `to_price`: what a user can do to say what it costs, in words.

    Raises ConfigurationError: there is a limit on cost or tokens, and nobody knows what is to be counted.
    """
    if limits.max_cost is not None and not priced:
        give = f"{to_price}, or " if to_price else ""
        raise ConfigurationError(
            f"the price of {name} is unknown, so a cost limit cannot be enforced; {give}remove --max-cost"
        )
    if limits.max_tokens_total is not None and not counts_tokens:
        raise ConfigurationError(
            f"{name} does not report its tokens, so a limit on them cannot be enforced; remove --max-tokens-total"
        )


IN_FLIGHT = "in_flight.json"


class InFlight:
    """What the live calls under way can take at most, kept in a file beside the log, so that a kill cannot hide it.

    The file holds a bound that is seldom written: half as much again as was under way. A session that ends in good order
    empties it; what a killed one left there is spent, at most, and stays so.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.path = None if folder is None else folder / IN_FLIGHT
        self.unknown = Spend() if folder is None else unknown_spend(folder)
        """What calls of killed sessions took at most."""
        self._now, self._written = Spend(), Spend()

    def begun(self, call: Spend) -> None:
        """Another call is under way."""
        self._now += call
        if self._now.cost_usd > self._written.cost_usd or self._now.tokens > self._written.tokens:
            self._write(Spend(1.5 * self._now.cost_usd, 3 * self._now.tokens // 2))

    def ended(self, call: Spend) -> None:
        """A call has come to its end."""
        self._now -= call

    def settled(self) -> None:
        """All calls have come to their end."""
        if self._written != Spend():
            self._write(Spend())

    def _write(self, at_most: Spend) -> None:
        self._written = at_most
        if self.path is not None:
            write_text(self.path, json.dumps({"unknown": vars_of(self.unknown), "at_most": vars_of(at_most)}) + "\n")


def vars_of(spend: Spend) -> dict[str, float]:
    return {"cost_usd": spend.cost_usd, "tokens": spend.tokens}


def unknown_spend(folder: Path) -> Spend:
    """What calls that were under way when sessions of a run were killed took at most."""
    try:
        held = json.loads((folder / IN_FLIGHT).read_text(encoding="utf-8"))
        return Spend(**held["unknown"]) + Spend(**held["at_most"])
    except FileNotFoundError:
        return Spend()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(folder / IN_FLIGHT, None, f"cannot be read: {error}") from error


class Budget:
    """Lets a call through only if what it may cost at most still fits, next to what is under way.

    A call that does not fit waits for those under way, which mostly cost less than was set aside for them; when none
    is under way and it still does not fit, the budget is used up. So a limit is never passed as long as the estimates
    are upper bounds.
    """

    def __init__(self, limits: Limits, *, spent: Spend | None = None) -> None:
        self.limits = limits
        self.spent = spent or Spend()
        self.reserved = Spend()
        self.in_flight = InFlight()
        self._under_way = 0
        self._changed: asyncio.Event | None = None

    def lacks(self, call: Spend) -> str | None:
        """The limit that `call` would pass, in words, or None."""
        after = self.spent + self.reserved + call
        limits = self.limits
        if limits.max_cost is not None and after.cost_usd > limits.max_cost:
            return f"the cost limit of ${limits.max_cost:g}"
        if limits.max_tokens_total is not None and after.tokens > limits.max_tokens_total:
            return f"the limit of {limits.max_tokens_total} tokens"
        return None

    async def reserve(self, call: Spend) -> str | None:
        """Set aside what `call` may cost; the limit that is used up, in words, where it cannot fit any more."""
        while (lack := self.lacks(call)) is not None:
            if not self._under_way:
                return lack
            self._changed = self._changed or asyncio.Event()
            await self._changed.wait()
        self.set_aside(call)
        self.in_flight.begun(call)
        return None

    def set_aside(self, call: Spend) -> None:
        """Set aside what a call may cost that is under way already, such as one that was handed over before."""
        self._under_way += 1
        self.reserved += call

    def settle(self, call: Spend, actual: Spend) -> Self:
        """Replace what was set aside for a call by what it took."""
        self._under_way -= 1
        self.reserved -= call
        self.spent += actual
        if self._changed is not None:
            self._changed.set()
            self._changed = None
        return self


# Stopping in good order: what is in flight is finished, nothing more is begun; and how long silence is borne
# with.


class Stop:
    """Asks a run to stop, with the reason; the first reason stays."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def ask(self, reason: str) -> None:
        """Begin no more calls."""
        self.reason = self.reason or reason

    def __bool__(self) -> bool:
        return self.reason is not None


SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping_on_signals(stop: Stop, *, say: Callable[[str], None]) -> Iterator[None]:
    """Within this, Ctrl-C (or a SIGTERM) asks for a stop; a second one is what it always was.

    What a local model was asked and has not begun is dropped: it is asked again by the same command.

    Does nothing outside the main thread, where no handler can be set. Call it inside a running event loop.
    """
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        release()
        stop.ask("interrupted")
        drop_all_waiting()
        say("finishing the calls under way; press Ctrl-C again to drop them")

    def release() -> None:
        for number in SIGNALS:
            loop.remove_signal_handler(number)

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


class Patience:
    """Counts calls in a row that failed after all their retries, and gives up at `limit` of them."""

    def __init__(self, limit: int) -> None:
        self.limit, self._failed = limit, 0

    def answered(self) -> None:
        """A call came through."""
        self._failed = 0

    def failed(self, error: Unavailable) -> None:
        """Another call failed. Raises Unavailable: these were too many in a row."""
        self._failed += not isinstance(error, LeftUnanswered)
        if self._failed >= self.limit:
            raise Unavailable(
                f"{self._failed} calls in a row failed: {error}. Answers so far are kept; the same command resumes"
            ) from error


# What a session of a run did, what its plan has come to, and who is told of it.


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
    n_unavailable: int = 0
    """Asks that failed in this session for a reason that may pass; the same command asks them again."""
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

    @property
    def unfinished(self) -> dict[str, int | str]:
        """As JSON values why the plan is not done: calls that failed or wait, and the reason for stopping; only what there is."""
        reasons = {"unavailable": self.n_unavailable, "pending": self.n_pending, "stopped": self.stopped}
        return {name: value for name, value in reasons.items() if value}

    def count_held(self, *, n: int, usable: int, settled: int) -> None:
        """Take into account what earlier sessions left of `n` asks: how many were answered well, and how many need no more."""
        self.resumed += settled
        self.n_usable += usable
        self.n_unusable += n - usable

    def add(self, part: RunProgress, *, answers: bool = True) -> None:
        """Take in what a part of the run did; without `answers` only what its calls took."""
        counts = ("n_calls", "n_tries", "seconds", "input_tokens", "output_tokens", "n_unavailable", "n_pending")
        for name in (*counts, "n_usable", "n_unusable", "resumed") if answers else counts:
            setattr(self, name, getattr(self, name) + getattr(part, name))
        if part.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + part.cost_usd
        self.stopped = self.stopped or part.stopped
        self.problems.update(part.problems)

    def count_call(self, took: Took) -> None:
        """Take one call into account."""
        self.n_calls += 1
        self.n_tries += took.tries
        self.input_tokens += took.input_tokens
        self.output_tokens += took.output_tokens
        if took.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + took.cost_usd

    def count_outcome(self, problem: str | None, *, outcome_known: bool) -> None:
        """Take what an ask came to into account; one with an outcome before was of no use, and is counted anew."""
        self.n_unusable -= outcome_known
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
