"""Traffic of a decider, and whether it has moved from its benchmark."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from cyclopts.types import PositiveFloat, PositiveInt
from pydantic_core import from_json

from casewise.deciding.decider import DeciderAnswer, DecisionNumbers, DecisionRequest
from casewise.deciding.decider_file import FittedDecider
from casewise.errors import ConfigurationError, DataError
from casewise.records import ShortRepr
from casewise.stats.intervals import adjust
from casewise.stats.thresholds import DECISIONS
from casewise.storage.files import cannot_read, record


@dataclass(frozen=True)
class ServiceOptions:
    """Options of serving a decider."""

    keys: Path | None = None
    """A file with one key a line. Each request must carry one of them."""
    per_minute: PositiveInt | None = None
    """Requests a minute of one key, or of one address without keys."""
    timeout: PositiveFloat = 10.0
    """Seconds to wait for the judge."""
    ask_as: Literal["flagged", "passed"] = "flagged"
    """The meaning of ask at /v1/moderations."""
    shadow: bool = False
    """Decide and count, and let every request pass."""
    capture: Path | None = None
    """Append one line for each decision to this file, without texts."""
    on_full: Literal["answer", "refuse"] = "answer"
    """With --capture: the answer if a decision cannot be written: the decision itself (answer), or refuse."""


# What a service writes down of its traffic, where it is told to: a line a decision, without texts.


class TrafficLine(DecisionNumbers):
    """One decision of a service."""

    format: Literal[1] = 1
    at: datetime
    decider: str
    """The hash of the decider's file."""
    shadow: bool = False
    """True if the request was let through regardless of the decision."""
    query_characters: int = 0
    stated: tuple[str, ...] = ()
    """The parameters of a context that were stated, by dotted name, without their statements."""


def traffic_line(request: DecisionRequest, decided: DeciderAnswer, *, decider: str, shadow: bool) -> TrafficLine:
    """Return the log line of a decision."""
    numbers = {name: getattr(decided, name) for name in DecisionNumbers.model_fields}
    return TrafficLine.model_construct(
        **numbers | {"latency_s": round(decided.latency_s, 5)},
        at=datetime.now(UTC),
        decider=decider,
        shadow=shadow,
        query_characters=len(request.query),
        stated=request.stated,
    )


LogEvent = Literal["torn", "lost", "shortened", "cut", "reopened"]
"""What happens to a log: an incomplete last line was cut off; a line of this service was in a file that was removed; the file
became shorter than this service had left it; a line of this service stood in what was cut off so; a new file was begun,
because the last one was moved or removed, or on request."""


class TrafficLog:
    """A log that a service adds lines to, readable by its owner alone.

    Before each line the log looks whether its file is still the one at its path, and begins anew there if it was moved or
    removed. A last line that was broken off, by a kill or a full disk, is cut off: the next would be glued to it.
    Raises ConfigurationError: it cannot be written, or is something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: Counter[LogEvent] = Counter()
        try:
            self._open()
        except OSError as error:
            raise ConfigurationError(f"--capture {path}: cannot be written: {error}") from error

    def _open(self) -> None:
        if self.path.is_file():  # and no pipe or terminal
            self.path.chmod(0o600)
            self._cut()
        file = os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab", buffering=0)
        status = os.fstat(file.fileno())
        self.file, self._is, self._start, self._lines = file, (status.st_dev, status.st_ino), status.st_size, 0
        self._size = self._start

    def reopen_if_moved(self) -> None:
        """Reopen the file if it was moved, removed or shortened. Raises OSError: no file can be begun."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            status = None
        if status is not None and (status.st_dev, status.st_ino) == self._is:
            if status.st_size < self._size:
                with self.path.open("rb") as file:
                    file.seek(self._start)
                    left = file.read().count(b"\n")
                self.events["shortened"] += 1
                self.events["cut"] += self._lines - left
                self._start, self._size, self._lines = min(self._start, status.st_size), status.st_size, left
            return
        if os.fstat(self.file.fileno()).st_nlink == 0:
            self.events["lost"] += self._lines
        self._lines = 0
        self.reopen()

    def reopen(self) -> None:
        """Close the file and continue in the one at the path, as after log rotation. Raises OSError: it cannot be."""
        before = self.file
        try:
            self._open()
        except ConfigurationError as error:
            raise OSError(str(error)) from error
        before.close()
        self.events["reopened"] += 1

    def write(self, line: TrafficLine) -> None:
        """Add a line. Raises OSError: it was not written, and nothing of it stands in the log."""
        self.reopen_if_moved()
        data = f"{line.line()}\n".encode()
        written = 0
        with suppress(OSError):
            written = self.file.write(data)
        if written < len(data):
            with suppress(OSError, ConfigurationError):
                self._cut()
            raise OSError("the line was not written")
        self._size += written
        self._lines += 1

    def _cut(self) -> None:
        with self.path.open("rb+") as file:
            size = file.seek(0, os.SEEK_END)
            start, last = size, b""
            while start and b"\n" not in last:
                start = max(0, start - 65_536)
                file.seek(start)
                last = file.read(size - start)
            tail = last.rpartition(b"\n")[2]
            if not tail:
                return
            if tail[: len(LINE_START)] != LINE_START[: len(tail)]:
                raise ConfigurationError(f"--capture {self.path}: is not a decider's log: its last line is incomplete")
            file.truncate(size - len(tail))
            self.events["torn"] += 1

    def close(self) -> None:
        """Close the file."""
        self.file.close()


