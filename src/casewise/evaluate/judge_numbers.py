"""The numbers of judges' runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import BenchmarkError
from casewise.evaluate.answer import ShortAnswer, WeakCategory, answer_of
from casewise.evaluate.behaviour import (
    Corrected,
    GraderPair,
    WhatItDoes,
    behaviours_of,
    corrected,
    grader_pairs,
    what_they_do,
)
from casewise.evaluate.failures import Misjudged, failures_table, misjudged
from casewise.evaluate.judged_runs import (
    JudgedRuns,
    ReportOptions,
    Series,
    against_full_context,
    covered_mass_table,
    read_runs,
    second_readings,
)
from casewise.evaluate.yardsticks import (
    Backdrop,
    Beside,
    BesidePeople,
    PeopleAndJudge,
    SubsetScore,
    against_people,
    as_wanted,
    beside_people,
    besides,
    notes_on_items,
    subset_scores,
    without_attacks,
)
from casewise.records import FULL, NO_CONTEXT, ShortRepr
from casewise.replies.grade import labels_notes, read_reply_labels
from casewise.stats.calibration import Calibration, calibration
from casewise.stats.contrasts import low_group_p
from casewise.stats.costs import CostCurve, Refusals, cost_curve, refusals
from casewise.stats.estimates import ESTIMATE_COLUMNS, Estimate, difference_of, estimate, estimate_of, measure
from casewise.stats.intervals import holm
from casewise.stats.measured import Measured
from casewise.stats.metrics import FLOORS, ON_SCALE, metrics_named
from casewise.stats.pairs import PairResults, find_pairs, pair_results, shapley_values
from casewise.stats.sample import PUBLISHED, VOTES, LabelPolicy, Sample, UnscoredPolicy, right
from casewise.storage.batch_jobs import JobLog
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import json_text, write_text

# What a report says of each judge beside agreement: pairs, refusals, calibration, costs, and the judge's own
# noise.


@dataclass(frozen=True, repr=False)
class Details(ShortRepr):
    """One series in detail."""

    series: Series
    pairs: PairResults | None
    """Under the report's label policy; None where the items asked form no pair, or the judge gives no verdicts."""
    refusals: Refusals | None
    """By people's votes alone, whatever the policy of the labels; None where the judge gives no verdicts."""
    calibration: Calibration | None
    """Against people's votes alone; None for an elicitation without values on [0, 1]."""
    floors: tuple[Estimate, ...]
    """What no judge can fall below on these items: for cross-entropy and for the Brier score."""
    on_scale: tuple[Estimate, ...]
    """Against people's mean ratings; empty where they rated on no scale, or the judge gives no values on [0, 1]."""
    costs: CostCurve

    def as_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        noise = self.series.noise
        return {
            "judge": self.series.judge,
            "elicitation": self.series.elicitation,
            "arm": self.series.arm,
            "pairs": asdict(self.pairs) if self.pairs is not None else None,
            "refusals": asdict(self.refusals) if self.refusals is not None else None,
            "calibration": asdict(self.calibration) if self.calibration is not None else None,
            "floors": [asdict(found) for found in self.floors],
            "on_scale": [asdict(found) for found in self.on_scale],
            "costs": asdict(self.costs),
            "noise": asdict(noise) if noise is not None else None,
        }


def details_of(runs: JudgedRuns, *, labels: LabelPolicy, unscored: UnscoredPolicy) -> Iterator[Details]:
    """The details of every series of `runs`."""
    votes = LabelPolicy("votes", overrides=labels.overrides)
    for series in runs.series:
        sample = runs.sample(series, policy=labels, unscored=unscored)
        by_votes = sample if votes == labels else runs.sample(series, policy=votes, unscored=unscored)
        asked = runs.items.select("pair_id", "intended_safe").filter(series.asked)
        has_values = bool(by_votes.in_rate_metrics.any())
        yield Details(
            series=series,
            pairs=pair_results(sample, find_pairs(asked)) if sample.gives_verdicts else None,
            refusals=refusals(by_votes) if sample.gives_verdicts else None,
            calibration=calibration(by_votes) if has_values else None,
            floors=estimate(by_votes, metrics=FLOORS),
            on_scale=estimate(by_votes, metrics=ON_SCALE),
            costs=cost_curve(sample),
        )


# What the context is worth to a judge: arms compared on the same items, and each group's Shapley value.


COMPARED = ("accuracy", "recall_safe", "recall_unsafe")

