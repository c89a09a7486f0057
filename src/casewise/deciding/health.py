"""Comparison of a decider at work with the one that was fitted: the readable replies of its judge, and its recent traffic."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Literal

import numpy as np

from casewise.deciding.decider import DecisionNumbers
from casewise.deciding.decider_file import FittedDecider
from casewise.deciding.monitor import DriftTest, drift_tests
from casewise.notation import percent
from casewise.text import count_of

ReplyKind = Literal["unreadable", "refused", "failed"]
"""The kind of reply that a judge gave instead of a value: a reply without a verdict, a refusal, or nothing."""

KINDS: tuple[ReplyKind, ...] = ("unreadable", "refused", "failed")

REFUSED = frozenset({"refused", "content_filter"})

FAILED = frozenset({"unavailable", "timeout", "judge_failed", "bad_request", "internal"})

WINDOWS = (10, 50, 200)
"""Numbers of the last calls of the judge in which failures are counted: few show a sudden fault, many a mild one."""

DRIFT_WINDOW = 500
"""Number of the last requests that are compared with the benchmark."""

ALARM_LEVEL = 1e-4
"""The probability of a false alarm at one look, where the requests are like the benchmark."""

CONFIDENCE = 0.95
"""Confidence level of the upper limit of a share where the decider was fitted, each query counting once."""


def kind_of_failure(reason: str) -> ReplyKind:
    """Return the kind of a reason why the judge gave no value."""
    return "refused" if reason in REFUSED else "failed" if reason in FAILED else "unreadable"


@dataclass(frozen=True)
class RecentShare:
    """The share of one kind of reply among the last requests."""

    kind: ReplyKind
    window: int
    count: int
    n_requests: int
    """Requests in the window so far."""
    fitted: float
    """The share where the decider was fitted."""
    limit: float | None
    """Above this share the requests are unlike those; None where so few requests cannot show it."""

    @property
    def share(self) -> float:
        """The share among these requests."""
        return self.count / self.n_requests

    @property
    def is_over_limit(self) -> bool:
        """True if the share is above its limit."""
        return self.limit is not None and self.share > self.limit

    @property
    def words(self) -> str:
        """Return the problem in a sentence without text of a request."""
        verb = {"unreadable": "could not be read", "refused": "were refusals", "failed": "did not come"}[self.kind]
        limits = f"limit {percent(self.limit)}; where it was fitted {percent(self.fitted)}"
        return f"{self.count} of the last {count_of(self.n_requests, 'reply')} of the judge {verb} ({limits})"

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "share": self.share, "is_over_limit": self.is_over_limit}


class RecentDecisions:
    """The last decisions of a service, compared with those that its decider was fitted on."""

    def __init__(self, file: FittedDecider) -> None:
        self.file = file
        self.decisions: deque[DecisionNumbers] = deque(maxlen=DRIFT_WINDOW)
        self.asked: deque[ReplyKind | None] = deque(maxlen=max(WINDOWS))
        """The kind of failure of each request on which the judge was asked, the newest first; None where it gave a value."""

    def add(self, decided: DecisionNumbers) -> None:
        """Count a decision."""
        self.decisions.append(decided)
        if decided.failed is not None:
            self.asked.appendleft(kind_of_failure(decided.failed))
        elif decided.value is not None:
            self.asked.appendleft(None)

    @cached_property
    def fitted(self) -> dict[ReplyKind, float]:
        """The share of each kind where the decider was fitted."""
        shares = dict.fromkeys(KINDS, 0.0)
        for reason, share in self.file.measured_on.unscored.items():
            shares[kind_of_failure(reason)] += share
        return shares

    def limit(self, kind: ReplyKind, n: int) -> float | None:
        """Return the largest share of `n` requests that the fitting data allow; None if they allow any share.

        The share where the decider was fitted has an upper limit (Clopper and Pearson's, each query counting once). Of
        requests with that share, so many or more are of this kind with a probability below `ALARM_LEVEL`.
        """
        from scipy.special import bdtrc, betaincinv  # 0.2 s that not every command needs to wait for

        n_queries = self.file.benchmark.n_queries
        errors = self.fitted[kind] * n_queries
        at_most = 1.0 if errors >= n_queries else float(betaincinv(errors + 1, n_queries - errors, CONFIDENCE))
        within = int(np.argmax(bdtrc(np.arange(n + 1), n, at_most) < ALARM_LEVEL))  # more than n of n never happen
        return within / n if within < n else None

    def shares(self) -> Iterator[RecentShare]:
        """Yield the share of each kind in each window; the first that is not full yet holds the requests so far."""
        for before, window in pairwise((0, *WINDOWS)):
            if (n := min(len(self.asked), window)) > before:
                counted = Counter(islice(self.asked, n))
                for kind in KINDS:
                    yield RecentShare(kind, window, counted[kind], n, self.fitted[kind], self.limit(kind, n))

    def drift(self) -> tuple[DriftTest, ...]:
        """Return the tests of the last requests against the benchmark; none where there are too few."""
        return drift_tests(tuple(self.decisions), self.file)

    def problems(self, shares: list[RecentShare], drift: tuple[DriftTest, ...]) -> Iterator[str]:
        """Yield each difference from the fitting data as a sentence without text of a request."""
        for kind in KINDS:
            over = [share for share in shares if share.kind == kind and share.is_over_limit]
            if over:
                yield max(over, key=lambda share: share.share).words
        if moved := [test.quantity for test in drift if test.adjusted < ALARM_LEVEL]:
            yield (
                f"the last {count_of(len(self.decisions), 'request')} differ from the benchmark in {', '.join(moved)}: "
                "casewise decider monitor shows how"
            )
