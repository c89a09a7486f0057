"""`casewise study simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions, FormatOption
from casewise.cli.printing import JsonOption, note

__all__ = ["simulate"]


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
