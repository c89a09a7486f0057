"""What an endpoint's refusal means: for the run, for this call, or that it is tried again after a wait."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from casewise.errors import ModelError, Unauthorised
from casewise.models.http.endpoints import Endpoint
from casewise.models.http.wire import ServerError
from casewise.models.protocol import Rejected

__all__ = ["FILTERED", "RETRIED_STATUSES", "Fault", "RetryPolicy", "is_retried", "meaning", "requested_wait_s"]

RETRIED_STATUSES = frozenset({408, 409, 425, 429})
"""Statuses below 500 that another try may cure; of those from 500 on, all may."""

LONGEST_HONOURED_WAIT_S = 300.0
"""A server that asks for more is met with an error, not with a run that seems to hang."""


def is_retried(status: int) -> bool:
    return status >= 500 or status in RETRIED_STATUSES


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff with full jitter (each wait is uniform between half of its ceiling and the ceiling)."""

    retries: int = 6
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0

    def wait_s(self, attempt: int, *, requested_s: float | None, rng: random.Random) -> float:
        """Seconds to wait after the failed `attempt` (1 is the first).

        A wait that the server asked for is kept, with up to a tenth added so that callers do not all come back at
        once.
        """
        if requested_s is not None:
            return min(requested_s, LONGEST_HONOURED_WAIT_S) * rng.uniform(1.0, 1.1)
        ceiling = min(self.first_wait_s * 2.0 ** (attempt - 1), self.longest_wait_s)
        return rng.uniform(ceiling / 2, ceiling)


def requested_wait_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Seconds that the server asks us to wait: `retry-after-ms`, `Retry-After` (seconds or a date), or the reset of
    whichever rate limit is used up. None where it does not say."""
    if (milliseconds := number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    if after := headers.get("Retry-After"):
        return wait_until(after, now=now or datetime.now(UTC))
    waits = [
        wait
        for kind in ("requests", "tokens")
        if number(headers.get(f"x-ratelimit-remaining-{kind}")) == 0
        and (wait := duration_s(headers.get(f"x-ratelimit-reset-{kind}", ""))) is not None
    ]
    return max(waits, default=None)


def wait_until(after: str, *, now: datetime) -> float | None:
    if (seconds := number(after)) is not None:
        return seconds
    try:
        at = parsedate_to_datetime(after)
    except ValueError:
        return None
    return max(0.0, (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now.timestamp())


def number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


DURATION = re.compile(r"(?:(?P<h>[\d.]+)h)?(?:(?P<m>[\d.]+)m(?!s))?(?:(?P<s>[\d.]+)s)?(?:(?P<ms>[\d.]+)ms)?")
UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def duration_s(text: str) -> float | None:
    """`6m0s`, `1.5s`, `20ms` or a bare number of seconds, in seconds."""
    if (seconds := number(text)) is not None:
        return seconds
    match = DURATION.fullmatch(text.strip())
    if not text.strip() or match is None:
        return None
    return sum(UNITS_S[unit] * (number(value) or 0.0) for unit, value in match.groupdict().items() if value)


@dataclass(frozen=True)
class Fault:
    """A failure that another try may cure."""

    message: str
    wait_s: float | None = None
    overloaded: bool = False
    unreachable: bool = False
    """Nobody could be connected to."""


FILTERED = re.compile(r"content[ _-]?(filter|policy|management)|moderat|flagged|responsible.?ai", re.IGNORECASE)
NO_SUCH_MODEL = re.compile(
    r"model[_ ]not[_ ]found|(?:no such|unknown|invalid) model|model\b.{0,80}\b(?:does not exist|not found|not exist)",
    re.IGNORECASE | re.DOTALL,
)
NO_CREDIT = re.compile(r"insufficient[ _](?:quota|balance|credit|funds)|billing|credit balance", re.IGNORECASE)


def meaning(
    status: int, headers: Mapping[str, str], error: ServerError, *, endpoint: Endpoint, model: str
) -> Fault | ModelError:
    """What an answer of `status` with `error` in its body comes to.

    A `Fault` is tried again; an `Unauthorised` stops the run; a `Rejected` costs this call alone.
    """
    words = f"{error.code} {error.message}"
    said = f"{endpoint.name} answered {status}: {error.message}"
    if NO_CREDIT.search(words) and status in (400, 402, 403, 429):
        return Unauthorised(f"{said}. Top up the account that {endpoint.key_variable} belongs to, then go on.")
    if is_retried(status):
        return Fault(said, requested_wait_s(headers), overloaded=status in (429, 529))
    if FILTERED.search(words):
        return Rejected("content_filter", said)
    if status in {401, 403}:
        return Unauthorised(f"{said}. Check {endpoint.key_variable or 'the address'}, and that it may use {model!r}.")
    if status < 400 or status in {402, 404, 405} or NO_SUCH_MODEL.search(words):
        return Unauthorised(
            f"{said}. Check the model's name, {model!r}, and the address, {endpoint.base_url} (it usually ends in /v1)."
        )
    return Rejected("bad_request", said)
