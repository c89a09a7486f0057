"""A run: every ask of a plan answered once, into a run folder."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version

from casewise.errors import ConfigurationError
from casewise.judging.judge import Answer, Ask, Judge
from casewise.judging.running.held import Held
from casewise.judging.running.plan import Plan, shared
from casewise.judging.running.summary import RunSummary, Target
from casewise.records import Judgement, Unscored
from casewise.runs.engine import Call, Control, Limits, perform
from casewise.runs.limits import Budget, Spend
from casewise.runs.stopping import Stop, stopping_on_signals
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.runs.judgement_run import JUDGEMENT_LOG, RunIdentity, RunManifest
from casewise.storage.runs.run_folder import RunFolder, Session, now

__all__ = ["Plan", "RunSummary", "Target", "Watch", "judge_into"]

Group = tuple[Ask, ...]
"""Asks that one call answers; the first one makes it."""


async def judge_into(
    target: Target,
    benchmark: Benchmark,
    judge: Judge,
    *,
    plan: Plan,
    limits: Limits = Limits(),
    watch: Watch | None = None,
) -> RunSummary:
    """Judge what `plan` asks and the folder does not hold yet.

    A first Ctrl-C lets what is in flight finish and returns; the same call later goes on.

    Raises
    ------
    RunConflict
        The folder holds something else, or another process holds it.
    ModelError
        No further call can succeed; what was judged before is kept.
    ConfigurationError
        There is a limit on cost or tokens, and nobody knows what the judge costs or how many it takes.
    """
    try:
        check_limits(judge, limits)
        with RunFolder.hold(target.folder, manifest(target, benchmark, judge), JUDGEMENT_LOG) as folder:
            run = JudgingRun(benchmark, judge, plan, folder, limits, watch or Watch(), judge.id)
            folder.note_session(session(target, limits))
            return await run.perform(RunSummary(target.folder, n_items=len(plan.items), notes=judge.notes()))
    finally:
        await judge.close()


@dataclass
class Watch:
    """How a run is followed and stopped."""

    progress: Callable[[RunSummary, int], None] | None = None
    """Told after every answer: the summary so far, and how many asks the plan has."""
    say: Callable[[str], None] = lambda _text: None
    stop: Stop = field(default_factory=Stop)


@dataclass
class JudgingRun:
    """One session of work on a run folder."""

    benchmark: Benchmark
    judge: Judge
    plan: Plan
    folder: RunFolder[RunManifest, Judgement]
    limits: Limits
    watch: Watch
    judge_id: str

    async def perform(self, summary: RunSummary) -> RunSummary:
        """Do what is left of the plan."""
        held = Held.of(self.folder.places())
        self.count_held(held, summary)
        spent = Spend(held.cost_usd, held.tokens)
        control = Control(self.watch.stop, Budget(self.limits, spent=spent), took=spend_of)
        started = time.monotonic()
        try:
            with stopping_on_signals(control.stop, say=self.watch.say):
                tally = await perform(
                    self.calls(held, summary),
                    lambda call: self.judge.answer(call.payload[0]),
                    on_result=lambda call, answer: self.keep(call.payload, answer, summary),
                    limits=replace(self.limits, concurrency=self.concurrency),
                    control=control,
                )
            summary.stopped = tally.stopped
            summary.notes = self.judge.notes()
        finally:
            self.folder.sync()
            summary.seconds = time.monotonic() - started
        return summary

    @property
    def concurrency(self) -> int:
        return max(self.limits.concurrency, self.judge.concurrency)

    def count_held(self, held: Held, summary: RunSummary) -> None:
        for ask in self.plan.asks(self.benchmark) if held.last else ():
            if (last := held.of_ask(ask)) is not None:
                summary.resumed += held.settles(ask, retry_unscored=self.plan.retry_unscored)
                summary.n_judged += last.scored
                summary.n_unscored += not last.scored

    def calls(self, held: Held, summary: RunSummary) -> Iterator[Call[Group]]:
        """The calls that are left; what another item's call in the log answers is copied from there."""
        for bundle in self.plan.bundles(self.benchmark):
            missing = [ask for ask in bundle if not held.settles(ask, retry_unscored=self.plan.retry_unscored)]
            if not missing:
                continue
            for group in shared(bundle, self.judge):
                if left := self.left_after_copying(group, held, summary):
                    yield self.call(left)

    def left_after_copying(self, group: Group, held: Held, summary: RunSummary) -> Group:
        """Copy to the asks of `group` what the log holds for another of them; those that must still be asked."""
        known = [ask for ask in group if held.of_ask(ask) is not None]
        if not known:
            return group
        best = max(known, key=lambda ask: standing(ask, held))
        last = held.of_ask(best)
        assert last is not None
        there = self.folder.at(last.place)
        for ask in group:
            mine = held.of_ask(ask)
            if mine is None or (last.scored and not mine.scored):
                attempt = there.attempt if mine is None else max(there.attempt, mine.attempt + 1)
                copy = shared_answer(recorded_answer(there), there.shared_with or there.item_id)
                self.write(replace(ask, attempt=attempt), copy, summary, known=mine is not None)
        if held.settles(best, retry_unscored=self.plan.retry_unscored):
            return ()
        return tuple(replace(ask, attempt=last.attempt + 1) for ask in group)

    def call(self, group: Group) -> Call[Group]:
        return Call(group[0].key, group, self.judge.at_most(group[0]) if self.limits.bounded else Spend())

    def keep(self, group: Group, answer: Answer, summary: RunSummary) -> tuple[Call[Group], ...]:
        """Write an answer for every ask it answers; ask again where it gave no verdict and that is wanted."""
        summary.count_call(answer)
        for ask in group:
            mine = answer if ask is group[0] else shared_answer(answer, group[0].item.id)
            self.write(ask, mine, summary, known=ask.attempt > 0)
        if self.watch.progress is not None:
            self.watch.progress(summary, len(self.plan))
        if isinstance(answer.outcome, Unscored) and group[0].attempt < self.plan.retry_unscored:
            return (self.call(tuple(replace(ask, attempt=ask.attempt + 1) for ask in group)),)
        return ()

    def write(self, ask: Ask, answer: Answer, summary: RunSummary, *, known: bool) -> None:
        self.folder.add(judgement_of(ask, answer, judge_id=self.judge_id))
        summary.count_outcome(answer, known=known)


