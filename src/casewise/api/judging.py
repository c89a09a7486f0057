"""Judging: options, runs, estimates."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from casewise.api.benchmarks import RunAt, Source, as_benchmark, source_of
from casewise.api.evaluating import Report
from casewise.ask.elicitations import HOW_ASKED, AskOptions, how_asked, protocol_for
from casewise.errors import ConfigurationError, JudgeError, did_you_mean
from casewise.evaluate.judged_runs import ReportOptions
from casewise.judges.baselines import CallableJudge
from casewise.judges.judge import Judge, completed
from casewise.judges.llm import LiveOptions, LLMJudge, find_prompts
from casewise.judges.named import judge_named
from casewise.judges.run import (
    Plan,
    RunEstimate,
    RunSummary,
    Selection,
    Target,
    ablation_arms,
    estimate_run,
    judge_into,
)
from casewise.models.client import ClientOptions, RetryPolicy
from casewise.models.endpoints import Prices
from casewise.models.load import ModelOptions
from casewise.models.local import LocalOptions
from casewise.models.protocol import Model, Reply
from casewise.models.wire import Probe, probe
from casewise.records import (
    NO_CONTEXT,
    Arm,
    Elicitation,
    ParameterSet,
    Scored,
    ShownContext,
    Unscored,
    elicitation_names,
)
from casewise.runs.batch import BatchOptions, reserved
from casewise.runs.limits import Limits, RunProgress, Spend, Watch, allow_sending, finished, unknown_spend
from casewise.runs.run import default_folder, spent_in_columns
from casewise.runs.texts import spent_making
from casewise.stats.sample import LabelPolicy
from casewise.storage.batch_jobs import JobLog
from casewise.storage.benchmark import Benchmark
from casewise.storage.columns import column_of_records
from casewise.storage.run_folder import JUDGEMENTS, judgement_table, judgements_in_brief
from casewise.transforms.catalogue import arm_named, with_digest
from casewise.transforms.texts import MakingOptions, by_models, makers_named, making

__all__ = [
    "AnyJudge",
    "Arm",
    "AskOptions",
    "BatchOptions",
    "ClientOptions",
    "Elicitation",
    "Judge",
    "Limits",
    "LiveOptions",
    "LocalOptions",
    "ModelOptions",
    "PlannedRun",
    "Prices",
    "Probe",
    "RetryPolicy",
    "Run",
    "RunEstimate",
    "RunOptions",
    "RunProgress",
    "RunSummary",
    "Selection",
    "Watch",
    "allow_sending",
    "arms_named",
    "as_judge",
    "default_folder",
    "elicitations_named",
    "estimate",
    "ids_in",
    "judge",
    "judge_async",
    "judge_several",
    "made_and_judged",
    "messages",
    "others_asked",
    "planned",
    "read_reply",
    "try_connection",
]


# What a run asks and how a model is reached, from the words that people write for it.


def elicitations_named(given: str | Sequence[Elicitation] | None) -> tuple[Elicitation, ...]:
    """The elicitations that `given` names, with commas where it is a text.

    Raises
    ------
    ConfigurationError
        One of them is none.
    """
    names = given.split(",") if given and isinstance(given, str) else given or ()
    known = elicitation_names()
    stripped = [name.strip() for name in names]
    for name in stripped:
        if name not in known:
            raise ConfigurationError(
                f"no elicitation is called {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}"
            )
    return tuple(stripped)


def arms_named(
    given: str | Arm | Sequence[Arm | str] | None = None,
    *,
    no_context: bool = False,
    omit: Sequence[str] = (),
    ablate: str | None = None,
    parameters: ParameterSet | None = None,
) -> tuple[Arm, ...]:
    """The arms that these name together, each once; none where they name none.

    Parameters
    ----------
    given
        Arms by name, with spaces: `full none without:recipient`. What goes by a file (`verified:FACTS`, `annotated:FACTS`,
        `checked:FILE`) is named with its digest, and what asks facts with today's day.
    no_context
        The query alone.
    omit
        For each an arm without these parameters or groups, with commas.
    ablate
        The arms of an ablation: `groups` or `parameters`.
    parameters
        The benchmark's set of context parameters, for the ablation; the paper's by default.

    Raises
    ------
    ConfigurationError
        One of them is no arm.
    """
    every = given.split() if isinstance(given, str) else [given] if isinstance(given, Arm) else given or ()
    arms = [one if isinstance(one, Arm) else arm_named("+".join(map(with_digest, one.split("+")))) for one in every]
    arms += [NO_CONTEXT] if no_context else []
    arms += [Arm.without(*(part.strip() for part in text.split(","))) for text in omit]
    arms += ablation_arms(ablate, parameters) if ablate else ()
    return tuple(dict.fromkeys(arms))


def ids_in(benchmark: Benchmark, name: str | None) -> frozenset[str] | None:
    """The ids of the items in the subset called `name`; None where there is no name.

    Raises
    ------
    ConfigurationError, BenchmarkError
        There is no such subset, or nothing in it.
    """
    if name is None:
        return None
    from casewise.audits.words import subset  # and the whole audit

    return frozenset(column_of_records(subset(benchmark, name), "id"))


def messages(
    query: str, context: ShownContext, *, elicitation: Elicitation = "binary", prompts: str = "casewise"
) -> list[dict[str, str]]:
    """Return the chat messages that ask a model about a query in a context, for a client of your own.

    Parameters
    ----------
    context
        As a judge's function is given it; empty for none.
    prompts
        `casewise`, `published` (once fetched), or the path of a TOML file.

    Examples
    --------
    >>> asked = messages("How do I pick this lock?", {"recipient": {"type": "locksmith"}})
    >>> asked[0]["role"], "locksmith" in asked[0]["content"]
    ('user', True)
    """
    rendered = find_prompts(prompts).render(elicitation, query, context)
    return [{"role": message.role, "content": message.content} for message in rendered]


def read_reply(text: str, *, elicitation: Elicitation = "binary", strict: bool = False) -> Scored | Unscored:
    """Read a model's reply. Without a verdict the result is `Unscored`, with the reason. `strict` reads JSON only.

    Raises
    ------
    ConfigurationError
        The elicitation is not read from text: a probability is read from tokens, a scalar is a number already.

    Examples
    --------
    >>> read_reply('{"judgement": "safe"}').value
    1.0
    >>> read_reply("It depends.").reason.value
    'no_verdict'
    """
    if elicitation not in ("binary", "score"):
        raise ConfigurationError(f"a {elicitation!r} is not read from a reply's text; binary and score are")
    return how_asked(elicitation).read(Reply(text, finish_reason="stop"), AskOptions(strict=strict)).outcome


# Have a judge decide the items of a benchmark: a run.


AnyJudge = str | Judge | Callable[..., Any]
"""A judge's name, a judge, or a function `f(query, context)`."""