LINE_START = b'{"decision":'
"""The beginning of a line."""


class Traffic(NamedTuple):
    """The contents of a service's log."""

    lines: tuple[TrafficLine, ...]
    torn: int
    """Lines that were broken off, or glued to one that was."""


def read_traffic(path: Path) -> Traffic:
    """Return the lines of a service's log, in their order. Raises DataError: a line is no decision; the message names it."""
    if not path.is_file():
        raise DataError(path, None, "there is no such log; casewise serve --capture writes one")
    lines, torn = [], 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                try:
                    from_json(raw)
                except ValueError:
                    torn += bool(raw.strip())
                else:
                    lines.append(record(raw.decode(), TrafficLine, path=path, line=number))
    except OSError as error:
        raise cannot_read(path, error) from error
    return Traffic(tuple(lines), torn)


FEWEST = 30
"""Requests below which nothing is tested; requests with a value, where values are."""

LEVEL = 0.05
"""Level of all tests together."""

POWER = 0.8
"""The chance with which a shift of the stated size is found."""


@dataclass(frozen=True)
class DriftTest:
    """One comparison of traffic and benchmark."""

    quantity: str
    """The scores, the decisions, the missing values, or a category."""
    traffic: dict[str, float]
    benchmark: dict[str, float]
    """Shares by name, as far as they are compared."""
    p: float
    adjusted: float
    """P value of no difference, by a chi-squared test in which each query of the benchmark counts once; and by Holm over all tests."""
    smallest_shift: float | None
    """The share of requests that would have to have another value for the test to find it with a chance of `POWER`, whatever
    they move to; None where not even a change of all would be found."""

    @property
    def moved(self) -> bool:
        """True if there is a difference, at 5 % over all tests."""
        return self.adjusted < LEVEL


@dataclass(frozen=True, repr=False)
class Monitoring(ShortRepr):
    """The findings of a log about a decider's traffic."""

    n: int
    other_deciders: int
    torn: int
    """Lines that were broken off, or glued to one that was: left out."""
    tests: tuple[DriftTest, ...]
    failed: dict[str, int]
    unmeasured: dict[str, int]
    needed: int
    """Requests that people would have to rate for an interval of the width asked for."""

    def as_json(self) -> dict[str, Any]:
        tests = [{**vars(test), "moved": test.moved} for test in self.tests]
        return vars(self) | {"tests": tests}


def monitor_traffic(file: FittedDecider, file_hash: str, log: Path, *, half_width: float = 0.05) -> Monitoring:
    """Read a service's log and compare it with the benchmark.

    Raises DataError: the log cannot be read, or holds nothing of this decider.
    """
    traffic = read_traffic(log)
    lines = tuple(line for line in traffic.lines if line.decider == file_hash)
    if not lines:
        raise DataError(log, None, "holds no decision of this decider")
    wrong = file.measured.answered_wrongly.estimate
    return Monitoring(
        n=len(lines),
        other_deciders=len(traffic.lines) - len(lines),
        torn=traffic.torn,
        tests=drift_tests(lines, file),
        failed=dict(Counter(line.failed for line in lines if line.failed)),
        unmeasured=dict(Counter(why for line in lines for why in line.unmeasured)),
        needed=ratings_needed(wrong or 0.5, half_width),
    )