def standing(ask: Ask, held: Held) -> tuple[bool, int]:
    """Orders asks by what the log holds of them: a verdict first, then the later attempt."""
    last = held.of_ask(ask)
    return (last.scored, last.attempt) if last is not None else (False, -1)


def check_limits(judge: Judge, limits: Limits) -> None:
    if limits.max_cost_usd is not None and judge.prices is None:
        give = "give --price-in and --price-out (US dollars for a million tokens), or " if judge.model else ""
        raise ConfigurationError(
            f"nobody knows what {judge.name} costs, so a cost limit cannot be kept; {give}leave --max-cost out"
        )
    if limits.max_tokens_total is not None and not judge.counts_tokens:
        raise ConfigurationError(
            f"{judge.name} does not say how many tokens it takes, so a limit on them cannot be kept; "
            "leave --max-tokens-total out"
        )


def spend_of(answer: object) -> Spend:
    assert isinstance(answer, Answer)
    return Spend(answer.cost_usd or 0.0, (answer.input_tokens or 0) + (answer.output_tokens or 0))


def shared_answer(answer: Answer, item_id: str) -> Answer:
    """The same answer for another item: it took nothing of its own."""
    return replace(answer, shared_with=item_id, input_tokens=None, output_tokens=None, cost_usd=None, latency_s=None)


def recorded_answer(judgement: Judgement) -> Answer:
    return Answer(
        judgement.outcome,
        raw_reply=judgement.raw_reply,
        model_version=judgement.model_version,
        detail=judgement.detail,
    )


def judgement_of(ask: Ask, answer: Answer, *, judge_id: str) -> Judgement:
    return Judgement(
        item_id=ask.item.id,
        judge_id=judge_id,
        elicitation=ask.elicitation,
        arm=ask.arm.name,
        repeat=ask.repeat,
        attempt=ask.attempt,
        at=now(),
        **vars(answer),
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


def session(target: Target, limits: Limits) -> Session:
    versions = {name: version(name) for name in ("casewise", "numpy", "polars", "pydantic", "aiohttp")}
    return Session(
        started=datetime.now(UTC),
        versions={"python": platform.python_version(), **versions},
        options=vars(limits),
        command=target.command,
    )