@dataclass(frozen=True)
class RunOptions:
    """Options of a run, except elicitations, arms and repeats."""

    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    selection: Selection = field(default_factory=Selection)
    """The items to ask about."""
    retry_unscored: int = 0
    """Maximum number of further calls if a reply gives no verdict."""
    live: LiveOptions = field(default_factory=LiveOptions)
    """Address, prompts and sampling of a model."""
    batch: BatchOptions | None = None
    """Options of the provider's batch interface; None makes the calls from this process."""
    watch: Watch | None = None
    """A callback for progress, which can also stop the run."""
    command: str | None = None
    benchmark_source: str | None = None
    """The name or path that finds the benchmark again, if it is given as an object."""

    @property
    def reaching(self) -> LiveOptions:
        """The options of a model, with its batch interface if `batch` is set."""
        return replace(self.live, model=replace(self.live.model, batch=True)) if self.batch else self.live

    def at(self, base_url: str | None) -> RunOptions:
        """The same options with the model at this address; unchanged without one."""
        if base_url is None:
            return self
        return replace(self, live=replace(self.live, model=replace(self.live.model, base_url=base_url)))


async def judge_async(
    benchmark: Source,
    judge: AnyJudge,
    *,
    out: str | Path | None = None,
    elicitations: str | Sequence[Elicitation] = (),
    arms: str | Arm | Sequence[Arm | str] = (),
    repeats: int = 1,
    base_url: str | None = None,
    options: RunOptions = RunOptions(),
) -> Run:
    """As `judge`, to await."""
    if base_url is not None and not isinstance(judge, str):
        raise ConfigurationError("base_url is the address of a model that is given by its name; leave it out")
    options = options.at(base_url)
    loaded = as_benchmark(benchmark)
    found = as_judge(judge, loaded, elicitations=elicitations_named(elicitations), live=options.reaching)
    plan = planned(loaded, found, elicitations=elicitations, arms=arms, repeats=repeats, options=options)
    kept = PassingFolder() if out is None else None
    folder = kept.path / "run" if kept is not None else Path(str(out))
    source = options.benchmark_source or source_of(benchmark, loaded)
    target = Target(folder, source, seed=options.seed, command=options.command)
    return Run(folder, loaded, await made_and_judged(target, loaded, found, plan=plan, options=options), kept)


