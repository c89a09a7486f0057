"""`casewise judge`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from casewise import api
from casewise.cli.judge import output
from casewise.cli.judge.options import (
    AskingOptions,
    HowOptions,
    ItemOptions,
    LimitOptions,
    LocalModelOptions,
    PlanOptions,
    run_options,
)
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkArgument, JsonOption, end
from casewise.cli.watching import leave, watching
from casewise.errors import ConfigurationError

__all__ = ["judge"]

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
    until_precise: Annotated[
        float | None,
        typer.Option(
            "--until-precise",
            help="Ask queries only until accuracy on the whole benchmark is known to within this, such as 0.03.",
        ),
    ] = None,
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
    if limits.batch and (how.test_connection or until_precise is not None):
        raise ConfigurationError("--batch does not go with --test-connection or --until-precise")
    if len(made) > 1 and (how.test_connection or until_precise is not None):
        raise ConfigurationError("--test-connection and --until-precise are for one --judge at a time")
    one = next(iter(made.values()))
    if how.test_connection:
        leave(QUERIES, one.sends_to, agreed=how.yes)
        output.print_probe(api.try_connection(one), as_json=as_json)
        return
    arms = plan.chosen_arms(found)
    options = run_options(benchmark, found, live, items=items, limits=limits)
    options = replace(options, retry_unscored=plan.retry_unscored)
    asked = Asked(elicitations=elicitations, arms=arms, repeats=plan.repeats)
    if how.dry_run:
        estimates = [(api.estimate(found, each, **asked, options=options), each) for each in made.values()]
        output.print_estimates(estimates, as_json=as_json)
        return
    for each in made.values():
        leave(QUERIES, each.sends_to, *api.others_asked(arms, live.model, judge=each), agreed=how.yes)
    if len(made) > 1:

        def follow(name: str) -> AbstractContextManager[api.Watch]:
            return watching(f"judging {benchmark}: {name}", quiet=as_json)

        folder = out or api.default_folder(Path(benchmark).stem)
        runs = api.judge_several(found, made, out=folder, **asked, options=options, watch=follow)
        output.print_several(runs, n_judges=len(made), as_json=as_json)
        for run in runs.values():
            end(run.summary)
        return
    folder = out or api.default_folder(f"{Path(benchmark).stem}-{judge[0]}")
    if until_precise is not None:
        precise = api.judge_until_precise(found, one, half_width=until_precise, out=folder, **asked, options=options)
        output.print_precise(precise, folder, as_json=as_json)
        return
    with watching(f"judging {benchmark}", quiet=as_json) as watch:
        run = api.judge(found, one, out=folder, **asked, options=replace(options, watch=watch))
    output.print_summary(run.summary, folder, as_json=as_json)
    end(run.summary)


class Asked(TypedDict):
    """What each item is asked."""

    elicitations: tuple[api.Elicitation, ...]
    arms: tuple[api.Arm, ...]
    repeats: int
