"""The run folder of a judge: what its `run.json` says, and its log of judgements."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from casewise.records import Elicitation, Judgement
from casewise.records.base import Record
from casewise.storage.runs.log_kind import AnyManifest, LogKind
from casewise.storage.runs.run_folder import read_manifest

__all__ = ["FORMAT_VERSION", "JUDGEMENTS", "JUDGEMENT_LOG", "RunIdentity", "RunManifest", "asked", "read_run"]

FORMAT_VERSION = 2
"""Of run folders of judges. A reader knows every version up to this one.

Since 2 a judgement may say how its reply was read (`read_as`), and which categories came with it (`categories`).
"""


class RunIdentity(Record):
    """What makes a run this run: a change here is a new run. Its plan may grow."""

    benchmark: str
    """The benchmark's digest."""
    judge: str
    """The judge's id, which holds the versions of its prompts."""
    settings: dict[str, Any]
    """The judge's settings: model options and what else its answers depend on."""
    seed: int


class RunManifest(AnyManifest):
    """What `run.json` says."""

    format_version: int = FORMAT_VERSION
    identity: RunIdentity
    judge_name: str
    benchmark_name: str
    benchmark_source: str
    """What to give `casewise report` to find the benchmark again: a name or a path."""
    synthetic: str | None = None
    created: datetime


def asked(item_id: str, elicitation: Elicitation, arm: str, repeat: int) -> tuple[str, ...]:
    """What tells an ask of one judge from every other, whatever the attempt."""
    return (item_id, elicitation, arm, str(repeat))


def was_asked(judgement: Judgement) -> tuple[str, ...]:
    return asked(judgement.item_id, judgement.elicitation, judgement.arm, judgement.repeat)


def attempt(judgement: Judgement) -> int:
    return judgement.attempt


JUDGEMENT_LOG = LogKind("judgements", RunManifest, Judgement, key=was_asked, attempt=attempt, newest=FORMAT_VERSION)

JUDGEMENTS = JUDGEMENT_LOG.file


def read_run(path: Path) -> RunManifest:
    """The manifest of a judge's run folder.

    Raises DataError: there is none, it is not valid, a newer casewise wrote it, or it is a run of another kind.
    """
    return read_manifest(path, JUDGEMENT_LOG)
