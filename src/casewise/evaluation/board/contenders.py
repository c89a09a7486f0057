"""What stands on a leaderboard: runs, judges' published outputs over the same items, and what takes no judging at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from casewise.errors import CasewiseError
from casewise.evaluation.judged_runs import JudgedRuns, Series
from casewise.evaluation.options import ReportOptions
from casewise.evaluation.published.replay import notes_of
from casewise.evaluation.yardsticks import Backdrop
from casewise.records import Elicitation
from casewise.stats.agreeing.judged import judged_by_raters
from casewise.stats.agreeing.labels_and_ties import LabelPolicy
from casewise.stats.agreeing.sample import Sample
from casewise.stats.core.arrays import BoolArray, FloatArray
from casewise.storage.benchmarks.published_outputs import PublishedOutput, item_ids, read_output

__all__ = ["Contender", "Kind", "Outputs", "baselines", "from_outputs", "from_runs"]

Kind = Literal["run", "replies", "output", "baseline"]


@dataclass(frozen=True)
class Contender:
    """One that gives verdicts or values on items."""

    name: str
    kind: Kind
    source: str
    """The run's folder, the output's file, or empty."""
    asked: BoolArray
    """(items,) which items it was asked."""
    sample: Callable[[LabelPolicy], Sample]
    """Over all items, under a label policy."""
    cost_usd: float | None = None
    shows_all: bool = True
    """Whether it was shown all that people saw."""


def from_runs(runs: JudgedRuns, options: ReportOptions) -> list[Contender]:
    """Everything that runs hold."""

    def of(one: Series) -> Contender:
        return Contender(
            one.name,
            "run" if one.run.behaviour is None else "replies",
            str(one.run.path),
            one.asked,
            lambda policy: runs.whole_sample(one, policy=policy, unscored=options.unscored),
            one.cost_usd,
            one.shown.shows_all,
        )

    return [of(one) for one in runs.series]


class Outputs(NamedTuple):
    """Judges' published outputs, and what is to be said of those files."""

    found: tuple[Contender, ...]
    notes: tuple[str, ...]


def from_outputs(runs: JudgedRuns, paths: Sequence[Path], options: ReportOptions) -> Outputs:
    """The judges of published output files; a file that cannot be read, or is of other items, is named and left out."""
    found, notes = [], []
    recorded = {one.name.removeprefix("recorded:") for one in runs.series}
    for path in paths:
        try:
            output = read_output(path)
        except CasewiseError as error:
            notes.append(f"Not read, so not on this board: {error}")
            continue
        values, asked = values_of(runs, output)
        if not asked.any():
            notes.append(f"{path} holds no answer to any item of {runs.benchmark.name!r}, so it is not on this board.")
            continue
        notes += notes_of(output)
        arm = "" if output.arm.shows_all else f", {output.arm.name}"
        name = f"{output.judge} ({output.elicitation}{arm})"
        if name in recorded:
            name = f"published:{name}"  # a run of these outputs goes by the same name on a page
        made = contender(runs, name, output.elicitation, values, options, asked=asked, path=path)
        found.append(replace(made, shows_all=output.arm.shows_all))
    if paths and not found:
        notes = [
            f"None of the {len(paths)} output files could be read as answers to the items of {runs.benchmark.name!r}."
        ]
    return Outputs(tuple(found), tuple(notes))


def values_of(runs: JudgedRuns, output: PublishedOutput) -> tuple[FloatArray, BoolArray]:
    place = {item: index for index, item in enumerate(runs.items["item_id"].to_list())}
    values, asked = np.full(len(place), np.nan), np.zeros(len(place), dtype=np.bool_)
    for value, item in zip(output.values, item_ids(output, runs.benchmark), strict=True):
        if item is not None:
            asked[place[item]], values[place[item]] = True, value
    return values, asked


def contender(
    runs: JudgedRuns,
    name: str,
    elicitation: Elicitation,
    values: FloatArray,
    options: ReportOptions,
    *,
    asked: BoolArray | None = None,
    path: Path | None = None,
) -> Contender:
    return Contender(
        name,
        "baseline" if path is None else "output",
        "" if path is None else str(path),
        np.ones(len(values), dtype=np.bool_) if asked is None else asked,
        lambda policy: judged_by_raters(
            runs.items,
            values,
            runs.raters,
            elicitation=elicitation,
            policy=policy,
            unscored=options.unscored,
            cluster=runs.cluster,
        ),
    )


def baselines(runs: JudgedRuns, backdrop: Backdrop, options: ReportOptions) -> Iterator[Contender]:
    """What scores without weighing a case: a classifier on words, the author's intent, one verdict for all."""
    subject = backdrop.subject
    one = partial(contender, runs, options=options)
    if subject.why_no_baseline is None and subject.words_read.all():
        yield one("Words of the context alone", "probability", subject.baseline)
    if not np.isnan(subject.intended).all():
        yield one("The author's intent", "binary", subject.intended)
    yield one("Always safe", "binary", np.ones(len(runs.items)))
    yield one("Always unsafe", "binary", np.zeros(len(runs.items)))
