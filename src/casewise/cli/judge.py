"""Judging from the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, TypedDict

from cyclopts.types import NonNegativeInt, PositiveInt

from casewise import api
from casewise.cli.options import (
    ASKED,
    HOW,
    ITEMS,
    MACHINE,
    MODEL,
    ArmsOption,
    BaseUrlOption,
    BenchmarkArgument,
    Calls,
    DryRunOption,
    ElicitOption,
    Items,
    YesOption,
)
from casewise.cli.printing import (
    as_json,
    command_line,
    done_of,
    end,
    leave,
    note,
    note_problems,
    note_unfinished,
    print_cost,
    print_json,
    show,
    watching,
)
from casewise.errors import ConfigurationError
from casewise.options import Flat

# The options of `casewise judge`, in groups.


@dataclass(frozen=True)
class PlanOptions:
    """What is asked of each item."""

    elicit: ElicitOption = None
    no_context: bool = False
    """Show the query alone."""
    omit: tuple[str, ...] = ()
    """An arm without these parameters or groups, with commas."""
    ablate: str | None = None
    """Arms for an ablation: groups or parameters."""
    arms: ArmsOption = None
    repeats: PositiveInt = 1
    """How often to ask each item."""
    retry_unscored: NonNegativeInt = 0
    """How often to ask again at most where there was no verdict."""

    def chosen_arms(self, benchmark: api.Benchmark) -> tuple[api.Arm, ...]:
        """The arms that these options name together."""
        return api.arms_named(
            self.arms,
            no_context=self.no_context,
            omit=self.omit,
            ablate=self.ablate,
            parameters=benchmark.parameters,
        )


@dataclass(frozen=True)
class AskingOptions:
    """How a model is reached, and in what words it is asked."""

    base_url: BaseUrlOption = None
    live: Flat[api.LiveOptions] = field(default_factory=api.LiveOptions)
    policy: Path | None = None
    """Your own policy, a text file, for a guard that takes one (guard:NAME@MODEL)."""

    def options(self, calls: Calls, local: api.LocalOptions, *, seed: int | None, needs_key: bool) -> api.LiveOptions:
        """All that a model needs to know."""
        return replace(
            self.live,
            ask=replace(self.live.ask, seed=seed),
            model=calls.model(self.base_url, local, needs_key=needs_key),
            policy=api.deciding.policy_in(self.policy) if self.policy else None,
        )


def run_options(
    source: str, benchmark: api.Benchmark, live: api.LiveOptions, *, items: Items, calls: Calls
) -> api.RunOptions:
    """How a run over a benchmark, named `source`, is done."""
    return api.RunOptions(
        seed=items.seed or 0,
        limits=calls.limits,
        selection=items.of(benchmark),
        live=live,
        batch=calls.batches.options(),
        command=command_line(),
        benchmark_source=api.source_of(source, benchmark),
    )


@dataclass(frozen=True)
class HowOptions:
    """Whether it is done, or only tried or reckoned."""

    dry_run: DryRunOption = False
    test_connection: bool = False
    """Make one call, say what the endpoint can do, and stop."""
    yes: YesOption = False


# What `casewise judge` says: before and after it runs.


def print_summary(summary: api.RunSummary, folder: Path, *, then: str = "report") -> None:
    """What came of a run, in a line or two."""
    if as_json():
        print_json(summary.as_json())
        return
    print(f"{done_of(summary, 'verdicts')}: {folder}")
    note_problems(summary)
    if len(summary.problems) > 3:
        note(f"unscored for {len(summary.problems) - 3:,} other reasons: see {folder / 'judgements.jsonl'}")
    for text in summary.notes:
        note(f"note: {text}")
    note_unfinished(summary, folder)
    if not summary.n_pending:
        note(f"next: casewise {then} {shlex.quote(str(folder))}")


def print_several(runs: Mapping[str, api.Run], *, n_judges: int) -> None:
    """What came of runs of several judges, and how they compare once all are done."""
    if as_json():
        print_json({"runs": {name: run.summary.as_json() for name, run in runs.items()}})
        return
    for name, run in runs.items():
        print(f"{name}:")
        print_summary(run.summary, run.path)
    if len(runs) == n_judges and not any(run.summary.stopped or run.summary.n_pending for run in runs.values()):
        show(api.compare(*(run.path for run in runs.values())).document)


def print_estimates(estimates: Sequence[tuple[api.RunEstimate, api.Judge]]) -> None:
    """What runs would take: one as an object, several as a list with what they cost together."""
    found = [
        {
            "judge": judge.name,
            **estimate.as_json(),
            **({"label_tokens": labels} if (labels := label_tokens(judge)) else {}),
        }
        for estimate, judge in estimates
    ]
    if as_json():
        print_json(found[0] if len(found) == 1 else {"judges": found})
        return
    for estimate, judge in estimates:
        print(
            f"{judge.name}: {estimate.n_asks:,} judgements of {estimate.n_items:,} items in {estimate.n_calls:,} calls"
        )
        print_cost(estimate)
        print_before(estimate.before)
        for word, tokens in label_tokens(judge).items():
            print(f"tokens that count as {word!r}: {' '.join(repr(token) for token in tokens)}")
    most = [one.cost_at_most_usd for estimate, _ in estimates for one in (estimate, *estimate.before.values())]
    if len(most) > 1 and None not in most:
        print(f"together: at most ${sum(cost for cost in most if cost is not None):.2f}")


def print_before(before: Mapping[str, api.contexts.CallEstimate]) -> None:
    """What models would take that make texts for the arms."""
    for name, one in before.items():
        print(f"before that, {name}: {one.n_calls:,} texts")
        print_cost(one)


def label_tokens(judge: api.Judge) -> dict[str, list[str]]:
    """The tokens with which a local model can begin each label."""
    tokens = judge.model.label_tokens(("safe", "unsafe")) if judge.model else {}
    return {word: list(found) for word, found in tokens.items()}


def print_probe(probe: api.Probe) -> None:
    """What one call showed."""
    if as_json():
        print_json(probe.as_json())
        return
    print(f"{probe.model} answered in {probe.latency_s:g} s as {probe.model_version or 'a model it does not name'}")
    print(f"temperature:  {'yes' if probe.temperature else 'no, it draws at its own'}")
    logprobs = f"yes, {probe.top_logprobs} tokens" if probe.top_logprobs else "no: --elicit probability will not work"
    print(f"logprobs:     {logprobs}")
    print(f"JSON schema:  {'yes' if probe.json_schema else 'no (casewise needs none)'}")
    print(f"seed:         {'taken' if probe.seed else 'no'}")


# `casewise judge`.


QUERIES = "the benchmark's queries"


def judge(
    benchmark: BenchmarkArgument,
    /,
    *,
    judge: list[str],
    out: Path | None = None,
    plan: Annotated[PlanOptions, ASKED] = PlanOptions(),
    items: Annotated[Items, ITEMS] = Items(),
    model: Annotated[AskingOptions, MODEL] = AskingOptions(),
    calls: Flat[Calls] = Calls(),
    local: Annotated[api.LocalOptions, MACHINE] = api.LocalOptions(),
    how: Annotated[HowOptions, HOW] = HowOptions(),
) -> None:
    """Have a judge decide every item of a benchmark. The same command again goes on where it stopped.

    Parameters
    ----------
    judge
        Who judges: openai/MODEL, vllm/MODEL, hf:PATH, linear, constant:safe, recorded:FILE, ... Given more than once: a
        folder each, one budget, and a comparison at the end.
    out
        Run folder, new or to go on with; of several judges, what holds their folders. Default: runs/BENCHMARK-JUDGE, or
        runs/BENCHMARK.
    """
    live = model.options(calls, local, seed=items.seed, needs_key=not how.dry_run)
    loaded = api.load(benchmark)
    elicitations = api.elicitations_named(plan.elicit)
    judges = {name: api.as_judge(name, loaded, elicitations=elicitations, live=live) for name in judge}
    if how.test_connection:
        test_connection(list(judges.values()), calls, agreed=how.yes)
        return
    arms = plan.chosen_arms(loaded)
    options = run_options(benchmark, loaded, live, items=items, calls=calls)
    options = replace(options, retry_unscored=plan.retry_unscored)
    asked = Asked(elicitations=elicitations, arms=arms, repeats=plan.repeats)
    if how.dry_run:
        print_estimates([(api.estimate(loaded, each, **asked, options=options), each) for each in judges.values()])
        return
    for each in judges.values():
        leave(QUERIES, each.sends_to, *api.others_asked(arms, live.model, judge=each), agreed=how.yes)
    if len(judges) > 1:

        def follow(name: str) -> AbstractContextManager[api.Watch]:
            return watching(f"judging {benchmark}: {name}")

        folder = out or api.default_folder(Path(benchmark).stem)
        runs = api.judge_several(loaded, judges, out=folder, **asked, options=options, watch=follow)
        print_several(runs, n_judges=len(judges))
        for run in runs.values():
            end(run.summary)
        return
    folder = out or api.default_folder(f"{Path(benchmark).stem}-{judge[0]}")
    with watching(f"judging {benchmark}") as watch:
        run = api.judge(loaded, judges[judge[0]], out=folder, **asked, options=replace(options, watch=watch))
    print_summary(run.summary, folder)
    end(run.summary)


def test_connection(judges: Sequence[api.Judge], calls: Calls, *, agreed: bool) -> None:
    """Make one call to the one judge, and say what its endpoint can do."""
    if calls.batches.batch:
        raise ConfigurationError("--batch does not go with --test-connection")
    if len(judges) > 1:
        raise ConfigurationError("--test-connection is for one --judge at a time")
    leave(QUERIES, judges[0].sends_to, agreed=agreed)
    print_probe(api.try_connection(judges[0]))


class Asked(TypedDict):
    """What each item is asked."""

    elicitations: tuple[api.Elicitation, ...]
    arms: tuple[api.Arm, ...]
    repeats: int
