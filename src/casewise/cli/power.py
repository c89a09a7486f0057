"""`casewise power`: how many annotators or queries, and what so many can find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from casewise import api
from casewise.cli.options import BenchmarkOption
from casewise.cli.printing import DocumentOptions, Documents, note
from casewise.options import Flat

app = App(name="power")

AlphaOption = Annotated[float, Parameter(help="Probability of a false alarm.")]
PowerOption = Annotated[float, Parameter(help="Probability of finding the effect.")]
PlotOption = Annotated[Path | None, Parameter(help="Draw power against n to this SVG or PNG file.")]
AnnotatorsOption = Annotated[int | None, Parameter(help="Annotators in each condition, if they are given.")]


@app.command
def anova(
    *,
    groups: int = 5,
    effect_size: float | None = None,
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: AnnotatorsOption = None,
    allowance: str | None = None,
    plot: PlotOption = None,
    documents: Documents = DocumentOptions(),
) -> None:
    """One-way analysis of variance, as the paper plans it: n for an effect, power of an n, effect that an n can find.

    Parameters
    ----------
    groups
        Number of conditions.
    effect_size
        Cohen's f; without it, the smallest one that --n can find.
    allowance
        Declared extra annotators for each condition: a number, or a share such as 30%.
    """
    answer = api.power.anova(groups, effect_size, alpha=alpha, power=power, n=n, allowance=allowance)
    show_answer(answer, plot=plot, documents=documents)


@app.command
def proportions(
    *,
    p1: float,
    p2: float | None = None,
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: AnnotatorsOption = None,
    one_sided: bool = False,
    method: str = "arcsine",
    plot: PlotOption = None,
    documents: Documents = DocumentOptions(),
) -> None:
    """Two safe rates told apart.

    Parameters
    ----------
    p1
        Safe rate of the first condition.
    p2
        That of the second; without it, the nearest one that --n can find.
    one_sided
        Test one direction only.
    method
        arcsine (Cohen's h) or normal (the z test's own).
    """
    sides = 1 if one_sided else 2
    answer = api.power.proportions(p1, p2, alpha=alpha, power=power, n=n, sides=sides, method=method)
    show_answer(answer, plot=plot, documents=documents)


@app.command(name="chi-square")
def chi_square(
    *,
    df: int,
    effect_size: float | None = None,
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: int | None = None,
    plot: PlotOption = None,
    documents: Documents = DocumentOptions(),
) -> None:
    """A chi-square test: how many ratings in all.

    Parameters
    ----------
    df
        Degrees of freedom.
    effect_size
        Cohen's w; without it, the smallest one that --n can find.
    n
        All ratings together, if they are given.
    """
    show_answer(api.power.chi_square(df, effect_size, alpha=alpha, power=power, n=n), plot=plot, documents=documents)


@app.command
def kruskal(
    *,
    rates: str,
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: AnnotatorsOption = None,
    approximate: bool = False,
    repeats: Annotated[int, Parameter(validator=Number(gte=100))] = 20_000,
    seed: int = 0,
    plot: PlotOption = None,
    documents: Documents = DocumentOptions(),
) -> None:
    """The test really used: Kruskal-Wallis on 0/1 ratings, by simulation.

    Parameters
    ----------
    rates
        A task's safe rate under each condition: 0.4,0.8,0.2,0.8,0.2
    approximate
        Reject by the chi-square p, not the exact.
    repeats
        Simulated tasks.
    seed
        What they are drawn from.
    """
    question = api.power.KruskalQuestion(rates, alpha=alpha, exact=not approximate, repeats=repeats, seed=seed)
    show_answer(api.power.kruskal(question, power=power, n=n), plot=plot, documents=documents)


@app.command
def judges(
    *,
    difference: float | None = None,
    from_: tuple[Path, Path] | None = None,
    assumed: Flat[api.power.AssumedJudges] = api.power.AssumedJudges(),
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: int | None = None,
    benchmark: BenchmarkOption = None,
    plot: PlotOption = None,
    documents: Documents = DocumentOptions(),
) -> None:
    """Two judges told apart: how many queries, by simulation on two runs or by assumptions (Miller 2024).

    Parameters
    ----------
    difference
        In accuracy; with --from, that of the runs if absent.
    from_
        Two run folders on one benchmark, as a pilot.
    n
        Queries, if they are given.
    """
    answer = api.power.judges(
        difference, from_ or (), benchmark=benchmark, assumed=assumed, alpha=alpha, power=power, n=n
    )
    show_answer(answer, plot=plot, documents=documents)


@app.command
def labels(
    *,
    half_width: float,
    items: int,
    rate: float = 0.5,
    correlation: float = 0.6,
    documents: Documents = DocumentOptions(),
) -> None:
    """A rate from fewer people and a judge on every item: how many items people must rate.

    Parameters
    ----------
    half_width
        To within how much the rate is to be known.
    items
        Items that the judge decides; people rate a random part.
    rate
        About what the rate will be.
    correlation
        Of the judge's value with people's label of an item.
    """
    answer = api.power.labels(half_width, items=items, rate=rate, correlation=correlation)
    show_answer(answer, plot=None, documents=documents)


@app.command
def study(
    *,
    from_: Path,
    conditions: str,
    planned: Flat[api.power.PlannedStudy] = api.power.PlannedStudy(),
    plot: PlotOption = None,
    documents: Documents = DocumentOptions(),
) -> None:
    """Two conditions of a study, planned from the variance of a pilot's queries and annotators.

    Parameters
    ----------
    from_
        The pilot: an exported study, CSV or Parquet.
    conditions
        The two conditions, as no_context:safe_revised.
    """
    (pair,) = api.read_contrasts([conditions])
    show_answer(api.power.study(from_, pair, planned), plot=plot, documents=documents)


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
