"""A run of a judge: every ask of a plan answered once, into a run folder."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from casewise.judging.judge import Answer, Ask, Judge, answer_shown
from casewise.judging.running.kind import JudgingKind
from casewise.judging.running.plan import Plan
from casewise.judging.running.summary import RunSummary, Target
from casewise.runs.durable import DurableRun
from casewise.runs.executor import Executor, LiveExecutor
from casewise.runs.limits import GIVE_PRICES, Limits, check_limits
from casewise.runs.progress import Watch
from casewise.runs.run_log import FolderLog, session_now
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.runs.judgement_run import RunIdentity, RunManifest
from casewise.storage.runs.run_folder import RunFolder

__all__ = ["Plan", "RunSummary", "Target", "Watch", "judge_into"]


async def judge_into(
    target: Target,
    benchmark: Benchmark,
    judge: Judge,
    *,
    plan: Plan,
    limits: Limits = Limits(),
    watch: Watch | None = None,
    executor: Executor[Ask, Answer] | None = None,
    closing: bool = True,
) -> RunSummary:
    """Judge what `plan` asks and the folder does not hold yet.

    A first Ctrl-C lets what is in flight finish and returns; the same call later goes on. The calls are made from this
    process unless another `executor` is given. The judge is closed afterwards, unless `closing` says that it is asked again.

    Raises
    ------
    RunConflict
        The folder holds something else, or another process holds it.
    ModelError
        No further call can succeed; what was judged before is kept.
    ConfigurationError
        There is a limit on cost or tokens, and nobody knows what the judge costs or how many it takes.
    """
    kind = JudgingKind(judge.id)
    try:
        check(limits, judge)
        with RunFolder.hold(target.folder, manifest(target, benchmark, judge), kind.log) as folder:
            folder.note_session(session_now(limits, command=target.command))
            run = DurableRun(
                kind,
                plan.asks(benchmark, judge),
                FolderLog(folder, kind),
                executor or LiveExecutor(partial(answer_shown, judge), max(limits.concurrency, judge.concurrency)),
                limits,
                judge.at_most,
                watch or Watch(),
            )
            summary = RunSummary(run=target.folder, n_items=len(plan.items))
            try:
                return await run.perform(summary)
            finally:
                summary.notes = judge.notes()
                folder.keep_notes(summary.notes)
    finally:
        if closing:
            await judge.close()


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
