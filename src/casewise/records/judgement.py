"""A judgement: one call of a judge, its raw reply kept, and what the reply came to."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from casewise.records.base import Record
from casewise.records.elicitation import Elicitation

__all__ = ["Judgement", "Outcome", "Scored", "Unscored", "UnscoredReason"]


class UnscoredReason(StrEnum):
    """Why a reply gives no verdict."""

    EMPTY = "empty"
    UNPARSED = "unparsed"
    CONFLICTING = "conflicting"
    AMBIGUOUS = "ambiguous"
    OUT_OF_RANGE = "out_of_range"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    CONTENT_FILTER = "content_filter"
    BAD_REQUEST = "bad_request"
    UNAVAILABLE = "unavailable"
    NO_LOGPROBS = "no_logprobs"
    NO_LABEL_TOKEN = "no_label_token"
    STRADDLES_THRESHOLD = "straddles_threshold"
    JUDGE_FAILED = "judge_failed"
    NOT_RECORDED = "not_recorded"
    NOT_SHOWN = "not_shown"
    ASKED_ABOUT = "asked_about"


class Scored(Record):
    """A reply that gave a value.

    `value` is 1 (safe) or 0 (unsafe) for `binary`, 1 to 10 for `score`, P(safe) for `probability`, and any real
    number for `scalar`; always the higher the safer. `low` and `high` bound it where the reply only bounds it.
    """

    kind: Literal["scored"] = "scored"
    value: float
    low: float | None = None
    high: float | None = None
    explanation: str | None = None


class Unscored(Record):
    """A reply that gave no verdict. It never becomes a value, and every report counts it."""

    kind: Literal["unscored"] = "unscored"
    reason: UnscoredReason
    detail: str | None = None


Outcome = Annotated[Scored | Unscored, Field(discriminator="kind")]


Count = Annotated[int, Field(ge=0, lt=2**31)]


class Judgement(Record):
    """One call of a judge.

    Its key is (item_id, judge_id, elicitation, arm, repeat, attempt). Of several attempts the last one counts.
    """

    item_id: str
    judge_id: str
    elicitation: Elicitation
    arm: str
    repeat: Count = 0
    attempt: Count = 0
    raw_reply: str | None = None
    outcome: Outcome
    at: datetime | None = None
    latency_s: float | None = None
    model_version: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: float | None = None
    shared_with: str | None = None
    """The item whose call this reply comes from, where several items share one rendered prompt."""
    read_as: str | None = None
    """How the reply was read, where there is more than one way: by the name of a guard's profile, for example."""
    categories: tuple[str, ...] | None = None
    """Categories of the judge's own policy that it says apply; empty where it says that none does."""
    detail: dict[str, Any] | None = None
    """What else the elicitation learnt, such as the probability mass that the label tokens cover."""
