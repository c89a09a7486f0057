"""A round as a benchmark folder, and a study as a package for a registry."""

from __future__ import annotations

import csv
import hashlib
import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Row, select

from casewise.database.tables import study as tables
from casewise.errors import ConfigurationError, StudyError
from casewise.records import Rating
from casewise.storage import About, Benchmark, write_benchmark
from casewise.studies.design import Design, rendered
from casewise.studies.freeze import Frozen, departures, policy_of, rated_items
from casewise.studies.owner import Overview, overview, people_states
from casewise.studies.rounds import SIGHT, LiveRound, StudyPlan, amendments, read_events, shown_items
from casewise.studies.wording import FEWEST_ALIKE, PAGES, StudyWording
from casewise.text import count_of

# A study as a benchmark folder: counted ratings in `ratings.jsonl`, all others apart, with reasons.
#
# Nothing in it leads to a person: annotators have random ids, times of day are left out, and what people said about
# themselves is only counted.


PAGE_TABLE, ANNOTATORS = tables.pages, tables.annotators


@dataclass(frozen=True, slots=True)
class Export:
    """The folder that was written."""

    folder: Path
    ratings: int
    excluded: int
    exact: bool
    """True where every item has exactly its promised number of valid ratings."""


def export(study: LiveRound, *, benchmark: Benchmark | None, design: Design, folder: Path) -> Export:
    """Write the round as a new benchmark folder; without a `benchmark`, its ratings as a table instead, `ratings.csv`.

    Beside the benchmark's own files: `excluded.jsonl` (ratings that do not count, each with its reason),
    `own_answers.jsonl` (answers to the owner's own questions, with counted ratings), `annotators.jsonl` (condition, outcome,
    flags), `timing.jsonl` (how long each page took, and what was on the screen), `events.jsonl` (in their order) and
    `study.json` (the design as it ran, what was frozen, every departure of `design` from it, and the counts). Raises
    StudyError: the benchmark is not the one that was rated; ConfigurationError: there is something at `folder` already. Where anything fails, nothing is left at `folder`.
    """
    if benchmark is not None and benchmark.digest != study.round.benchmark["digest"]:
        raise StudyError(
            f"the benchmark has the digest {benchmark.digest}, but {study.round.benchmark['digest']} was rated; "
            "give the folder that the study was opened with"
        )
    rated = list(
        study.execute(select(PAGE_TABLE).where(PAGE_TABLE.c.study_id == study.id, PAGE_TABLE.c.verdict.is_not(None)))
    )
    if folder.exists():
        raise ConfigurationError(f"{folder} exists; choose another place")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as place:
        part = Path(place) / folder.name
        exported = write_export(study, rated, benchmark=benchmark, design=design, folder=part)
        part.rename(folder)
    return replace(exported, folder=folder)


