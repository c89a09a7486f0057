"""How a study's state reads in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import typer

from casewise import api
from casewise.cli.printing import say

__all__ = ["print_estimate", "print_flags", "print_monitor", "print_overview", "print_table"]


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table with the first column and words to the left, and numbers to the right."""
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    left = [place == 0 or any(map(str.isalpha, "".join(column[1:]))) for place, column in enumerate(columns)]
    for row in cells:
        line = (f"{cell:{'<' if words else '>'}{width}}" for cell, width, words in zip(row, widths, left, strict=True))
        say("  ".join(line).rstrip())


def print_estimate(plan: api.studies.StudyPlan) -> None:
    """What `study check` says."""
    found, design, left_out = plan.estimate, plan.design, plan.material.left_out
    money = design.pay.currency
    typer.echo(f"{found.items:,} items in {len(design.conditions)} conditions, {design.ratings.per_item} ratings each:")
    typer.echo(
        f"  {found.ratings:,} ratings, by {found.annotators:,} annotators at {design.ratings.per_annotator} each"
    )
    if (most := design.ratings.most_batches) > 1:
        fewest = -(-found.annotators // most)
        typer.echo(
            f"  as few as {fewest:,} people if all take {most} batches: each then weighs as much more in the error"
        )
    if found.short_batches:
        typer.echo(f"  {found.short_batches:,} of the batches are shorter, and paid in full")
    typer.echo(f"  {found.screened_out:,} more may not pass the quiz")
    typer.echo(f"  {found.hours:,.0f} hours of people's time, {found.minutes_per_annotator:.1f} minutes each")
    typer.echo(
        f"  {found.pay:,.2f} {money} to people and {found.fees:,.2f} {money} in fees: {found.total:,.2f} {money}"
    )
    typer.echo(f"  {found.hourly:.2f} {money} an hour for the median annotator (floor {found.hourly_floor:.2f})")
    if left_out:
        typer.echo(f"  {left_out} items about child-related crimes are left out ([sensitive] turns them on)")


def print_overview(seen: api.studies.Overview) -> None:
    """Each condition on a line, then where people are."""
    names = ("promised", "valid", "reserved", "open", "surplus", "void", "skipped", "people")
    rows = [[one.condition, *(getattr(one, name) for name in names)] for one in seen.conditions]
    total = ["all", *(sum(getattr(one, name) for one in seen.conditions) for name in names)]
    print_table(["condition", *names], [*rows, total])
    if seen.stages:
        typer.echo("people: " + ", ".join(f"{count} {stage}" for stage, count in sorted(seen.stages.items())))
    if seen.median_seconds is not None:
        typer.echo(f"median time for an item: {seen.median_seconds:.1f} s")
    typer.echo("every item has exactly what it was promised" if seen.exact else "not complete")


def print_monitor(found: api.studies.Monitor, *, currency: str) -> None:
    """How fast a round goes, until when, what it costs, and how people came how far."""
    ends = f", complete about {found.ends_at:%Y-%m-%d %H:%M} UTC" if found.ends_at else ""
    typer.echo(f"{found.valid_last_hour:,} valid in the last hour, {found.valid_per_hour:,.1f} an hour of late{ends}")
    if found.median_minutes_before is not None:
        typer.echo(f"median from consent to the batch: {found.median_minutes_before:.1f} minutes")
    for amendment in found.amendments:
        typer.echo(f"amended {amendment}")
    money, funnel = found.money, found.funnel
    of = "" if money.budget is None else f"; the budget is {money.budget:,.2f}"
    typer.echo(
        f"{money.spent:,.2f} {currency} spent, {money.promised:,.2f} promised, {money.to_come:,.2f} to come: "
        f"{money.total:,.2f}{of}"
    )
    typer.echo(
        f"{funnel.arrived:,} arrived ({funnel.turned_away:,} more not let in), {funnel.consented:,} consented, "
        f"{funnel.quiz:,} tried the quiz, {sum(funnel.batch.values()):,} had a batch, "
        f"{sum(funnel.finished.values()):,} rated all of it"
    )


def print_flags(found: Sequence[api.FlagCount]) -> None:
    """How often each flag was raised, beside a simulated crowd of people, and of programs."""
    head = ("flag", "threshold", "raised", "of", "simulated people", "simulated programs")
    rows = [
        (
            one.kind.replace("_", " ") + (f" ({one.judge})" if one.judge else ""),
            f"{one.threshold:g}",
            one.raised,
            one.of,
            *("–" if isnan(share) else f"{share:.1%}" for share in (one.simulated.people, one.simulated.programs)),
        )
        for one in found
    ]
    print_table(head, rows)
    typer.echo("A flag is a reason to look, not a verdict; nobody is left out by it. Who has one: People and flags.")