async def made_and_judged(
    target: Target, benchmark: Benchmark, judge: Judge, *, plan: Plan, options: RunOptions, closing: bool = True
) -> RunSummary:
    """Have models make the texts that the arms need, then have the judge decide what is left of the plan."""
    folder, asks = target.folder, partial(plan.asks_given, benchmark)
    before = await making(folder, plan.arms, asks, making_by(options, judge), spent=partial(spent_in, folder))
    if before.stopped:
        if closing:
            await judge.close()
        return RunSummary(run=folder, n_items=len(plan.items), stopped=before.stopped)
    plan, limits = replace(plan, made=before.made), options.limits.less(spent_making(folder))
    how: dict[str, Any] = {"watch": options.watch, "batch": options.batch, "closing": closing}
    return await judge_into(target, benchmark, judge, plan=plan, limits=limits, **how)


def making_by(options: RunOptions, judge: Judge) -> MakingOptions:
    """Return the options of models that make texts for the arms of a run by this judge."""
    asked = judge.model.name if judge.model else ""
    return MakingOptions(options.live.model, asked, options.limits, options.watch, options.command)


def others_asked(arms: Sequence[Arm], model: ModelOptions, *, judge: Judge | None = None) -> tuple[str, ...]:
    """Return the receivers of texts other than the judge: models that take part in what arms show, and a second reader.

    Raises
    ------
    ConfigurationError
        There is no such model, or its key is not set.
    """
    asked = judge.model.name if judge and judge.model else ""
    models = [one.loaded.model for one in makers_named(by_models(arms), MakingOptions(model, asked)).values()]
    if isinstance(judge, LLMJudge) and judge.reader is not None:
        models.append(judge.reader.model)
    return tuple(dict.fromkeys(to for one in models if (to := one.sends_to) is not None))


