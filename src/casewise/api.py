"""The Python API: a benchmark and a judge in, a run and a report out. The command line is a thin face over this."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from casewise.errors import BenchmarkError, ConfigurationError, JudgeError
from casewise.judging.judge import Judge, completed
from casewise.judging.judges.callable import CallableJudge
from casewise.judging.judges.live import LiveOptions
from casewise.judging.judges.named import judge_named
from casewise.judging.running.estimate import RunEstimate, estimate_run
from casewise.judging.running.plan import Plan, Selection
from casewise.judging.running.run import RunSummary, Target, Watch, judge_into
from casewise.models.http.probing import Probe, probe
from casewise.models.protocol import Model
from casewise.records import Arm, Elicitation
from casewise.reporting.pages.comparison_report import ComparisonReport, compare_runs
from casewise.reporting.pages.judge_report import Report, ReportOptions, report_runs
from casewise.reporting.pages.replay import Replay, replay
from casewise.runs.engine import Limits
from casewise.stats.agreeing.labels import LabelPolicy
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.load import load_benchmark
from casewise.storage.runs.judgement_run import JUDGEMENTS
from casewise.storage.runs.judgement_table import judgement_table

__all__ = ["Replay", "Run", "RunOptions", "compare", "judge", "judge_async", "load", "replay", "report"]

T = TypeVar("T")


def load(source: str | Path) -> Benchmark:
    """A benchmark: `demo`, `casebench` (once fetched), a folder, or a JSON file in the published format.

    Raises
    ------
    DataError
        There is no such benchmark, or it is not valid; the message says where and what to do.

    Examples
    --------
    >>> benchmark = load("demo")
    >>> benchmark.counts.items
    90
    """
    return load_benchmark(source)


class PassingFolder:
    """A temporary folder that is gone when nobody holds this object any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="casewise-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class Run:
    """A judge's run over a benchmark."""

    path: Path
    benchmark: Benchmark
    summary: RunSummary
    kept: PassingFolder | None = field(default=None, repr=False)
    """Holds a temporary folder for as long as the run is in use."""

    @property
    def judgements(self) -> pl.DataFrame:
        """Every judgement, a row each, with the raw replies."""
        return judgement_table(self.path / JUDGEMENTS, replies="keep")

    def report(self, *, labels: str = "votes") -> Report:
        """The report of this run."""
        return report(self, labels=labels)

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


@dataclass(frozen=True)
class RunOptions:
    """How a run is done, and what it asks besides elicitations, arms and repeats."""

    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    selection: Selection = field(default_factory=Selection)
    """Which items to ask about."""
    retry_unscored: int = 0
    """How often to ask again at most where a reply gave no verdict."""
    live: LiveOptions = field(default_factory=LiveOptions)
    """How a model is reached and asked."""
    watch: Watch | None = None
    """Who is told of the progress, and who may stop the run."""
    command: str | None = None
    benchmark_source: str | None = None
    """What finds the benchmark again, where it is given as an object."""


async def judge_async(
    benchmark: Benchmark | str | Path,
    judge: str | Judge | Callable[..., Any],
    *,
    out: str | Path | None = None,
    elicitations: Sequence[Elicitation] = (),
    arms: Sequence[Arm] = (),
    repeats: int = 1,
    options: RunOptions = RunOptions(),
) -> Run:
    """As `judge`, to await."""
    loaded = benchmark if isinstance(benchmark, Benchmark) else load(benchmark)
    found = as_judge(judge, loaded, elicitations=tuple(elicitations), live=options.live)
    plan = planned(loaded, found, elicitations=elicitations, arms=arms, repeats=repeats, options=options)
    kept = PassingFolder() if out is None else None
    folder = kept.path / "run" if kept is not None else Path(str(out))
    source = options.benchmark_source or benchmark_source(benchmark, loaded)
    target = Target(folder, source, seed=options.seed, command=options.command)
    summary = await judge_into(target, loaded, found, plan=plan, limits=options.limits, watch=options.watch)
    return Run(folder, loaded, summary, kept)


def judge(
    benchmark: Benchmark | str | Path,
    judge: str | Judge | Callable[..., Any],
    *,
    out: str | Path | None = None,
    elicitations: Sequence[Elicitation] = (),
    arms: Sequence[Arm] = (),
    repeats: int = 1,
    options: RunOptions = RunOptions(),
) -> Run:
    """Have `judge` decide every item of `benchmark`. Works in a notebook's own event loop too.

    Parameters
    ----------
    judge
        A judge's name as on the command line (`linear`, `constant:safe`, `recorded:FILE`, …), a function
        `f(query, context)`, or an object with the methods of `casewise.judging.judge.Judge`.
    out
        A run folder, new or to be gone on with. Without it the run lives as long as the object returned.
    elicitations, arms, repeats
        What to ask; by default what the judge is asked by default, once.
    options
        How the run is done; nothing that its results depend on, but for the seed.

    Raises
    ------
    JudgeError
        There is no such judge.
    RunConflict
        `out` holds something else, another run, or another process works on it.

    Examples
    --------
    >>> run = judge("demo", "constant:intended")
    >>> run.summary.n_judged
    90
    """
    return finished(
        judge_async(
            benchmark,
            judge,
            out=out,
            elicitations=elicitations,
            arms=arms,
            repeats=repeats,
            options=options,
        )
    )


