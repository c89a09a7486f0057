"""`casewise power`: how many annotators or queries, and what so many can find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.commands import with_groups
from casewise.cli.printing import BenchmarkOption, DocumentOptions, note

app = typer.Typer(
    no_args_is_help=True, help="How many annotators or queries, and what so many can find.", rich_markup_mode=None
)

AlphaOption = Annotated[float, typer.Option("--alpha", help="Probability of a false alarm.")]
PowerOption = Annotated[float, typer.Option("--power", help="Probability of finding the effect.")]
PlotOption = Annotated[Path | None, typer.Option("--plot", help="Draw power against n to this SVG or PNG file.")]
AllowanceOption = Annotated[
    str | None,
    typer.Option("--allowance", help="Declared extra annotators for each condition: a number, or a share such as 30%."),
]


@app.command()
@with_groups
def anova(
    *,
    groups: Annotated[int, typer.Option("--groups", help="Number of conditions.")] = 5,
    effect_size: Annotated[
        float | None, typer.Option("--effect-size", help="Cohen's f; without it, the smallest one that --n can find.")
    ] = None,
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: Annotated[int | None, typer.Option("--n", help="Annotators in each condition, if they are given.")] = None,
    allowance: AllowanceOption = None,
    plot: PlotOption = None,
    documents: DocumentOptions,
) -> None:
    """One-way analysis of variance, as the paper plans it: n for an effect, power of an n, effect that an n can find."""
    answer = api.power.anova(groups, effect_size, alpha=alpha, power=power, n=n, allowance=allowance)
    show_answer(answer, plot=plot, documents=documents)


@app.command()
@with_groups
def proportions(
    *,
    p1: Annotated[float, typer.Option("--p1", help="Safe rate of the first condition.")],
    p2: Annotated[
        float | None, typer.Option("--p2", help="That of the second; without it, the nearest one that --n can find.")
    ] = None,
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: Annotated[int | None, typer.Option("--n", help="Annotators in each condition, if they are given.")] = None,
    one_sided: Annotated[bool, typer.Option("--one-sided", help="Test one direction only.")] = False,
    method: Annotated[
        str, typer.Option("--method", help="arcsine (Cohen's h) or normal (the z test's own).")
    ] = "arcsine",
    plot: PlotOption = None,
    documents: DocumentOptions,
) -> None:
    """Two safe rates told apart."""
    sides = 1 if one_sided else 2
    answer = api.power.proportions(p1, p2, alpha=alpha, power=power, n=n, sides=sides, method=method)
    show_answer(answer, plot=plot, documents=documents)


@app.command("chi-square")
@with_groups
def chi_square(
    *,
    df: Annotated[int, typer.Option("--df", help="Degrees of freedom.")],
    effect_size: Annotated[
        float | None, typer.Option("--effect-size", help="Cohen's w; without it, the smallest one that --n can find.")
    ] = None,
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: Annotated[int | None, typer.Option("--n", help="All ratings together, if they are given.")] = None,
    plot: PlotOption = None,
    documents: DocumentOptions,
) -> None:
    """A chi-square test: how many ratings in all."""
    show_answer(api.power.chi_square(df, effect_size, alpha=alpha, power=power, n=n), plot=plot, documents=documents)


@app.command()
@with_groups
def kruskal(
    *,
    rates: Annotated[str, typer.Option("--rates", help="A task's safe rate under each condition: 0.4,0.8,0.2,0.8,0.2")],
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: Annotated[int | None, typer.Option("--n", help="Annotators in each condition, if they are given.")] = None,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Reject by the chi-square p, not the exact.")
    ] = False,
    repeats: Annotated[int, typer.Option("--repeats", min=100, help="Simulated tasks.")] = 20_000,
    seed: Annotated[int, typer.Option("--seed", help="What they are drawn from.")] = 0,
    plot: PlotOption = None,
    documents: DocumentOptions,
) -> None:
    """The test really used: Kruskal-Wallis on 0/1 ratings, by simulation."""
    question = api.power.KruskalQuestion(rates, alpha=alpha, exact=not approximate, repeats=repeats, seed=seed)
    show_answer(api.power.kruskal(question, power=power, n=n), plot=plot, documents=documents)


@app.command()
@with_groups
def judges(
    *,
    difference: Annotated[
        float | None, typer.Option("--difference", help="In accuracy; with --from, that of the runs if absent.")
    ] = None,
    runs: Annotated[
        tuple[Path, Path] | None, typer.Option("--from", help="Two run folders on one benchmark, as a pilot.")
    ] = None,
    discordance: Annotated[
        float, typer.Option("--discordance", help="Without --from: share of items on which only one judge is right.")
    ] = 0.15,
    items_per_query: Annotated[int, typer.Option("--items-per-query", help="Without --from: items of a query.")] = 2,
    correlation: Annotated[
        float, typer.Option("--correlation", help="Without --from: of the difference on two items of a query.")
    ] = 0.0,
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: Annotated[int | None, typer.Option("--n", help="Queries, if they are given.")] = None,
    benchmark: BenchmarkOption = None,
    plot: PlotOption = None,
    documents: DocumentOptions,
) -> None:
    """Two judges told apart: how many queries, by simulation on two runs or by assumptions (Miller 2024)."""
    assumed = api.power.AssumedJudges(discordance, items_per_query, correlation)
    answer = api.power.judges(
        difference, runs or (), benchmark=benchmark, assumed=assumed, alpha=alpha, power=power, n=n
    )
    show_answer(answer, plot=plot, documents=documents)


@app.command()
@with_groups
def labels(
    *,
    half_width: Annotated[float, typer.Option("--half-width", help="To within how much the rate is to be known.")],
    items: Annotated[int, typer.Option("--items", help="Items that the judge decides; people rate a random part.")],
    rate: Annotated[float, typer.Option("--rate", help="About what the rate will be.")] = 0.5,
    correlation: Annotated[
        float, typer.Option("--correlation", help="Of the judge's value with people's label of an item.")
    ] = 0.6,
    documents: DocumentOptions,
) -> None:
    """A rate from fewer people and a judge on every item: how many items people must rate."""
    answer = api.power.labels(half_width, items=items, rate=rate, correlation=correlation)
    show_answer(answer, plot=None, documents=documents)


@app.command()
@with_groups
def study(
    *,
    pilot: Annotated[Path, typer.Option("--from", help="The pilot: an exported study, CSV or Parquet.")],
    conditions: Annotated[str, typer.Option("--conditions", help="The two conditions, as no_context:safe_revised.")],
    difference: Annotated[float, typer.Option("--difference", help="Of their safe rates, to be found.")] = 0.05,
    queries: Annotated[
        int | None, typer.Option("--queries", min=2, help="Queries, if given: then the power they have.")
    ] = None,
    per_item: Annotated[int, typer.Option("--per-item", min=1, help="Ratings of each item.")] = 21,
    per_annotator: Annotated[int, typer.Option("--per-annotator", min=1, help="Items of each annotator.")] = 25,
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    plot: PlotOption = None,
    documents: DocumentOptions,
) -> None:
    """Two conditions of a study, planned from the variance of a pilot's queries and annotators."""
    (pair,) = api.read_contrasts([conditions])
    planned = api.power.PlannedStudy(
        difference=difference,
        queries=queries,
        per_item=per_item,
        per_annotator=per_annotator,
        alpha=alpha,
        power=power,
    )
    show_answer(api.power.study(pilot, pair, planned), plot=plot, documents=documents)


def show_answer(answer: api.power.PowerAnswer, *, plot: Path | None, documents: DocumentOptions) -> None:
    if plot is not None:
        draw(answer, plot)
        note(f"plot: {plot}")
    documents.present(answer)


def draw(answer: api.power.PowerAnswer, path: Path) -> None:
    """Power against n, as SVG or as PNG by the file's ending."""
    drawn = answer.curve()
    if path.suffix == ".png":
        path.write_bytes(api.png(drawn))
    else:
        api.write_text(path, drawn)