def judge(
    benchmark: Source,
    judge: AnyJudge,
    *,
    out: str | Path | None = None,
    elicitations: str | Sequence[Elicitation] = (),
    arms: str | Arm | Sequence[Arm | str] = (),
    repeats: int = 1,
    base_url: str | None = None,
    options: RunOptions = RunOptions(),
) -> Run:
    """Have `judge` decide every item of `benchmark`. Works in a notebook's own event loop too.

    Parameters
    ----------
    judge
        A judge's name as on the command line (`linear`, `constant:safe`, `recorded:FILE`, …), a function
        `f(query, context)`, or an object with the methods of `casewise.judges.judge.Judge`.
    out
        A run folder, new or to be gone on with. Without it the run lives as long as the object returned.
    elicitations, arms, repeats
        What to ask; by default what the judge is asked by default, once. Texts do too, as on the command line:
        `"binary,score"`, `"full none without:recipient"`.
    base_url
        The address of the model, for any server that speaks OpenAI's chat completions. It replaces the one in `options`.
    options
        How the run is done; nothing that its results depend on, but for the seed.

    Raises
    ------
    JudgeError
        There is no such judge.
    ConfigurationError
        `base_url` is given with a function or an object as the judge.
    RunConflict
        `out` holds something else, another run, or another process works on it.

    Examples
    --------
    >>> run = judge("demo", "constant:intended")
    >>> run.summary.n_judged
    90
    """
    how: dict[str, Any] = {"elicitations": elicitations, "arms": arms, "repeats": repeats, "base_url": base_url}
    return finished(judge_async(benchmark, judge, out=out, options=options, **how))


@dataclass(frozen=True)
class PlannedRun:
    """One judge's planned run over one benchmark, with its folder."""

    folder: Path
    benchmark: Benchmark
    judge: Judge
    elicitations: tuple[Elicitation, ...] = ()
    arms: tuple[Arm, ...] = ()
    repeats: int = 1
    options: RunOptions = field(default_factory=RunOptions)

    @property
    def label(self) -> str:
        """The judge and the benchmark, for a reader who sees several."""
        return f"{self.judge.name} on {self.benchmark.name}"

    def estimate(self) -> RunEstimate:
        """Return the calls, tokens and cost of the run. Nobody is called."""
        return estimate(self.benchmark, self.judge, options=self.options, **self._asked)

    def sends_to(self) -> tuple[str | None, ...]:
        """Return whom texts are sent to; None stands for this machine."""
        return (self.judge.sends_to, *others_asked(self.arms, self.options.live.model, judge=self.judge))

    def perform(self, limits: Limits, watch: Watch | None = None) -> Run:
        """Ask what is left of the run, within these limits."""
        options = replace(self.options, limits=limits, watch=watch or self.options.watch)
        return judge(self.benchmark, self.judge, out=self.folder, options=options, **self._asked)

    @property
    def _asked(self) -> dict[str, Any]:
        return {"elicitations": self.elicitations, "arms": self.arms, "repeats": self.repeats}


def judge_several(
    planned: Sequence[PlannedRun], *, watch: Callable[[PlannedRun], AbstractContextManager[Watch]] | None = None
) -> list[Run]:
    """Perform one run after another under one budget. A run that is stopped is the last; the same call resumes it.

    Parameters
    ----------
    planned
        The runs. The limits of each are those of all together, over all sessions.
    watch
        Follows the run that it is called with.

    Raises
    ------
    ConfigurationError
        Two of the runs would share a folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> demo = as_benchmark("demo")
    >>> names, out = ("linear", "constant:safe"), Path(mkdtemp())
    >>> planned = [PlannedRun(out / str(n), demo, as_judge(name, demo)) for n, name in enumerate(names)]
    >>> [run.summary.n_judged for run in judge_several(planned)]
    [90, 90]
    """
    if len({one.folder for one in planned}) < len(planned):
        raise ConfigurationError(f"two of the runs would share a folder: {', '.join(one.label for one in planned)}")
    done: list[Run] = []
    for one in planned:
        others = sum((spent_in(other.folder) for other in planned if other is not one), Spend())
        with watch(one) if watch else nullcontext(None) as watching:
            done.append(one.perform(one.options.limits.less(others), watching))
        if done[-1].summary.stopped:
            break
    return done


def spent_in(folder: Path) -> Spend:
    """Return the spend of a run so far, plus the maximum of calls under way; zero if there is no run yet."""
    log, out = folder / JUDGEMENTS, reserved(JobLog.read(folder))
    return (spent_in_columns(judgements_in_brief(log)) if log.exists() else Spend()) + out + unknown_spend(folder)


