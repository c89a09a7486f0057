"""Judging: options, planned runs and runs."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from casewise.ask.elicitations import AskOptions, asking_method, names_read, protocol_for
from casewise.ask.prompts import PUBLISHED_NAMES
from casewise.errors import ConfigurationError, JudgeError, did_you_mean
from casewise.judges.baselines import CallableJudge
from casewise.judges.judge import Judge, UserJudge, call_key, make_judgement
from casewise.judges.llm import LiveOptions, LLMJudge, find_prompts
from casewise.judges.named import load_judge
from casewise.judges.plan import (
    Plan,
    RunEstimate,
    RunSummary,
    Selection,
    ablation_arms,
    estimate_run,
    manifest,
    pause_where_unread,
)
from casewise.models.prices import Spend
from casewise.models.protocol import Reply
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
from casewise.runs.batch import BatchOptions
from casewise.runs.limits import Limits, RunObserver, run_sync
from casewise.runs.run import CallingOptions, check_limits, folder_log, new_session, perform, run_spend
from casewise.runs.texts import makers_spend
from casewise.stats.labels import LabelPolicy
from casewise.storage.benchmark import Benchmark
from casewise.storage.load import Source, loaded_benchmark, source_of
from casewise.storage.run_folder import JUDGEMENT_LOG, JUDGEMENTS, StoredRun, judgement_table
from casewise.transforms.catalogue import parse_arm, with_digest
from casewise.transforms.texts import MakingOptions, load_makers, make_arm_texts, makers_of_arms

if TYPE_CHECKING:
    from casewise.api.evaluating import JudgeReport


def parse_elicitations(names: str | Sequence[Elicitation] | None) -> tuple[Elicitation, ...]:
    """Return the elicitations of these names, with commas where they are a text.

    Raises
    ------
    ConfigurationError
        One of them is none.
    """
    there_are = elicitation_names()
    stripped = [name.strip() for name in (names.split(",") if names and isinstance(names, str) else names or ())]
    for name in stripped:
        if name not in there_are:
            raise ConfigurationError(
                f"no elicitation is called {name!r}{did_you_mean(name, there_are)}; there are {', '.join(there_are)}"
            )
    return tuple(stripped)


def parse_arms(
    names: str | Arm | Sequence[Arm | str] | None = None,
    *,
    no_context: bool = False,
    omit: Sequence[str] = (),
    ablate: str | None = None,
    parameters: ParameterSet | None = None,
) -> tuple[Arm, ...]:
    """Return the arms that these name together, each once; none where they name none.

    Parameters
    ----------
    names
        Arms by name, with spaces: `full none without:recipient`. What goes by facts (`verified:FACTS`, `annotated:FACTS`)
        is named with their digest and today's day.
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
    words = names.split() if isinstance(names, str) else [names] if isinstance(names, Arm) else names or ()
    arms = [arm if isinstance(arm, Arm) else parse_arm("+".join(map(with_digest, arm.split("+")))) for arm in words]
    arms += [NO_CONTEXT] if no_context else []
    arms += [Arm.without(*(part.strip() for part in text.split(","))) for text in omit]
    arms += ablation_arms(ablate, parameters) if ablate else ()
    return tuple(dict.fromkeys(arms))


def ids_in(benchmark: Benchmark, name: str | None) -> frozenset[str] | None:
    """Return the ids of the items in the subset called `name`; None where there is no name.

    Raises ConfigurationError, BenchmarkError: there is no such subset, or nothing in it.
    """
    if name is None:
        return None
    from casewise.audits.words import subset  # and the whole audit

    return frozenset(subset(benchmark, name).table["id"])


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
    >>> chat = messages("How do I pick this lock?", {"recipient": {"type": "locksmith"}})
    >>> chat[0]["role"], "locksmith" in chat[0]["content"]
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
    if elicitation not in (readable := names_read()):
        raise ConfigurationError(f"a {elicitation!r} is not read from a reply's text; {', '.join(readable)} are")
    return asking_method(elicitation).read(Reply(text, finish_reason="stop"), AskOptions(strict=strict)).outcome


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
    """Maximum number of further calls for an item whose reply gives no verdict."""
    live: LiveOptions = field(default_factory=LiveOptions)
    """Address, prompts and sampling of a model."""
    batch: BatchOptions | None = None
    """Options of the provider's batch interface; None makes the calls from this process."""
    watch: RunObserver | None = None
    """A callback for progress, which can also stop the run."""
    command: str | None = None
    benchmark_source: str | None = None
    """The name or path that finds the benchmark again, if it is given as an object."""


