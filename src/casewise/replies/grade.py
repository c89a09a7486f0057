"""Grading collected replies, and people's labels of some of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import numpy as np

from casewise.errors import DataError
from casewise.models.prices import Spend
from casewise.records import (
    OUTCOMES,
    Arm,
    CollectedReply,
    Context,
    Grade,
    GradeOutcome,
    Group,
    Item,
    Parameter,
    ParameterSet,
)
from casewise.records.base import Provenance
from casewise.records.call import REPLY_ANSWER, REPLY_CONDITION
from casewise.replies.behaviour import (
    GRADES,
    GRADES_FOLDER,
    REPLIES,
    GradeIdentity,
    GradeManifest,
    GraderRuns,
    ReplyPlace,
    grade_folders,
    read_behaviours,
    read_replies,
)
from casewise.replies.graders import Grader, GradingTask
from casewise.runs.engine import Asks
from casewise.runs.limits import RunObserver, RunProgress
from casewise.runs.run import CallEstimate, CallingOptions, estimate_calls, folder_log, new_session, perform, run_spend
from casewise.storage.batch_jobs import discard_results
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.entries import Entry
from casewise.storage.files import numbered_lines, parse, read_jsonl, write_jsonl
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.load import load
from casewise.storage.run_folder import RunFolder, now, read_manifest
from casewise.text import SyntheticNote

ReplyLabels = dict[ReplyPlace, Counter[GradeOutcome]]
"""Counts of people's answers about each reply, by item, arm and repeat."""

WORDS: dict[str, GradeOutcome] = {
    **dict.fromkeys(("answers", "answer", "complies", "compliance", "full compliance", "1 full compliance"), "answers"),
    **dict.fromkeys(("not refusal", "non refusal", "no refusal"), "answers"),
    **dict.fromkeys(("partly", "partial", "partial refusal", "partial compliance", "3 partial refusal"), "partly"),
    **dict.fromkeys(("refuses", "refusal", "refused", "full refusal", "2 full refusal"), "refuses"),
}
"""The outcome that a label means, written with spaces; the numbered ones are XSTest's. What a bare yes or 1 means depends on its column."""

LABELS = ("label", "final_label", "outcome", "grade", "is_refusal", "refusal")

REFUSAL_COLUMNS = ("is_refusal", "refusal")
MOST_REPEATS = 1_000_000
TRUE, FALSE = ("1", "true", "yes"), ("0", "false", "no")


def read_reply_labels(path: Path) -> ReplyLabels:
    """Return labels that people gave collected replies: an exported study of replies, or a file with the columns `item_id` and
    `label`, perhaps `arm` and `repeat`, a row a person.

    Raises DataError: the file cannot be read, lacks a column, or a label is none; the message says where.
    """
    labels: ReplyLabels = {}
    if path.is_dir():
        for place, outcome in study_labels(path):
            labels.setdefault(place, Counter())[outcome] += 1
        return labels
    table = read_any_table(path).whole()
    label = next((name for name in LABELS if name in table.names), None)
    if label is None:
        raise DataError(path, 1, f"has no column {' or '.join(map(repr, LABELS))}; it has {', '.join(table.names)}")
    for row in table.rows:
        repeat = row.whole_in(row.value("repeat"), "repeat", 0, MOST_REPEATS) if row.has("repeat") else 0
        place = (row.name("item_id"), row.name("arm") if row.has("arm") else "full", repeat)
        labels.setdefault(place, Counter())[parse_outcome(row, label)] += 1
    return labels


def parse_outcome(row: Entry, column: str) -> GradeOutcome:
    word = str(row.value(column))
    plain = " ".join(word.strip().lower().replace("_", " ").replace("-", " ").split())
    outcome = WORDS.get(plain)
    if column in REFUSAL_COLUMNS and plain.removesuffix(".0") in (*TRUE, *FALSE):  # yes and 1 mean a refusal there
        outcome = "refuses" if plain.removesuffix(".0") in TRUE else "answers"
    return outcome or row.refuse(f"{column} is {word!r}; it can be answers, partly or refuses")


def study_labels(export: Path) -> Iterator[tuple[ReplyPlace, GradeOutcome]]:
    """Yield each person's answer about each reply in an exported study of replies.

    Raises DataError: the folder is no exported study of replies.
    """
    about = export / "study.json"
    design = json.loads(about.read_text(encoding="utf-8"))["design"] if about.is_file() else {}
    if design.get("rates") != "replies":
        raise DataError(
            export, None, "is no export of a study of replies (casewise study init REPLIES --question reply)"
        )
    outcomes = dict(zip(design["questions"][0]["options"], OUTCOMES, strict=True))
    benchmark, answers_file = load(str(export)), export / "own_answers.jsonl"
    for number, line in numbered_lines(answers_file):
        answer = parse(line, path=answers_file, line=number)
        outcome = outcomes.get(answer["answers"].get(REPLY_ANSWER))
        context = benchmark.context_of(benchmark.item[answer["item_id"]])
        detail = context.provenance.detail if context and context.provenance else None
        if outcome is not None:
            for item, arm, repeat in json.loads((detail or {}).get("replies", "[]")):
                yield (item, arm, int(repeat)), outcome


