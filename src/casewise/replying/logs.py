"""The run folders of replies and of grades: what their `run.json` says, and what tells one record from another."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from casewise.errors import DataError
from casewise.records import CollectedReply, Grade, Record
from casewise.storage.files.jsonl import read_jsonl
from casewise.storage.runs.log_kind import AnyManifest, LogKind, last_records
from casewise.storage.runs.run_folder import RUN, read_manifest

__all__ = [
    "GRADES",
    "GRADES_FOLDER",
    "REPLIES",
    "GradeIdentity",
    "GradeManifest",
    "ReplyIdentity",
    "ReplyManifest",
    "grade_folders",
    "grades_in",
    "read_grades",
    "read_replies",
    "replies_in",
    "texts_discarded",
]

GRADES_FOLDER = "grades"
"""Where a folder of replies keeps what graders found, a folder each."""


class ReplyIdentity(Record):
    """What makes a run of replies this run. Its plan may grow."""

    benchmark: str
    """The benchmark's digest."""
    model: str
    chat: str
    """How the context reaches the model: name, version and digest of the wording."""
    settings: dict[str, Any]
    seed: int


class ReplyManifest(AnyManifest):
    """What `run.json` says of a run of replies."""

    format_version: int = 1
    kind: Literal["replies"] = "replies"
    identity: ReplyIdentity
    benchmark_name: str
    benchmark_source: str
    synthetic: str | None = None
    created: datetime


class GradeIdentity(Record):
    """What makes a run of grades this run. More replies may come."""

    benchmark: str
    model: str
    """Whose replies are graded."""
    chat: str
    grader: str
    """The grader's id, which holds the version of its rubric."""
    settings: dict[str, Any]


class GradeManifest(AnyManifest):
    """What `run.json` says of a run of grades."""

    format_version: int = 1
    kind: Literal["grades"] = "grades"
    identity: GradeIdentity
    grader_name: str
    created: datetime


REPLIES: LogKind[ReplyManifest, CollectedReply] = LogKind(
    "replies",
    ReplyManifest,
    CollectedReply,
    key=lambda reply: (reply.item_id, reply.arm, str(reply.repeat)),
    attempt=lambda reply: reply.attempt,
)

GRADES: LogKind[GradeManifest, Grade] = LogKind(
    "grades",
    GradeManifest,
    Grade,
    key=lambda grade: (grade.item_id, grade.arm, str(grade.repeat), grade.text_digest),
    attempt=lambda grade: grade.attempt,
)


def read_replies(folder: Path) -> ReplyManifest:
    """The manifest of a run of replies.

    Raises DataError: there is none, it is not valid, or it is a run of another kind.
    """
    return read_manifest(folder, REPLIES)


def read_grades(folder: Path) -> GradeManifest:
    """The manifest of a run of grades; errors are those of `read_replies`."""
    return read_manifest(folder, GRADES)


def grade_folders(replies: Path) -> tuple[Path, ...]:
    """Where graders' findings lie that were kept with these replies, by name."""
    within = replies / GRADES_FOLDER
    return tuple(sorted(path.parent for path in within.glob(f"*/{RUN}"))) if within.is_dir() else ()


def replies_in(folder: Path) -> list[CollectedReply]:
    """The replies of a folder that count, of several attempts the last.

    Raises DataError: it holds no replies, or a line is none.
    """
    log = folder / REPLIES.file
    found = last_records(read_jsonl(log, CollectedReply), REPLIES) if log.is_file() else []
    if not found:
        raise DataError(log, None, "holds no replies yet; run casewise replies collect again to go on with it")
    return found


def texts_discarded(folder: Path) -> bool:
    """Whether the texts of all replies with words were removed, so that nothing is left to grade."""
    texts = [one.text for one in read_jsonl(folder / REPLIES.file, CollectedReply) if one.has_words]
    return bool(texts) and not any(texts)


def grades_in(folder: Path) -> dict[tuple[str, str, int, str], Grade]:
    """What one grader found that counts, by item, arm, repeat and the digest of the reply's text."""
    found = last_records(read_jsonl(folder / GRADES.file, Grade), GRADES)
    return {(grade.item_id, grade.arm, grade.repeat, grade.text_digest): grade for grade in found}
