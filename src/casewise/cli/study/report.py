"""`casewise study report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise.cli.printing import JsonOption, note, print_json, show

__all__ = ["report"]


def report(
    ratings: Annotated[
        str,
        typer.Argument(
            help="CSV or Parquet (item, query, category, condition, annotator, verdict), a table of vote strings, a "
            "benchmark folder, demo, or a published JSON file."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the page, tables and figures.")] = Path("study-report"),
    contrast: Annotated[
        list[str] | None,
        typer.Option("--contrast", help="A planned contrast FIRST:SECOND, once for each. Default: first against each."),
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", help="Show this category query by query, once for each.")
    ] = None,
    stratum: Annotated[
        list[str] | None, typer.Option("--stratum", help="A column with the recruited stratum, once for each.")
    ] = None,
    flow: Annotated[
        Path | None, typer.Option("--flow", help="CSV of people at each step: step, condition (or all), people.")
    ] = None,
    margin: Annotated[float, typer.Option("--margin", help="Largest difference that would not matter (TOST).")] = 0.05,
    alpha: Annotated[float, typer.Option("--alpha", help="Level of the tests, before correction.")] = 0.05,
    crossed: Annotated[bool, typer.Option("--crossed", help="Annotators may rate under several conditions.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="For the bootstrap and the shuffles.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """The whole analysis of a study's ratings: print the main tables, and write page, tables and figures."""
    from casewise.reporting.study.report import study_report
    from casewise.studies.analysing.analysis import AnalysisOptions
    from casewise.studies.analysing.flow_table import read_flow
    from casewise.studies.design.planned import read_contrasts

    options = AnalysisOptions(
        contrasts=read_contrasts(contrast) if contrast else None,
        alpha=alpha,
        margin=margin,
        strata=tuple(stratum or ()),
        flow=None if flow is None else read_flow(flow),
        seed=seed,
    )
    found = study_report(ratings, options, crossed=crossed, case_studies=tuple(category or ()))
    found.write(out)
    if as_json:
        print_json(found.as_json())
    else:
        show(found.document)
    note(f"page: {out / 'report.html'}")