def labels_notes(path: Path | None) -> tuple[str, ...]:
    """Return notes on labels: that they are not people's, or that the labelled replies are not identified."""
    if path is None:
        return ()
    if not path.is_dir():
        note = f"{path.name} does not say how the labelled replies were chosen."
        return (f"{note} The corrected rates hold only if they were drawn at random.",)
    made_up = load(str(path)).about.synthetic
    return (SyntheticNote(f"SYNTHETIC LABELS of replies ({path.name}): {made_up}"),) if made_up else ()


# Grading replies that were collected: apart from collecting, so that another grader costs no new replies.


@dataclass(frozen=True)
class GradeAsk(GradingTask):
    """A collected reply to be graded."""

    collected: CollectedReply = field(kw_only=True)

    @property
    def key(self) -> tuple[str | int, ...]:
        collected = self.collected
        return (collected.item_id, collected.arm, collected.repeat, str(collected.text_digest))


@dataclass(frozen=True, kw_only=True)
class GradeOptions(CallingOptions):
    """Options of grading on which no grade depends."""

    retries: int = 0
    """Maximum retries if no grade came."""
    watch: RunObserver | None = None


@dataclass(kw_only=True)
class GradeSummary(RunProgress):
    """The result of a session of grading. Replies that the provider refused, and empty ones, need no grader."""

    usable: ClassVar[str] = "graded"
    unusable: ClassVar[str] = "ungraded"

    run: Path
    n_replies: int
    notes: tuple[str, ...] = ()


def plan_grading(folder: Path, benchmark: Benchmark, retries: int) -> Asks[GradeAsk]:
    """Return the replies that a grader must read: those whose words are stored. The same reply to the same query
    is graded once.

    Raises DataError: the folder holds no replies, or their texts were discarded.
    """
    worded = [reply for reply in read_replies(folder) if reply.has_words]
    bundles: dict[tuple[str, str], list[GradeAsk]] = {}
    for reply in worded:
        if reply.text is not None:
            query = benchmark.query[benchmark.item[reply.item_id].query_id].text
            ask = GradeAsk(query, reply.text, collected=reply)
            bundles.setdefault((query, reply.text), []).append(ask)
    if worded and not bundles:
        raise DataError(
            folder / REPLIES.file, None, "the replies' texts were discarded, so they cannot be graded again"
        )
    alike = [tuple(bundle) for bundle in bundles.values()]
    return Asks(alike, sum(map(len, alike)), retries, lambda ask: f"{ask.query}\x00{ask.reply}\x00{ask.attempt}")


def grades_folder(replies: Path, grader: Grader) -> Path:
    """Return the folder of a grader's grades."""
    name = "".join(c if c.isalnum() or c in "-_.+@" else "-" for c in grader.id)
    return replies / GRADES_FOLDER / name[:120]


def grading_spend(replies: Path, graders: Iterable[Grader]) -> Spend:
    """Return an upper bound of the spend of these graders so far."""
    return sum((run_spend(grades_folder(replies, grader), GRADES) for grader in graders), Spend())


async def grade_into(
    replies: Path,
    benchmark: Benchmark,
    grader: Grader,
    *,
    options: GradeOptions = GradeOptions(),
) -> GradeSummary:
    """Grade the replies in a folder that this grader has not graded yet. The grades are stored in the folder, under its
    name.

    Raises DataError: the folder holds no replies, or their texts were discarded. RunConflict: another process grades
    with the same grader, or another version of it has graded here. ModelError: no further reply can be graded; the
    grades that are there are kept.
    """
    folder = grades_folder(replies, grader)

    async def graded(ask: GradeAsk) -> Grade:
        key = dict(zip(GRADES.key, ask.key, strict=True))
        return Grade.model_validate({**dict(await grader.grade(ask)), **key, "attempt": ask.attempt, "at": now()})

    try:
        plan = plan_grading(replies, benchmark, options.retries)
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        session = new_session(options.limits, command=options.command)
        of = read_manifest(replies, REPLIES).identity
        identity = GradeIdentity(
            benchmark=of.benchmark, model=of.model, chat=of.chat, grader=grader.id, settings=grader.settings()
        )
        manifest = GradeManifest(identity=identity, grader_name=grader.name, created=datetime.now(UTC))
        summary = GradeSummary(run=folder, n_replies=plan.size, notes=grader.notes())
        return await perform(
            grader,
            graded,
            plan,
            folder_log(folder, manifest, GRADES, session, private=True, notes=grader.notes),
            options=options,
            progress=summary,
            watch=options.watch,
        )
    finally:
        await grader.close()


def estimate_grading(replies: Path, benchmark: Benchmark, grader: Grader) -> CallEstimate:
    """Return the estimated cost of grading all replies. No call is made."""
    return estimate_calls(grader, plan_grading(replies, benchmark, 0))


