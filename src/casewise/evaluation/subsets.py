"""Judges on the audit's subsets: where people agree, where they do not, and where words alone do not help."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from casewise import showing
from casewise.auditing.subject import Subject
from casewise.auditing.subsets import SUBSETS, subset_rows
from casewise.errors import BenchmarkError, StatisticsError
from casewise.evaluation.judged_runs import JudgedRuns, Series
from casewise.evaluation.options import ReportOptions
from casewise.evaluation.yardsticks import Backdrop
from casewise.stats.agreeing.estimates import Estimate, estimate
from casewise.stats.agreeing.hard_items import HardScore, hard_score
from casewise.stats.agreeing.labels_and_ties import VOTES
from casewise.stats.agreeing.metrics import metrics_named
from casewise.stats.agreeing.sample import right
from casewise.stats.core.arrays import BoolArray

__all__ = ["SubsetScore", "as_wanted", "on_items", "subset_notes", "subset_scores", "without_attacks"]


@dataclass(frozen=True)
class SubsetScore:
    """One judge on one subset, against people's votes."""

    judge: str
    subset: str
    accuracy: Estimate
    words: float | None
    """The accuracy of the context-only classifier there; None where there is none."""
    second_study: float | None
    """How often a second study of this size would agree with this one there; None for `hard`."""
    best: float | None
    """For `hard`, what the best single verdict on each item scores: no judge can do better. Elsewhere None."""
    n: float
    """Items; for `hard`, on average over the splits of the votes."""
    items: int
    """All of the subset that were asked; for `hard`, every item that some split may choose."""


def subset_scores(runs: JudgedRuns, backdrop: Backdrop) -> tuple[SubsetScore, ...]:
    """Every judge on every subset that the benchmark allows; a subset that was not asked about is absent, and so is a judge
    that gives values and no verdicts."""
    subject = backdrop.subject
    deciding = [series for series in runs.series if runs.sample(series).gives_verdicts]
    found = []
    for name in SUBSETS:
        try:
            rows = subset_rows(subject, name)
        except BenchmarkError:
            continue
        for series in deciding:
            chosen = rows & series.asked & (subject.n_votes > 0)
            if chosen.any():
                score = hard(runs, series, subject, chosen) if name == "hard" else None
                one = (
                    of_hard(series, score, int(chosen.sum())) if score else plain(runs, series, backdrop, name, chosen)
                )
                found.append(one)
    return tuple(found)


def hard(runs: JudgedRuns, series: Series, subject: Subject, chosen: BoolArray) -> HardScore | None:
    verdict = runs.whole_sample(series).safe
    try:
        return hard_score(
            subject.n_safe[chosen],
            subject.n_votes[chosen],
            baseline=(subject.baseline[chosen] > 0.5).astype(float),
            judge=verdict[chosen],
            cluster=subject.query[chosen],
            raters=None if runs.raters is None else runs.raters.where(chosen),
        )
    except StatisticsError:
        return None


def of_hard(series: Series, score: HardScore, items: int) -> SubsetScore:
    return SubsetScore(series.name, "hard", score.accuracy, score.baseline, None, score.best, score.n, items)


def plain(runs: JudgedRuns, series: Series, backdrop: Backdrop, name: str, chosen: BoolArray) -> SubsetScore:
    subject = backdrop.subject
    sample = runs.sample(series, policy=VOTES).where(chosen[series.asked])
    (accuracy,) = estimate(sample, metrics=metrics_named("accuracy"))
    words = None
    if subject.why_no_baseline is None:
        read = chosen & subject.words_read
        words = float(right(subject.baseline[read] > 0.5, subject.label[read]).mean()) if read.any() else None
    again = subject.same_again[chosen]
    return SubsetScore(series.name, name, accuracy, words, float(np.nanmean(again)), None, len(sample), len(sample))


def subset_notes(name: str | None) -> tuple[str, ...]:
    """What a reader of a report on the subset called `name` must know; nothing where it is on all items."""
    if name is None:
        return ()
    said = f"All numbers are over the items that are {name!r}: {SUBSETS[name]}."
    if name == "hard":
        said += (
            " Chosen and scored by the same votes they make every judge look bad; the table of subsets is free of that."
        )
    return (said,)


def as_wanted(runs: JudgedRuns, options: ReportOptions) -> JudgedRuns:
    """The same runs with the items and the verdicts of scalars that `options` ask for. Raises as `on_items` does."""
    asked = replace(runs, fit_thresholds=options.fit_thresholds)
    return asked if options.items is None else on_items(asked, options.items)


def without_attacks(runs: JudgedRuns) -> JudgedRuns:
    """The same runs without arms that attack or guard, where there are others: `casewise robustness` is about these."""
    about_attacks: set[str | None] = {"attack", "perturbation", "defence"}
    roles = [{showing.role_of(each) for each in one.shown.transforms} for one in runs.series]
    if not all(about_attacks.isdisjoint(found) for found in roles):
        about_attacks.add("own")  # a user's own attack or defence among them
    others = tuple(one for one, found in zip(runs.series, roles, strict=True) if about_attacks.isdisjoint(found))
    return replace(runs, series=others or runs.series)


def on_items(runs: JudgedRuns, name: str) -> JudgedRuns:
    """The same runs with the subset called `name` only. Raises as `casewise.auditing.subsets.subset` does.

    Raises BenchmarkError: no run was asked about any of these items.
    """
    rows = subset_rows(Subject(runs.benchmark), name)
    series = tuple(replace(one, asked=one.asked & rows) for one in runs.series)
    if not any(one.asked.any() for one in series):
        raise BenchmarkError(f"these runs were asked about none of the items that are {name!r}")
    return replace(runs, series=tuple(one for one in series if one.asked.any()))