def planned(
    benchmark: Benchmark,
    judge: Judge,
    *,
    elicitations: Sequence[Elicitation],
    arms: Sequence[Arm],
    repeats: int,
    options: RunOptions,
) -> Plan:
    """What a run would ask."""
    return Plan.of(
        benchmark,
        judge,
        elicitations=tuple(elicitations),
        arms=tuple(arms),
        repeats=repeats,
        selection=options.selection,
        retry_unscored=options.retry_unscored,
    )


def estimate(
    benchmark: Benchmark | str | Path,
    judge: str | Judge | Callable[..., Any],
    *,
    elicitations: Sequence[Elicitation] = (),
    arms: Sequence[Arm] = (),
    repeats: int = 1,
    options: RunOptions = RunOptions(),
) -> RunEstimate:
    """What such a run would take: calls, tokens, cost. Nobody is called."""
    loaded = benchmark if isinstance(benchmark, Benchmark) else load(benchmark)
    found = as_judge(judge, loaded, elicitations=tuple(elicitations), live=options.live)
    plan = planned(loaded, found, elicitations=elicitations, arms=arms, repeats=repeats, options=options)
    return estimate_run(loaded, found, plan)


def try_connection(judge: Judge) -> Probe:
    """Make one call to a judge's model, and say what its endpoint can do.

    Raises
    ------
    ConfigurationError
        The judge asks no model.
    ModelError
        The endpoint does not answer.
    """
    if judge.model is None:
        raise ConfigurationError(f"{judge.name} asks no model, so there is no connection to test")
    return finished(probed(judge, judge.model))


async def probed(judge: Judge, model: Model) -> Probe:
    try:
        return await probe(model)
    finally:
        await judge.close()


def report(
    *runs: Run | str | Path,
    benchmark: Benchmark | str | Path | None = None,
    labels: str | LabelPolicy = "votes",
    options: ReportOptions | None = None,
) -> Report:
    """The report of one or more runs over one benchmark.

    Parameters
    ----------
    labels
        The label policy: `votes`, `published`, `intended`, each with `,override:CATEGORY=unsafe` where wanted.

    Raises
    ------
    DataError, BenchmarkError
        A folder is no run, holds nothing, or the runs are over different benchmarks; or there are no runs.

    Examples
    --------
    >>> found = report(judge("demo", "constant:safe"))
    >>> found.metrics.filter(pl.col("metric") == "recall_safe")["estimate"].to_list()
    [1.0]
    """
    if not runs:
        raise BenchmarkError("there is nothing to report: give at least one run")
    policy = labels if isinstance(labels, LabelPolicy) else LabelPolicy.parse(labels)
    first = runs[0]
    found = benchmark if benchmark is not None else first.benchmark if isinstance(first, Run) else None
    paths = [run.path if isinstance(run, Run) else run for run in runs]
    return report_runs(paths, benchmark=found, options=options or ReportOptions(labels=policy))


def compare(
    *runs: Run | str | Path,
    benchmark: Benchmark | str | Path | None = None,
    labels: str | LabelPolicy = "votes",
    by_repeat: bool = False,
    options: ReportOptions | None = None,
) -> ComparisonReport:
    """Compare two or more runs over one benchmark, or the arms and elicitations of one.

    Parameters
    ----------
    labels
        The label policy, as for `report`.
    by_repeat
        Compare repeats too, each as a judge of its own; otherwise an item's value is their mean.

    Raises
    ------
    DataError, BenchmarkError, StatisticsError
        A folder is no run, the runs are over different benchmarks, or there is nothing to compare.

    Examples
    --------
    >>> found = compare(judge("demo", "constant:safe"), judge("demo", "constant:intended"))
    >>> found.comparison.n_items
    90
    """
    policy = labels if isinstance(labels, LabelPolicy) else LabelPolicy.parse(labels)
    first = runs[0] if runs else None
    found = benchmark if benchmark is not None else first.benchmark if isinstance(first, Run) else None
    paths = [run.path if isinstance(run, Run) else run for run in runs]
    return compare_runs(paths, benchmark=found, by_repeat=by_repeat, options=options or ReportOptions(labels=policy))


def as_judge(
    judge: str | Judge | Callable[..., Any],
    benchmark: Benchmark,
    *,
    elicitations: tuple[Elicitation, ...] = (),
    live: LiveOptions | None = None,
) -> Judge:
    wanted = elicitations[0] if elicitations else None
    if isinstance(judge, str):
        return judge_named(judge, benchmark, elicitation=wanted, live=live)
    if callable(judge) and not hasattr(judge, "answer"):
        return CallableJudge(judge, elicitation=wanted)
    if not hasattr(judge, "answer"):
        raise JudgeError(f"{judge!r} is no judge: give a judge's name, a function f(query, context), or a Judge")
    return completed(judge)


def benchmark_source(given: Benchmark | str | Path, loaded: Benchmark) -> str:
    """What finds the benchmark again: the name, or the absolute path."""
    if isinstance(given, Benchmark):
        return loaded.name
    return str(given) if given in ("demo", "casebench") else str(Path(given).resolve())


def finished(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, in a thread of its own where an event loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T | BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001  (raised again in the caller's thread)
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
