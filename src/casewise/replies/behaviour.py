"""The behaviour of a chatbot, as tables: replies and grades of a run, exchanged and read."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self, get_args

import polars as pl
from pydantic import ValidationError

from casewise.errors import ConfigurationError, DataError, RunConflict
from casewise.judges.recorded import NamedItems
from casewise.records import CollectedReply, Grade, Record, Unanswered
from casewise.records.call import text_digest
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import first_problem, read_jsonl, replacing
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.run_folder import (
    RUN,
    AnyManifest,
    LogKind,
    RunFolder,
    RunIdentity,
    RunManifest,
    last_records,
    now,
    read_manifest,
    run_notes,
)
from casewise.text import count_of

GRADES_FOLDER = "grades"
"""The subfolder of a folder of replies that keeps the grades, a folder for each grader."""


class ReplyIdentity(Record):
    """The identity of a run of replies. Its plan may grow."""

    benchmark: str
    """The benchmark's digest."""
    model: str
    chat: str
    """The wording by which the context reaches the model: name, version and digest."""
    settings: dict[str, Any]
    seed: int


class ReplyManifest(AnyManifest):
    """The `run.json` of a run of replies."""

    format_version: int = 1
    kind: Literal["replies"] = "replies"
    identity: ReplyIdentity
    benchmark_name: str
    benchmark_source: str
    synthetic: str | None = None
    created: datetime


class GradeIdentity(Record):
    """The identity of a run of grades. More replies may come."""

    benchmark: str
    model: str
    """The model whose replies are graded."""
    chat: str
    grader: str
    """The grader's id, which holds the version of its rubric."""
    settings: dict[str, Any]


class GradeManifest(AnyManifest):
    """The `run.json` of a run of grades."""

    format_version: int = 1
    kind: Literal["grades"] = "grades"
    identity: GradeIdentity
    grader_name: str
    created: datetime


REPLIES: LogKind[ReplyManifest, CollectedReply] = LogKind(
    "replies", ReplyManifest, CollectedReply, key=("item_id", "arm", "repeat")
)

GRADES: LogKind[GradeManifest, Grade] = LogKind(
    "grades", GradeManifest, Grade, key=("item_id", "arm", "repeat", "text_digest")
)


def grade_folders(replies: Path) -> tuple[Path, ...]:
    """Return the folders with grades of these replies, by name."""
    return tuple(sorted(path.parent for path in (replies / GRADES_FOLDER).glob(f"*/{RUN}")))


def read_replies(folder: Path) -> list[CollectedReply]:
    """Return the replies of a folder that count, of several attempts the last.

    Raises DataError: it holds no replies, or a line is none.
    """
    log = folder / REPLIES.file
    replies = last_records(log, REPLIES) if log.is_file() else []
    if not replies:
        raise DataError(log, None, "holds no replies yet; run casewise replies collect again to resume")
    return replies


def has_discarded_texts(folder: Path) -> bool:
    """Return whether the texts of all replies with words were removed, so that nothing remains to grade."""
    texts = [reply.text for reply in read_jsonl(folder / REPLIES.file, CollectedReply) if reply.has_words]
    return bool(texts) and not any(texts)


ReplyPlace = tuple[str, str, int]
"""Item, arm and repeat of a reply."""


def read_grades(folder: Path) -> dict[tuple[str, str, int, str], Grade]:
    """Return the grades of one grader that count, by item, arm, repeat and the digest of the reply's text."""
    grades = last_records(folder / GRADES.file, GRADES)
    return {(grade.item_id, grade.arm, grade.repeat, grade.text_digest): grade for grade in grades}


@dataclass(frozen=True)
class GraderRun:
    """The grades that one grader gave to the replies in a folder."""

    folder: Path
    manifest: GradeManifest
    grades: dict[tuple[str, str, int, str], Grade]

    def grade_of(self, reply: CollectedReply) -> Grade | None:
        """Return the grade of a reply, if it has one."""
        return self.grades.get((reply.item_id, reply.arm, reply.repeat, str(reply.text_digest)))