ARM_COLUMNS: dict[str, pl.DataType] = {
    "judge": pl.String(),
    "elicitation": pl.String(),
    "part": pl.String(),
    "worth": pl.String(),
    "metric": pl.String(),
    **ESTIMATE_COLUMNS,
}

ArmRow = tuple[object, ...]


def arm_table(
    runs: JudgedRuns,
    *,
    policy: LabelPolicy = VOTES,
    unscored: UnscoredPolicy = "miss",
) -> pl.DataFrame:
    """What the judges lose without parts of the context, against full-context labels.

    Returns a table: columns of `ARM_COLUMNS`. `worth` is `left out` (the metric with everything shown less the metric
    without `part`, over the items asked in both arms) or `shapley` (over all subsets of the groups, where all were
    asked).
    """
    rows: list[ArmRow] = []
    for family in families(runs.series):
        measured = measure_arms(runs, family, policy, unscored)
        rows += left_out(family, measured)
        rows += shapley_rows(runs.benchmark.parameters.group_names, family, measured)
    return pl.DataFrame(rows, schema=ARM_COLUMNS, orient="row")


def families(series: Sequence[Series]) -> list[list[Series]]:
    """Series of one judge and one elicitation in several arms that only leave out, the full one among them."""
    found: dict[tuple[str, str], list[Series]] = {}
    for one in series:
        if one.shown.only_omits:
            found.setdefault((one.judge, one.elicitation), []).append(one)
    return [family for family in found.values() if len(family) > 1 and any(one.shown.shows_all for one in family)]


ByArm = dict[str, dict[str, Measured]]
"""Arm to metric to what was measured, all on the same items."""


def measure_arms(runs: JudgedRuns, family: list[Series], policy: LabelPolicy, unscored: UnscoredPolicy) -> ByArm:
    everywhere = np.logical_and.reduce([one.counted(unscored) for one in family])
    wanted = metrics_named(*COMPARED)
    found: ByArm = {}
    for one in family:
        sample = runs.whole_sample(one, policy=policy, unscored=unscored).where(everywhere)
        found[one.arm] = {each.name: each for each in measure(sample, metrics=wanted)}
    return found


def left_out(family: list[Series], measured: ByArm) -> Iterator[ArmRow]:
    others = [one for one in family if not one.shown.shows_all]
    for one in sorted(others, key=lambda other: len(other.shown.omitted)):
        for metric in measured[FULL.name]:
            found = difference_of(measured[FULL.name][metric], measured[one.arm][metric])
            left_out = "the whole context" if one.shown == NO_CONTEXT else ", ".join(one.shown.omitted)
            yield arm_row(one, left_out, "left out", found)


def shapley_rows(groups: tuple[str, ...], family: list[Series], measured: ByArm) -> Iterator[ArmRow]:
    omitted = {one.arm: set(groups if one.shown == NO_CONTEXT else one.shown.omitted) for one in family}
    shown = {frozenset(groups) - left_out: arm for arm, left_out in omitted.items() if left_out <= set(groups)}
    if len(shown) < 2 ** len(groups):
        return
    for metric in measured[FULL.name]:
        values = {parts: measured[arm][metric] for parts, arm in shown.items()}
        for group, found in shapley_values(values).items():
            yield arm_row(family[0], group, "shapley", found)


def arm_row(series: Series, part: str, worth: str, found: Estimate) -> ArmRow:
    return (series.judge, series.elicitation, part, worth, *found.cells)


# The numbers of judges' runs: every estimate, category, disagreement and unscored reply, in typed tables.


CATEGORY_METRICS = ("accuracy", "recall_safe", "recall_unsafe", "unscored_rate")

METRIC_COLUMNS: dict[str, pl.DataType] = {
    "judge": pl.String(),
    "elicitation": pl.String(),
    "arm": pl.String(),
    "slice": pl.String(),
    "label_policy": pl.String(),
    "unscored_policy": pl.String(),
    "metric": pl.String(),
    **ESTIMATE_COLUMNS,
}


