"""`casewise power`: numbers of annotators or queries, and the effects that they can find."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import App, Parameter
from cyclopts.types import PositiveInt
from cyclopts.validators import Number

from casewise import api
from casewise.cli.options import BenchmarkOption, given_options, options_group
from casewise.cli.printing import DocumentOptions, Documents, note
from casewise.errors import ConfigurationError
from casewise.options import Flat
from casewise.reports import power as answers
from casewise.reports.formats import Report
from casewise.storage.files import json_value
from casewise.text import count_of

app = App(name="power")

AlphaOption = Annotated[float, Parameter(help="Probability of a false alarm.")]
PowerOption = Annotated[float, Parameter(help="Probability of finding the effect.")]
QueriesOption = Annotated[
    int | None, Parameter(help="Number of queries. With it, compute the power; without it, the number.")
]


@dataclass(frozen=True)
class Effect:
    """The conditions of one analysis of variance, as the paper plans it."""

    groups: int = 5
    """Number of conditions."""
    effect_size: float | None = None
    """Cohen's f. Default: the smallest effect that --n can find."""


@dataclass(frozen=True)
class TwoRates:
    """A test of two safe rates."""

    p1: float | None = None
    """Safe rate of the first condition."""
    p2: float | None = None
    """Safe rate of the second condition. Default: the nearest rate that --n can tell from --p1."""


@dataclass(frozen=True)
class Profile:
    """The test that a study uses on a task: Kruskal-Wallis on 0/1 ratings, by simulation."""

    rates: str | None = None
    """Safe rate of a task under each condition, such as 0.4,0.8,0.2,0.8,0.2."""
    approximate: bool = False
    """Use the chi-square p instead of the exact p."""
    simulated: Annotated[int, Parameter(validator=Number(gte=100))] = 20_000
    """Number of simulated tasks."""


@dataclass(frozen=True)
class Pilot:
    """Two conditions of a study, planned from the variances of queries and annotators in a pilot."""

    from_: Path | None = None
    """The pilot: an exported study, CSV or Parquet."""
    conditions: str | None = None
    """Two conditions of the pilot, such as no_context:safe_revised."""
    difference: float = 0.05
    """Difference of their safe rates that the study should find."""
    queries: QueriesOption = None
    per_item: PositiveInt | None = None
    """Number of ratings of each item. Default: 21; with --people: 5."""
    per_annotator: int = 25
    """Number of items that each annotator rates."""

    @property
    def pair(self) -> tuple[str, str]:
        """The two conditions. Raises ConfigurationError: they are not given."""
        if self.conditions is None:
            raise ConfigurationError("--from needs --conditions, such as no_context:safe_revised")
        (pair,) = api.read_contrasts([self.conditions])
        return pair


@dataclass(frozen=True)
class CrowdSimulation:
    """A whole design on a simulated crowd."""

    design: Path | None = None
    """A TOML file with [simulation.safe_rates]; [simulation] and [crowd] are optional."""
    repeat: PositiveInt = 200
    """Number of simulated studies on which each analysis is tried."""
    ratings: Path | None = None
    """Instead, write the ratings of one simulated study to this file (.csv or .parquet)."""


@dataclass(frozen=True)
class SharedWork:
    """A rate known from people's labels of some items and a judge on all of them."""

    half_width: float | None = None
    """Half-width that the interval of the safe rate should have."""
    items: int = 900
    """Number of items that the judge decides; people rate a random part of them."""
    rate: float = 0.5
    """Expected safe rate."""
    correlation: float = 0.6
    """Correlation of the judge's value with people's label of an item."""


SHARED_WITH_PEOPLE = frozenset(("--groups", "--from", "--conditions", "--per-item", "--per-annotator"))
"""Options of other questions that --people takes too."""

Question = answers.People | Effect | TwoRates | Profile | Pilot | CrowdSimulation | SharedWork