@dataclass(frozen=True)
class GraderRuns:
    """The graders that graded any of the replies in a folder (all, where no reply has words), and the names of the others."""

    useful: list[GraderRun]
    idle: list[str]

    @classmethod
    def from_folder(cls, folder: Path, replies: Sequence[CollectedReply]) -> Self:
        """Read what graders found in a folder."""
        runs = [GraderRun(path, read_manifest(path, GRADES), read_grades(path)) for path in grade_folders(folder)]
        wordless = not any(reply.has_words for reply in replies)
        useful = {run.folder for run in runs if wordless or any(not grade.ungraded for grade in run.grades.values())}
        idle = [run.manifest.grader_name for run in runs if run.folder not in useful]
        return cls([run for run in runs if run.folder in useful], idle)

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence about each grader that is left out."""
        return tuple(f"{name} graded none of these replies, so it is not shown." for name in self.idle)


Policy = Literal["strict", "lenient"]

POLICIES: tuple[Policy, ...] = get_args(Policy)
"""The policies for a partial answer: `strict` counts it as refusing, `lenient` as answering."""

ReplyBehaviour = Literal["answers", "partly", "refuses", "refused by the provider", "unscored"]

REPLY_BEHAVIOURS: tuple[ReplyBehaviour, ...] = get_args(ReplyBehaviour)
"""The outcomes of an item. A provider's refusal is one for whoever asked, so both policies count it as refusing; it is
shown apart because the model did not speak."""

WORTH: dict[Policy, dict[ReplyBehaviour, float]] = {
    policy: {"answers": 1.0, "partly": float(policy == "lenient"), "refuses": 0.0, "refused by the provider": 0.0}
    for policy in POLICIES
}


@dataclass(frozen=True)
class Behaviour:
    """A chatbot's replies with the grades of one grader."""

    folder: Path
    manifest: ReplyManifest
    grader: str
    """The grader's name; its id, where several have the same name."""
    grader_id: str
    rows: pl.DataFrame
    """A row a reply: `item_id`, `arm`, `repeat`, `does` (one of `REPLY_BEHAVIOURS`), `reason` where it is unscored, `ground` of a
    refusal where the grader says, `graded` (whether the grader decided it), `cut_off`, `cost_usd`, `assumed_cost_usd`,
    `model_version`."""
    notes: tuple[str, ...]
    texts: Mapping[tuple[str, str], str] = field(repr=False)
    """By arm and item, what the chatbot wrote the first time that it was asked; nothing where texts are gone."""

    def judgements(self, policy: Policy) -> pl.DataFrame:
        """Return the rows as a judge's judgements, answering as 1 and refusing as 0."""
        worth = pl.col("does").replace_strict(WORTH[policy], default=None, return_dtype=pl.Float64)
        return self.rows.select(
            "item_id",
            judge_id=pl.lit(self.judge_id(policy)),
            elicitation=pl.lit("binary"),
            arm="arm",
            repeat="repeat",
            attempt=pl.lit(0, pl.Int32),
            value=worth,
            unscored_reason="reason",
            model_version="model_version",
            cost_usd="cost_usd",
            assumed_cost_usd="assumed_cost_usd",
            read_as=pl.when("held_back").then(pl.lit("held_back")),
            latency_s=pl.lit(None, pl.Float64),
        )

    def judge_id(self, policy: Policy) -> str:
        """Return the id of these verdicts, as of a judge."""
        identity = self.manifest.identity
        return f"replies of {identity.model}#{identity.chat}#{self.grader_id}#{policy}"

    def run_manifest(self, policy: Policy, *, several: bool) -> RunManifest:
        """Return a manifest as of a judge's run; with `several` graders the judge's name includes the grader."""
        manifest, identity = self.manifest, self.manifest.identity
        by = f", by {self.grader}" if several else ""
        settings = {**identity.settings, "chat": identity.chat, "grader": self.grader_id, "partial answers": policy}
        return RunManifest(
            identity=RunIdentity(
                benchmark=identity.benchmark, judge=self.judge_id(policy), settings=settings, seed=identity.seed
            ),
            judge_name=f"{identity.model} replies, {policy}{by}",
            benchmark_name=manifest.benchmark_name,
            benchmark_source=manifest.benchmark_source,
            synthetic=manifest.synthetic,
            created=manifest.created,
        )


def read_behaviours(folder: Path) -> tuple[Behaviour, ...]:
    """Return the replies in a folder with the grades of each grader.

    A grader that graded none of them, where some have words, is left out, and the others' notes say so.

    Raises DataError: the folder holds no replies, or none of them is graded.
    """
    manifest, replies = read_manifest(folder, REPLIES), read_replies(folder)
    graders = GraderRuns.from_folder(folder, replies)
    if not graders.useful:
        tried = f" ({', '.join(graders.idle)} graded none)" if graders.idle else ""
        raise DataError(
            folder,
            None,
            f"holds replies without a grade{tried}; casewise replies grade {shlex.quote(str(folder))} --grader rubric:MODEL",
        )
    names = Counter(run.manifest.grader_name for run in graders.useful)
    texts: dict[tuple[str, str], str] = {}  # kept: reading all lines again for a few exhibits takes as long as the rest
    for reply in replies:
        if text := reply.text or reply.refusal:
            texts.setdefault((reply.arm, reply.item_id), text)
    behaviours = []
    for run in graders.useful:
        name, ident = run.manifest.grader_name, run.manifest.identity.grader
        name = name if names[name] == 1 else ident
        rows = pl.DataFrame([behaviour_row(reply, run.grade_of(reply)) for reply in replies], schema=COLUMNS)
        ungraded = [reply for reply, reason in zip(replies, rows["reason"], strict=True) if reason == NOT_GRADED]
        discarded = sum(reply.text is None for reply in ungraded)  # those with a text can still be graded
        left = {"; grade again to finish them.": len(ungraded) - discarded, ", whose texts were discarded.": discarded}
        open_ = [f"{name} has not graded {n:,} of {count_of(len(rows), 'reply')}{end}" for end, n in left.items() if n]
        notes = (*run_notes(folder), *run_notes(run.folder), *open_, *graders.notes)
        behaviours.append(Behaviour(folder, manifest, name, ident, rows, notes, texts))
    return tuple(behaviours)


