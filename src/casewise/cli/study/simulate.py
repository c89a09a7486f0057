"""`casewise study simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from casewise.cli.printing import JsonOption, note, print_json

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
    as_json: JsonOption = False,
) -> None:
    """Try a design on a simulated crowd, before a cent is spent."""
    import numpy as np

    from casewise.reporting.study.report import plain
    from casewise.studies.analysing.simulation import simulate_studies, simulated_table, simulation_plan, write_ratings

    plan = simulation_plan(design)
    if out is not None or repeat is None:
        table = simulated_table(plan, rng=np.random.default_rng(seed))
        place = out or Path("simulated-ratings.csv")
        write_ratings(table, place)
        note(f"{len(table):,} ratings by {table['annotator'].n_unique():,} simulated annotators: {place}")
        note(f"next: casewise study report {place}")
    if repeat is None:
        return
    found = simulate_studies(plan, repeats=repeat, seed=seed)
    if as_json:
        parts: dict[str, Any] = {"repeats": repeat, "seed": seed, "contrasts": found.contrasts, "tasks": found.tasks}
        print_json(plain(parts))
        return
    from rich.console import Console

    from casewise.reporting.faces.terminal import print_table
    from casewise.reporting.study.simulation_tables import simulation_tables

    for shown in simulation_tables(found):
        print_table(shown, Console(soft_wrap=False))
