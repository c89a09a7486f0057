"""Answers to questions of power, laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.errors import ConfigurationError
from casewise.evaluate.study import JudgesPilot, pilot_of
from casewise.notation import number, percent, points
from casewise.options import Hidden
from casewise.reports.document import Columns, Document, Table, document_of_tables, table_by, table_of, terms
from casewise.stats import power as designs
from casewise.stats.judge_power import (
    assumed_deviation,
    power_of_queries,
    queries_needed,
    simulated_power,
    simulated_queries_needed,
)
from casewise.stats.panel import labels_needed
from casewise.stats.power import PilotRatings, detectable_shift, pilot_intervals, study_power, study_queries
from casewise.stats.ratings import CrowdDesign, CrowdModel, simulate_ratings
from casewise.storage.benchmark import Benchmark
from casewise.text import QUERY, Noun, Text, count_of, text

DIGITS = {"hours": 1, "pay": 2}
"""Digits of hours and of pay."""


@dataclass(frozen=True)
class PowerAnswer:
    """The answer to a question about power: a sentence, its numbers and remarks."""

    title: str
    sentence: str
    """The answer in words, with what it supposes."""
    numbers: dict[str, Any]
    """Everything that `--json` prints, unrounded."""
    remarks: tuple[str, ...]
    """Sentences to read with the numbers."""
    choices: Table | None = None
    """The other choices for the same people."""
    noun: Noun = QUERY
    """The noun for what is judged."""

    def as_json(self) -> dict[str, Any]:
        """Return the numbers, with tuples as lists."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in self.numbers.items()}

    @property
    def document(self) -> Document:
        """The answer, the numbers and its remarks, ready for any face."""
        labels = terms()["power"]
        numbers = {
            text(labels[key]): number(value, digits=DIGITS[key]) if key in DIGITS else written(value)
            for key, value in self.numbers.items()
            if value is not None and key in labels
        }
        table = table_of("power", "Assumptions and results", ("", "Value"), numbers.items())
        return document_of_tables(
            self.title, [*filter(None, [self.choices]), table], self.remarks, lead=self.sentence, noun=self.noun
        )


def anova(
    groups: int, effect_size: float | None, *, alpha: float = 0.05, power: float = 0.8, n: int | None = None
) -> PowerAnswer:
    """Return the sample size (no `n`), the power (both), or the detectable effect (no `effect_size`), with what the paper adds to it.

    Raises ConfigurationError: neither an effect nor a number of annotators is given. StatisticsError: the question has no
    answer.
    """
    argument = needed(n, "--effect-size") if effect_size is None else n
    design = designs.anova_power(groups, effect_size, n_per_group=argument, alpha=alpha, power=power)
    numbers, remarks = dict(vars(design)), tuple[str, ...]()
    if n is None:
        level = alpha / (groups - 1)
        stricter = designs.anova_power(groups, design.effect_size, alpha=level, power=power).n_per_group
        numbers |= {"bonferroni_alpha": level, "bonferroni_n_per_group": stricter}
        remark = (
            f"At the Bonferroni level {level:g} ({alpha:g} over the {count_of(groups - 1, 'contrast')} of one condition with each other) the "
            f"design needs {stricter} per condition."
        )
        remarks = (remark,)
    sentence = (
        f"If {count_of(groups, 'condition')} differ with an effect of f = {design.effect_size:.3g}, {count_of(design.n_per_group, 'annotator')} in each "
        f"({design.n_total:,} in all) find it with a probability of {percent(design.actual_power)}, at alpha {alpha:g}."
    )
    return PowerAnswer("One-way analysis of variance", sentence, numbers, remarks)


def proportions(
    p1: float, p2: float | None, *, alpha: float = 0.05, power: float = 0.8, n: int | None = None
) -> PowerAnswer:
    """Return the answer of `anova` for two safe rates."""
    argument = needed(n, "--p2") if p2 is None else n
    design = designs.proportions_power(p1, p2, n_per_group=argument, alpha=alpha, power=power)
    remark = "This treats ratings as independent. If annotators rate many items each, plan with --design."
    sentence = (
        f"If the safe rates are {percent(design.p1)} and {percent(design.p2)}, {count_of(design.n_per_group, 'annotator')} in each condition "
        f"find the difference with a probability of {percent(design.actual_power)}, at alpha {alpha:g}."
    )
    return PowerAnswer("Two safe rates", sentence, dict(vars(design)), (remark,))


