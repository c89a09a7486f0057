"""Grading replies that were collected: apart from collecting, so that another grader costs no new replies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from casewise.errors import ConfigurationError, DataError
from casewise.records import CollectedReply, Grade, Record, Ungraded
from casewise.replying.graders.protocol import Graded, Grader, ToGrade
from casewise.replying.graders.rubric import ModelGrader
from casewise.replying.labelled import LabelledPair
from casewise.replying.logs import (
    GRADES,
    GRADES_FOLDER,
    REPLIES,
    GradeIdentity,
    GradeManifest,
    grade_folders,
    read_grades,
    read_replies,
    replies_in,
)
from casewise.runs.asking import Asking, Batched, CallingOptions
from casewise.runs.estimate import CallEstimate, estimate_calls
from casewise.runs.limits import GIVE_PRICES, Budget, Limits, Spend, check_limits
from casewise.runs.progress import RunProgress, Watch
from casewise.runs.run_kind import Asks, LoggedKind
from casewise.runs.run_log import FolderLog, session_now
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.files.atomic import write_text
from casewise.storage.files.jsonl import read_jsonl
from casewise.storage.runs.batch_jobs import discard_results
from casewise.storage.runs.run_folder import RunFolder, now

__all__ = [
    "GradeOptions",
    "GradeSummary",
    "discard_texts",
    "estimate_grading",
    "estimate_pairs",
    "grade_into",
    "grade_pairs",
]


R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class GradeAsk:
    """A reply to be graded."""

    reply: CollectedReply
    what: ToGrade
    attempt: int = 0


@dataclass(frozen=True, kw_only=True)
class GradeOptions(CallingOptions):
    """How grading is done; nothing that a grade depends on."""

    retries: int = 0
    """How often to ask again at most where no grade came."""
    watch: Watch | None = None


@dataclass(kw_only=True)
class GradeSummary(RunProgress):
    """What a session of grading did. Replies that the provider refused, and empty ones, need no grader."""

    unusable: ClassVar[str] = "ungraded"

    run: Path
    n_replies: int
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "run": str(self.run),
            "n_replies": self.n_replies,
            "n_calls": self.n_calls,
            "n_graded": self.n_usable,
            "n_ungraded": self.n_unusable,
            "seconds": round(self.seconds, 3),
            "cost_usd": self.cost_usd,
            "resumed": self.resumed,
            **({"pending": self.n_pending} if self.n_pending else {}),
            "notes": list(self.notes),
            **({"stopped": self.stopped} if self.stopped else {}),
        }


class GradingKind(LoggedKind[GradeAsk, Graded, Grade]):
    """Grades of one grader."""

    log = GRADES

    def key(self, ask: GradeAsk) -> tuple[str, ...]:
        reply = ask.reply
        return (reply.item_id, reply.arm, str(reply.repeat), str(reply.text_digest))

    def problem(self, answer: Graded) -> str | None:
        if answer.ungraded is None:
            return None
        return f"{answer.ungraded.value.replace('_', ' ')}: {answer.detail or ''}"

    def shared(self, answer: Graded, by: GradeAsk) -> Graded:
        nothing: dict[str, Any] = dict.fromkeys(("latency_s", "input_tokens", "output_tokens", "cost_usd"))
        return replace(answer, shared_with=answer.shared_with or by.reply.item_id, **nothing)

    def record(self, ask: GradeAsk, answer: Graded) -> Grade:
        reply = ask.reply
        return Grade(
            item_id=reply.item_id,
            arm=reply.arm,
            repeat=reply.repeat,
            text_digest=str(reply.text_digest),
            attempt=ask.attempt,
            at=now(),
            **vars(answer),
        )

    def answer(self, record: Grade) -> Graded:
        return Graded(**{name: getattr(record, name) for name in Graded.__dataclass_fields__})

    def usable(self, record: Grade) -> bool:
        return record.ungraded is None

    def passing(self, record: Grade) -> bool:
        return record.ungraded is Ungraded.UNAVAILABLE


def to_grade(folder: Path, benchmark: Benchmark) -> list[GradeAsk]:
    """The replies that a grader must read: those with words that are still there."""
    asks, gone = [], False
    for reply in replies_in(folder):
        if not reply.has_words:
            continue
        if reply.text is None:
            gone = True
            continue
        item = benchmark.item[reply.item_id]
        asks.append(GradeAsk(reply, ToGrade(benchmark.query[item.query_id].text, reply.text)))
    if gone and not asks:
        raise DataError(folder / REPLIES.file, None, "the replies' texts were discarded, so they cannot be graded anew")
    return asks


def plan_of(folder: Path, benchmark: Benchmark, retries: int) -> Asks[GradeAsk]:
    asks = to_grade(folder, benchmark)
    bundles: dict[tuple[str, str], list[GradeAsk]] = {}
    for ask in asks:
        bundles.setdefault((ask.what.query, ask.what.reply), []).append(ask)

    def bundled() -> Iterator[tuple[GradeAsk, ...]]:
        return (tuple(bundle) for bundle in bundles.values())

    return Asks(bundled, len(asks), retries, lambda ask: f"{ask.what.query}\x00{ask.what.reply}\x00{ask.attempt}")


async def grade_into(
    replies: Path,
    benchmark: Benchmark,
    grader: Grader,
    *,
    options: GradeOptions = GradeOptions(),
) -> GradeSummary:
    """Grade the replies in a folder that this grader has not graded yet. Its findings lie in the folder, under its name.

    Raises DataError: the folder holds no replies, or their texts were discarded. RunConflict: another process grades
    with the same grader, or another version of it has graded here. ModelError: no further reply can be graded; the
    grades that are there are kept.
    """
    kind, folder = GradingKind(), grade_folder(replies, grader)
    try:
        check_grading_limits(options.limits, grader)
        model = grader.model if isinstance(grader, ModelGrader) else None
        over = Batched.of(model, grader.name, options.batch, priced=grader.prices is not None)
        plan = plan_of(replies, benchmark, options.retries)
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        with RunFolder.hold(folder, manifest(replies, grader), GRADES, private=True) as held:
            held.note_session(session_now(options.limits, command=options.command))
            asking = Asking[GradeAsk, Graded](
                lambda ask: grader.grade(ask.what),
                lambda ask: grader.at_most(ask.what),
                grader.concurrency,
                options.limits,
                over,
                options.watch,
            )
            summary = GradeSummary(run=folder, n_replies=plan.size, notes=grader.notes())
            try:
                return await asking.of(kind, plan, FolderLog(held, kind), folder=folder, progress=summary)
            finally:
                held.keep_notes(grader.notes())
    finally:
        await grader.close()


def check_grading_limits(limits: Limits, grader: Grader) -> None:
    priced = grader.prices is not None
    check_limits(limits, grader.name, priced=priced, counts_tokens=grader.counts_tokens, to_price=GIVE_PRICES)


def estimate_grading(replies: Path, benchmark: Benchmark, grader: Grader) -> CallEstimate:
    """What grading would take, as if nothing were graded yet. No call is made."""

    def at_most(ask: GradeAsk) -> Spend:
        return grader.at_most(ask.what)

    return estimate_calls(
        plan_of(replies, benchmark, 0),
        usually=lambda ask: grader.usually(ask.what),
        at_most=at_most,
        prices=grader.prices,
    )


def grade_folder(replies: Path, grader: Grader) -> Path:
    """Where the findings of `grader` lie."""
    plain = "".join(c if c.isalnum() or c in "-_.+@" else "-" for c in grader.id)
    return replies / GRADES_FOLDER / plain[:120]


def manifest(replies: Path, grader: Grader) -> GradeManifest:
    whose = read_replies(replies).identity
    return GradeManifest(
        identity=GradeIdentity(
            benchmark=whose.benchmark,
            model=whose.model,
            chat=whose.chat,
            grader=grader.id,
            settings=grader.settings(),
        ),
        grader_name=grader.name,
        created=datetime.now(UTC),
    )


def estimate_pairs(pairs: Sequence[LabelledPair], grader: Grader) -> CallEstimate:
    """What grading labelled pairs would take. No call is made."""
    asks = [ToGrade(pair.prompt, pair.response) for pair in pairs]
    plan = Asks(lambda: ((ask,) for ask in asks), len(asks))
    return estimate_calls(plan, usually=grader.usually, at_most=grader.at_most, prices=grader.prices)


async def grade_pairs(pairs: Sequence[LabelledPair], grader: Grader, *, limits: Limits = Limits()) -> list[Graded]:
    """What a grader says of labelled pairs, in their order. Nothing is kept, so it begins only what it may finish.

    Raises ConfigurationError: it may take more than the limits allow, or nobody knows what it takes.
    """
    check_grading_limits(limits, grader)
    asks = [ToGrade(pair.prompt, pair.response) for pair in pairs]
    most = sum((grader.at_most(ask) for ask in asks), Spend())
    if limits.bounded and (lack := Budget(limits).lacks(most)) is not None:
        raise ConfigurationError(
            f"{grader.name} may take up to ${most.cost_usd:.2f} and {most.tokens:,} tokens for {len(asks):,} replies, more "
            f"than {lack}; nothing of a check is kept, so raise the limit or give fewer rows"
        )
    free = asyncio.Semaphore(max(limits.concurrency, grader.concurrency))

    async def one(ask: ToGrade) -> Graded:
        async with free:
            return await grader.grade(ask)

    try:
        return list(await asyncio.gather(*(one(ask) for ask in asks)))
    finally:
        await grader.close()


def discard_texts(replies: Path) -> int:
    """Remove the texts of replies and of what graders said of them; digests, outcomes and grounds stay. How many went.

    Raises RunConflict: another process works on the folder.
    """
    manifest = read_replies(replies)
    with RunFolder.hold(replies, manifest, REPLIES, private=True):
        there = every(replies / REPLIES.file, CollectedReply)
        kept = [without_text(reply) for reply in there]
        gone = sum(now != before for now, before in zip(kept, there, strict=True))
        for folder in grade_folders(replies):
            log = folder / GRADES.file
            with RunFolder.hold(folder, read_grades(folder), GRADES, private=True):
                rewrite(
                    log, [grade.model_copy(update={"raw_reply": None, "detail": None}) for grade in every(log, Grade)]
                )
            discard_results(folder)
        rewrite(replies / REPLIES.file, kept)
        discard_results(replies)
        for made_of_them in (
            "report.html",
            "metrics.json",
        ):  # with --with-replies they quote; the next report writes them anew
            (replies / made_of_them).unlink(missing_ok=True)
    return gone


def without_text(reply: CollectedReply) -> CollectedReply:
    """A reply that still tells whether it was empty, and whether the model declined in its endpoint's own way."""
    text = None if (reply.text or "").strip() else reply.text
    return reply.model_copy(update={"text": text, "refusal": "(removed)" if reply.declined else None})


def every(log: Path, record: type[R]) -> list[R]:
    return list(read_jsonl(log, record)) if log.is_file() else []


def rewrite(log: Path, records: Sequence[Record]) -> None:
    write_text(log, "".join(f"{one.line()}\n" for one in records))