def make_judge(
    judge: AnyJudge,
    benchmark: Benchmark,
    *,
    elicitations: tuple[Elicitation, ...] = (),
    live: LiveOptions | None = None,
) -> Judge:
    """Return the judge that a name or a function `f(query, context)` stands for; a judge is returned as it is.

    Raises
    ------
    ConfigurationError
        No judge is called so, or the object has no `answer`.
    """
    elicitation = elicitations[0] if elicitations else None
    if isinstance(judge, str):
        return load_judge(judge, benchmark, elicitation=elicitation, live=live)
    if callable(judge) and not hasattr(judge, "answer"):
        return CallableJudge(judge, elicitation=elicitation)
    if not hasattr(judge, "answer"):
        raise JudgeError(f"{judge!r} is not a judge; give a judge's name, a function f(query, context), or a Judge")
    return judge if isinstance(judge, Judge) else UserJudge(judge)


def try_connection(judge: Judge) -> Probe:
    """Make one call to a judge's model, and return the abilities of its endpoint.

    Raises
    ------
    ConfigurationError
        The judge asks no model.
    ModelError
        The endpoint does not answer.
    """
    if (model := judge.model) is None:
        raise ConfigurationError(f"{judge.name} asks no model, so there is no connection to test")

    async def test() -> Probe:
        try:
            return await probe(model)
        finally:
            await judge.close()

    return run_sync(test())


class TemporaryFolder:
    """A temporary folder that is removed with this object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="casewise-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class Run(StoredRun):
    """A judge's run over a benchmark."""

    summary: RunSummary = field(repr=False)
    temporary: TemporaryFolder | None = field(default=None, repr=False)
    """Holds a temporary folder for as long as the run is in use."""

    def __repr__(self) -> str:
        summary = self.summary
        stopped = f", stopped: {summary.stopped}" if summary.stopped else ""
        return f"<Run on {self.benchmark.name}: {summary.n_judged:,} judged, {summary.n_unscored:,} unscored{stopped}>"

    @property
    def judgements(self) -> pl.DataFrame:
        """Every judgement, a row each, with the raw replies."""
        return judgement_table(self.path / JUDGEMENTS, replies="keep")

    def report(self, *, labels: str | LabelPolicy = "votes") -> JudgeReport:
        """Return the report of this run."""
        from casewise.api.evaluating import report  # and all that a report needs

        return report(self, labels=labels)

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


@dataclass(frozen=True)
class PlannedRun:
    """A judge's planned run over a benchmark, with its folder. Everything is loaded and checked, and no call is made."""

    folder: Path
    benchmark: Benchmark
    judge: Judge
    plan: Plan
    options: RunOptions = field(default_factory=RunOptions)
    temporary: TemporaryFolder | None = None

    @property
    def label(self) -> str:
        """The names of the judge and the benchmark, to tell several runs apart."""
        return f"{self.judge.name} on {self.benchmark.name}"

    @property
    def making(self) -> MakingOptions:
        """The options of models that make texts for the arms."""
        options, judge = self.options, self.judge
        asked = judge.model.name if judge.model else judge.name if judge.endpoint or judge.sends_to else ""
        return MakingOptions(options.live.model, asked, options.limits, options.watch, options.command)

    def estimate(self) -> RunEstimate:
        """Return the calls, tokens and cost of the run. No call is made."""
        return estimate_run(self.benchmark, self.judge, self.plan, making=self.making)

    def sends_to(self) -> tuple[str | None, ...]:
        """Return the receivers of texts, that of the judge first; None stands for this machine.

        Raises
        ------
        ConfigurationError
            There is no such model, or its key is not set.
        """
        reader = self.judge.reader.model if isinstance(self.judge, LLMJudge) and self.judge.reader else None
        second = [reader.sends_to] if reader else []
        return (self.judge.sends_to, *makers_send_to(self.plan.arms, self.making), *second)

    async def perform(self, *, closing: bool = True) -> Run:
        """Generate the texts that arms need, then run the judge on the rest of the plan. Raises as `judge`.

        `closing`: close the judge afterwards.
        """
        folder, judge, plan, options = self.folder, self.judge, self.plan, self.options
        watch = options.watch or RunObserver()
        summary = RunSummary(run=folder, n_items=len(plan.items))
        run = Run(folder, self.benchmark, summary, self.temporary)
        asks, spent = partial(plan.asks_given, self.benchmark), partial(run_spend, folder, JUDGEMENT_LOG)
        try:
            before = await make_arm_texts(folder, plan.arms, asks, self.making, spent=spent)
            if before.stopped:
                summary.stopped = before.stopped
                return run
            limits = options.limits.reduced_by(makers_spend(folder))
            if isinstance(judge, LLMJudge) and judge.reader is not None and judge.reader.prices is None:
                check_limits(limits, judge, priced=False)
            sizes: dict[str, Any] = {
                "items": len(plan.items),
                "asks": plan.by_way,
                "weights_bytes": judge.weights_bytes,
            }
            source = options.benchmark_source or self.benchmark.name
            log = folder_log(
                folder,
                manifest(self.benchmark, judge, plan, source=source, seed=options.seed),
                JUDGEMENT_LOG,
                new_session(limits, command=options.command, **sizes),
                before=None if judge.model is None or options.batch else pause_where_unread(watch, folder / JUDGEMENTS),
                notes=judge.notes,
            )
            await perform(
                judge,
                partial(make_judgement, judge),
                replace(plan, made=before).asks(self.benchmark, partial(call_key, judge)),
                log,
                options=CallingOptions(limits=limits, batch=options.batch),
                progress=summary,
                watch=watch,
            )
            summary.notes = judge.notes()
            return run
        finally:
            if closing:
                await judge.close()


