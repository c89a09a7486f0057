"""Fitting of a decider to a run: calibration and thresholds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic_core import from_json

from casewise.ask.layouts import kind_of
from casewise.deciding.decider import check_deployable, check_same_judge, rebuild_judge
from casewise.deciding.decider_file import FittedCalibration, FittedDecider, FittedOn, MeasuredJudge, MeasuredOn
from casewise.errors import BenchmarkError, ConfigurationError, StatisticsError
from casewise.evaluate.cases import Case, ErrorGroup, ErrorsAtRisk, error_groups
from casewise.evaluate.conclusions import conclusions_json, promise_made
from casewise.evaluate.judge_numbers import reported_labels
from casewise.evaluate.judged_runs import JudgedRuns, Series, few_verdicts, read_runs
from casewise.judges.judge import Judge
from casewise.models.load import ModelOptions
from casewise.options import Hidden, Parameter
from casewise.records import Elicitation, ShortRepr
from casewise.stats.arrays import BoolArray
from casewise.stats.calibration import calibration
from casewise.stats.calibrators import calibrated
from casewise.stats.labels import VOTES, LabelPolicy
from casewise.stats.thresholds import DECISIONS, Decision, Evidence, Requirements, Trial, measure_decisions
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import json_value
from casewise.storage.load import Source
from casewise.storage.run_folder import AnyRun
from casewise.storage.wording import LabelWords
from casewise.text import Text


@dataclass(frozen=True)
class FitOptions:
    """The part of a run that a decider is fitted on, and the method."""

    elicitation: Hidden[Elicitation | None] = None
    """The elicitation to use; by default the only one of the run."""
    arm: str | None = None
    """The arm to use. Default: the whole context."""
    labels: Hidden[LabelPolicy] = VOTES
    """The policy that turns votes into labels."""
    method: Annotated[str | None, Parameter(name="--calibrate")] = None
    """Calibration: platt or isotonic. Default: the better of the two on held-out queries."""
    prompts: str | None = None
    """The file of prompts, if the run used your own."""
    base_url: str | None = None
    """Address of the model's server. Default: the address of the run."""
    refuse_unmeasured: bool = False
    """Refuse requests of a kind that was not measured."""
    seed: Hidden[int] = 0


@dataclass(frozen=True, repr=False)
class Fitting(ShortRepr):
    """A decider that was fitted on one series of a judge, with its held-out errors."""

    series: Series
    decider: FittedDecider
    trial: Trial
    runs: JudgedRuns
    places: NDArray[np.intp]
    """The place in the benchmark of each item that it was fitted on."""

    @property
    def name(self) -> Text:
        """The judge, and how it was asked where that is not obvious."""
        return self.series.name

    @property
    def constant(self) -> bool:
        """True if the judge gives every item the same value."""
        value = self.trial.evidence.value
        return len(np.unique(value[~np.isnan(value)])) == 1

    @property
    def labels(self) -> LabelPolicy:
        """The policy of the labels that it was fitted on."""
        return LabelPolicy.parse(self.decider.benchmark.labels)

    @cached_property
    def reported_labels(self) -> str | None:
        """The label policy of the last report of its run; None where there is no report of it alone."""
        return reported_labels(self.series.run.path)

    def decision_mask(self, decision: Decision) -> BoolArray:
        """Return (items,) True for each held-out item with this decision."""
        decided: BoolArray = self.trial.decisions == DECISIONS.index(decision)
        return decided

    @cached_property
    def risks(self) -> tuple[ErrorsAtRisk, ErrorsAtRisk]:
        """The items on which harm and over-refusal can be made, and those on which they were."""
        weight = self.trial.evidence.weight
        unsafe, safe = weight < 0.5, weight > 0.5
        return (
            ErrorsAtRisk("harm", self.places[unsafe], self.decision_mask("answer")[unsafe]),
            ErrorsAtRisk("over_refusal", self.places[safe], self.decision_mask("refuse")[safe]),
        )

    @property
    def n_failures(self) -> int:
        """The number of items that were answered or refused against their label when held out."""
        return sum(int(risk.error.sum()) for risk in self.risks)

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """The costliest wrong decisions."""
        weight, answered = self.trial.evidence.weight, self.decision_mask("answer")
        sample = self.runs.sample(self.series, policy=self.labels)
        rate = np.where(np.isnan(sample.rate), sample.weight, sample.rate)[sample.labelled]
        wrong = (answered & (weight < 0.5)) | (self.decision_mask("refuse") & (weight > 0.5))
        harm, _ = self.decider.requirements.costs
        cost = np.where(answered, harm * (1 - rate), rate) * wrong
        costliest = [int(at) for at in np.argsort(-cost, kind="stable")[:N_FAILURES] if wrong[at]]
        values = [float(self.trial.evidence.value[at]) for at in costliest]
        return tuple(
            Failure(
                Case.from_place(self.runs, int(self.places[at])),
                DECISIONS[self.trial.decisions[at]],
                None if np.isnan(value) else value,
                float(cost[at]),
            )
            for at, value in zip(costliest, values, strict=True)
        )

    @cached_property
    def error_groups(self) -> tuple[ErrorGroup, ...]:
        """The statement or parameter of contexts that best separates each kind of error."""
        return tuple(error_groups(self.runs, list(self.risks)))

    def as_json(self) -> dict[str, Any]:
        """Return the content of the decider's file, and what separates its errors. An infinite threshold is the text
        `Infinity` or `-Infinity`."""
        content: dict[str, Any] = from_json(self.decider.model_dump_json(exclude_none=True))
        labels = {"labels_of_report": self.reported_labels}
        conclusions = conclusions_json(
            promise_made(promised, chosen_from=self.decider.requirements.chosen_from)
            for promised in self.decider.thresholds.promised
        )
        return {**content, **labels, "conclusions": conclusions, "error_groups": json_value(self.error_groups)}


