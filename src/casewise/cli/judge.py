"""Judging from the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from casewise import api
from casewise.cli.commands import with_groups
from casewise.cli.printing import (
    BenchmarkArgument,
    DryRunOption,
    JsonOption,
    OverBatchOptions,
    SpendingOptions,
    YesOption,
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

# The options of `casewise judge`, in groups, and what they mean.


BaseUrlOption = Annotated[
    str | None, typer.Option("--base-url", help="Address of a chat-completions server, up to and with /v1.")
]


@dataclass(frozen=True)
class PlanOptions:
    """What is asked of each item."""

    elicit: Annotated[
        str | None,
        typer.Option("--elicit", help="How to ask: binary, score, probability, scalar; several with commas."),
    ] = None
    no_context: Annotated[bool, typer.Option("--no-context", help="Show the query alone.")] = False
    omit: Annotated[
        list[str] | None,
        typer.Option("--omit", help="An arm without these parameters or groups, with commas."),
    ] = None
    ablate: Annotated[str | None, typer.Option("--ablate", help="Arms for an ablation: groups or parameters.")] = None
    arms: Annotated[
        str | None, typer.Option("--arms", help="Arms by name, with spaces: 'full none without:recipient'.")
    ] = None
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How often to ask each item.")] = 1
    retry_unscored: Annotated[
        int,
        typer.Option("--retry-unscored", min=0, help="How often to ask again at most where there was no verdict."),
    ] = 0

    def chosen_arms(self, benchmark: api.Benchmark) -> tuple[api.Arm, ...]:
        """The arms that these options name together."""
        return api.arms_named(
            self.arms,
            no_context=self.no_context,
            omit=self.omit or (),
            ablate=self.ablate,
            parameters=benchmark.parameters,
        )


@dataclass(frozen=True)
class ItemOptions:
    """Which items are asked about."""

    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The first so many items only.")] = None
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help="So many items at random, whole queries at a time.")
    ] = None
    category: Annotated[
        list[str] | None, typer.Option("--category", help="Items of this category only; may be repeated.")
    ] = None
    items: Annotated[
        str | None, typer.Option("--items", help="Only these items: clear, close, low-margin or hard (casewise audit).")
    ] = None
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of the sample; where it is given, models get it too.")
    ] = None

    def selection(self, benchmark: api.Benchmark) -> api.Selection:
        """The items that these options name."""
        ids = api.ids_in(benchmark, self.items)
        return api.Selection(tuple(self.category or ()), self.sample, self.seed or 0, self.limit, ids)


@dataclass(frozen=True)
class AskingOptions:
    """How a model is reached, and in what words it is asked."""

    base_url: BaseUrlOption = None
    prompts: Annotated[
        str,
        typer.Option(
            "--prompts", help="casewise, published (once fetched), bridge (a chatbot's own messages), or a TOML file."
        ),
    ] = "casewise"
    context_role: Annotated[
        str, typer.Option("--context-role", help="The message that holds the context: user or system.")
    ] = "user"
    temperature: Annotated[float, typer.Option("--temperature", min=0.0, help="Of the model's replies.")] = 0.0
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Of a reply, thinking included.")] = 1024
    policy: Annotated[
        Path | None,
        typer.Option("--policy", help="Your own policy, a text file, for a guard that takes one (guard:NAME@MODEL)."),
    ] = None
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            help="published: ask as the paper's judges were, API models and hf: models each in their way; or "
            "published-api, published-open.",
        ),
    ] = None
    structured: Annotated[
        bool | None,
        typer.Option(
            "--structured/--no-structured",
            help="Hold the model to a JSON schema. Default: wherever it takes one, but under --protocol.",
        ),
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Read JSON as it was asked for and nothing else; the rest is unscored.")
    ] = False

    reader: Annotated[
        str | None,
        typer.Option(
            "--reader",
            help="A second model that reads replies which give no verdict to the strict reader, and one in ten of the others.",
        ),
    ] = None

    def live(
        self, limits: LimitOptions, local: LocalModelOptions, *, seed: int | None, needs_key: bool
    ) -> api.LiveOptions:
        """All that a model needs to know.

        Raises ConfigurationError: the context's role is neither `user` nor `system`, or one price is given without the
        other.
        """
        if self.context_role not in ("user", "system"):
            raise ConfigurationError(f"--context-role is {self.context_role!r}; it is user or system")
        return api.LiveOptions(
            self.prompts,
            "user" if self.context_role == "user" else "system",
            api.AskOptions(self.temperature, self.max_tokens, seed, structured=self.structured, strict=self.strict),
            limits.model(self.base_url, local, needs_key=needs_key),
            self.protocol,
            api.deciding.policy_in(self.policy) if self.policy else None,
            self.reader,
        )


@dataclass(frozen=True)
class ReachOptions(SpendingOptions):
    """What it may cost, and how hard it tries."""

    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Calls at a time, at most.")] = 32
    timeout: Annotated[float, typer.Option("--timeout", min=0.001, help="Seconds to wait for a reply.")] = 120.0
    tries: Annotated[int, typer.Option("--retries", min=0, help="Further tries of a call that fails.")] = 6

    def limits(self) -> api.Limits:
        """What the run may take."""
        return api.Limits(self.concurrency, self.max_cost, self.max_tokens_total)

    def model(self, base_url: str | None, local: LocalModelOptions, *, needs_key: bool) -> api.ModelOptions:
        """How a model is reached. Raises ConfigurationError: one price is given without the other."""
        return api.ModelOptions(
            base_url,
            self.prices(),
            api.ClientOptions(self.concurrency, self.timeout, api.RetryPolicy(retries=self.tries)),
            local.options(),
            needs_key=needs_key,
        )


@dataclass(frozen=True)
class LimitOptions(ReachOptions, OverBatchOptions):
    """The same, and whether it goes over a batch interface."""

    def model(self, base_url: str | None, local: LocalModelOptions, *, needs_key: bool) -> api.ModelOptions:
        """How a model is reached. Raises as `ReachOptions.model`."""
        return replace(super().model(base_url, local, needs_key=needs_key), batch=self.batches() is not None)


def run_options(
    source: str, found: api.Benchmark, live: api.LiveOptions, *, items: ItemOptions, limits: LimitOptions
) -> api.RunOptions:
    """How a run over a benchmark, named `source`, is done."""
    return api.RunOptions(
        seed=items.seed or 0,
        limits=limits.limits(),
        selection=items.selection(found),
        live=live,
        batch=limits.batches(),
        command=command_line(),
        benchmark_source=api.source_of(source, found),
    )


@dataclass(frozen=True)
class LocalModelOptions:
    """How a model on this machine is loaded and run."""

    device: Annotated[str, typer.Option("--device", help="For hf: models: auto, cpu, cuda, mps.")] = "auto"
    dtype: Annotated[str, typer.Option("--dtype", help="For hf: models: auto, float32, bfloat16, float16.")] = "auto"
    batch_tokens: Annotated[
        int, typer.Option("--batch-tokens", min=1, help="For hf: models: tokens that go through at once.")
    ] = 8192
    adapter: Annotated[
        str | None, typer.Option("--adapter", help="For an hf: chat model: the folder of a PEFT adapter (needs peft).")
    ] = None

    def options(self) -> api.LocalOptions:
        """As the api knows them."""
        return api.LocalOptions(self.dtype, self.device, self.batch_tokens, self.adapter)


@dataclass(frozen=True)
class HowOptions:
    """Whether it is done, or only tried or reckoned."""

    dry_run: DryRunOption = False
    test_connection: Annotated[
        bool, typer.Option("--test-connection", help="Make one call, say what the endpoint can do, and stop.")
    ] = False
    yes: YesOption = False


# What `casewise judge` says: before and after it runs.


def print_summary(summary: api.RunSummary, folder: Path, *, as_json: bool, then: str = "report") -> None:
    """What came of a run, in a line or two."""
    if as_json:
        print_json(summary.as_json())
        return
    typer.echo(f"{done_of(summary, 'verdicts')}: {folder}")
    note_problems(summary)
    if len(summary.problems) > 3:
        note(f"unscored for {len(summary.problems) - 3:,} other reasons: see {folder / 'judgements.jsonl'}")
    for text in summary.notes:
        note(f"note: {text}")
    note_unfinished(summary, folder)
    if not summary.n_pending:
        note(f"next: casewise {then} {shlex.quote(str(folder))}")


def print_several(runs: Mapping[str, api.Run], *, n_judges: int, as_json: bool) -> None:
    """What came of runs of several judges, and how they compare once all are done."""
    if as_json:
        print_json({"runs": {name: run.summary.as_json() for name, run in runs.items()}})
        return
    for name, run in runs.items():
        typer.echo(f"{name}:")
        print_summary(run.summary, run.path, as_json=False)
    if len(runs) == n_judges and not any(run.summary.stopped or run.summary.n_pending for run in runs.values()):
        show(api.compare(*(run.path for run in runs.values())).document)


def print_estimates(estimates: Sequence[tuple[api.RunEstimate, api.Judge]], *, as_json: bool) -> None:
    """What runs would take: one as an object, several as a list with what they cost together."""
    found = [
        {
            "judge": judge.name,
            **estimate.as_json(),
            **({"label_tokens": labels} if (labels := label_tokens(judge)) else {}),
        }
        for estimate, judge in estimates
    ]
    if as_json:
        print_json(found[0] if len(found) == 1 else {"judges": found})
        return
    for estimate, judge in estimates:
        typer.echo(
            f"{judge.name}: {estimate.n_asks:,} judgements of {estimate.n_items:,} items in {estimate.n_calls:,} calls"
        )
        print_cost(estimate)
        print_before(estimate.before)
        for word, tokens in label_tokens(judge).items():
            typer.echo(f"tokens that count as {word!r}: {' '.join(repr(token) for token in tokens)}")
    most = [one.cost_at_most_usd for estimate, _ in estimates for one in (estimate, *estimate.before.values())]
    if len(most) > 1 and None not in most:
        typer.echo(f"together: at most ${sum(cost for cost in most if cost is not None):.2f}")


def print_before(before: Mapping[str, api.contexts.CallEstimate]) -> None:
    """What models would take that make texts for the arms."""
    for name, one in before.items():
        typer.echo(f"before that, {name}: {one.n_calls:,} texts")
        print_cost(one)


def label_tokens(judge: api.Judge) -> dict[str, list[str]]:
    """The tokens with which a local model can begin each label."""
    tokens = judge.model.label_tokens(("safe", "unsafe")) if judge.model else {}
    return {word: list(found) for word, found in tokens.items()}


def print_probe(probe: api.Probe, *, as_json: bool) -> None:
    """What one call showed."""
    if as_json:
        print_json(probe.as_json())
        return
    typer.echo(
        f"{probe.model} answered in {probe.latency_s:g} s as {probe.model_version or 'a model it does not name'}"
    )
    typer.echo(f"temperature:  {'yes' if probe.temperature else 'no, it draws at its own'}")
    logprobs = f"yes, {probe.top_logprobs} tokens" if probe.top_logprobs else "no: --elicit probability will not work"
    typer.echo(f"logprobs:     {logprobs}")
    typer.echo(f"JSON schema:  {'yes' if probe.json_schema else 'no (casewise needs none)'}")
    typer.echo(f"seed:         {'taken' if probe.seed else 'no'}")


# `casewise guards`: which guards there are.


def guards(
    names: Annotated[
        list[str] | None, typer.Argument(help="Guards, or TOML files of your own, to be shown in full.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the guards that can judge, how each is told of a context, and what of its profile was checked."""
    given = tuple(names or ())
    if as_json:
        chosen = [api.deciding.profile_named(name) for name in given] or list(api.deciding.all_profiles().values())
        print_json({one.name: one.as_json() for one in chosen})
        return
    show(api.deciding.guards_page(given))


