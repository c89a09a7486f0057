"""`casewise study rehearse` and `simulate`: a study tried out on simulated people."""

from __future__ import annotations

from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions, FormatOption
from casewise.cli.printing import DatabaseOption, JsonOption, note, print_json
from casewise.cli.study.options import DEFAULT, StudyArgument
from casewise.cli.study.printing import print_overview

if TYPE_CHECKING:
    from casewise.web.load_test.waves import Rehearsed

__all__ = ["rehearse", "simulate"]


def rehearse(
    study: StudyArgument = DEFAULT,
    url: Annotated[
        str | None, typer.Option(help="Where `casewise serve` answers on the same database; else one is started.")
    ] = None,
    annotators: Annotated[int, typer.Option(min=1, help="Simulated people in the first wave.")] = 100,
    careless: Annotated[float, typer.Option(min=0, max=1, help="Share who press at random.")] = 0.1,
    dropout: Annotated[float, typer.Option(min=0, max=1, help="Share who leave in the middle.")] = 0.15,
    at_once: Annotated[int, typer.Option(min=1, help="How many are on the pages at once.")] = 16,
    lease: Annotated[float, typer.Option(min=1, help="Seconds until slots of those who left re-open.")] = 15,
    until_full: Annotated[bool, typer.Option(help="Send more people until every item has its ratings.")] = True,
    seed: Annotated[int, typer.Option(help="Of the simulated people.")] = 1,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send simulated people through the real pages. Nothing of it counts in the study."""
    from casewise.web.load_test.rehearsal import RehearsalOptions, rehearse_study  # an extra

    wanted = RehearsalOptions(
        annotators=annotators,
        careless=careless,
        dropout=dropout,
        at_once=at_once,
        lease_s=lease,
        until_full=until_full,
        seed=seed,
    )
    say(rehearse_study(study, wanted, url=url, database=database), as_json=as_json)


def say(done: Rehearsed, *, as_json: bool) -> None:
    result = done.result
    speed = {
        "steps": len(result.latencies_s),
        "steps_per_s": round(result.steps_per_s, 1),
        "p50_ms": round(result.percentile_ms(50), 1),
        "p99_ms": round(result.percentile_ms(99), 1),
    }
    if as_json:
        seen = {**asdict(done.overview), "exact": done.overview.exact, "people": done.people}
        print_json({**seen, "outcomes": dict(result.outcomes), "for_nothing": done.for_nothing, **speed})
        return
    print_overview(done.overview)
    typer.echo(
        f"{done.people:,} simulated people: " + ", ".join(f"{n} {what}" for what, n in sorted(result.outcomes.items()))
    )
    typer.echo(f"{done.for_nothing:.1%} of those who arrived passed the quiz and found no place")
    typer.echo(
        f"{speed['steps']:,} full steps (answer and next page), {speed['steps_per_s']} a second; "
        f"median {speed['p50_ms']} ms, p99 {speed['p99_ms']} ms"
    )
    if not isnan(result.slowdown):
        typer.echo(f"the last thousand steps took {result.slowdown:.2f} times as long as the first")


def simulate(
    design: Annotated[
        Path,
        typer.Option("--design", help="TOML with [simulation.safe_rates], and [simulation] and [crowd] if wanted."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write one study's ratings here (.csv or .parquet).")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option("--repeat", help="Repeat the study so often, and report what each analysis is worth.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="What the crowd is drawn from.")] = 0,
    form: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try a design on a simulated crowd, before a cent is spent."""
    plan = api.simulation_plan(design)
    if out is not None or repeat is None:
        table = api.simulated_table(plan, seed=seed)
        place = out or Path("simulated-ratings.csv")
        api.write_ratings(table, place)
        note(f"{len(table):,} ratings by {table['annotator_id'].n_unique():,} simulated annotators: {place}")
        note(f"next: casewise study report {place}")
    if repeat is None:
        return
    found = api.simulate_studies(plan, repeats=repeat, seed=seed)
    parts: dict[str, Any] = {"repeats": repeat, "seed": seed, "contrasts": found.contrasts, "tasks": found.tasks}
    DocumentOptions(form=form, as_json=as_json).present(api.Look(api.simulation_page(found), api.plain(parts)))
