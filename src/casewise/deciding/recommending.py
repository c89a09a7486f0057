"""Recommendation of one of several judges, with its threshold, and a test whether any is good enough to deploy."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from casewise.deciding.decider import NotDeployable, check_deployable, rebuild_judge
from casewise.deciding.fitting import FitOptions, Fitting, fit_series
from casewise.errors import CasewiseError, ConfigurationError, StatisticsError
from casewise.evaluate.conclusions import CHEAPER, Conclusion, compared, conclusions_json, promise_made, promise_refused
from casewise.evaluate.judged_runs import JudgedRuns, Series, read_runs
from casewise.evaluate.yardsticks import ReferenceScores
from casewise.models.load import ModelOptions
from casewise.notation import hyphened, percent
from casewise.records import FULL, ShortRepr
from casewise.stats.calibrators import calibrated
from casewise.stats.estimates import Estimate, difference_of, estimate_of, influence_of_difference
from casewise.stats.judge_power import further_queries
from casewise.stats.labels import VOTES
from casewise.stats.measured import Measured
from casewise.stats.thresholds import (
    DECISIONS,
    Decision,
    LossCurve,
    PromiseKind,
    Requirements,
    RiskPromise,
    Trial,
    cheapest_trial,
    fewest_queries,
    queries_at,
    rates,
)
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import json_fields, json_value
from casewise.storage.load import Source
from casewise.storage.run_folder import AnyRun

# Judges are tried on the same queries, each with promises and intervals made for the best of so many, so that both hold for
# whichever is chosen, for whatever reason. Choosing on one half of the queries and promising on the other holds too, and
# promises less: `python -m benchmarks.coverage recommended` measures both.

AlternativeName = Literal[
    "refusing everything", "answering everything", "asking a person about everything", "words alone"
]

CONSTANTS: dict[Decision, AlternativeName] = {
    "refuse": "refusing everything",
    "answer": "answering everything",
    "ask": "asking a person about everything",
}


@dataclass(frozen=True, repr=False)
class Alternative(ShortRepr):
    """An alternative without a judge: one decision for everything, or a classifier of words. The classifier's
    thresholds are fitted in the same way."""

    name: AlternativeName
    cost: Estimate
    saved: Estimate
    """Its mean cost less that of the best judge: above 0 where the judge is better."""
    more_queries: int | None
    """About how many more queries would tell the difference in four of five benchmarks if it stays as it is; None where the
    judge is no better, or is told apart already, or where these queries say too little of how much queries differ."""

    def conclusion(self, judge: str) -> Conclusion:
        """Return whether the judge costs less or more than this alternative, or whether that is unknown."""
        return compared(judge, self.name, self.saved, words=CHEAPER)

    @property
    def beaten(self) -> bool:
        """True if the judge is shown to cost less."""
        return self.conclusion("").kind == "better" and self.conclusion("").holds

    @property
    def better(self) -> bool:
        """True if the judge is shown to cost more."""
        return self.conclusion("").fails


@dataclass(frozen=True)
class Need:
    """The evidence needed for a promise that is not made."""

    promise: RiskPromise
    rate: float
    """The error's mean over held-out queries, by the thresholds that are recommended."""
    n_queries: int
    """Queries with an item on which the error can be made."""
    fewest: int
    """Number of queries that carry the promise where none of them has an error."""
    at_this_rate: int | None
    """Estimated number of queries that carry it where the error stays at this rate; None where no number is enough."""

    @property
    def more_queries(self) -> int | None:
        """Estimated number of further queries that are needed; None if no number is enough."""
        return None if self.at_this_rate is None else max(self.at_this_rate - self.n_queries, 0)

    def as_json(self) -> dict[str, Any]:
        needed = {"kind": self.promise.kind, "at_most": self.promise.at_most, "more_queries": self.more_queries}
        return needed | json_fields(self, without=("promise",))


LIMITS = (0.1, 0.05, 0.02, 0.01)
"""Limits of promises for which the number of queries needed is reported."""


