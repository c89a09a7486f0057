"""Judging from the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from cyclopts.types import NonNegativeInt, PositiveInt

from casewise import api
from casewise.api.judging import PlannedRun, Run, RunOptions
from casewise.cli.calls import Calls, Items
from casewise.cli.options import (
    ASKED,
    BEFORE_RUN,
    BENCHMARK,
    ITEMS,
    MACHINE,
    MODEL,
    ArmsOption,
    BaseUrlOption,
    DryRunOption,
    ElicitOption,
    YesOption,
)
from casewise.cli.printing import (
    confirm_sending,
    exit_with_status,
    is_json_output,
    note,
    print_before,
    print_cost,
    print_failures,
    print_json,
    print_unfinished,
    progress_display,
    session_line,
    show,
)
from casewise.errors import ConfigurationError, DataError
from casewise.judges.judge import Judge
from casewise.judges.llm import LiveOptions
from casewise.judges.plan import RunEstimate, RunSummary
from casewise.judges.reread import has_many_unread
from casewise.models.local import LocalOptions
from casewise.models.wire import Probe
from casewise.options import Flat
from casewise.runs.run import default_folder
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import read_text
from casewise.storage.load import source_of
from casewise.text import count_of


@dataclass(frozen=True)
class PlanOptions:
    """The calls for each item."""

    elicit: ElicitOption = None
    no_context: bool = False
    """Ask about the query alone, without its context."""
    omit: tuple[str, ...] = ()
    """Leave out these parameters or groups of the context, separated by commas. Each use is one more arm; may be
    repeated."""
    ablate: str | None = None
    """Leave out, in turn, every set of groups (groups) or every parameter (parameters)."""
    arms: ArmsOption = None
    repeats: PositiveInt = 1
    """Number of times to ask each item."""
    retry_unscored: NonNegativeInt = 0
    """Maximum number of further calls if a reply gives no verdict."""


@dataclass(frozen=True)
class AskingOptions:
    """Address, prompts and policy of a model."""

    base_url: BaseUrlOption = None
    prompts: tuple[str, ...] = ("casewise",)
    """casewise, published (once fetched), bridge (a chatbot's own messages), or a TOML file. May be repeated in judge: one
    run for each, whose report says how much the wording matters."""
    live: Flat[LiveOptions] = field(default_factory=LiveOptions)
    policy: Path | None = None
    """A text file with your own policy, for a guard that takes one (guard:NAME@MODEL)."""

    def options(self, calls: Calls, local: LocalOptions, *, seed: int | None, needs_key: bool) -> LiveOptions:
        """Return the options of a model, with the first prompts.

        Raises DataError: the policy cannot be read, or is empty.
        """
        policy = read_text(self.policy).strip() if self.policy else None
        if self.policy is not None and not policy:
            raise DataError(self.policy, None, "is empty; write the policy into it")
        return replace(
            self.live,
            prompts=self.prompts[0],
            ask=replace(self.live.ask, seed=seed),
            model=calls.model(self.base_url, local, needs_key=needs_key),
            policy=policy,
        )


def run_options(source: str, benchmark: Benchmark, live: LiveOptions, *, items: Items, calls: Calls) -> RunOptions:
    """Return the options of a run over a benchmark, named `source`."""
    return RunOptions(
        seed=items.seed or 0,
        selection=items.select_from(benchmark),
        live=live,
        **calls.common(),
        benchmark_source=source_of(source, benchmark),
    )


@dataclass(frozen=True)
class BeforeRunOptions:
    """Estimate, test or consent before a run."""

    dry_run: DryRunOption = False
    test_connection: bool = False
    """Make one call, print what the endpoint can do, and stop."""
    yes: YesOption = False


def print_summary(summary: RunSummary, folder: Path, *, then: str | None = "report") -> None:
    """Print the result of a run in one or two lines, and the next command."""
    if is_json_output():
        print_json(summary.as_json())
        return
    print(f"{session_line(summary, 'verdict')}: {folder}")
    print_failures(summary)
    if len(summary.problems) > 3:
        note(f"unscored for {len(summary.problems) - 3:,} other reasons: see {folder / 'judgements.jsonl'}")
    for text in summary.notes:
        note(f"note: {text}")
    print_unfinished(summary, folder)
    if then and not summary.n_pending:
        note(f"next: casewise {then} {shlex.quote(str(folder))}")
    if has_many_unread(folder, n_unscored=summary.n_unscored, n_judged=summary.n_judged):
        note(f"more than 5 % of the replies could not be read: casewise reread {shlex.quote(str(folder))}")


def title_with_prompts(plan: PlannedRun, planned: Sequence[PlannedRun], name: str) -> str:
    """Return `name`, with the prompts of a run where several were asked for."""
    prompts = plan.options.live.prompts
    return f"{name}, prompts {prompts}" if len({run.options.live.prompts for run in planned}) > 1 else name


def print_several(runs: Sequence[Run], planned: Sequence[PlannedRun]) -> None:
    """Print the results of several runs, and a comparison of the judges after the last."""
    if is_json_output():
        print_json({"runs": runs_json(runs, planned)})
        return
    for run, plan in zip(runs, planned, strict=False):
        print(f"{title_with_prompts(plan, planned, plan.label)}:")
        print_summary(run.summary, run.path, then=None)
    if all_complete(runs, planned):
        paths = [run.path for run in runs]
        note(f"next: casewise leaderboard {shlex.join(map(str, paths))}")
        several = len({plan.benchmark.digest for plan in planned}) > 1
        if not several:
            note(f"next, to deploy one: casewise recommend {shlex.join(map(str, paths))}")
        show((api.leaderboards(*paths) if several else api.compare(*paths)).document)


def runs_json(runs: Sequence[Run], planned: Sequence[PlannedRun]) -> dict[str, Any]:
    """Return the summaries of runs by judge or, where there are several benchmarks, by benchmark and judge."""
    summaries: dict[str, dict[str, Any]] = {}
    for run, plan in zip(runs, planned, strict=False):
        summaries.setdefault(benchmark_folder(plan), {})[title_with_prompts(plan, planned, plan.judge.name)] = (
            run.summary.as_json()
        )
    several = len({benchmark_folder(plan) for plan in planned}) > 1
    return summaries if several or not summaries else next(iter(summaries.values()))


def benchmark_folder(planned: PlannedRun) -> str:
    """Return the name of the folder that holds the runs over one benchmark."""
    return planned.folder.parent.name


def all_complete(runs: Sequence[Run], planned: Sequence[PlannedRun]) -> bool:
    """Return True if every run is complete."""
    return len(runs) == len(planned) and not any(run.summary.stopped or run.summary.n_pending for run in runs)


def print_planned(planned: Sequence[PlannedRun], estimates: Sequence[RunEstimate]) -> None:
    """Print the estimate of one run as an object, or of several as a list with their total."""
    several = len({run.benchmark.digest for run in planned}) > 1
    if is_json_output():
        rows = [
            {
                **({"benchmark": run.benchmark.name} if several else {}),
                "judge": title_with_prompts(run, planned, run.judge.name),
                **estimate.as_json(),
                **({"label_tokens": labels} if (labels := label_tokens(run.judge)) else {}),
            }
            for run, estimate in zip(planned, estimates, strict=True)
        ]
        print_json(rows[0] if len(rows) == 1 else {"judges": rows})
        return
    for run, estimate in zip(planned, estimates, strict=True):
        name = title_with_prompts(
            run, planned, f"{run.judge.name} on {run.benchmark.name}" if several else run.judge.name
        )
        print(
            f"{name}: {count_of(estimate.n_asks, 'judgement')} of {count_of(estimate.n_items, 'item')} in {count_of(estimate.calls.n_calls, 'call')}"
        )
        print_cost(estimate.calls)
        print_before(estimate.before)
        for word, tokens in label_tokens(run.judge).items():
            print(f"tokens that count as {word!r}: {' '.join(repr(token) for token in tokens)}")
    most = [each.cost_at_most_usd for estimate in estimates for each in (estimate.calls, *estimate.before.values())]
    if len(most) > 1 and None not in most:
        print(f"together: at most ${sum(cost for cost in most if cost is not None):.2f}")


def label_tokens(judge: Judge) -> dict[str, list[str]]:
    """Return the tokens with which a local model can begin each label."""
    tokens = judge.model.label_tokens(("safe", "unsafe")) if judge.model else {}
    return {word: list(strings) for word, strings in tokens.items()}


def print_probe(probe: Probe) -> None:
    """Print the result of one test call."""
    if is_json_output():
        print_json(asdict(probe))
        return
    print(f"{probe.model} answered in {probe.latency_s:g} s as {probe.model_version or 'a model it does not name'}")
    print(f"temperature:  {'yes' if probe.temperature else 'no, the model uses its own'}")
    logprobs = (
        f"yes, {count_of(probe.top_logprobs, 'token')}"
        if probe.top_logprobs
        else "no: --elicit probability will not work"
    )
    print(f"logprobs:     {logprobs}")
    print(f"JSON schema:  {'yes' if probe.json_schema else 'no (casewise needs none)'}")
    print(f"seed:         {'taken' if probe.seed else 'no'}")


QUERIES = "the benchmark's queries"


def judge(
    benchmark: Annotated[list[str], BENCHMARK],
    /,
    *,
    judge: list[str],
    out: Path | None = None,
    plan: Annotated[PlanOptions, ASKED] = PlanOptions(),
    items: Annotated[Items, ITEMS] = Items(),
    model: Annotated[AskingOptions, MODEL] = AskingOptions(),
    calls: Flat[Calls] = Calls(),
    local: Annotated[LocalOptions, MACHINE] = LocalOptions(),
    before: Annotated[BeforeRunOptions, BEFORE_RUN] = BeforeRunOptions(),
) -> None:
    """Have judges decide every item of one or more benchmarks. The same command resumes a run that was stopped.

    Parameters
    ----------
    benchmark
        One or more: demo, names (casewise data list), a benchmark folder, or a published JSON file.
    judge
        Who judges: openai/MODEL, vllm/MODEL, hf:PATH, linear, constant:safe, recorded:FILE, ... May be repeated.
    out
        Run folder, new or to resume. With several benchmarks or judges, the folder of the folders BENCHMARK/JUDGE; with
        several prompts, of the folders PROMPTS. Default: runs/BENCHMARK-JUDGE, or runs/BENCHMARK/JUDGE.
    """
    if len(benchmark) > 1:
        folders = folders_of(benchmark, judge, out or Path("runs"))
    elif len(judge) > 1:
        folders = {benchmark[0]: judge_folders(judge, out or default_folder(Path(benchmark[0]).stem))}
    else:
        folders = {benchmark[0]: {judge[0]: out or default_folder(f"{Path(benchmark[0]).stem}-{judge[0]}")}}
    planned = plan_runs(
        folders, plan=plan, items=items, model=model, calls=calls, local=local, needs_key=not before.dry_run
    )
    if before.test_connection:
        test_connection([plan_of_run.judge for plan_of_run in planned], calls, agreed=before.yes)
        return
    if before.dry_run:
        print_planned(planned, [run.estimate() for run in planned])
        return
    runs = perform_with_consent(planned, agreed=before.yes)
    if len(planned) > 1:
        print_several(runs, planned)
    else:
        print_summary(runs[0].summary, runs[0].path)
    for run in runs:
        exit_with_status(run.summary)


def perform_with_consent(planned: Sequence[PlannedRun], *, agreed: bool) -> list[Run]:
    """Perform runs under one budget, after the user's consent to send texts."""
    for receivers in dict.fromkeys(run.sends_to() for run in planned):
        confirm_sending(QUERIES, *receivers, agreed=agreed)
    return api.judge_several(planned, watch=lambda run: progress_display(f"judging {run.label}"))


def folders_of(benchmarks: Sequence[str], judges: Sequence[str], out: Path) -> dict[str, dict[str, Path]]:
    """Return a folder OUT/BENCHMARK/JUDGE for each benchmark and judge.

    Raises ConfigurationError: two benchmarks would share a folder.
    """
    names = {source: default_folder(Path(source).stem).name for source in benchmarks}
    if len(set(names.values())) < len(benchmarks):
        raise ConfigurationError(f"two benchmarks would share a folder; judge each with --out: {', '.join(benchmarks)}")
    return {source: judge_folders(judges, out / name) for source, name in names.items()}


def judge_folders(judges: Sequence[str], holder: Path) -> dict[str, Path]:
    """Return a folder within `holder` for each judge."""
    return {name: holder / default_folder(name).name for name in judges}


def plan_runs(
    folders: Mapping[str, Mapping[str, Path]],
    *,
    plan: PlanOptions,
    items: Items,
    model: AskingOptions,
    calls: Calls,
    local: LocalOptions,
    needs_key: bool,
) -> list[PlannedRun]:
    """Return a run for each benchmark and judge. Everything is loaded and checked, and no call is made.

    `folders`: for each benchmark, by what the user called it, the folder of each judge.
    """
    live, planned = model.options(calls, local, seed=items.seed, needs_key=needs_key), []
    for source, of_judges in folders.items():
        benchmark = api.load(source)
        options = run_options(source, benchmark, live, items=items, calls=calls)
        arms = api.parse_arms(
            plan.arms,
            no_context=plan.no_context,
            omit=plan.omit,
            ablate=plan.ablate,
            parameters=benchmark.parameters,
        )
        for (name, folder), prompts in product(of_judges.items(), model.prompts):
            wording = default_folder(Path(prompts).stem).name
            alone = len(folders) == len(of_judges) == 1
            out = folder / wording if alone else folder.with_name(f"{folder.name}-{wording}")
            planned.append(
                api.plan_run(
                    benchmark,
                    name,
                    out=out if len(model.prompts) > 1 else folder,
                    elicitations=plan.elicit or (),
                    arms=arms,
                    repeats=plan.repeats,
                    options=replace(options, live=replace(live, prompts=prompts), retry_unscored=plan.retry_unscored),
                )
            )
    return planned


def test_connection(judges: Sequence[Judge], calls: Calls, *, agreed: bool) -> None:
    """Make one call to the one judge, and print what its endpoint can do."""
    if calls.batch:
        raise ConfigurationError("give either --batch or --test-connection")
    if len(judges) > 1:
        raise ConfigurationError("--test-connection takes one --judge at a time")
    confirm_sending(QUERIES, judges[0].sends_to, agreed=agreed)
    print_probe(api.try_connection(judges[0]))