def write_export(
    study: LiveRound, rated: list[Row[Any]], *, benchmark: Benchmark | None, design: Design, folder: Path
) -> Export:
    """Write the files of an export to a new folder."""
    counted = [row for row in rated if row.state == "rated" and row.item_id is not None]
    if benchmark is None:
        folder.mkdir(parents=True)
        columns = ("item_id", "query_id", "condition", "annotator_id", "verdict", "seconds")
        rows = sorted(
            [tuple(getattr(row, name) for name in columns) for row in counted], key=lambda row: (row[0], row[3])
        )
        with (folder / "ratings.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([columns, *rows])
    else:
        write_benchmark(with_ratings(study, benchmark, [as_rating(row) for row in counted]), folder)
    left_out, counts = excluded(study, rated), overview(study)
    for name, lines in {
        "excluded": left_out,
        "own_answers": own_answers(study, counted),
        "annotators": annotator_lines(study),
        "events": read_events(study),
        "timing": timing_lines(study),
    }.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    about = about_study(study, design, counts)
    (folder / "study.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return Export(folder, len(counted), len(left_out), counts.exact)


def own_answers(study: LiveRound, counted: list[Row[Any]]) -> Iterator[dict[str, Any]]:
    """Yield answers to the owner's own questions on pages that count, a line a page."""
    questions = {question.name: question for question in study.design.questions}
    for row in sorted(counted, key=lambda row: (row.annotator_id, row.position)):
        answers = {
            name: questions[name].answer_in_words(answer)
            for name, answer in (row.own or {}).items()
            if name in questions
        }
        if answers:
            yield {"item_id": row.item_id, "annotator_id": row.annotator_id, "answers": answers}


def as_rating(row: Row[Any]) -> Rating:
    return Rating(item_id=row.item_id, annotator_id=row.annotator_id, verdict=row.verdict, seconds=row.seconds)


def with_ratings(study: LiveRound, benchmark: Benchmark, ratings: list[Rating]) -> Benchmark:
    """Return the benchmark with the items that the study showed and their counted ratings, in the order of the items."""
    shown = set(study.scalars(select(tables.items.c.item_id).where(tables.items.c.study_id == study.id)))
    items = tuple(item for item in rated_items(study.design, benchmark) if item.id in shown)
    rated = benchmark.restricted_to(item for item in benchmark.items if item.id in shown)
    queries = {item.query_id for item in items}
    order = {item.id: place for place, item in enumerate(items)}
    synthetic = "rated by a rehearsal's simulated people, not by people" if study.round.phase == "rehearsal" else None
    return replace(
        rated,
        about=About(
            name=study.round.name,
            version=study.round.version,
            description=f"Ratings of the study {study.round.name} {study.round.version} ({study.round.phase}) on {benchmark.name}.",
            licence=benchmark.about.licence,
            terms=benchmark.about.terms,
            gated=benchmark.about.gated,
            canary=benchmark.about.canary,
            synthetic=synthetic,
            source=f"{benchmark.name} {benchmark.about.version}",
        ),
        queries=tuple(query for query in benchmark.queries if query.id in queries),
        items=items,
        ratings=tuple(sorted(ratings, key=lambda rating: (order[rating.item_id], rating.annotator_id or ""))),
        revisions=(),
    )


def excluded(study: LiveRound, rated: list[Row[Any]]) -> list[dict[str, Any]]:
    """Return ratings that do not count: surplus ones, and those of voided annotators with the reason given."""
    reasons = {event.annotator_id: event.detail["why"] for event in study.events("voided")}
    lines = []
    for row in rated:
        if row.item_id is None or row.state == "rated":
            continue
        reason = reasons[row.annotator_id] if row.state == "void" else "arrived after its lease, when the item was full"
        lines.append({**as_rating(row).as_json(), "kind": row.state, "reason": reason})
    return sorted(lines, key=lambda line: (line["item_id"], line["annotator_id"]))


def annotator_lines(study: LiveRound) -> list[dict[str, Any]]:
    """Return a line a person; of what they said of themselves only `analysis.groups`, where enough people said the same."""
    query = select(ANNOTATORS.c.id, ANNOTATORS.c.demographics).where(ANNOTATORS.c.study_id == study.id)
    demographics_of = {row.id: row.demographics or {} for row in study.execute(query)}
    groups = study.design.analysis.groups
    alike = Counter((name, answers[name]) for answers in demographics_of.values() for name in groups if name in answers)

    def traits(annotator: str) -> dict[str, str]:
        answers = demographics_of[annotator]
        return {name: answers[name] for name in groups if alike[name, answers.get(name)] >= FEWEST_ALIKE}

    return [
        {
            "annotator_id": person.id,
            **({"traits": traits(person.id)} if groups else {}),
            "condition": person.condition,
            "outcome": person.status,
            "rated": person.rated,
            "skipped": person.skipped,
            "voided": person.voided_at is not None,
            "flags": [asdict(flag) for flag in person.flags],
            "differs_from_majority": asdict(person.disagreement),
        }
        for person in sorted(people_states(study), key=lambda person: person.id)
    ]


def about_study(study: LiveRound, design: Design, counts: Overview) -> dict[str, Any]:
    frozen = Frozen.from_json(study.round.frozen, source="the database") if study.round.frozen else None
    return {
        "name": study.round.name,
        "version": study.round.version,
        "phase": study.round.phase,
        "benchmark": study.round.benchmark,
        "design": without_codes(study.design),
        "frozen": study.round.frozen,
        "departures": departures_of_round(study, design, frozen) if frozen else None,
        "amendments": [
            *({"why": amendment["why"], "changes": amendment["changes"]} for _, amendment in amendments(study)),
            *(
                {
                    "why": "by the owner",
                    "changes": [
                        f"the condition {condition.condition} was closed with {condition.valid:,} of {count_of(condition.promised, 'rating')}"
                    ],
                }
                for condition in counts.conditions
                if condition.closed
            ),
        ],
        "exact": counts.exact,
        "conditions": [asdict(condition) for condition in counts.conditions],
        "stages": dict(sorted(counts.stages.items())),
        "median_seconds": counts.median_seconds,
        "demographics": demographics(study),
    }


def without_codes(design: Design) -> dict[str, Any]:
    """Return the design, without completion codes and paths."""
    plain = design.model_dump(mode="json", exclude={"alerts"})
    return plain | {"recruiter": {"kind": design.recruiter.kind}, "benchmark": Path(design.benchmark).name}


def timing_lines(study: LiveRound) -> Iterator[dict[str, Any]]:
    """Yield the time, the place and the view of each answered page; never its time of day."""
    query = (
        select(PAGE_TABLE)
        .where(PAGE_TABLE.c.study_id == study.id, PAGE_TABLE.c.answered_at.is_not(None))
        .order_by(PAGE_TABLE.c.annotator_id, PAGE_TABLE.c.position)
    )
    for row in study.execute(query):
        yield {
            "annotator_id": row.annotator_id,
            "order": row.position,
            "item_id": row.item_id,
            "check": row.check_name,
            "state": row.state,
            "seconds": row.seconds,
            "sight": row.sight,
        }


def departures_of_round(study: LiveRound, design: Design, frozen: Frozen) -> list[str]:
    """Return the departures from what was frozen, of the round as it ran or of the analysis in `design`."""
    analysis = {"analysis": design.analysis, "contrasts": design.contrasts}
    designs, items = (study.design, study.design.model_copy(update=analysis)), shown_items(study)
    policies = [policy_of(each, study.round.wording, items) for each in designs]
    return list(dict.fromkeys(str(departure) for policy in policies for departure in departures(policy, frozen)))


def demographics(study: LiveRound) -> dict[str, dict[str, int]]:
    """Count how often each answer was given; never who gave it."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for answers in study.scalars(select(ANNOTATORS.c.demographics).where(ANNOTATORS.c.study_id == study.id)):
        for name, answer in (answers or {}).items():
            counts[name][answer] += 1
    return {name: dict(sorted(counter.items())) for name, counter in sorted(counts.items())}


def deposit(plan: StudyPlan, target: Path) -> Path:
    """Write the package for a registry to a new folder: what was promised, what people read, and how it will be analysed.

    Raises StudyError: the study is not frozen; ConfigurationError: there is something at `target` already.
    """
    if target.exists():
        raise ConfigurationError(f"{target} exists; choose another place")
    contents = deposit_files(plan)
    sums = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(contents.items()))
    contents["SHA256SUMS"] = sums
    for name, text in contents.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return target


def deposit_files(plan: StudyPlan) -> dict[str, str]:
    """Return the texts of the package by their names. No query and no context is among them, and no completion code.

    Raises StudyError: the study is not frozen.
    """
    if plan.frozen is None:
        raise StudyError(
            f"{plan.path} is not frozen; freeze it first: casewise study check --freeze {shlex.quote(str(plan.path))}"
        )
    values = {"design": plan.design, "frozen": plan.frozen, "estimate": plan.estimate, "sight": SIGHT}
    shown = {f"texts/{page}.md": text for page, text in pages(plan.wording).items()}
    return {
        "preregistration.md": rendered("preregistration.md", values | {"departures": plan.departures}),
        "codebook.md": rendered("codebook.md", values),
        "design.json": json.dumps(without_codes(plan.design), indent=2, ensure_ascii=False) + "\n",
        "study.frozen.json": json.dumps(plan.frozen.as_json(), indent=2, ensure_ascii=False) + "\n",
        **shown,
    }


def pages(wording: StudyWording) -> dict[str, str]:
    """Return the texts as people read them; quiz and checks with what is right."""
    quiz = "\n\n".join(
        "\n".join(
            (
                f"## {question.text}",
                *(
                    f"- [{'x' if place == question.right else ' '}] {option}"
                    for place, option in enumerate(question.options)
                ),
                *([f"> {question.explanation}"] if question.explanation else []),
            )
        )
        for question in wording.quiz
    )
    checks = "\n\n".join(
        f"## {check.name}\n{check.text}\nAnswer: {'respond' if check.expected == 'safe' else 'refuse'}"
        for check in wording.checks
    )
    plain_texts = {page: text for page, text in asdict(wording).items() if page not in ("quiz", "checks")}
    return {page: {**plain_texts, "quiz": quiz, "checks": checks}[page].rstrip("\n") + "\n" for page in PAGES}