@dataclass(frozen=True, repr=False)
class Recommendation(ShortRepr):
    """The judge to deploy on a benchmark's evidence, with what it costs and what it cannot promise."""

    runs: JudgedRuns
    requirements: Requirements
    """The aims asked for, with `chosen_from` at least the number of judges."""
    candidates: tuple[Fitting, ...]
    """The chosen one, then the others by held-out cost."""
    alternatives: tuple[Alternative, ...]
    why_no_words: str | None
    """The reason why there is no classifier of words to compare with; None where there is one."""
    shown_to_fail: bool
    """True if each judge is shown to cost more than something that needs no judge."""
    left_out: dict[str, str]
    """Judges that no decider can be made of, with the reason."""
    problem: str | None
    """The reason why the chosen judge cannot be made anew from its name here; None where it can."""
    benchmark_given: str | None = None
    """The value of `--benchmark`."""

    @classmethod
    def from_runs(
        cls,
        judged: Sequence[AnyRun],
        requirements: Requirements,
        *,
        benchmark: Source | None = None,
        options: FitOptions = FitOptions(),
    ) -> Self:
        """Try every judge of these runs, and choose.

        Raises ConfigurationError: no decider can be made of any of them. StatisticsError: there is nothing to fit on.
        """
        runs = read_runs(judged, benchmark=benchmark)
        series, left_out = deployable_series(runs)
        if not series:
            reasons = "; ".join(f"{name!s}: {why!s}" for name, why in left_out.items())
            raise ConfigurationError(f"no decider can be made of any of these judges ({reasons})")
        requirements = replace(requirements, chosen_from=max(requirements.chosen_from, len(series)))
        fittings = {judged.name: fit_series(runs, judged, requirements, options=options) for judged in series}
        chosen = cheapest_trial({name: candidate.trial for name, candidate in fittings.items()})
        order = sorted(
            fittings.values(),
            key=lambda fitting: (fitting.name != chosen, fitting.trial.broken is not None, fitting.trial.cost.value),
        )
        reference_scores = ReferenceScores(runs.benchmark, options.seed)
        of_best, *of_others = (
            tuple(compare_alternatives(candidate, reference_scores, requirements, seed=options.seed))
            for candidate in order
        )
        try:
            rebuild_judge(order[0].decider.judge, model=ModelOptions(needs_key=False))
            problem = None
        except CasewiseError as error:
            problem = str(error)
        return cls(
            runs=runs,
            requirements=requirements,
            candidates=tuple(order),
            alternatives=of_best,
            shown_to_fail=all(
                any(alternative.better for alternative in of_judge) for of_judge in (of_best, *of_others)
            ),
            why_no_words=reference_scores.subject.why_no_baseline,
            left_out=left_out,
            problem=problem,
            benchmark_given=None if benchmark is None or isinstance(benchmark, Benchmark) else str(benchmark),
        )

    @property
    def best(self) -> Fitting:
        """The judge with the lowest held-out cost; if any judge keeps the promises, the best of those that do."""
        return self.candidates[0]

    @property
    def good_enough(self) -> bool:
        """True if the best judge keeps the promises and is shown to cost less than every alternative without a judge."""
        return self.best.trial.broken is None and all(alternative.beaten for alternative in self.alternatives)

    @property
    def comparisons(self) -> tuple[Conclusion, ...]:
        """Whether the best judge costs less than each alternative."""
        return tuple(alternative.conclusion(self.best.name) for alternative in self.alternatives)

    @property
    def conclusions(self) -> tuple[Conclusion, ...]:
        """The comparisons, and what the best judge promises or does not."""
        trial = self.best.trial
        promises = (
            [promise_refused(promise, trial.broken) for promise in self.requirements.promises]
            if trial.broken is not None
            else [
                promise_made(promised, chosen_from=self.requirements.chosen_from) for promised in trial.fitted.promised
            ]
        )
        return (*self.comparisons, *promises)

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """Promises that are not made, by kind from the loosest to the strictest."""
        return tuple(needs(self.best.trial, self.requirements))

    @property
    def commands(self) -> tuple[str, ...]:
        """Commands that fit this decider and serve it; none where the judge cannot be made anew."""
        return () if self.problem else tuple(commands(self))

    def as_json(self) -> dict[str, Any]:
        best, file = self.best, self.best.decider
        limits = {name: getattr(file.thresholds, name) for name in ("answer_above", "refuse_up_to")}
        return {
            "benchmark": self.runs.benchmark.stated,
            "good_enough": self.good_enough,
            "shown_to_fail": self.shown_to_fail,
            "conclusions": conclusions_json(self.conclusions),
            "judge": best.name,
            "run": str(best.series.run.path),
            # The ends of the scale are texts, as in a decider: JSON has no infinity.
            **{name: {np.inf: "Infinity", -np.inf: "-Infinity"}.get(limit, limit) for name, limit in limits.items()},
            "requirements": vars(file.requirements) | {"promises_kept": best.trial.broken is None},
            "promised": [
                {**vars(promised.promise), "loss": promised.loss, "n_queries": promised.n_queries}
                for promised in file.thresholds.promised
            ],
            "why_not_promised": best.trial.broken,
            "measured": {estimate.name: estimate.fields() for estimate in file.measured.estimates},
            "candidates": [
                {
                    "judge": candidate.name,
                    "run": str(candidate.series.run.path),
                    "cost": estimate_of(candidate.trial.cost, level=self.requirements.interval_level).fields(),
                    **estimate_fields(candidate.decider.measured, "harm", "over_refusal", "asked"),
                    "why_not_promised": candidate.trial.broken,
                }
                for candidate in self.candidates
            ],
            "alternatives": [
                {
                    **json_fields(alternative),
                    "beaten": alternative.beaten,
                    **estimate_fields(alternative, "cost", "saved"),
                }
                for alternative in self.alternatives
            ],
            "why_no_words": self.why_no_words,
            "not_promised": json_value(self.needs),
            "labels": file.benchmark.labels,
            "labels_of_report": best.reported_labels,
            "failures": json_value(best.failures),
            "error_groups": json_value(best.error_groups),
            "left_out": {str(name): why for name, why in self.left_out.items()},
            "problem": self.problem,
            "commands": list(self.commands),
        }