def ratings_needed(share: float, half_width: float) -> int:
    """Return the number of requests to rate for a 95 % interval of `half_width` around a share of about `share`.

    Examples
    --------
    >>> ratings_needed(0.5, 0.05)
    385
    """
    if not 0 < half_width < 0.5:
        raise ConfigurationError(f"--half-width is {half_width!r}; it lies between 0 and 0.5, such as 0.05")
    return math.ceil(1.959964**2 * max(share * (1 - share), half_width * (1 - half_width)) / half_width**2)


def drift_tests(lines: Sequence[DecisionNumbers], file: FittedDecider) -> tuple[DriftTest, ...]:
    """Test whether scores, decisions, missing values and categories differ from the benchmark's; none with too little
    traffic."""
    on, n_queries = file.measured_on, file.benchmark.n_queries
    if len(lines) < FEWEST or not on.decisions:
        return ()
    edges = ["", *(f"{edge:.4g}" for edge in on.score_edges), ""]
    bins = [f"{place}: {f'{low} to {high}'.strip()}" for place, (low, high) in enumerate(pairwise(edges), 1)]
    values = np.array([line.value for line in lines if line.value is not None], dtype=np.float64)
    counts = np.bincount(np.searchsorted(on.score_edges, values, side="left"), minlength=len(bins))
    scores = dict(zip(bins, (counts / max(len(values), 1)).tolist(), strict=True))
    n, n_valued = len(lines), len(values)
    decided = Counter(line.decision for line in lines)
    yes_no = {"no value": ((n - n_valued) / n, on.without_value)} | {
        f"category {name}": (sum(name in (line.categories or ()) for line in lines) / n, share)
        for name, share in on.categories.items()
    }
    compared: list[tuple[str, dict[str, float], dict[str, float], int]] = [
        ("scores", scores, dict(zip(bins, on.score_shares, strict=True)), n_valued),
        ("decisions", {name: decided[name] / n for name in DECISIONS}, on.decisions, n),
        *(
            (quantity, {"True": now, "False": 1 - now}, {"True": then, "False": 1 - then}, n)
            for quantity, (now, then) in yes_no.items()
        ),
    ]
    compared = [comparison for comparison in compared if comparison[2] and comparison[3] >= FEWEST]
    p = np.array([chi_squared(now, then, size, n_queries) for _, now, then, size in compared])
    adjusted = adjust(p, "holm").tolist()
    return tuple(
        DriftTest(
            quantity,
            now,
            then,
            own_p,
            corrected,
            smallest_shift(size, n_queries, len(then), level=LEVEL / len(compared)),
        )
        for (quantity, now, then, size), own_p, corrected in zip(compared, p.tolist(), adjusted, strict=True)
    )


def chi_squared(now: dict[str, float], then: dict[str, float], n_now: int, n_then: int) -> float:
    """Return P of no difference between two sets of shares, from so many each."""
    from scipy.special import chdtrc  # 0.2 s that not every command needs to wait for

    table = np.array([[now.get(name, 0.0) * n_now, share * n_then] for name, share in then.items()]).T
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(chdtrc(table.shape[1] - 1, ((table - expected) ** 2 / expected).sum()))


def smallest_shift(n_now: int, n_then: int, n_values: int, *, level: float) -> float | None:
    r"""Return the smallest change of shares that a chi-squared test finds with a chance of `POWER`; None where it is above 1.

    The size of a change is the share of requests that would have to have another value, :math:`\delta = \frac12 \sum_j
    |p_j - q_j|`. By Cauchy's inequality :math:`\sum_j (p_j - q_j)^2 / \bar p_j \ge 4 \delta^2`, so a change of this size has
    a noncentrality of at least :math:`4 \delta^2 n m / (n + m)`, whatever values the requests move to. Many changes of
    this size are found more often.

    `level`: of the test, such as 0.05 over the number of tests, with which Holm's correction begins.

    Source: Guenther (1977), Power and sample size for approximate chi-square tests, The American Statistician 31.
    """
    from scipy.special import chdtri, chndtrinc  # 0.2 s that not every command needs to wait for

    degrees = n_values - 1
    noncentrality = float(chndtrinc(chdtri(degrees, level), degrees, 1 - POWER))
    shift = math.sqrt(noncentrality * (n_now + n_then) / (4 * n_now * n_then))
    return shift if shift <= 1 else None
