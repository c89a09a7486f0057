"""What an exported study says of its people and its plan, beside its ratings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from casewise.errors import DataError
from casewise.stats.people.attrition import Flow
from casewise.storage.files.atomic import read_text
from casewise.storage.files.jsonl import numbered_lines
from casewise.storage.files.strict_json import parse
from casewise.studies.design.design import Analysis, problems
from casewise.studies.design.freeze import Frozen, read_frozen, unflattened
from casewise.studies.design.own_questions import OwnQuestion
from casewise.studies.design.replies import RatedThing

__all__ = ["ExportedStudy", "read_exported_study"]

RATED_ALL = ("completed", "failed_checks")
"""Outcomes of people who worked through all that they were given."""


@dataclass(frozen=True)
class ExportedStudy:
    """Plan and people of a study that `casewise study export` wrote."""

    flow: Flow | None
    planned: dict[str, Any]
    """How its ratings are to be analysed, by the names of `AnalysisOptions`: as frozen, or else as its design has it."""
    stopping: str
    frozen: Frozen | None
    exact: bool
    """Whether every item has exactly its promised number of valid ratings."""
    finished: frozenset[str]
    """Annotators who rated all that they were assigned."""
    failed_checks: frozenset[str]
    """Annotators who failed more attention checks than the design allows, whether that voided them or not."""
    excluded: tuple[dict[str, Any], ...]
    """Ratings that do not count: `item_id`, `annotator_id`, `verdict`, `seconds`, `kind` and `reason`."""
    departures: tuple[str, ...]
    """From what was frozen before the data were seen."""
    amendments: tuple[str, ...] = ()
    """What was changed while it ran, and why."""
    languages: dict[str, str] = field(default_factory=dict)
    """In which each annotator rated, where there were several."""
    questions: tuple[OwnQuestion, ...] = ()
    """The owner's own, asked on each page."""
    rates: RatedThing = "requests"
    """Whether people said what a chatbot should do, or what replies do."""
    own_answers: tuple[dict[str, Any], ...] = ()
    """Answers to the questions: `item_id`, `annotator_id` and `answers` by name."""
    round: tuple[str, ...] = ()
    """Version and phase of the round: a study's pilot, its main round and the benchmark it rated may have one name."""


def read_exported_study(folder: Path) -> ExportedStudy | None:
    """The plan and the people of the study in `folder`; None where the folder is a benchmark only.

    Raises DataError: a file cannot be read, or states a plan that is none. StudyError: what was frozen was changed
    afterwards.
    """
    if not (folder / "study.json").is_file() or not (folder / "annotators.jsonl").is_file():
        return None
    about = parse(read_text(folder / "study.json"), path=folder / "study.json")
    if not isinstance(about, dict):
        raise DataError(folder / "study.json", None, "is no study: not an object of JSON")
    people = _lines(folder / "annotators.jsonl")
    design = about.get("design", {})
    frozen = read_frozen(about["frozen"], source=str(folder / "study.json")) if about.get("frozen") else None
    analysis = _analysis(design if frozen is None else unflattened(frozen.policy), folder / "study.json")
    contrasts = (design if frozen is None else frozen.policy).get("contrasts", ())
    excluded = folder / "excluded.jsonl"
    return ExportedStudy(
        flow=_flow(people, tuple(design.get("conditions", ()))),
        planned=analysis.model_dump(exclude={"stopping"})
        | {"contrasts": tuple((first, second) for first, second in contrasts) or None},
        stopping=analysis.stopping,
        frozen=frozen,
        exact=bool(about.get("exact")),
        finished=frozenset(person["annotator_id"] for person in people if person.get("outcome") in RATED_ALL),
        failed_checks=frozenset(person["annotator_id"] for person in people if _failed(person)),
        excluded=tuple(_lines(excluded)) if excluded.is_file() else (),
        departures=tuple(about.get("departures") or ()),
        amendments=tuple(f"{'; '.join(one['changes'])} ({one['why']})" for one in about.get("amendments", ())),
        languages={person["annotator_id"]: person["language"] for person in people if person.get("language")},
        questions=tuple(OwnQuestion.model_validate(question) for question in design.get("questions", ())),
        round=tuple(str(about[part]) for part in ("version", "phase") if part in about),
        rates=design.get("rates", "requests"),
        own_answers=tuple(
            line
            for name in ("own_answers.jsonl", "own_texts.jsonl")
            if (folder / name).is_file()
            for line in _lines(folder / name)
        ),
    )


def _analysis(design: dict[str, Any], path: Path) -> Analysis:
    try:
        return Analysis.model_validate(design.get("analysis", {}))
    except ValidationError as error:
        raise DataError(path, None, f"its analysis plan cannot be read: {problems(error)}") from None


def _failed(person: dict[str, Any]) -> bool:
    return any(flag.get("kind") == "failed_checks" for flag in person.get("flags", ()))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [parse(line, path=path, line=number) for number, line in numbered_lines(path)]


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
            "passed": (sum(bool(one.get("condition")) or one.get("outcome") == "no_room" for one in people),),
            "assigned": by_condition(assigned),
            "finished": by_condition([person for person in assigned if person.get("outcome") in RATED_ALL]),
            "void": by_condition([person for person in assigned if person.get("voided")]),
        },
    )