COLUMNS: dict[str, pl.DataType] = dict.fromkeys(
    ("item_id", "arm", "repeat", "does", "reason", "ground", "graded", "cut_off", "held_back", "cost_usd"), pl.String()
) | {
    "repeat": pl.Int32(),
    "graded": pl.Boolean(),
    "cut_off": pl.Boolean(),
    "held_back": pl.Boolean(),
    "cost_usd": pl.Float64(),
    "assumed_cost_usd": pl.Float64(),
    "model_version": pl.String(),
}

NOT_GRADED = "not_graded"

REFUSED_BY_DEFENCE = "refused by a defence"
"""The detail of a request that never came to the chatbot."""


def behaviour_row(reply: CollectedReply, grade: Grade | None) -> dict[str, object]:
    does, reason = behaviour_of_run(reply, grade)
    return {
        "item_id": reply.item_id,
        "arm": reply.arm,
        "repeat": reply.repeat,
        "does": does,
        "reason": reason,
        "ground": grade.ground if grade is not None and does in ("refuses", "partly") else None,
        "graded": grade is not None and does == grade.outcome,
        "cut_off": reply.finish_reason == "length",
        "held_back": reply.detail == REFUSED_BY_DEFENCE,
        "cost_usd": reply.cost_usd,
        "assumed_cost_usd": reply.assumed_cost_usd,
        "model_version": reply.model_version,
    }


def behaviour_of_run(reply: CollectedReply, grade: Grade | None) -> tuple[ReplyBehaviour, str | None]:
    """Return the behaviour of a reply, or the reason why it is unscored."""
    if reply.unanswered is Unanswered.CONTENT_FILTER:
        return "refused by the provider", None
    if reply.unanswered is not None:
        return "unscored", reply.unanswered.value
    if reply.declined:
        return "refuses", None
    if reply.text is not None and not reply.text.strip():
        return "unscored", "empty"
    if grade is None:
        return "unscored", NOT_GRADED
    if grade.outcome is None:
        return "unscored", f"grader: {grade.ungraded.value}" if grade.ungraded else NOT_GRADED
    return grade.outcome, None


REPLY_COLUMNS = {
    name: pl.String()
    for name in ("item_id", "arm", "repeat", "text", "unanswered", "detail", "refusal", "text_digest", "finish_reason")
} | {
    "repeat": pl.Int32(),
    "model_version": pl.String(),
    "input_tokens": pl.Int64(),
    "output_tokens": pl.Int64(),
    "cost_usd": pl.Float64(),
}
GRADE_FIELDS = {"outcome": "outcome", "ungraded": "ungraded", "ground": "ground", "grader_said": "raw_reply"}
"""Columns of a grade, and the fields that they hold."""
GRADE_COLUMNS = dict.fromkeys(("grader", "grader_id", *GRADE_FIELDS), pl.String())
TEXT_COLUMNS = ("text", "refusal", "detail", "grader_said")
"""Columns that hold what was written, which stays where it is unless it is asked for."""