@dataclass(frozen=True, repr=False)
class JudgeNumbers:
    """The numbers of one or more judges' runs over one benchmark."""

    runs: JudgedRuns
    options: ReportOptions
    metrics: pl.DataFrame
    """One row an estimate over all items: columns of `METRIC_COLUMNS`, under every policy reported."""
    categories: pl.DataFrame
    domains: pl.DataFrame
    """The same for each category and each domain, under the main policy."""
    unscored: pl.DataFrame
    """Judge, elicitation, arm, reason, and number of items."""
    read_as: pl.DataFrame
    """Judge, elicitation, arm, how replies were read that gave a value, and number of replies."""
    covered_mass: pl.DataFrame
    """How much probability goes to the labels at all, by people's label."""
    details: tuple[Details, ...]
    """Pairs, refusals, calibration, costs and noise of each series."""
    disagreements: tuple[Misjudged, ...]
    notes: tuple[str, ...]
    """What a reader must know before relying on a number."""

    @classmethod
    def of(
        cls,
        paths: Sequence[str | Path],
        *,
        benchmark: str | Path | Benchmark | None = None,
        options: ReportOptions = ReportOptions(),
    ) -> Self:
        """The numbers of one or more runs over one benchmark.

        Raises DataError: a folder is no run, or holds no judgements. BenchmarkError: the runs are over different
        benchmarks, the benchmark found is not theirs, or replies were graded by keywords alone.
        """
        every = read_runs([Path(path) for path in paths], benchmark=benchmark)
        if options.grader_labels is None:
            check_graders(every)
        asked = without_attacks(every)
        n = len(every.series) - len(asked.series)
        attacking = (
            [f"{n:,} arms that attack or guard are left out here; casewise robustness is about them."] if n else []
        )
        runs = as_wanted(asked, options)
        beside = () if runs.benchmark.about.published is None else (PUBLISHED,)
        policies = dict.fromkeys((options.labels, *beside))
        return cls(
            runs=runs,
            options=options,
            metrics=frame(
                row for policy in policies for one in runs.series for row in overall(runs, one, policy, options)
            ),
            categories=frame(row for one in runs.series for row in sliced(runs, one, "category", options)),
            domains=frame(row for one in runs.series for row in sliced(runs, one, "domain", options)),
            unscored=tally(((one, one.reasons) for one in runs.series), "reason", n="items"),
            read_as=tally(((one, one.read_as) for one in runs.series), "read_as", n="replies"),
            covered_mass=covered_mass_table(runs, policy=options.labels),
            details=tuple(details_of(runs, labels=options.labels, unscored=options.unscored)),
            disagreements=misjudged(runs, options),
            notes=(*notes_of(asked, options), *notes_on_items(runs.benchmark, options), *attacking),
        )

    @property
    def benchmark(self) -> Benchmark:
        return self.runs.benchmark

    @property
    def nothing_scored(self) -> bool:
        """Whether not one item has a verdict or a value."""
        return self.runs.nothing_scored

    @property
    def agreement(self) -> pl.DataFrame:
        """The metrics, without those of series with a verdict on less than half of their items."""
        few = [(one.judge, one.elicitation, one.arm) for one in self.runs.series if one.mostly_unscored]
        schema = {name: self.metrics.schema[name] for name in ("judge", "elicitation", "arm")}
        return self.metrics.join(pl.DataFrame(few, schema=schema, orient="row"), on=list(schema), how="anti")

    @cached_property
    def arms(self) -> pl.DataFrame:
        """What the judges lose without parts of the context: see `casewise.evaluate.judge_numbers.arm_table`."""
        options = self.options
        return arm_table(self.runs, policy=options.labels, unscored=options.unscored)

    @cached_property
    def backdrop(self) -> Backdrop:
        """The benchmark's own yardsticks: a classifier on words, the intent, constant verdicts, people."""
        found = Backdrop(self.benchmark, self.options.seed)
        vars(found.subject)["query"] = self.runs.cluster  # a million ids are numbered once
        return found

    @cached_property
    def besides(self) -> dict[str, Beside]:
        """Each series beside these yardsticks, by its name."""
        options = self.options
        found = besides(self.runs, self.backdrop, policy=options.labels, unscored=options.unscored)
        few = {series.name for series in self.runs.series if series.mostly_unscored}
        return {name: one for name, one in found.items() if name not in few}

    @cached_property
    def labelled(self) -> bool:
        """Whether any item that a judge was asked has a label under the label policy."""
        samples = (self.runs.sample(one, policy=self.options.labels) for one in self.runs.main_series)
        return any(sample.labelled.any() for sample in samples)

    @cached_property
    def among_people(self) -> BesidePeople:
        """What people's votes allow, and where each series stands among people."""
        return beside_people(self.runs, self.backdrop, margin=self.options.margin)

    @cached_property
    def answers(self) -> tuple[ShortAnswer, ...]:
        """What a reader wants to know first, of each of the main series; nothing of one without verdicts or labels."""
        among = {judge.name: judge.new_person for judge in self.among_people.judges}
        options = self.options
        errors = {one.series.name: one.refusals.at for one in self.details if one.refusals is not None}
        return tuple(
            answer_of(
                self.runs,
                series,
                self.besides[series.name],
                not_worse=among[series.name],
                errors=errors.get(series.name),
                weakest=weak_category(
                    self.runs.sample(series, policy=options.labels, unscored=options.unscored),
                    self.runs.items["category"].filter(series.asked),
                ),
            )
            for series in self.runs.main_series
            if series.name in self.besides
        )

    @property
    def without_verdicts(self) -> tuple[str, ...]:
        """The main series that give values and no verdicts, so that nothing can be said of them first."""
        return tuple(one.name for one in self.runs.main_series if not self.runs.sample(one).gives_verdicts)

    @cached_property
    def does(self) -> tuple[WhatItDoes, ...]:
        """What the chatbots do whose replies are among the runs."""
        return what_they_do(self.runs, policy=self.options.labels)

    @cached_property
    def corrected(self) -> tuple[Corrected, ...]:
        """Each grader against people's labels, where there are any, and the rates that they correct."""
        file = self.options.grader_labels
        if file is None:
            return ()
        return tuple(corrected(self.runs, read_reply_labels(file), policy=self.options.labels))

    @cached_property
    def grader_pairs(self) -> tuple[GraderPair, ...]:
        """Every two graders of the same replies."""
        return tuple(grader_pairs(self.runs))

    @cached_property
    def subsets(self) -> tuple[SubsetScore, ...]:
        """Each series on each subset of items that the benchmark allows."""
        return subset_scores(self.runs, self.backdrop)

    @cached_property
    def against_people(self) -> tuple[PeopleAndJudge, ...]:
        """Each series' values and verdicts over the safe rates."""
        return against_people(self.runs, policy=self.options.labels)

    def as_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        about = self.benchmark.about
        return {
            "benchmark": {
                "name": about.name,
                "version": about.version,
                "digest": self.benchmark.digest,
                "synthetic": about.synthetic,
                **self.benchmark.counts.model_dump(),
            },
            "labels": self.options.labels.name,
            "unscored_policy": self.options.unscored,
            "seed": self.options.seed,
            "notes": list(self.notes),
            "metrics": self.metrics.to_dicts(),
            "categories": self.categories.to_dicts(),
            "domains": self.domains.to_dicts(),
            "unscored": self.unscored.to_dicts(),
            "read_as": self.read_as.to_dicts(),
            "details": [found.as_json() for found in self.details],
            "arms": self.arms.to_dicts(),
            "covered_mass": self.covered_mass.to_dicts(),
            "second_readings": [asdict(one) for one in second_readings(self.runs)],
            "disagreements": [found.as_json() for found in self.disagreements],
            "items": self.options.items,
            "answers": [one.as_json() for one in self.answers],
            "beside": {name: found.as_json() for name, found in self.besides.items()},
            "distributions": self.among_people.as_json() if self.besides else None,
            **({"does": [one.as_json() for one in self.does]} if self.does else {}),
            **({"corrected": [one.as_json() for one in self.corrected]} if self.corrected else {}),
            **({"graders": [asdict(one) for one in self.grader_pairs]} if self.grader_pairs else {}),
        }

    @property
    def failures(self) -> pl.DataFrame:
        """A row for each item that a judge decided otherwise than people, or gave no verdict on: see `failures_table`."""
        return failures_table(self.runs, self.options)

    def write_metrics(self, folder: Path) -> None:
        """Write the numbers to `metrics.json` in a run folder."""
        write_text(folder / "metrics.json", json_text(self.as_json()))