def discard_texts(replies: Path) -> int:
    """Remove the texts of replies and of graders' answers, and return the number of replies. Digests, outcomes and grounds
    stay.

    Raises RunConflict: another process works on the folder.
    """
    manifest = read_manifest(replies, REPLIES)
    with RunFolder.hold(replies, manifest, REPLIES, private=True):
        for folder in grade_folders(replies):
            with RunFolder.hold(folder, read_manifest(folder, GRADES), GRADES, private=True):
                log = folder / GRADES.file
                grades = list(read_jsonl(log, Grade)) if log.is_file() else []
                write_jsonl(log, [grade.model_copy(update={"raw_reply": None, "detail": None}) for grade in grades])
            discard_results(folder)
        log = replies / REPLIES.file
        records = list(read_jsonl(log, CollectedReply)) if log.is_file() else []
        without_texts = [
            # It still says whether it was empty, and whether the model declined in its endpoint's own way.
            reply.model_copy(
                update={
                    "text": None if (reply.text or "").strip() else reply.text,
                    "refusal": "(removed)" if reply.declined else None,
                }
            )
            for reply in records
        ]
        write_jsonl(log, without_texts)
        discard_results(replies)
        for quoting in ("report.html", "metrics.json"):  # made --with-replies; the next report writes them anew
            (replies / quoting).unlink(missing_ok=True)
    return sum(now != before for now, before in zip(without_texts, records, strict=True))


PARAMETERS = ParameterSet(
    name="reply",
    groups=(
        Group(name="reply", title="What the chatbot wrote", parameters=(Parameter(name="text", title="In full"),)),
    ),
)


@dataclass
class DistinctReply:
    """A reply to a query, and every place where the chatbot gave it."""

    query_id: str
    text: str
    stratum: tuple[str, str]
    """Its query's category, and what a grader finds where there is one."""
    places: list[ReplyPlace]


def replies_to_label(folder: Path, benchmark: Benchmark, *, n: int, rng: np.random.Generator) -> Benchmark:
    """Return a random sample of the replies in a folder as a benchmark, each reply with its query.

    Every reply with words, in the arm that shows the whole context, has the same chance. The sample is systematic along
    the strata (category, and what the first grader finds), so each has its share of it, to within one.

    `n`: how many; all of them where there are no more.

    Raises DataError: no reply has words, or their texts were discarded.
    """
    reply_run = read_manifest(folder, REPLIES)
    units = sorted(distinct_replies(folder, benchmark), key=lambda unit: (unit.stratum, rng.random()))
    if not units:
        raise DataError(folder, None, "no reply has a text that people could label")
    step = max(1.0, len(units) / n)
    chosen = [units[int(place)] for place in np.arange(rng.random() * step, len(units), step)]
    contexts = [
        Context.from_groups(
            {"reply": {"text": unit.text}},
            query_id=unit.query_id,
            origin="imported",
            provenance=Provenance(by=reply_run.identity.model, detail={"replies": json.dumps(unit.places)}),
        )
        for unit in chosen
    ]
    items = tuple(
        Item(query_id=unit.query_id, context_id=context.id, condition=REPLY_CONDITION)
        for unit, context in zip(chosen, contexts, strict=True)
    )
    query_ids = {unit.query_id for unit in chosen}
    return Benchmark(
        about=About(
            name=f"replies on {benchmark.name}",
            description=f"{len(items):,} of the replies of {reply_run.identity.model}, drawn at random, for people to label.",
            gated=benchmark.about.gated,
            canary=benchmark.about.canary,
            synthetic=benchmark.about.synthetic,
            source=f"{benchmark.name} {benchmark.about.version}",
        ),
        queries=tuple(query for query in benchmark.queries if query.id in query_ids),
        contexts=tuple(contexts),
        items=items,
        taxonomy=benchmark.taxonomy,
        parameters=PARAMETERS,
    )


def distinct_replies(folder: Path, benchmark: Benchmark) -> Iterator[DistinctReply]:
    """Yield the replies that can be labelled; replies of the same words to one query are one."""
    replies = read_replies(folder)
    findings: dict[ReplyPlace, str] = {}
    if GraderRuns.from_folder(folder, replies).useful:
        rows = read_behaviours(folder)[0].rows.select("item_id", "arm", "repeat", "does")
        findings = {(item, arm, repeat): does for item, arm, repeat, does in rows.iter_rows()}
    units: dict[tuple[str, str], DistinctReply] = {}
    for reply in replies:
        if not reply.has_words or not Arm.parse(reply.arm).shows_all:
            continue
        if reply.text is None:
            raise DataError(folder, None, "the replies' texts were discarded, so people cannot label them")
        query, place = benchmark.query[benchmark.item[reply.item_id].query_id], (reply.item_id, reply.arm, reply.repeat)
        stratum = (query.category, findings.get(place, ""))
        units.setdefault((query.id, reply.text), DistinctReply(query.id, reply.text, stratum, [])).places.append(place)
    yield from units.values()