def export_replies(folder: Path, to: Path, *, with_replies: bool = False) -> tuple[str, ...]:
    """Write a row for each reply and grader that graded any to a `.jsonl` or `.parquet` file that only its owner may read.

    Returns notes on graders that were left out, since they graded none of the replies.

    Of several attempts the last one counts; without a grader its columns are null.

    Raises ConfigurationError: the file is there already, or has another ending. DataError: the folder holds no replies.
    """
    if to.suffix not in (".jsonl", ".parquet"):
        raise ConfigurationError(f"{to} ends in {to.suffix!r}; use .jsonl or .parquet")
    if to.exists():
        raise ConfigurationError(f"{to} already exists; name another file")
    replies = read_replies(folder)
    graders, rows = GraderRuns.from_folder(folder, replies), []
    for reply in replies:
        values = {name: getattr(reply, name) for name in REPLY_COLUMNS}
        for run in graders.useful or (None,):
            grade = run.grade_of(reply) if run else None
            grader = {"grader": run.manifest.grader_name, "grader_id": run.manifest.identity.grader} if run else {}
            graded = {name: getattr(grade, field) for name, field in GRADE_FIELDS.items()} if grade else {}
            rows.append(values | grader | graded)
    frame = pl.DataFrame(rows, schema={**REPLY_COLUMNS, **GRADE_COLUMNS}, infer_schema_length=None)
    with replacing(to, private=True) as file:
        table = frame if with_replies else frame.drop(TEXT_COLUMNS)
        (table.write_ndjson if to.suffix == ".jsonl" else table.write_parquet)(file)
    return graders.notes


def import_replies(file: Path, out: Path, benchmark: Benchmark, *, model: str, source: str) -> int:
    """Make a folder of replies, and of their grades, from a table with `item_id` and `text`, and return the number of replies.

    Columns are those of `export_replies`; `arm` is the whole context and `repeat` 0 where they are not given.

    Raises DataError: the file cannot be read, an item is not the benchmark's, or a row is no reply; the message says
    which. RunConflict: there is a run at `out` already.
    """
    if out.exists():
        raise RunConflict(f"{out} already exists; give a new folder for the replies")
    rows = list(read_reply_rows(file, benchmark))
    settings = {"imported": file.name}
    manifest = ReplyManifest(
        identity=ReplyIdentity(benchmark=benchmark.digest, model=model, chat="imported", settings=settings, seed=0),
        benchmark_name=benchmark.name,
        benchmark_source=source,
        synthetic=benchmark.about.synthetic,
        created=datetime.now(UTC),
    )
    replies = {(reply.item_id, reply.arm, reply.repeat): reply for _, reply in rows}
    with RunFolder.hold(out, manifest, REPLIES, private=True) as run:
        for reply in replies.values():
            run.add(reply)
    by_grader: dict[tuple[str, str], list[Grade]] = {}
    for row, reply in rows:
        if row.get("grader") and reply.text_digest and (row.get("outcome") or row.get("ungraded")):
            key = {name: getattr(reply, name) for name in GRADES.key}
            stated = {field: row[column] for column, field in GRADE_FIELDS.items() if row.get(column) is not None}
            grade = Grade.model_validate({**key, **stated, "at": now()})
            by_grader.setdefault((str(row["grader"]), str(row.get("grader_id") or row["grader"])), []).append(grade)
    for number, ((name, ident), grades) in enumerate(by_grader.items()):
        identity = GradeIdentity(benchmark=benchmark.digest, model=model, chat="imported", grader=ident, settings={})
        about = GradeManifest(identity=identity, grader_name=name, created=datetime.now(UTC))
        with RunFolder.hold(out / GRADES_FOLDER / f"imported-{number}", about, GRADES, private=True) as grade_run:
            for grade in grades:
                grade_run.add(grade)
    return len(replies)


TEXTS = ("text", "reply", "response")
"""Columns with the replies of a table, the first that there is counting."""


def read_reply_rows(file: Path, benchmark: Benchmark) -> Iterator[tuple[dict[str, Any], CollectedReply]]:
    """Yield the rows of a table of replies, which name their items as those of recorded verdicts do."""
    table = read_any_table(file).whole()
    column = next((name for name in TEXTS if name in table.names), None)
    if column is None:
        raise DataError(file, None, f"has no column 'text' or 'reply'; it has {', '.join(table.names)}")
    items, earlier = NamedItems(benchmark, table), dict[tuple[str, ...], str | None]()
    for row in table.rows:
        values = {name: row.values[name] for name in REPLY_COLUMNS if row.values.get(name) is not None}
        reply = row.values.get(column)
        if reply is not None:
            values |= {"text": reply, "text_digest": text_digest(str(reply))}
        elif not values.keys() & {"text_digest", "unanswered"}:
            reasons = ", ".join(Unanswered)
            row.refuse(f"has no {column}; leave the row out, or state the reason in a column 'unanswered' ({reasons})")
        fields = {"arm": "full", "at": now(), **values, "item_id": items.item_in(row).id}
        try:
            collected = CollectedReply.model_validate(fields)
        except ValidationError as error:
            row.refuse(first_problem(error))
        key = (collected.item_id, collected.arm, str(collected.repeat))
        if earlier.setdefault(key, collected.text_digest) != collected.text_digest:
            row.refuse(
                f"item {collected.item_id} has another reply above; number its replies in a column 'repeat', from 0"
            )
        yield dict(row.values), collected