# `casewise judge`.


QUERIES = "the benchmark's queries"


@with_groups
def judge(
    *,
    benchmark: BenchmarkArgument,
    judge: Annotated[
        list[str],
        typer.Option(
            "--judge",
            help="Who judges: openai/MODEL, vllm/MODEL, hf:PATH, linear, constant:safe, recorded:FILE, ... Given more than "
            "once: a folder each, one budget, and a comparison at the end.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Run folder, new or to go on with; of several judges, what holds their folders. Default: "
            "runs/BENCHMARK-JUDGE, or runs/BENCHMARK.",
        ),
    ] = None,
    plan: PlanOptions,
    items: ItemOptions,
    model: AskingOptions,
    limits: LimitOptions,
    local: LocalModelOptions,
    how: HowOptions,
    as_json: JsonOption = False,
) -> None:
    """Have a judge decide every item of a benchmark. The same command again goes on where it stopped."""
    live = model.live(limits, local, seed=items.seed, needs_key=not how.dry_run)
    found = api.load(benchmark)
    elicitations = api.elicitations_named(plan.elicit)
    made = {name: api.as_judge(name, found, elicitations=elicitations, live=live) for name in judge}
    if limits.batch and how.test_connection:
        raise ConfigurationError("--batch does not go with --test-connection")
    if len(made) > 1 and how.test_connection:
        raise ConfigurationError("--test-connection is for one --judge at a time")
    one = next(iter(made.values()))
    if how.test_connection:
        leave(QUERIES, one.sends_to, agreed=how.yes)
        print_probe(api.try_connection(one), as_json=as_json)
        return
    arms = plan.chosen_arms(found)
    options = run_options(benchmark, found, live, items=items, limits=limits)
    options = replace(options, retry_unscored=plan.retry_unscored)
    asked = Asked(elicitations=elicitations, arms=arms, repeats=plan.repeats)
    if how.dry_run:
        estimates = [(api.estimate(found, each, **asked, options=options), each) for each in made.values()]
        print_estimates(estimates, as_json=as_json)
        return
    for each in made.values():
        leave(QUERIES, each.sends_to, *api.others_asked(arms, live.model, judge=each), agreed=how.yes)
    if len(made) > 1:

        def follow(name: str) -> AbstractContextManager[api.Watch]:
            return watching(f"judging {benchmark}: {name}", quiet=as_json)

        folder = out or api.default_folder(Path(benchmark).stem)
        runs = api.judge_several(found, made, out=folder, **asked, options=options, watch=follow)
        print_several(runs, n_judges=len(made), as_json=as_json)
        for run in runs.values():
            end(run.summary)
        return
    folder = out or api.default_folder(f"{Path(benchmark).stem}-{judge[0]}")
    with watching(f"judging {benchmark}", quiet=as_json) as watch:
        run = api.judge(found, one, out=folder, **asked, options=replace(options, watch=watch))
    print_summary(run.summary, folder, as_json=as_json)
    end(run.summary)


class Asked(TypedDict):
    """What each item is asked."""

    elicitations: tuple[api.Elicitation, ...]
    arms: tuple[api.Arm, ...]
    repeats: int
