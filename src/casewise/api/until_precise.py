"""Judge no more of a benchmark than a precise answer needs. The command line's `judge --until-precise` is a face over this."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from casewise.api.asking import elicitations_named
from casewise.api.benchmarks import Source, as_benchmark, source_of
from casewise.api.judging import AnyJudge, RunOptions, as_judge, made_and_judged, planned
from casewise.auditing.subject import Subject
from casewise.errors import ConfigurationError, RunConflict, Stopped
from casewise.evaluation.until_precise import PreciseRun, known_queries, right, sampling
from casewise.judging.judge import Judge
from casewise.judging.running.plan import Plan, Selection
from casewise.judging.running.run import Target
from casewise.records import Arm, Elicitation
from casewise.runs.waiting import apart
from casewise.stats.agreeing.adaptive_sampling import sample_until_precise
from casewise.stats.core.arrays import FloatArray, IntArray
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.files.atomic import write_text
from casewise.storage.runs.run_folder import RUN
from casewise.storage.runs.sampling_file import SAMPLING

__all__ = ["PreciseRun", "judge_until_precise"]


def judge_until_precise(
    benchmark: Source,
    judge: AnyJudge,
    *,
    half_width: float,
    out: str | Path,
    elicitations: str | Sequence[Elicitation] = (),
    arms: str | Arm | Sequence[Arm | str] = (),
    repeats: int = 1,
    options: RunOptions = RunOptions(),
) -> PreciseRun:
    """Ask queries, both items of each, until the interval for accuracy on this whole benchmark is narrow enough.

    The same call with the same seed goes on where it stopped. Such a run is refused by the gate and the leaderboard.
    The judge is made once, and is the same at every look.

    Parameters
    ----------
    elicitations, arms
        One of each, for several have several accuracies; by default what the judge is asked by default.
    repeats
        How often each item is asked; its verdict is that of the mean.

    Raises
    ------
    BenchmarkError
        The benchmark has no ratings.
    StatisticsError
        `half_width` is not between 0 and ½.
    ConfigurationError
        `options` selects items itself, or the judge is to be asked in several ways.
    RunConflict
        `out` holds a run that was not sampled.
    Stopped
        It was stopped before the answer was known; the same call goes on.
    """
    if options.selection != Selection(seed=options.selection.seed):
        raise ConfigurationError(
            "--until-precise draws the items itself; leave out --items, --sample, --limit and --category"
        )
    folder, loaded = Path(out), as_benchmark(benchmark)
    if (folder / RUN).is_file() and not (folder / SAMPLING).is_file():
        raise RunConflict(f"{folder} holds a run that was not sampled; choose another place (--out) for this one")
    found = as_judge(judge, loaded, elicitations=elicitations_named(elicitations), live=options.live)
    plan = planned(loaded, found, elicitations=elicitations, arms=arms, repeats=repeats, options=options)
    if len(plan.elicitations) * len(plan.arms) != 1:
        raise ConfigurationError(
            "--until-precise needs one elicitation and one arm: several have several accuracies; name one of each"
        )
    source = options.benchmark_source or source_of(benchmark, loaded)
    return apart(Looks(loaded, found, plan, folder, half_width, source, options).all)


@dataclass(frozen=True)
class Looks:
    """One judge, asked about more and more queries."""

    benchmark: Benchmark
    judge: Judge
    plan: Plan
    folder: Path
    half_width: float
    source: str
    options: RunOptions

    def all(self) -> PreciseRun:
        """Look until the answer is known. Every look is in one event loop, for the judge's connections belong to it."""
        subject = Subject(self.benchmark)
        known = known_queries(subject)
        asked: set[int] = set()
        with asyncio.Runner() as loop:

            def ask(places: IntArray) -> FloatArray:
                asked.update(places.tolist())
                rows = known.labelled & np.isin(known.place, list(asked))
                loop.run(self.look(frozenset(subject.items["item_id"].to_numpy()[rows].tolist())))
                return known.by_query(right(subject, self.folder))[places]

            rng = np.random.default_rng(self.options.seed)
            try:
                found = sample_until_precise(known.frame, ask, half_width=self.half_width, rng=rng)
            finally:
                loop.run(self.judge.close())
        done = PreciseRun(self.folder, found, self.half_width, self.options.seed)
        write_text(self.folder / SAMPLING, json.dumps(sampling(done, known), indent=1) + "\n")
        return done

    async def look(self, ids: frozenset[str]) -> None:
        """Ask about these items."""
        items = tuple(item for item in self.benchmark.items if item.id in ids)
        plan = replace(self.plan, items=items)
        target = Target(self.folder, self.source, seed=self.options.seed, command=self.options.command)
        try:
            done = await made_and_judged(
                target, self.benchmark, self.judge, plan=plan, options=replace(self.options, batch=None), closing=False
            )
        finally:
            # A run that is cut short must not pass for one over items chosen fairly.
            if (self.folder / RUN).is_file() and not (self.folder / SAMPLING).is_file():
                said = {"half_width": self.half_width, "seed": self.options.seed}
                write_text(self.folder / SAMPLING, json.dumps(said) + "\n")
        if done.stopped:
            raise Stopped(f"{done.stopped}; the same command goes on with what is left")