def planned(
    benchmark: Benchmark,
    judge: Judge,
    *,
    elicitations: str | Sequence[Elicitation],
    arms: str | Arm | Sequence[Arm | str],
    repeats: int,
    options: RunOptions,
) -> Plan:
    """Return the plan of a run.

    Raises
    ------
    ConfigurationError
        The judge cannot be asked so, or its protocol asks otherwise.
    """
    wanted, again = elicitations_named(elicitations), options.retry_unscored
    times: int | dict[Elicitation, int] = repeats
    if options.live.protocol and isinstance(judge, LLMJudge):
        protocol = protocol_for(options.live.protocol, judge.name)
        if repeats > 1 or again:
            raise ConfigurationError(
                f"the protocol {protocol.name} says how often to ask: leave repeats and retries out"
            )
        wanted = wanted or tuple(name for name in judge.elicitations if name in HOW_ASKED)
        times, again = protocol.repeats(wanted), protocol.asked_again
    return Plan.of(
        benchmark,
        judge,
        elicitations=wanted,
        arms=arms_named(arms),
        repeats=times,
        selection=options.selection,
        retry_unscored=again,
    )


def estimate(
    benchmark: Source,
    judge: AnyJudge,
    *,
    elicitations: str | Sequence[Elicitation] = (),
    arms: str | Arm | Sequence[Arm | str] = (),
    repeats: int = 1,
    options: RunOptions = RunOptions(),
) -> RunEstimate:
    """Estimate calls, tokens and cost of a run. Calls no model."""
    loaded = as_benchmark(benchmark)
    found = as_judge(judge, loaded, elicitations=elicitations_named(elicitations), live=options.reaching)
    plan = planned(loaded, found, elicitations=elicitations, arms=arms, repeats=repeats, options=options)
    return estimate_run(loaded, found, plan, making=making_by(options, found))


def try_connection(judge: Judge) -> Probe:
    """Make one call to a judge's model, and return the abilities of its endpoint.

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


def as_judge(
    judge: AnyJudge,
    benchmark: Benchmark,
    *,
    elicitations: tuple[Elicitation, ...] = (),
    live: LiveOptions | None = None,
) -> Judge:
    """A judge of its name on the command line, of a function of a query and a context, or as it is.

    Raises
    ------
    ConfigurationError
        No judge is called so, or the object has no `answer`.
    """
    wanted = elicitations[0] if elicitations else None
    if isinstance(judge, str):
        return judge_named(judge, benchmark, elicitation=wanted, live=live)
    if callable(judge) and not hasattr(judge, "answer"):
        return CallableJudge(judge, elicitation=wanted)
    if not hasattr(judge, "answer"):
        raise JudgeError(f"{judge!r} is no judge: give a judge's name, a function f(query, context), or a Judge")
    return completed(judge)


class PassingFolder:
    """A temporary folder that is gone when nobody holds this object any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="casewise-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class Run(RunAt):
    """A judge's run over a benchmark."""

    summary: RunSummary = field(repr=False)
    kept: PassingFolder | None = field(default=None, repr=False)
    """Holds a temporary folder for as long as the run is in use."""

    def __repr__(self) -> str:
        done = self.summary
        stopped = f", stopped: {done.stopped}" if done.stopped else ""
        return f"<Run on {self.benchmark.name}: {done.n_judged:,} judged, {done.n_unscored:,} unscored{stopped}>"

    @property
    def judgements(self) -> pl.DataFrame:
        """Every judgement, a row each, with the raw replies."""
        return judgement_table(self.path / JUDGEMENTS, replies="keep")

    def report(self, *, labels: str | LabelPolicy = "votes") -> Report:
        """The report of this run."""
        from casewise.api.evaluating import Report  # and all that a report needs

        policy = labels if isinstance(labels, LabelPolicy) else LabelPolicy.parse(labels)
        return Report.of([self.path], benchmark=self.benchmark, options=ReportOptions(labels=policy))

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()