def kruskal(
    rates: str,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    n: int | None = None,
    exact: bool = True,
    repeats: int = 20_000,
    seed: int = 0,
) -> PowerAnswer:
    """Return the sample size (no `n`) or the power of Kruskal-Wallis on 0/1 ratings, by simulation.

    `rates`: the safe rates, with commas between them.
    """
    try:
        profile = tuple(map(float, rates.split(",")))
    except ValueError:
        raise ConfigurationError(f"--rates is {rates!r}; write safe rates as 0.4,0.8,0.2") from None
    design = designs.kruskal_power(
        profile, n_per_group=n, alpha=alpha, power=power, exact=exact, repeats=repeats, seed=seed
    )
    remark = "The power of one task with this profile, by simulation. The interval is the simulation's error."
    sentence = (
        f"If the conditions' safe rates are {', '.join(map(percent, profile))}, {count_of(design.n_per_group, 'annotator')} in each find "
        f"that they differ with a probability of {percent(design.actual_power)}, at alpha {alpha:g}."
    )
    return PowerAnswer("Kruskal-Wallis on 0/1 ratings", sentence, dict(vars(design)), (remark,))


def needed(n: int | None, option: str) -> int:
    """Return `n`, where it is the only thing that the question can start from."""
    if n is None:
        raise ConfigurationError(f"give {option}, or --n to ask what so many annotators can find")
    return n


