"""What people said of replies in a study that was exported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from casewise.errors import DataError
from casewise.records import OUTCOMES, Context, GradeOutcome
from casewise.storage.benchmarks.load import load_benchmark
from casewise.storage.files.jsonl import numbered_lines
from casewise.storage.files.strict_json import parse
from casewise.studies.design.replies import REPLY_QUESTION

__all__ = ["study_labels"]


def study_labels(export: Path) -> Iterator[tuple[tuple[str, str, int], GradeOutcome]]:
    """What people said of each reply in an exported study of replies, by item, arm and repeat; one for each person.

    Raises `DataError` (the folder is no exported study of replies).
    """
    about = export / "study.json"
    design = json.loads(about.read_text(encoding="utf-8"))["design"] if about.is_file() else {}
    if design.get("rates") != "replies":
        raise DataError(
            export, None, "is no export of a study of replies (casewise study init REPLIES --question reply)"
        )
    meant = dict(zip(design["questions"][0]["options"], OUTCOMES, strict=True))
    benchmark, said = load_benchmark(str(export)), export / "own_answers.jsonl"
    for number, line in numbered_lines(said):
        answer = parse(line, path=said, line=number)
        outcome = meant.get(answer["answers"].get(REPLY_QUESTION.name))
        if outcome is not None:
            context = benchmark.context_of(benchmark.item[answer["item_id"]])
            yield from ((place, outcome) for place in places_of(context))


def places_of(context: Context | None) -> list[tuple[str, str, int]]:
    detail: dict[str, Any] = (context.provenance.detail or {}) if context and context.provenance else {}
    return [(item, arm, int(repeat)) for item, arm, repeat in json.loads(detail.get("replies", "[]"))]
