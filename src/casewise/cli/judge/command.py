"""`casewise judge`."""

from __future__ import annotations

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
)
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkArgument, JsonOption, end
from casewise.cli.watching import command_line, person, watching

__all__ = ["judge"]

QUERIES = "the benchmark's queries"


@with_groups
def judge(
    *,
    benchmark: BenchmarkArgument,
    judge: Annotated[
        str,
        typer.Option(
            "--judge", help="Who judges: openai/MODEL, vllm/MODEL, hf:PATH, linear, constant:safe, recorded:FILE, ..."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Run folder, new or to go on with. Default: runs/BENCHMARK-JUDGE.")
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
    made = api.as_judge(judge, found, elicitations=elicitations, live=live)
    if how.test_connection:
        api.allow_sending(QUERIES, made.sends_to, agreed=how.yes, ask=person())
        output.print_probe(api.try_connection(made), as_json=as_json)
        return
    arms = plan.chosen_arms(found)
    options = api.RunOptions(
        seed=items.seed or 0,
        limits=limits.limits(),
        selection=items.selection(found),
        retry_unscored=plan.retry_unscored,
        live=live,
        command=command_line(),
        benchmark_source=api.source_of(benchmark, found),
    )
    asked = Asked(elicitations=elicitations, arms=arms, repeats=plan.repeats)
    if how.dry_run:
        output.print_estimate(api.estimate(found, made, **asked, options=options), made, as_json=as_json)
        return
    api.allow_sending(QUERIES, made.sends_to, agreed=how.yes, ask=person())
    folder = out or api.default_folder(f"{Path(benchmark).stem}-{judge}")
    if until_precise is not None:
        precise = api.judge_until_precise(found, made, half_width=until_precise, out=folder, **asked, options=options)
        output.print_precise(precise, folder, as_json=as_json)
        return
    with watching(f"judging {benchmark}", quiet=as_json) as watch:
        run = api.judge(found, made, out=folder, **asked, options=replace(options, watch=watch))
    output.print_summary(run.summary, folder, as_json=as_json)
    end(run.summary)


class Asked(TypedDict):
    """What each item is asked."""

    elicitations: tuple[api.Elicitation, ...]
    arms: tuple[api.Arm, ...]
    repeats: int
