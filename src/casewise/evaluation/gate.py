"""The gate: one run held against another on the same items, for anyone's continuous integration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from casewise.errors import BenchmarkError, ConfigurationError, ExitCode, did_you_mean
from casewise.evaluation.judged_runs import JudgedRun, JudgedRuns, Series, read_runs
from casewise.evaluation.options import ReportOptions
from casewise.evaluation.subsets import as_wanted, subset_notes
from casewise.records import ShortRepr
from casewise.stats.agreeing.gate import GATED, Decision, Gate, MetricGate, gate
from casewise.stats.agreeing.sample import UnscoredPolicy
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.runs.run_folder import asked_so, last_session
from casewise.storage.runs.sampling_file import refuse_sampled

__all__ = ["EXIT_CODES", "GateReport", "gate_runs", "parse_margins", "parse_named"]

EXIT_CODES: dict[Decision, ExitCode] = {
    "pass": ExitCode.DONE,
    "fail": ExitCode.NO,
    "inconclusive": ExitCode.CANNOT_TELL,
}
"""What the command ends with."""

WORTH: dict[UnscoredPolicy, str] = {
    "miss": "each counts as wrong",
    "exclude": "they are left out",
    "published": "each is worth what the release's scripts make of it",
}


@dataclass(frozen=True, repr=False)
class GateReport(ShortRepr):
    """A gate, and which runs and items it is about."""

    run: str
    baseline: str
    benchmark: str
    digest: str
    labels: str
    unscored: UnscoredPolicy
    found: Gate
    left_out: int
    """Items that only one of the two was asked; they are not compared."""
    missing: int
    """Those of them that the run was not asked: it has not finished its plan, and cannot be let through."""
    unfinished: tuple[str, ...]
    """Which of `run` and `baseline` was not asked all of its own plan: items, repeats, elicitations, arms."""
    nothing_scored: bool
    """Whether not one item of the run has a verdict or a value: it may fail, and nothing lets it through."""
    notes: tuple[str, ...]

    @property
    def finished(self) -> bool:
        """Whether both were asked all that they should have been."""
        return not self.missing and not self.unfinished

    @property
    def decision(self) -> Decision:
        """What the metrics say together; nothing where one has not finished, or the run was not asked all that the baseline was."""
        says = self.found.decision
        return says if self.finished and not (self.nothing_scored and says == "pass") else "inconclusive"

    @property
    def exit_code(self) -> ExitCode:
        """What the command ends with."""
        return EXIT_CODES[self.decision]

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "decision": self.decision,
            "run": self.run,
            "baseline": self.baseline,
            "benchmark": self.benchmark,
            "digest": self.digest,
            "labels": self.labels,
            "unscored_policy": self.unscored,
            "n_items": self.found.n_items,
            "n_queries": self.found.n_queries,
            "left_out": self.left_out,
            "missing": self.missing,
            "unfinished": list(self.unfinished),
            "metrics": [{**asdict(m), "decision": m.decision} for m in self.found.metrics],
            "notes": list(self.notes),
        }

    def sentence(self) -> str:
        """What the decision means."""
        if self.unfinished:
            return (
                f"Not finished: the {' and the '.join(self.unfinished)} was not asked all that its plan has, and what it was "
                "asked cannot speak for the rest. The same command goes on with it."
            )
        if self.missing:
            return (
                f"The run has not finished: it was not asked {self.missing:,} items that the baseline was asked, and the "
                "others cannot speak for them. Go on with it, or hold it against a run over the same items."
            )
        if self.nothing_scored:
            return "Not one item of the run has a verdict: nothing was scored, so that nothing lets it through."
        if self.found.decision == "pass":
            return "Every upper bound is under what is allowed: the run is not worse by more than that."
        if self.found.decision == "fail":
            names = ", ".join(m.name for m in self.found.metrics if m.decision == "fail")
            return f"The run is worse by more than is allowed in {names}: even the lower bound is over it."
        open_ = [m for m in self.found.metrics if m.decision == "inconclusive"]
        told = "; ".join(f"{m.name}: {m.detectable:.3f}" for m in open_)
        return (
            "These items cannot tell. A drop that would have been told from none in four of five such tests is, for "
            f"{told}. Judge more items, or allow more."
        )


def gate_runs(
    run: Path,
    baseline: Path,
    *,
    margins: Mapping[str, float],
    benchmark: str | Path | Benchmark | None = None,
    options: ReportOptions = ReportOptions(),
) -> GateReport:
    """Hold the run in one folder against that in another, on the items that both were asked.

    Raises BenchmarkError: the runs are over different benchmarks, or share no items. ConfigurationError: they were not
    asked alike, so there is no telling which answers to compare.
    """
    refuse_sampled((baseline, run))
    every = read_runs([baseline, run], benchmark=benchmark)
    runs = as_wanted(every, options)
    held = held_against(runs, same=run.resolve() == baseline.resolve())
    metrics: list[MetricGate] = []
    for called, (before, after) in held.items():
        both = before.asked & after.asked
        if not both.any():
            raise BenchmarkError(f"{run} and {baseline} were asked no item in common")
        samples = [
            runs.sample(one, policy=options.labels, unscored=options.unscored).where(both[one.asked])
            for one in (before, after)
        ]
        found = gate(samples[0], samples[1], margins=margins, n_tests=len(held) * len(margins))
        metrics += [replace(one, name=f"{one.name}{called}") for one in found.metrics]
    return GateReport(
        run=after.name if len(held) == 1 else after.who,
        baseline=before.name if len(held) == 1 else before.who,
        benchmark=runs.benchmark.name,
        digest=runs.benchmark.digest,
        labels=options.labels.name,
        unscored=options.unscored,
        found=replace(found, metrics=tuple(metrics)),
        left_out=int((before.asked ^ after.asked).sum()),
        missing=int((before.asked & ~after.asked).sum()),
        unfinished=tuple(
            name for name, path in (("run", run), ("baseline", baseline)) if short_of_its_plan(every, path)
        ),
        nothing_scored=all(after.silent for _, after in held.values()),
        notes=(*notes(runs, before, after, options), *subset_notes(options.items)),
    )


def short_of_its_plan(runs: JudgedRuns, path: Path) -> bool:
    """Whether no series of a run was asked as many items as its last plan has, or one not as often on the whole."""
    last, series = last_session(path), [one for one in runs.series if one.run.path == path]
    if last is None or last.planned_items is None:
        return False
    held = {asked_so(one.elicitation, one.arm): one.n_judged for one in series}
    return last.planned_items > max(int(one.asked.sum()) for one in series) or any(
        held.get(way, 0) < wanted for way, wanted in (last.planned_asks or {}).items()
    )


def held_against(runs: JudgedRuns, *, same: bool) -> dict[str, tuple[Series, Series]]:
    """The answers of the baseline and of the run, by what tells them from others of the two: nothing of judges.

    A chatbot's replies are held against each other by each grader that graded both, and by each of the two policies: what is let
    through is so whatever a partial answer counts as.
    """
    every, first = runs.runs, runs.runs[0].path
    n_first = len(every) // 2 if same else sum(one.path == first for one in every)
    before, after = (
        {(one.policy or "", one.behaviour.grader_id) if one.behaviour else ("", ""): one for one in side}
        for side in (every[:n_first], every[n_first:])
    )
    kinds = [kind for kind in before if kind in after]
    if not kinds:
        raise ConfigurationError(
            f"{first} and {every[-1].path} cannot be held against each other: both have to be judges' runs, or replies that "
            "one and the same grader graded"
        )
    graders = {grader for _, grader in kinds}
    return {
        called(policy, grader, several=len(graders) > 1): the_two(runs, before[policy, grader], after[policy, grader])
        for policy, grader in kinds
    }


def called(policy: str, grader: str, *, several: bool) -> str:
    return f" ({policy}{f', by {grader}' if several else ''})" if policy else ""


def the_two(runs: JudgedRuns, baseline: JudgedRun, run: JudgedRun) -> tuple[Series, Series]:
    """The answers to compare, of the baseline and of the run: those asked the same way in both."""
    first, second = (
        [replace(one, judge=of.manifest.judge_name) for one in runs.series if one.run is of] for of in (baseline, run)
    )
    if len(first) == len(second) == 1:
        return first[0], second[0]
    alike = [(a, b) for a in first for b in second if (a.elicitation, a.arm) == (b.elicitation, b.arm)]
    if len(alike) != 1:
        listed = "; ".join(f"{of[0].run.path}: {', '.join(one.name for one in of)}" for of in (first, second))
        what = "no elicitation and arm" if not alike else f"{len(alike)} elicitations and arms"
        raise ConfigurationError(f"the two runs share {what} ({listed}); run them with one and the same")
    return alike[0]


def notes(runs: JudgedRuns, before: Series, after: Series, options: ReportOptions) -> tuple[str, ...]:
    said = [f"SYNTHETIC DATA: {runs.benchmark.about.synthetic}"] if runs.benchmark.about.synthetic else []
    if (before.elicitation, before.arm) != (after.elicitation, after.arm):
        said.append(f"The two were not asked alike: {before.name} and {after.name}.")
    if left_out := int((before.asked ^ after.asked).sum()):
        said.append(f"{left_out} items were asked in one of the two runs only; they are left out.")
    unscored = [int(np.isnan(one.values[one.asked]).sum()) for one in (before, after)]
    if any(unscored):
        said.append(
            f"Without a verdict: {unscored[0]:,} items of the baseline, {unscored[1]:,} of the run; {WORTH[options.unscored]}."
        )
    return tuple(said)


def parse_margins(text: str) -> dict[str, float]:
    """`accuracy=0.01,over_refusal=0.02` as metric to largest drop. Raises as `parse_named`."""
    return parse_named("--max-drop", text, GATED)


def parse_named(option: str, text: str, known: Collection[str], *, at_most: float | None = None) -> dict[str, float]:
    """`NAME=NUMBER,NAME=NUMBER` as name to number.

    Raises ConfigurationError: a part is not NAME=NUMBER, a name is unknown or stands twice, or a number is negative or
    over `at_most`.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if name not in known:
            raise ConfigurationError(
                f"{option}: nothing is called {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}"
            )
        if not 0 <= number < inf or number > (inf if at_most is None else at_most) or name in found:
            wanted = "of at least 0" if at_most is None else f"from 0 to {at_most:g}"
            raise ConfigurationError(f"{option}: {part!r} is not NAME=NUMBER with a number {wanted}, each once")
        found[name] = number
    return found
