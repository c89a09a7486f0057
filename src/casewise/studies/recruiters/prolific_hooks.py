"""What Prolific tells by itself: a webhook's signature, and what it says of a submission.

Prolific signs the time and the body: the base64 of the HMAC-SHA256 of `X-Prolific-Request-Timestamp` and the body, under
the workspace's secret. An event comes at least once, each time with the same `X-Event-ID`, and in no certain order.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from casewise.errors import StudyError

__all__ = ["ENDED_EARLY", "KEPT", "SUBMISSION_EVENT", "SubmissionEvent", "is_recent", "is_signed", "read_event"]

SUBMISSION_EVENT = "submission.status.change"

ENDED_EARLY = frozenset({"RETURNED", "TIMED-OUT", "TIMED_OUT"})
"""Statuses of people who do not come back; the second way to write the last is taken too."""

KEPT = timedelta(days=30)
"""As long it is remembered what was told; the recruiter tells again for days at most."""


@dataclass(frozen=True, slots=True)
class SubmissionEvent:
    """Where a submission stands now."""

    submission: str
    person: str
    status: str


def is_signed(body: bytes, *, timestamp: str, signature: str, secret: str) -> bool:
    """Whether `signature` is that of the time and the body, as they came or as Python writes the same JSON."""
    written = [body]
    try:
        written.append(json.dumps(json.loads(body)).encode())
    except (ValueError, RecursionError):
        return False
    return any(hmac.compare_digest(signed(one, timestamp, secret), signature.encode()) for one in written)


def is_recent(timestamp: str, *, now: datetime) -> bool:
    """Whether a UNIX timestamp is not older than events are remembered."""
    try:
        return now.timestamp() - float(timestamp) < KEPT.total_seconds()
    except ValueError:
        return False


def signed(body: bytes, timestamp: str, secret: str) -> bytes:
    return base64.b64encode(hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest())


def read_event(body: bytes) -> SubmissionEvent | None:
    """What is said of a submission; None for an event of another kind.

    Raises StudyError: the body says nothing that can be understood.
    """
    try:
        said: Any = json.loads(body)
        if said["event_type"] != SUBMISSION_EVENT:
            return None
        return SubmissionEvent(str(said["resource_id"]), str(said["participant_id"]).lower(), str(said["status"]))
    except (ValueError, KeyError, TypeError) as error:
        raise StudyError(f"a webhook's body cannot be read: {error!r}") from None