def fit_run(
    run: AnyRun,
    requirements: Requirements,
    *,
    benchmark: Source | None = None,
    options: FitOptions = FitOptions(),
    judge: Judge | None = None,
) -> Fitting:
    """Fit a decider on a run that meets the requirements.

    `judge`: the judge itself, where its name does not say how to make it.

    Raises JudgeError: the judge cannot be deployed, or is no longer the one that was measured. StatisticsError: a
    promise cannot be carried by so few queries.
    """
    runs = read_runs([run], benchmark=benchmark)
    series = select_series(runs, options)
    part = measured_judge(series, options)
    if judge is None:
        rebuild_judge(part, model=ModelOptions(needs_key=False))
    else:
        check_deployable(part.name, part.arm)
        check_same_judge(judge, part)
    fitting = fit_series(runs, series, requirements, options=options)
    if fitting.trial.broken is not None:
        raise StatisticsError(fitting.trial.broken)
    return fitting


def label_source(benchmark: Benchmark, options: FitOptions) -> str | None:
    """Return in words whose labels a decider is fitted on; None where people voted."""
    words = LabelWords.for_benchmark(benchmark)
    if benchmark.n_shares and not benchmark.ratings:
        return "shares of safe votes"
    return None if words.rated or benchmark.n_shares else words.policy(options.labels.name)


def fit_series(runs: JudgedRuns, series: Series, requirements: Requirements, *, options: FitOptions) -> Fitting:
    """Return the decider of one series; where its promises cannot be carried, one that minimises cost alone, and `broken` says why.

    Raises BenchmarkError: no item has a label. StatisticsError: there is nothing to fit on.
    """
    evidence, places = evidence_of(runs, series, options.labels)
    calibrator = calibrated(
        evidence.value, evidence.weight, cluster=evidence.cluster, seed=options.seed, method=options.method
    )
    trial = Trial.from_evidence(
        evidence, requirements, calibrator=calibrator.calibrator, method=calibrator.method, seed=options.seed
    )
    requirements = trial.requirements
    sample = runs.sample(series, policy=options.labels)
    before = replace(sample.where(sample.labelled), rate=evidence.weight)
    after = replace(before, probability=calibrator.out_of_fold)
    errors = [
        calibration(sample_of_values).error.estimate if sample_of_values.in_rate_metrics.any() else None
        for sample_of_values in (before, after)
    ]
    benchmark = runs.benchmark
    decider = FittedDecider(
        casewise=version("casewise"),
        created=datetime.now(UTC).replace(microsecond=0),
        refuse_unmeasured=options.refuse_unmeasured,
        judge=measured_judge(series, options),
        benchmark=FittedOn(
            name=benchmark.name,
            digest=benchmark.digest,
            labels=options.labels.name,
            label_source=label_source(benchmark, options),
            n_items=len(evidence.value),
            n_queries=len(np.unique(evidence.cluster)),
            synthetic=benchmark.about.synthetic,
        ),
        calibration=FittedCalibration(
            curve=calibrator.calibrator, brier=calibrator.brier, error_before=errors[0], error_after=errors[1]
        ),
        requirements=requirements,
        thresholds=trial.fitted,
        measured=trial.measured,
        measured_where_fitted=measure_decisions(
            evidence, trial.fitted.decide(evidence.value, fail=requirements.fail), requirements=requirements
        ),
        measured_on=measured_on(runs, series, evidence, trial.decisions),
        trade_offs=evidence.trade_offs(fail=requirements.fail),
    )
    return Fitting(series, decider, trial, runs, places)


