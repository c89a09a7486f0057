"""A run of a judge: where it goes, every ask of a plan answered once, into a run folder, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from casewise.judging.judge import Judge, answer_shown
from casewise.judging.judges.moderation import ModerationJudge
from casewise.judging.running.kind import JudgingKind
from casewise.judging.running.plan import Plan
from casewise.models.batch.load import client_of
from casewise.models.http.client import EndpointClient
from casewise.models.protocol import WaitsForServer
from casewise.runs.asking import Asking, Batched
from casewise.runs.batch.jobs import BatchOptions
from casewise.runs.limits import GIVE_PRICES, Limits, check_limits
from casewise.runs.progress import RunProgress, Watch
from casewise.runs.run_log import FolderLog, session_now
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.runs.judgement_run import RunIdentity, RunManifest
from casewise.storage.runs.run_folder import RunFolder

__all__ = ["Plan", "RunSummary", "Target", "Watch", "judge_into"]


@dataclass(frozen=True)
class Target:
    """Where a run goes, and how its report finds the benchmark again."""

    folder: Path
    benchmark_source: str
    seed: int = 0
    command: str | None = None


@dataclass(kw_only=True)
class RunSummary(RunProgress):
    """What a session of judging did, and what the run holds after it."""

    unusable: ClassVar[str] = "unscored"

    run: Path
    n_items: int
    notes: tuple[str, ...] = ()
    """What a reader must know of the judge."""

    @property
    def n_judged(self) -> int:
        """Asks of the plan with a verdict so far."""
        return self.n_usable

    @property
    def n_unscored(self) -> int:
        """Asks of the plan that were answered and have none."""
        return self.n_unusable

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values; `seconds` is from the first call to the last line on disk."""
        return {
            "run": str(self.run),
            "n_items": self.n_items,
            "n_calls": self.n_calls,
            "n_judged": self.n_judged,
            "n_unscored": self.n_unscored,
            "seconds": round(self.seconds, 3),
            "calls_per_second": round(self.n_calls / self.seconds, 3) if self.seconds > 0 else None,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
            "resumed": self.resumed,
            **({"pending": self.n_pending} if self.n_pending else {}),
            **({"stopped": self.stopped} if self.stopped else {}),
        }


async def judge_into(
    target: Target,
    benchmark: Benchmark,
    judge: Judge,
    *,
    plan: Plan,
    limits: Limits = Limits(),
    watch: Watch | None = None,
    batch: BatchOptions | None = None,
    closing: bool = True,
) -> RunSummary:
    """Judge what `plan` asks and the folder does not hold yet.

    A first Ctrl-C lets what is in flight finish and returns; the same call later goes on. The calls are made from this
    process, unless they go over a `batch` interface. The judge is closed afterwards, unless `closing` says that it is
    asked again. Raises RunConflict: the folder holds something else, or another process holds it; ModelError: no
    further call can succeed; what was judged before is kept; ConfigurationError: there is a limit on cost or tokens,
    and nobody knows what the judge costs or how many it takes.
    """
    kind, watch, watched = JudgingKind(judge.id), watch or Watch(), watch is not None
    try:
        check(limits, judge)
        over = Batched(client_behind(judge), judge.name, judge.prices is not None, batch) if batch else None
        model: object = judge.model
        if isinstance(model, WaitsForServer) and watched:
            model.tell_with(watch.say)
        with RunFolder.hold(target.folder, manifest(target, benchmark, judge), kind.log) as folder:
            session = session_now(limits, command=target.command, items=len(plan.items), asks=plan.by_way)
            folder.note_session(session.model_copy(update={"weights_bytes": judge.weights_bytes}))
            answer = partial(answer_shown, judge)
            asking = Asking(answer, judge.at_most, judge.concurrency, limits, over, watch)
            asks, log = plan.asks(benchmark, judge), FolderLog(folder, kind)
            summary = RunSummary(run=target.folder, n_items=len(plan.items))
            try:
                return await asking.of(kind, asks, log, folder=target.folder, progress=summary)
            finally:
                summary.notes = judge.notes()
                folder.keep_notes(summary.notes)
    finally:
        if closing:
            await judge.close()


def client_behind(judge: Judge) -> EndpointClient:
    """The client that a judge's calls go through. Raises ConfigurationError: there is none."""
    return judge.client if isinstance(judge, ModerationJudge) else client_of(judge.model, judge.name)


def check(limits: Limits, judge: Judge) -> None:
    check_limits(
        limits,
        judge.name,
        priced=judge.prices is not None,
        counts_tokens=judge.counts_tokens,
        to_price=GIVE_PRICES if judge.model else "",
    )


def manifest(target: Target, benchmark: Benchmark, judge: Judge) -> RunManifest:
    return RunManifest(
        identity=RunIdentity(benchmark=benchmark.digest, judge=judge.id, settings=judge.settings(), seed=target.seed),
        judge_name=judge.name,
        benchmark_name=benchmark.name,
        benchmark_source=target.benchmark_source,
        synthetic=benchmark.about.synthetic,
        created=datetime.now(UTC),
    )