def estimate_fields(numbers: object, *names: str) -> dict[str, dict[str, Any]]:
    return {name: getattr(numbers, name).fields() for name in names}


def deployable_series(runs: JudgedRuns) -> tuple[list[Series], dict[str, str]]:
    """Return the series that a decider can be made of, and the reasons against the others."""
    series: list[Series] = []
    left_out: dict[str, str] = {}
    for judged in runs.main_series:
        name = judged.run.manifest.judge_name
        try:
            check_deployable(name, judged.arm)
        except NotDeployable as error:
            left_out[judged.name] = error.reason
            continue
        if judged.run.behaviour is not None:
            left_out[judged.name] = "these are a chatbot's replies; a decider decides on requests"
        elif judged.repeats > 1:
            left_out[judged.name] = (
                f"it was asked {judged.repeats} times, but a decider asks once: judge with --repeats 1"
            )
        elif judged.mostly_unscored:
            left_out[judged.name] = f"it gave no value on {percent(judged.unscored_share)} of items"
        else:
            series.append(judged)
    return series, left_out


def compare_alternatives(
    judge: Fitting, reference_scores: ReferenceScores, requirements: Requirements, *, seed: int
) -> Iterator[Alternative]:
    """Yield each alternative that keeps the same promises as the judge, with the comparison."""
    evidence, trial = judge.trial.evidence, judge.trial
    keeps_promises = trial.broken is None
    for decision, name in CONSTANTS.items():
        broken = {"answer": {"harm"}, "refuse": {"over_refusal", "needless_ask"}, "ask": {"needless_ask"}}[decision]
        breaks = any(promise.kind in broken for promise in requirements.promises)
        asks = requirements.ask_cost is not None or len(requirements.promises) > 1
        if (keeps_promises and breaks) or (decision == "ask" and not asks):
            continue
        always = np.full(len(evidence.value), DECISIONS.index(decision), dtype=np.intp)
        yield compare_alternative(
            name, rates(evidence, always, requirements=requirements)["cost"], trial.cost, requirements
        )
    subject = reference_scores.subject
    read = subject.words_read[judge.places]
    if subject.why_no_baseline is not None or not read.any():
        return
    read_evidence = evidence.where(read)
    words = replace(read_evidence, value=reference_scores.words[judge.places][read])
    priced = requirements if keeps_promises else requirements.without_promises
    try:
        learnt = calibrated(words.value, words.weight, cluster=words.cluster, seed=seed)
        trial_of_words = Trial.from_evidence(
            words, priced, calibrator=learnt.calibrator, method=learnt.method, seed=seed
        )
    except StatisticsError:
        return
    cost = trial.cost if read.all() else rates(read_evidence, trial.decisions[read], requirements=requirements)["cost"]
    yield compare_alternative("words alone", trial_of_words.cost, cost, requirements)