@app.command
def study(
    *,
    people: Annotated[answers.People, options_group("By the people you have", 0)] = answers.People(),
    effect: Annotated[Effect, options_group("By an effect size", 1)] = Effect(),
    two_rates: Annotated[TwoRates, options_group("By two safe rates", 2)] = TwoRates(),
    profile: Annotated[Profile, options_group("By the safe rates of every condition", 3)] = Profile(),
    pilot: Annotated[Pilot, options_group("By a pilot", 4)] = Pilot(),
    crowd: Annotated[CrowdSimulation, options_group("By a simulated crowd", 5)] = CrowdSimulation(),
    shared: Annotated[SharedWork, options_group("By the precision of a rate, with a judge's help", 6)] = SharedWork(),
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: int | None = None,
    seed: int = 0,
    documents: Documents = DocumentOptions(),
) -> None:
    """Compute how many people a study needs, or the difference that a number of people finds. The options choose the test.

    Parameters
    ----------
    n
        Number of annotators in each condition.
    seed
        Seed of the simulations.
    """
    starts: dict[Question, object] = {
        people: people.people,
        effect: effect.effect_size,
        two_rates: two_rates.p1,
        profile: profile.rates,
        pilot: pilot.from_,
        crowd: crowd.design,
        shared: shared.half_width,
    }
    chosen = next((question for question, start in starts.items() if start is not None), effect)
    shared_options = SHARED_WITH_PEOPLE if chosen == people else frozenset()
    if extra := [
        name
        for unchosen in starts
        if unchosen != chosen
        for name in given_options(unchosen)
        if name not in shared_options
    ]:
        raise ConfigurationError(
            f"{', '.join(given_options(chosen)) or '--n'} and {', '.join(extra)} belong to different questions (see --help-all); give the "
            "options of one"
        )
    how = {"alpha": alpha, "power": power}
    if crowd.design is not None:
        simulate(crowd, crowd.design, seed=seed, documents=documents)
        return
    if people.people is not None:
        answer = answers.people(
            people,
            conditions=effect.groups,
            per_item=pilot.per_item or 5,
            per_annotator=pilot.per_annotator,
            pilot=None if pilot.from_ is None else api.pilot_ratings(pilot.from_, pilot.pair),
            **how,
            seed=seed,
        )
    elif pilot.from_ is not None:
        pair, ratings = pilot.pair, api.read_ratings(pilot.from_)
        answer = answers.study(
            api.pilot_ratings(ratings, pair),
            pair,
            noun=ratings.noun,
            difference=pilot.difference,
            queries=pilot.queries,
            per_item=pilot.per_item or 21,
            per_annotator=pilot.per_annotator,
            **how,
            seed=seed,
        )
    elif shared.half_width is not None:
        answer = answers.labels(shared.half_width, items=shared.items, rate=shared.rate, correlation=shared.correlation)
    elif profile.rates is not None:
        answer = answers.kruskal(
            profile.rates, n=n, exact=not profile.approximate, repeats=profile.simulated, seed=seed, **how
        )
    elif two_rates.p1 is not None:
        answer = answers.proportions(two_rates.p1, two_rates.p2, n=n, **how)
    else:
        answer = answers.anova(effect.groups, effect.effect_size, n=n, **how)
    documents.present(answer)


def simulate(crowd: CrowdSimulation, design: Path, *, seed: int, documents: DocumentOptions) -> None:
    """Report each analysis of a design on a simulated crowd, or write the ratings of one such study to a file."""
    plan = api.simulation_plan(design)
    if crowd.ratings is not None:
        table = api.simulated_table(plan, rng=np.random.default_rng(seed))
        api.write_ratings(table, crowd.ratings)
        note(
            f"{count_of(len(table), 'rating')} by {table['annotator_id'].n_unique():,} simulated annotators: {crowd.ratings}"
        )
        note(f"next: casewise study report {shlex.quote(str(crowd.ratings))}")
        return
    studies = api.simulate_studies(plan, repeats=crowd.repeat, seed=seed)
    numbers = {"repeats": crowd.repeat, "seed": seed, "contrasts": studies.contrasts, "tasks": studies.tasks}
    documents.present(Report(json_value(numbers), lambda _: api.simulation_page(studies)))


@app.command
def judges(
    *,
    difference: float | None = None,
    from_: tuple[Path, Path] | None = None,
    assumed: Flat[answers.AssumedJudges] = answers.AssumedJudges(),
    alpha: AlphaOption = 0.05,
    power: PowerOption = 0.8,
    n: QueriesOption = None,
    benchmark: BenchmarkOption = None,
    documents: Documents = DocumentOptions(),
) -> None:
    """Compute how many queries tell two judges apart, from two runs or from assumptions (Miller 2024).

    Parameters
    ----------
    difference
        Difference in accuracy to find. Default with --from: the difference of the runs.
    from_
        Two run folders on one benchmark, as a pilot.
    """
    answer = answers.judges(
        difference, from_ or (), benchmark=benchmark, assumed=assumed, alpha=alpha, power=power, n=n
    )
    documents.present(answer)