def written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(f"{part:g}" for part in value)
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) >= 1e-3 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def study(
    pilot: PilotRatings,
    conditions: tuple[str, str],
    *,
    noun: Noun = QUERY,
    difference: float = 0.05,
    queries: int | None = None,
    per_item: int = 21,
    per_annotator: int = 25,
    alpha: float = 0.05,
    power: float = 0.8,
    seed: int = 0,
) -> PowerAnswer:
    """Return the queries that a study needs, or the power that it has, by what annotators and queries varied in a pilot.

    `pilot`: the ratings of the two `conditions`, as `casewise.pilot_ratings` reads them.
    `noun`: the thing that people rated.
    `difference`: of the safe rates of the two conditions. `queries`: if given, the result is the power that they have.

    Raises StatisticsError: the pilot is too small to say.
    """
    variance = pilot.variance()
    limits = pilot_intervals(pilot, rng=np.random.default_rng(seed))
    design: dict[str, Any] = {"per_item": per_item, "per_annotator": per_annotator, "alpha": alpha}
    queries = queries or study_queries(variance, difference, power=power, **design)
    actual_power = study_power(variance, difference, queries=queries, **design)
    people = -(-queries * per_item // per_annotator)
    numbers = {
        "safe_rate_difference": difference,
        "pilot_difference": variance.difference,
        "variance_of_difference": variance.of_difference,
        "variance_of_difference_interval": limits,
        "variance_of_annotators": variance.of_annotators,
        "variance_of_ratings": variance.of_ratings,
        "alpha": alpha,
        "per_item": per_item,
        "per_annotator": per_annotator,
        "n_queries": queries,
        "n_per_group": people,
        "actual_power": actual_power,
    }
    between = per_annotator * variance.of_annotators
    differences = (
        f"Differences between annotators cause {between / max(between + variance.of_ratings, 1e-12):.0%} of the error that people add. "
        "To reduce it, take more annotators with fewer items each."
    )
    remarks = (
        text(
            "{first} compared with {second}. The power holds for other {queries} of the same kind and other people.",
            first=conditions[0],
            second=conditions[1],
        ),
        differences,
        text(
            "The interval is over the pilot's {queries}. The variance of annotators has no interval: a pilot with few "
            "people estimates it poorly."
        ),
    )
    sentence = text(
        "{n:query} with {per_item:rating} an item ({people:,} annotators in each condition) find a difference of {difference} "
        "between the safe rates with a probability of {actual_power}, at alpha {alpha:g}. This assumes {queries} and people as in the pilot.",
        difference=points(difference),
        n=queries,
        per_item=per_item,
        actual_power=percent(actual_power),
        alpha=alpha,
        people=people,
    )
    return PowerAnswer("A study planned from a pilot", sentence, numbers, remarks, noun=noun)


PER_ITEM = (1, 2, 3, 5, 7, 10, 15, 21, 30)
"""Ratings of an item in the table of choices."""

CROWD_QUERIES, CROWD_RATINGS = 1_000, 20
"""Size of the simulated pilot that stands in for a real one: queries of two conditions, and ratings of each item."""


@dataclass(frozen=True)
class People:
    """A number of people, and what each of them does."""

    people: int | None = None
    """Number of people who pass the quiz and rate, in all conditions together."""
    seconds_per_page: float = 20.0
    """Median time for one page, in seconds."""
    minutes_before: float = 6.0
    """Median time for consent, tutorial and quiz, in minutes."""
    checks: int = 2
    """Attention checks in a batch, each a page."""
    per_batch: float = 4.0
    """Pay for a batch in your currency, without fees; `pay.per_batch` of a study."""
    items: Hidden[int | None] = None
    """Number of items in all; None: as many as the people can rate."""


def people(
    question: People,
    *,
    conditions: int = 2,
    per_item: int = 5,
    per_annotator: int = 25,
    pilot: PilotRatings | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    seed: int = 0,
) -> PowerAnswer:
    """Return what `question.people` people can rate, the smallest difference that this finds, and its hours and cost.

    Each person rates `per_annotator` items of one condition; a query is rated under each of `conditions`. There may be
    no more than `question.items` items in all. Without a pilot, queries and people vary as in the simulated crowd of `CrowdModel`.

    Raises ConfigurationError: there are too few people for one query in each condition; StatisticsError: the pilot is
    too small, or a number is not possible.
    """
    people, items = needed(question.people, "--people"), question.items
    if min(people, conditions, per_item, per_annotator) < 1:
        raise ConfigurationError("people, conditions, ratings of an item and items of a person are 1 or more")
    if people < 2 * conditions:
        raise ConfigurationError(
            f"{count_of(people, 'person')} in {count_of(conditions, 'condition')}: a comparison needs two people in each; take fewer --groups"
        )
    variance = (simulated_pilot(seed) if pilot is None else pilot).variance()
    ratings = people * per_annotator

    def queries_at(ratings_per_item: int) -> int:
        most = ratings // (ratings_per_item * conditions)
        return most if items is None else min(most, items // conditions)

    def error_at(ratings_per_item: int) -> float:
        queries = queries_at(ratings_per_item)
        return variance.error(queries=queries, per_item=ratings_per_item, per_annotator=per_annotator)

    queries = queries_at(per_item)
    if not queries:
        raise ConfigurationError(
            f"{count_of(people, 'person')} give {count_of(ratings, 'rating')}, and one query needs {per_item * conditions:,} "
            f"({per_item} in each of {count_of(conditions, 'condition')}); take more people, or a smaller --per-item"
        )
    shift = detectable_shift(2 * (people / conditions - 1), alpha=alpha, power=power)
    difference = shift * error_at(per_item)
    by_people = 2 * variance.of_annotators * per_annotator / (per_item * queries) / error_at(per_item) ** 2
    minutes = question.minutes_before + (per_annotator + question.checks) * question.seconds_per_page / 60
    hours, pay = people * minutes / 60, people * question.per_batch
    choices = pl.DataFrame(
        [
            (k, queries_at(k) * conditions, queries_at(k), shift * error_at(k))
            for k in sorted({*PER_ITEM, per_item})
            if queries_at(k) >= 2
        ],
        schema={"per_item": pl.Int64, "items": pl.Int64, "queries": pl.Int64, "difference": pl.Float64},
        orient="row",
    )
    finding = (
        f"find a difference of {points(difference)} between two conditions with a probability of {percent(power)}"
        if difference < 1
        else f"find no difference of any size between two conditions with a probability of {percent(power)}"
    )
    sentence = text(
        "{people:person} who rate {per_annotator:item} each {finding}, at alpha {alpha:g}. Their {ratings:rating} "
        "cover {n:query} in each of {conditions:condition}, which are {items:item} with {per_item:rating} each. They work for "
        "{hours:,.1f} hours. The pay is {pay:,.2f} in your currency, without fees ({per_batch:,.2f} a batch, {hourly:,.2f} an hour).",
        people=people,
        per_annotator=per_annotator,
        ratings=ratings,
        per_item=per_item,
        items=queries * conditions,
        n=queries,
        conditions=conditions,
        finding=finding,
        alpha=alpha,
        hours=hours,
        per_batch=question.per_batch,
        hourly=question.per_batch / minutes * 60,
        pay=pay,
    )
    assumed = (
        text("{Queries} and people vary as in your pilot.")
        if pilot is not None
        else text(
            "{Queries} and people vary as in casewise's simulated crowd, which is an assumption: people's readiness "
            "to say safe has a standard deviation of one logit. Run a pilot and repeat this with --from and "
            "--conditions."
        )
    )
    remarks = (
        assumed,
        f"{percent(by_people)} of the variance comes from differences between people. Only more people reduce that part.",
        "More ratings of each item make the label of an item more certain. More items make the comparison of conditions more precise.",
        "These numbers leave out people who fail the quiz or leave, and their pay. casewise study check counts them.",
    )
    numbers = {
        "people": people,
        "ratings_in_all": ratings,
        "per_item": per_item,
        "per_annotator": per_annotator,
        "groups": conditions,
        "n_items": queries * conditions,
        "n_queries": queries,
        "safe_rate_difference": difference,
        "hours": hours,
        "pay": pay,
        "alpha": alpha,
        "power": power,
        "choices": choices.to_dicts(),
    }

    columns: Columns = {
        "Ratings of each item": "per_item",
        "Items": "items",
        text("{Queries} in each condition"): "queries",
        "Smallest difference found": lambda row: points(row["difference"]) if row["difference"] < 1 else "none",
    }
    table = table_by("choices", f"Designs for {count_of(people, 'person')}", choices, columns)
    title = f"A study with {count_of(people, 'person')}"
    return PowerAnswer(title, sentence, numbers, remarks, choices=table)


def simulated_pilot(seed: int) -> PilotRatings:
    """Return ratings of a large simulated crowd with safe rates around one half."""
    design = CrowdDesign(safe_rates=(0.5, 0.5), queries=CROWD_QUERIES, ratings_per_item=CROWD_RATINGS)
    crowd = simulate_ratings(CrowdModel(), design, rng=np.random.default_rng(seed))
    return PilotRatings.from_ratings(
        safe=crowd.safe, second=crowd.condition == 1, query=crowd.query, annotator=crowd.annotator
    )


TITLE = text("Two judges on the same {queries}")


@dataclass(frozen=True)
class AssumedJudges:
    """Assumptions about two judges."""

    discordance: float = 0.15
    """Without --from: share of items on which only one judge is right."""
    items_per_query: int = 2
    """Without --from: number of items of a query."""
    correlation: float = 0.0
    """Without --from: correlation of the difference between two items of a query."""


def judges(
    difference: float | None = None,
    runs: Sequence[str | Path] = (),
    *,
    benchmark: str | Path | Benchmark | None = None,
    assumed: AssumedJudges = AssumedJudges(),
    alpha: float = 0.05,
    power: float = 0.8,
    n: int | None = None,
) -> PowerAnswer:
    """Return queries at which a difference in accuracy is found (no `n`), or the power of `n` of them.

    `difference`: in accuracy; with `runs`, their own if absent.
    `runs`: two run folders on one benchmark, or one with two series: the difference's spread is theirs, by simulation.
    `assumed`: what is taken for granted without runs.

    Raises ConfigurationError: neither a difference nor runs are given, or the runs do not hold two judges. DataError,
    BenchmarkError, StatisticsError: the runs cannot be read, or the question has no answer.
    """
    if runs:
        pilot = pilot_of(runs, benchmark=benchmark)
        return from_pilot(pilot, difference, alpha=alpha, power=power, n=n)
    if difference is None:
        raise ConfigurationError("give --difference, or two runs with --from")
    sd = assumed_deviation(difference, **asdict(assumed))
    size = n if n is not None else queries_needed(difference, sd, alpha=alpha, power=power)
    actual_power = power_of_queries(size, difference, sd, alpha=alpha)
    numbers = {
        "difference": difference,
        "alpha": alpha,
        "n_queries": size,
        "n_items": size * assumed.items_per_query,
        "actual_power": actual_power,
        **asdict(assumed),
        "deviation": sd,
    }
    remark = text(
        "By Miller (2024), eq. 9, with Student's t. The result depends on the assumptions. To replace them with data, give two "
        "runs over a few {queries} (--from)."
    )
    sentence = tells_apart(difference, size, size * assumed.items_per_query, actual_power, alpha)
    return PowerAnswer(TITLE, sentence, numbers, (remark,))


def tells_apart(difference: float, queries: int, items: int, power: float, alpha: float) -> Text:
    return text(
        "If the judges' accuracies differ by {difference}, {n:query} ({items:item}) show it with a probability of "
        "{power}, at alpha {alpha:g}.",
        difference=points(abs(difference)),
        n=queries,
        items=items,
        power=percent(power),
        alpha=alpha,
    )


def labels(half_width: float, *, items: int, rate: float = 0.5, correlation: float = 0.6) -> PowerAnswer:
    """Return the number of `items` that people must rate for a rate to within `half_width`, with a judge on all.

    `rate`: about what the rate will be.
    `correlation`: of the judge's value with people's label of an item; a pilot's, or a guess.
    """
    with_grader, without_grader = labels_needed(half_width, rate=rate, correlation=correlation, items=items)
    numbers = {
        "half_width": half_width,
        "n_items": items,
        "rate": rate,
        "judge_correlation": correlation,
        "n_labels": with_grader,
        "n_labels_alone": without_grader,
    }
    remark = "This treats items as independent, and a label as one verdict. Clusters need more labels. Several people for each item need fewer."
    sentence = (
        f"With the judge, people rate {with_grader:,} of {count_of(items, 'item')} for a 95 % interval of ± {points(half_width)}; "
        f"without it, {without_grader:,}. This assumes a rate near {percent(rate)} and a correlation of {correlation:g} between the judge's "
        "values and people's labels."
    )
    return PowerAnswer("A rate from fewer people and a judge", sentence, numbers, (remark,))


def from_pilot(
    pilot: JudgesPilot, difference: float | None, *, alpha: float, power: float, n: int | None
) -> PowerAnswer:
    observed = pilot.differences()
    target = observed.mean if difference is None else float(np.copysign(difference, observed.mean))
    population = observed.tilted(target)
    study = (
        simulated_queries_needed(population, power=power, alpha=alpha)
        if n is None
        else simulated_power(population, n, alpha=alpha)
    )
    per_query, votes = len(pilot.query) / len(np.unique(pilot.query)), float(pilot.votes.mean())
    items, collected = round(study.queries * per_query), int(pilot.votes.sum())
    ratings = round(items * votes)
    numbers: dict[str, Any] = {
        "difference": target,
        "alpha": alpha,
        "n_queries": study.queries,
        "n_items": items,
        "n_ratings": ratings,
        "more_ratings": max(0, ratings - collected),
        "actual_power": study.power,
        "ci_low": study.ci_low,
        "ci_high": study.ci_high,
        "observed_difference": observed.mean,
        "discordance": pilot.discordance,
        "items_per_query": per_query,
        "deviation": population.deviation,
        "simulated_studies": study.repeats,
        "seed": study.seed,
    }
    if n is None:
        # Queries needed if twice or ten times as many people had rated each item: by the spread that they would leave.
        rng = np.random.default_rng(0)
        now, *more = (pilot.differences_with(people, rng).tilted(target).deviation for people in (1, 2, 10))
        for name, deviation in zip(("twice", "ten_times"), more, strict=True):
            numbers[f"n_queries_{name}_votes"] = max(2, round(study.queries * (deviation / now) ** 2))
    doubtful = pilot.in_doubt()
    numbers["more_ratings_on"] = tuple(doubtful)
    first, second = pilot.names
    source = text(
        "The pilot is {first} less {second} on {items:item} with {collected:rating}. Simulated studies draw its "
        "{queries}, weighted to the requested difference, and test with the cluster-robust t.",
        first=first,
        second=second,
        items=len(pilot.query),
        collected=collected,
    )
    remarks: list[str] = [source, text("If more people for each item save few {queries}, only more {queries} help.")]
    if difference is None:
        remarks.append(
            "The difference is the one observed in the runs. If you chose them because they differ much, expect a smaller one."
        )
    if doubtful:
        named = ", ".join(list(doubtful)[:NAMED]) + (", …" if len(doubtful) > NAMED else "")
        remarks.append(
            f"More ratings help on {len(doubtful):,} of these items, where the judges differ and twice as many people may change the "
            f"label; most on {named}."
        )
    else:
        remarks.append(
            "More ratings of these items would not help: where the judges differ, people's verdict is clear."
        )
    sentence = tells_apart(target, study.queries, items, study.power, alpha)
    return PowerAnswer(TITLE, sentence, numbers, tuple(remarks), noun=pilot.noun)


NAMED = 8
"""Most items named in a remark."""