Row = tuple[Any, ...]


def frame(rows: Iterable[Row]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=METRIC_COLUMNS, orient="row")


def overall(runs: JudgedRuns, series: Series, policy: LabelPolicy, options: ReportOptions) -> list[Row]:
    sample = runs.sample(series, policy=policy, unscored=options.unscored)
    return [row(series, "all", policy, options, found) for found in estimate(sample)]


def sliced(runs: JudgedRuns, series: Series, by: str, options: ReportOptions) -> list[Row]:
    sample = runs.sample(series, policy=options.labels, unscored=options.unscored)
    wanted = metrics_named(*CATEGORY_METRICS)
    names, of_item = coded(runs.items[by].filter(series.asked))
    return [
        row(series, names[code], options.labels, options, found)
        for code in dict.fromkeys(of_item.tolist())
        for found in estimate(sample.where(of_item == code), metrics=wanted)
    ]


def coded(names: pl.Series) -> tuple[list[str], NDArray[np.intp]]:
    """The distinct names in order, and the place among them of each."""
    every = sorted(map(str, names.unique()))
    return every, names.cast(pl.String).replace_strict(every, range(len(every)), return_dtype=pl.Int64).to_numpy()


FEWEST_QUERIES = 5
"""A category with fewer queries is not tested."""

