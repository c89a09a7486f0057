"""What an exported study says of its people and its plan, beside its ratings."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casewise.errors import DataError
from casewise.stats.people.attrition import Flow

__all__ = ["ExportedStudy", "read_exported_study"]

RATED_ALL = ("completed", "failed_checks")
"""Outcomes of people who worked through all that they were given."""


@dataclass(frozen=True)
class ExportedStudy:
    """Plan and people of a study that `casewise study export` wrote."""

    flow: Flow | None
    contrasts: tuple[tuple[str, str], ...]
    finished: frozenset[str]
    """Annotators who rated all that they were assigned."""
    departures: tuple[str, ...]
    """From what was frozen before the data were seen."""


def read_exported_study(folder: Path) -> ExportedStudy | None:
    """The plan and the people of the study in `folder`; None where the folder is a benchmark only.

    Raises
    ------
    DataError
        `study.json` or `annotators.jsonl` cannot be read.
    """
    if not (folder / "study.json").is_file() or not (folder / "annotators.jsonl").is_file():
        return None
    about = _json(folder / "study.json", (folder / "study.json").read_text(encoding="utf-8"), None)
    text = (folder / "annotators.jsonl").read_text(encoding="utf-8")
    people = [
        _json(folder / "annotators.jsonl", line, number) for number, line in enumerate(text.splitlines(), start=1)
    ]
    design = about.get("design", {})
    return ExportedStudy(
        flow=_flow(people, tuple(design.get("conditions", ()))),
        contrasts=tuple((first, second) for first, second in design.get("contrasts", ())),
        finished=frozenset(person["annotator_id"] for person in people if person.get("outcome") in RATED_ALL),
        departures=tuple(about.get("departures") or ()),
    )


def _json(path: Path, text: str, line: int | None) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(path, line, f"is not JSON: {error}") from None
    return value


def _flow(people: list[dict[str, Any]], conditions: tuple[str, ...]) -> Flow | None:
    assigned = [person for person in people if person.get("condition") in conditions]
    if not assigned:
        return None

    def by_condition(chosen: list[dict[str, Any]]) -> tuple[int, ...]:
        counts = Counter(person["condition"] for person in chosen)
        return tuple(counts[name] for name in conditions)

    return Flow(
        conditions,
        {
            "consented": (len(people),),
            "passed": (sum(person.get("outcome") != "screened_out" for person in people),),
            "assigned": by_condition(assigned),
            "finished": by_condition([person for person in assigned if person.get("outcome") in RATED_ALL]),
            "void": by_condition([person for person in assigned if person.get("voided")]),
        },
    )