def makers_send_to(arms: Sequence[Arm], making: MakingOptions) -> tuple[str, ...]:
    """Return the receivers of what models that take part in arms are sent. Raises as `PlannedRun.sends_to`."""
    receivers = (maker.model.sends_to for maker in load_makers(makers_of_arms(arms), making).values())
    return tuple(dict.fromkeys(receiver for receiver in receivers if receiver is not None))


def plan_run(
    benchmark: Source,
    judge: AnyJudge,
    *,
    out: str | Path | None = None,
    elicitations: str | Sequence[Elicitation] = (),
    arms: str | Arm | Sequence[Arm | str] = (),
    repeats: int = 1,
    base_url: str | None = None,
    options: RunOptions = RunOptions(),
) -> PlannedRun:
    """Plan a run, with the parameters of `judge`. No call is made.

    Raises
    ------
    JudgeError
        There is no such judge.
    ConfigurationError
        The judge cannot be asked so, its protocol asks otherwise, or `base_url` is given with a function or an object.
    """
    live, again = options.live, options.retry_unscored
    if base_url is not None:
        if not isinstance(judge, str):
            raise ConfigurationError("base_url is the address of a model that is given by its name; leave it out")
        live = replace(live, model=replace(live.model, base_url=base_url))
    loaded, asked_for = loaded_benchmark(benchmark), parse_elicitations(elicitations)
    reaching = replace(live, model=replace(live.model, batch=True)) if options.batch else live
    judge_made = make_judge(judge, loaded, elicitations=asked_for, live=reaching)
    times: int | dict[Elicitation, int] = repeats
    if live.protocol and isinstance(judge_made, LLMJudge):
        protocol = protocol_for(live.protocol, judge_made.name)
        if repeats > 1 or again:
            raise ConfigurationError(
                f"the protocol {protocol.name} sets the number of calls; leave repeats and retries out"
            )
        asked_for = asked_for or tuple(PUBLISHED_NAMES.values())
        times, again = protocol.repeats(asked_for), protocol.asked_again
    plan = Plan.for_benchmark(
        loaded,
        judge_made,
        elicitations=asked_for,
        arms=parse_arms(arms),
        repeats=times,
        selection=options.selection,
        retry_unscored=again,
    )
    temporary = None
    if out is None:
        temporary = TemporaryFolder()
        out = temporary.path / "run"
    source = options.benchmark_source or source_of(benchmark, loaded)
    return PlannedRun(
        Path(out), loaded, judge_made, plan, replace(options, live=live, benchmark_source=source), temporary
    )


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
    """Run `judge` on every item of `benchmark`. Works in a notebook's own event loop too.

    Parameters
    ----------
    judge
        A judge's name as on the command line (`linear`, `constant:safe`, `recorded:FILE`, …), a function
        `f(query, context)`, or an object with the methods of `casewise.judges.judge.Judge`.
    out
        A run folder, new or to be resumed. Without it the run lives as long as the object returned.
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
    return run_sync(plan_run(benchmark, judge, out=out, options=options, **how).perform())


def judge_several(
    planned: Sequence[PlannedRun], *, watch: Callable[[PlannedRun], AbstractContextManager[RunObserver]] | None = None
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
    >>> from tempfile import mkdtemp
    >>> planned = [plan_run("demo", name, out=mkdtemp() + "/run") for name in ("linear", "constant:safe")]
    >>> [run.summary.n_judged for run in judge_several(planned)]
    [90, 90]
    """
    if len({run.folder for run in planned}) < len(planned):
        raise ConfigurationError(f"two of the runs would share a folder: {', '.join(run.label for run in planned)}")
    runs: list[Run] = []
    for run in planned:
        folders = (neighbour.folder for neighbour in planned if neighbour is not run)
        spent_elsewhere = sum((run_spend(folder, JUDGEMENT_LOG) + makers_spend(folder) for folder in folders), Spend())
        with watch(run) if watch else nullcontext(run.options.watch) as watching:
            options = replace(run.options, limits=run.options.limits.reduced_by(spent_elsewhere), watch=watching)
            runs.append(run_sync(replace(run, options=options).perform()))
        if runs[-1].summary.stopped:
            break
    return runs