WEAK = 0.05
"""Level at which a category is called weak, after correction."""


def weak_category(sample: Sample, category: pl.Series) -> WeakCategory | None:
    """Return the category with the lowest accuracy among those that are shown to be below the rest; None where none is.

    The mean share right over a category's queries is compared with that of as many queries drawn from all
    (`casewise.stats.contrasts.low_group_p`), with Holm's correction over the categories.

    Parameters
    ----------
    category
        Of each item of `sample`.
    """
    used = sample.in_label_metrics
    if not sample.gives_verdicts or not used.any():
        return None
    counted = sample.where(used)
    queries = (
        pl.DataFrame(
            {"query": counted.cluster, "category": category.filter(used), "right": right(counted.safe, counted.weight)}
        )
        .group_by("query")
        .agg(pl.col("category").first(), pl.col("right").mean())
    )
    names, code = coded(queries["category"])
    n = np.bincount(code)
    tested = n >= FEWEST_QUERIES
    if np.sum(tested) < 2:
        return None
    p = holm(low_group_p(queries["right"], code), where=tested)
    weak = np.flatnonzero(p < WEAK)
    if not len(weak):
        return None
    mean = np.bincount(code, weights=queries["right"]) / n
    worst = int(weak[np.argmin(mean[weak])])
    (found,) = measure(sample.where((category == names[worst]).to_numpy()), metrics=metrics_named("accuracy"))
    return WeakCategory(names[worst], estimate_of(found), float(p[worst]), int(np.sum(tested)))


def row(series: Series, where: str, policy: LabelPolicy, options: ReportOptions, found: Estimate) -> Row:
    of = (series.judge, series.elicitation, series.arm, where, policy.name, options.unscored)
    return (*of, *found.cells)


def tally(counts: Iterable[tuple[Series, dict[str, int]]], what: str, *, n: str) -> pl.DataFrame:
    rows = [(one.judge, one.elicitation, one.arm, *found) for one, counted in counts for found in counted.items()]
    schema = {"judge": pl.String, "elicitation": pl.String, "arm": pl.String, what: pl.String, n: pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def check_graders(runs: JudgedRuns) -> None:
    """Refuse a report of replies that nothing but the baseline graded."""
    graders: dict[Path, set[str]] = {}
    for behaviour in behaviours_of(runs):
        graders.setdefault(behaviour.folder, set()).add(behaviour.grader_id)
    for folder, ids in graders.items():
        if all(grader.startswith("keywords@") for grader in ids):
            raise BenchmarkError(
                f"{folder} was graded by keywords alone, a baseline that gives no number to report: grade the replies with "
                f"another grader too (casewise replies grade {folder} --grader rubric:MODEL), or give people's labels of some of "
                "them (--grader-labels)"
            )


def notes_of(runs: JudgedRuns, options: ReportOptions) -> tuple[str, ...]:
    said = [*runs.benchmark.notes(), *labels_notes(options.grader_labels)]
    said += runs.silent_notes
    for path in runs.paths:
        if out := sum(len(job.intended.names) for job in JobLog.read(path).jobs.values() if job.unsettled):
            said.append(
                f"{path.name} is not complete: {out:,} calls are out over a batch interface, and this is of what has come. "
                "The command that handed them over collects them."
            )
    for series in runs.series:
        n, asked = len(series.asked), int(series.asked.sum())
        if asked < n:
            said.append(f"{series.name} was asked {asked} of {n} items; its numbers are over those.")
        if series.elicitation == "scalar" and options.fit_thresholds:
            said.append(f"{series.name}: verdicts by thresholds fitted on other queries, for the fewest errors there.")
        if len(series.versions) > 1:
            said.append(f"{series.name}: the model's version changed within the run ({', '.join(series.versions)}).")
    ablated = [series.name for series in runs.series if not series.shown.shows_all]
    return (*said, *against_full_context(ablated, runs.items), *runs.judges_notes)