def compare_alternative(
    name: AlternativeName, cost: Measured, judge: Measured, requirements: Requirements
) -> Alternative:
    level = requirements.interval_level
    saved = difference_of(cost, judge, level=level)
    more = None
    if saved.estimate and saved.estimate > 0 and (saved.ci_low is None or saved.ci_low <= 0):
        n = min(cost.at_risk, judge.at_risk)
        more = further_queries(saved.estimate, influence_of_difference(cost, judge), n, level=level)
    return Alternative(name, estimate_of(cost, level=level), saved, more)


def needs(trial: Trial, requirements: Requirements) -> Iterator[Need]:
    """Yield each kind of promise at each limit that the thresholds do not promise already."""
    level = (
        None
        if requirements.level is None
        else 1 - (1 - requirements.level) / (max(len(requirements.promises), 1) * requirements.chosen_from)
    )
    limits: dict[PromiseKind, float | None] = {
        "harm": requirements.max_harm,
        "over_refusal": requirements.max_over_refusal,
    }
    for kind, limit in limits.items():
        curve = LossCurve.from_evidence(trial.evidence, kind, unscored_errs=False)
        if not curve.n_queries:
            continue
        wrong = trial.decisions == DECISIONS.index("answer" if kind == "harm" else "refuse")
        at_risk, query = trial.evidence.of_kind(kind), np.unique(trial.evidence.cluster, return_inverse=True)[1]
        items, errors = np.bincount(query, weights=at_risk), np.bincount(query, weights=at_risk * wrong)
        rate = float((errors[items > 0] / items[items > 0]).mean())
        promised = limit if trial.broken is None and limit is not None else np.inf
        for at_most in sorted({*LIMITS, limit or LIMITS[0]}, reverse=True):
            if at_most < promised:
                promise = RiskPromise(kind, at_most, level)
                at_rate = queries_at(promise, rate, whole=curve.whole)
                yield Need(promise, rate, curve.n_queries, fewest_queries(promise), at_rate)


def commands(recommended: Recommendation) -> Iterator[str]:
    """Yield the command that fits the recommended decider, and the one that serves it."""
    best, requirements = recommended.best, recommended.best.decider.requirements
    words = ["casewise", "decider", "fit", str(best.series.run.path)]
    own_series = [series for series in recommended.runs.main_series if series.run is best.series.run]
    if len(own_series) > 1:
        words += ["--elicit", best.series.elicitation]
    if best.series.arm != FULL.name and len({series.arm for series in own_series}) > 1:
        words += ["--arm", best.series.arm]
    for name, value in vars(requirements).items():
        if value not in (getattr(Requirements, name), None):
            words += [f"--{hyphened(name)}", value if isinstance(value, str) else f"{value:g}"]
    words += ["--on-average"] if requirements.level is None else []
    if best.labels != VOTES:
        words += ["--labels", best.labels.name]
    if recommended.benchmark_given is not None:
        words += ["--benchmark", recommended.benchmark_given]
    yield shlex.join(words)
    yield "casewise serve decider.json"
