"""The run folder of a model's opinions: its manifest, its log, and what tells one opinion from another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from casewise.contexts.checking.wording import Remark
from casewise.contexts.reviewing.store import ReviewPlace
from casewise.records import Record
from casewise.records.base import digest
from casewise.runs.run_kind import LoggedKind
from casewise.storage.runs.log_kind import AnyManifest, LogKind
from casewise.storage.runs.run_folder import now

__all__ = [
    "OPINIONS",
    "OpinionAnswer",
    "OpinionAsk",
    "OpinionIdentity",
    "OpinionKind",
    "OpinionManifest",
    "OpinionRecord",
]

FORMAT_VERSION = 1


class OpinionIdentity(Record):
    """What makes a run of opinions this run. More contexts, and contexts with other words, may come."""

    draft: str
    """The draft's id."""
    reader: str
    """The model that is asked."""
    settings: dict[str, Any]


class OpinionManifest(AnyManifest):
    """What `run.json` says."""

    format_version: int = FORMAT_VERSION
    kind: Literal["opinions"] = "opinions"
    identity: OpinionIdentity
    draft_name: str
    created: datetime


class OpinionAnswer(Record):
    """What a model replied, and what the reply came to."""

    problem: str | None = None
    """Why the reply is no opinion; None where it is one."""
    findings: tuple[Remark, ...] = ()
    unquoted: int = 0
    raw_reply: str | None = None
    model_version: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class OpinionRecord(OpinionAnswer):
    """One reply about the words of one context."""

    place_id: str
    wording: str
    """A digest of the words: other words are another question."""
    attempt: int = 0
    at: datetime | None = None


OPINIONS: LogKind[OpinionManifest, OpinionRecord] = LogKind(
    "opinions",
    OpinionManifest,
    OpinionRecord,
    key=lambda record: (record.place_id, record.wording),
    attempt=lambda record: record.attempt,
    newest=FORMAT_VERSION,
)


@dataclass(frozen=True)
class OpinionAsk:
    """A context to have an opinion of."""

    place: ReviewPlace
    attempt: int = 0

    @property
    def wording(self) -> str:
        """A digest of its words."""
        words = self.place.state.wording
        return digest(words.fields() if words else None)


class OpinionKind(LoggedKind[OpinionAsk, OpinionAnswer, OpinionRecord]):
    """Opinions of one model on the contexts of a draft."""

    log = OPINIONS

    def key(self, ask: OpinionAsk) -> tuple[str, ...]:
        return (ask.place.id, ask.wording)

    def problem(self, answer: OpinionAnswer) -> str | None:
        return answer.problem

    def record(self, ask: OpinionAsk, answer: OpinionAnswer) -> OpinionRecord:
        return OpinionRecord(place_id=ask.place.id, wording=ask.wording, attempt=ask.attempt, at=now(), **dict(answer))

    def answer(self, record: OpinionRecord) -> OpinionAnswer:
        return record

    def usable(self, record: OpinionRecord) -> bool:
        return record.problem is None