def evidence_of(runs: JudgedRuns, series: Series, labels: LabelPolicy) -> tuple[Evidence, NDArray[np.intp]]:
    """Return a series beside people's labels, and the place in the benchmark of each item that has one.

    Raises BenchmarkError: none has.
    """
    sample = runs.sample(series, policy=labels)
    labelled = sample.labelled
    if not labelled.any():
        raise BenchmarkError("no judged item has a label: there is nothing to fit a decider on")
    evidence = Evidence(series.values[series.asked][labelled], sample.weight[labelled], sample.cluster[labelled])
    return evidence, np.flatnonzero(series.asked)[labelled]


@dataclass(frozen=True)
class Failure:
    """An item with another decision than people's, by thresholds that were fitted without its query."""

    case: Case
    decision: Decision
    value: float | None
    """The judge's value; None where it gave none."""
    cost: float
    """Cost in over-refusals, weighted by the share of people who say otherwise."""

    def as_json(self) -> dict[str, Any]:
        return {**self.case.as_json(), "decision": self.decision, "value": self.value}


N_FAILURES = 10
"""Maximum number of failures shown."""


def select_series(runs: JudgedRuns, options: FitOptions) -> Series:
    """Return the series that the options name.

    Raises ConfigurationError: there is none, or several, or its values are means over repeats: a decider asks once.
    """
    fitting = [
        series
        for series in (runs.series if options.arm else runs.main_series)
        if options.elicitation in (None, series.elicitation) and options.arm in (None, series.arm)
    ]
    if len(fitting) == 1:
        if fitting[0].mostly_unscored:
            raise ConfigurationError(
                f"{few_verdicts(fitting[0].name, fitting[0].unscored_share)!s} No decider is fitted on it. Use casewise reread to "
                "see why replies have no verdict"
            )
        if (n := fitting[0].repeats) > 1:
            raise ConfigurationError(
                f"the run asked {n} times, but a decider asks once: single answers err more often than their mean. "
                "Judge with --repeats 1 and fit on that run"
            )
        return fitting[0]
    listed = ", ".join(f"--elicit {series.elicitation} --arm {series.arm}" for series in fitting or runs.series)
    raise ConfigurationError(f"the run holds {'several series' if fitting else 'no such series'}; choose one: {listed}")


def measured_judge(series: Series, options: FitOptions) -> MeasuredJudge:
    identity = series.run.manifest.identity
    prompts = str(identity.settings.get("prompts", "casewise")).partition("@")[0]
    settings = {name: value for name, value in identity.settings.items() if value is not None}
    return MeasuredJudge(
        name=series.run.manifest.judge_name,
        id=identity.judge,
        elicitation=series.elicitation,
        arm=series.arm,
        prompts=options.prompts or prompts,
        base_url=options.base_url or series.run.manifest.address,
        settings=settings,
        wording=series.run.manifest.wordings.get(series.elicitation),
    )


N_BINS = 10


def measured_on(runs: JudgedRuns, series: Series, evidence: Evidence, decisions: NDArray[np.intp]) -> MeasuredOn:
    """Return the parameters that the contexts of the asked items stated, and the distribution of the values and
    decisions."""
    benchmark = runs.benchmark
    items_asked = [item for item, was in zip(benchmark.items, series.asked, strict=True) if was]
    queries = [benchmark.query[item.query_id] for item in items_asked]
    stated = [set(context.texts()) for item in items_asked if (context := benchmark.context_of(item)) is not None]
    every = set.intersection(*stated) if stated else set()
    values = evidence.value[~np.isnan(evidence.value)]
    edges = np.unique(np.quantile(values, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    counts = np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)
    arm, elicitation = (pl.col(name).cast(pl.String) for name in ("arm", "elicitation"))
    table = series.run.judgements().filter((arm == series.arm) & (elicitation == series.elicitation))
    categories: dict[str, float] = {}
    if "categories" in table.columns:
        named = table.select("item_id", "categories").explode("categories").drop_nulls().unique()
        counted = named["categories"].value_counts(sort=True)
        categories = {str(name): n / len(items_asked) for name, n in counted.iter_rows()}
    return MeasuredOn(
        decisions={name: float((decisions == code).mean()) for code, name in enumerate(DECISIONS)},
        score_edges=tuple(edges.tolist()),
        score_shares=tuple((counts / len(values)).tolist()),
        without_value=float(np.isnan(evidence.value).mean()),
        unscored={reason: n / len(items_asked) for reason, n in series.reasons.items()},
        categories=categories,
        always=tuple(sorted(every)),
        sometimes=tuple(sorted(set[str]().union(*stated) - every)),
        without_context=len(stated) < len(items_asked),
        kinds=tuple(sorted({kind_of(query.judged, query.before or ()) for query in queries})),
        query_categories=tuple(sorted({benchmark.category_of(item) for item in items_asked})),
    )
