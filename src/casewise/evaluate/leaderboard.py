"""A leaderboard of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from casewise.audits.words import subset_rows
from casewise.errors import BenchmarkError, CasewiseError, StatisticsError
from casewise.evaluate.conclusions import Conclusion, best_of, conclusions_json
from casewise.evaluate.judged_runs import (
    MOSTLY,
    RECORDED,
    JudgedRuns,
    ReportOptions,
    against_full_context,
    by_benchmark,
    noun_of_series,
    number_duplicates,
    read_runs,
    series_name,
)
from casewise.evaluate.replay import notes_of
from casewise.evaluate.yardsticks import PeopleCeilings, ReferenceScores, against_others, notes_on_items, picked_numbers
from casewise.records import Elicitation, ShortRepr
from casewise.stats.arrays import BoolArray, FloatArray
from casewise.stats.comparison import rank_intervals, winner
from casewise.stats.estimates import Estimate, difference_of, estimate_of, measure
from casewise.stats.measured import Measured
from casewise.stats.metrics import FLOORS, REFUSALS, parse_metrics
from casewise.stats.pairs import PairIndex, find_pairs, measured_flips
from casewise.stats.sample import ROUNDING, Sample, UnscoredPolicy, judge_sample
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import json_fields, json_value
from casewise.storage.load import Source, loaded_benchmark
from casewise.storage.published import item_ids, read_output
from casewise.storage.run_folder import AnyRun
from casewise.storage.wording import LabelWords
from casewise.text import text

Kind = Literal["run", "replies", "output", "baseline"]


@dataclass(frozen=True)
class Contender:
    """A judge or a baseline with verdicts or values on items."""

    name: str
    kind: Kind
    source: str
    """The run's folder, the output's file, or empty."""
    asked: BoolArray
    """(items,) which items it was asked."""
    sample: Callable[[], Sample]
    """Over all items."""
    cost_usd: float | None = None
    shows_all: bool = True
    """True if it was shown all that people saw."""
    judge: str = ""
    """The judge of a run as on the command line."""


def from_runs(runs: JudgedRuns, options: ReportOptions) -> list[Contender]:
    """Return the series of all runs."""
    return [
        Contender(
            series.name,
            "run" if series.run.behaviour is None else "replies",
            str(series.run.path),
            series.asked if series.mostly_unscored else series.counted(options.unscored),
            partial(runs.whole_sample, series, policy=options.labels, unscored=options.unscored),
            series.cost_usd,
            series.shown.shows_all,
            series.run.manifest.judge_name,
        )
        for series in runs.series
    ]


def from_outputs(runs: JudgedRuns, paths: Sequence[Path], options: ReportOptions) -> tuple[list[Contender], list[str]]:
    """Return the judges of published output files, and notes on these; one that cannot be read, or is of other items, is left out."""
    judges, notes = list[Contender](), list[str]()
    recorded = {series.name.removeprefix(RECORDED) for series in runs.series}
    place = {item: index for index, item in enumerate(runs.items["item_id"].to_list())}
    for path in paths:
        try:
            output = read_output(path)
        except CasewiseError as error:
            notes.append(f"Not read, so not on this board: {error}")
            continue
        values, answered = np.full(len(place), np.nan), np.zeros(len(place), dtype=np.bool_)
        for value, item in zip(output.values, item_ids(output, runs.benchmark), strict=True):
            if item is not None:
                answered[place[item]], values[place[item]] = True, value
        if not answered.any():
            notes.append(f"{path} holds no answer to any item of {runs.benchmark.name!r}, so it is not on this board.")
            continue
        notes += notes_of(output)
        name = series_name(output.judge, output.elicitation, output.arm)
        if name in recorded:  # a run of these outputs goes by the same name on a page
            name = series_name(output.judge, output.elicitation, output.arm, prefix="published:")
        sample = sample_of(runs, options, output.elicitation, values)
        judges.append(Contender(name, "output", str(path), answered, sample, shows_all=output.arm.shows_all))
    if paths and not judges:
        notes = [
            f"None of the {len(paths)} output files could be read as answers to the items of {runs.benchmark.name!r}."
        ]
    return judges, notes


def sample_of(
    runs: JudgedRuns, options: ReportOptions, elicitation: Elicitation, values: FloatArray
) -> Callable[[], Sample]:
    """Return a function that makes the sample of values without a run."""
    return partial(
        judge_sample,
        runs.items,
        values,
        runs.raters,
        elicitation=elicitation,
        policy=options.labels,
        unscored=options.unscored,
        cluster=runs.cluster,
    )


INTENT = "The author's intent"


def baselines(runs: JudgedRuns, reference_scores: ReferenceScores, options: ReportOptions) -> Iterator[Contender]:
    """Yield the baselines: a classifier on words, the author's intent, one verdict for all."""
    subject, all_items = reference_scores.subject, np.ones(len(runs.items), dtype=np.bool_)

    def baseline(name: str, elicitation: Elicitation, values: FloatArray) -> Contender:
        return Contender(name, "baseline", "", all_items, sample_of(runs, options, elicitation, values))

    if subject.why_no_baseline is None and subject.words_read.all():
        yield baseline("Words alone", "probability", subject.baseline)
    if not np.isnan(subject.intended).all():
        yield baseline(INTENT, "binary", subject.intended)
    yield baseline("Always safe", "binary", np.ones(len(runs.items)))
    yield baseline("Always unsafe", "binary", np.zeros(len(runs.items)))


SHOWN = ("accuracy", "recall_safe", "recall_unsafe", "pearson", "auroc", "cross_entropy")


@dataclass(frozen=True, repr=False)
class LeaderboardRow(ShortRepr):
    """The row of one judge under one elicitation, or of one baseline."""

    name: str
    kind: Kind
    """`run`, `replies` (what a chatbot does), `output` (of the release), or `baseline`."""
    source: str
    numbers: dict[str, Estimate]
    """Metric name to estimate: those of `SHOWN`, the share of unscored items, the two errors of refusal, `right_flips` and `false_flips` (pairs),
    and `cross_entropy_above_floor`. A judge of values without a threshold has none that needs a verdict."""
    against_others: Estimate | None
    """Its accuracy against the majority of as many people as one person is held against."""
    n_unscored: int
    cost_usd: float | None
    """The most that all its calls cost; None where no price is known."""
    best_rank: int | None = None
    worst_rank: int | None = None
    """Lowest rank of its accuracy, simultaneously for all judges, or for all chatbots; None for baselines and for judges without
    verdicts."""
    judge: str = ""
    """The judge of a run as on the command line."""

    def value(self, name: str) -> float | None:
        """Return one number without its interval; None where there is none."""
        number = self.numbers.get(name)
        return number.estimate if number else None

    def as_json(self) -> dict[str, Any]:
        return {
            **json_fields(self, without=("source", "best_rank", "worst_rank", "against_others", "judge")),
            "against_others": picked_numbers(self.against_others),
            "run": self.source,
            "rank": None if self.best_rank is None else [self.best_rank, self.worst_rank],
        }


class BestJudge(NamedTuple):
    """The judge, or the chatbot, with the highest accuracy."""

    name: str
    corrected: Estimate
    """Its accuracy, corrected for having been picked as the highest."""


@dataclass(frozen=True, repr=False)
class Leaderboard(ShortRepr):
    """Judges over one benchmark, on the items that all were asked, best accuracy first, and baselines on the same items."""

    benchmark: Benchmark
    labels: str
    rows: tuple[LeaderboardRow, ...]
    baselines: tuple[LeaderboardRow, ...]
    people: PeopleCeilings
    n_items: int
    notes: tuple[str, ...]
    agreed_with: str = "people"
    """Whom or what the judges agree with."""
    noun: str = "judge"
    """The noun for what the rows that are no chatbots are: judges, or the wordings, elicitations, arms or runs of one."""
    winners: tuple[BestJudge, ...] = ()
    """The judge, and the chatbot, with the highest accuracy, where there are several with a rank."""
    unscored: UnscoredPolicy = "miss"

    @property
    def label_policy(self) -> str:
        """The label policy in words."""
        return LabelWords.for_benchmark(self.benchmark).policy(self.labels)

    @property
    def nothing_scored(self) -> bool:
        """True if no item of any judge has a verdict or a value."""
        return all(row.n_unscored == self.n_items for row in self.rows)

    def conclusion(self, *, chatbots: bool = False) -> Conclusion | None:
        """Return which judge, or which chatbot, agrees most with people, or which may; None where fewer than two have a rank."""
        with_rank = [row for row in self.rows if (row.kind == "replies") is chatbots and row.best_rank is not None]
        if len(with_rank) < 2:
            return None
        first, others = ([row.name for row in with_rank if (row.best_rank == 1) is best] for best in (True, False))
        noun = "chatbot" if chatbots else self.noun
        return best_of(first, others, metric="accuracy", people=self.agreed_with, noun=noun)

    def as_json(self) -> dict[str, Any]:
        people = self.people
        return {
            **json_fields(self, without=("benchmark", "people", "agreed_with", "noun", "winners", "unscored")),
            "unscored_policy": self.unscored,
            "conclusions": conclusions_json(
                conclusion
                for chatbots in (False, True)
                if (conclusion := self.conclusion(chatbots=chatbots)) is not None
            ),
            "picked": {picked.name: picked_numbers(picked.corrected) for picked in self.winners},
            "benchmark": self.benchmark.name,
            "digest": self.benchmark.digest,
            "people": {
                "one_person": picked_numbers(people.one_person),
                "others": people.others,
                "second_study": picked_numbers(people.same_again),
            },
            "ceilings": json_value(people.ceilings),
        }


def leaderboard(
    judged: Sequence[AnyRun],
    *,
    benchmark: Source | None = None,
    outputs: Sequence[Path] = (),
    arms: bool = False,
    options: ReportOptions = ReportOptions(),
) -> Leaderboard:
    """Rank runs over one benchmark, with published outputs over it and baselines.

    `outputs`: judges' output files of the release. One that lacks some of the items that the runs were asked is left out.
    `arms`: also what judges say who were shown less, or other, than people were, where there are others.

    Raises BenchmarkError: the runs are over different benchmarks, there are neither runs nor outputs, or no item was
    asked of all of them.
    """
    if judged:
        runs = read_runs(judged, benchmark=benchmark)
    elif benchmark is not None:
        loaded = loaded_benchmark(benchmark)
        runs = JudgedRuns(loaded, loaded.item_columns, (), ())
    else:
        raise BenchmarkError("there is nothing to rank; give at least one run, or a benchmark and published outputs")
    runs = replace(runs, fit_thresholds=options.fit_thresholds)
    reference_scores = ReferenceScores(runs.benchmark, options.seed)
    run_judges, (published, output_notes) = from_runs(runs, options), from_outputs(runs, outputs, options)
    every = [*run_judges, *published]
    hides_arms = not arms and any(judge.shows_all for judge in every)
    run_judges, output_judges = (
        [judge for judge in side if judge.shows_all or not hides_arms] for side in (run_judges, published)
    )
    n_arms = len(every) - len(run_judges) - len(output_judges)
    subset = [] if options.items is None else [subset_rows(reference_scores.subject, options.items)]
    common: BoolArray = np.logical_and.reduce([*(judge.asked for judge in run_judges or output_judges), *subset])
    if not (run_judges or output_judges) or not common.any():
        raise BenchmarkError(
            "no item was asked of all of these judges, so they cannot be ranked; leave some of the runs out"
        )
    judges = [*run_judges, *(judge for judge in output_judges if judge.asked[common].all())]
    pairs = find_pairs(runs.items).where(common)
    measured = [measure_contender(judge, common, pairs) for judge in judges]
    rows = [row_of(judge, numbers, common, reference_scores) for judge, numbers in zip(judges, measured, strict=True)]
    winners = []
    for group in (False, True):
        which = [
            place
            for place, row in enumerate(rows)
            if (row.kind == "replies") is group and "accuracy" in measured[place]
        ]
        ranks = rank_intervals([measured[place]["accuracy"] for place in which])
        for place, index in enumerate(which):
            rows[index] = replace(rows[index], best_rank=int(ranks.best[place]), worst_rank=int(ranks.worst[place]))
        with suppress(StatisticsError):  # one judge, or one query
            best = winner([measured[index]["accuracy"] for index in which])
            winners.append(BestJudge(rows[which[best.place]].name, best.estimate))
    arms_note = (
        text("Left out: {n:arm}", n=n_arms)
        + " in which a judge saw less, or other content, than people; --arms includes them."
    )
    return Leaderboard(
        benchmark=runs.benchmark,
        labels=options.labels.name,
        rows=tuple(sorted(rows, key=accuracy_order)),
        baselines=tuple(
            row_of(baseline, measure_contender(baseline, common, pairs), common, reference_scores)
            for baseline in baselines(runs, reference_scores, options)
        ),
        people=reference_scores.people(common),
        n_items=int(common.sum()),
        notes=(
            *board_notes(runs, common, judges, output_judges, options),
            *output_notes,
            *notes_on_items(runs.benchmark, options),
            *([arms_note] if n_arms else []),
        ),
        agreed_with=LabelWords.for_benchmark(runs.benchmark, options.labels.base).agreed_with,
        unscored=options.unscored,
        noun="judge"
        if output_judges
        else noun_of_series([each for each in runs.series if each.name in {row.name for row in rows}]),
        winners=tuple(winners),
    )


RowOnEach = tuple[LeaderboardRow | None, ...]


def rows_by_name(of_boards: Iterable[Sequence[LeaderboardRow]]) -> dict[str, RowOnEach]:
    """Return by name the row on each board; None on a board without it."""
    by_name = [{row.name: row for row in rows} for rows in of_boards]
    return {name: tuple(rows.get(name) for rows in by_name) for name in dict.fromkeys(chain(*by_name))}


@dataclass(frozen=True, repr=False)
class Leaderboards(ShortRepr):
    """Judges over several benchmarks: a leaderboard of each."""

    boards: tuple[Leaderboard, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The benchmarks' names; several of one name are told apart by a number."""
        return tuple(number_duplicates([board.benchmark.title for board in self.boards]))

    @property
    def nothing_scored(self) -> bool:
        """True if no item of any judge has a verdict or a value."""
        return all(board.nothing_scored for board in self.boards)

    @cached_property
    def rows(self) -> dict[str, RowOnEach]:
        """Return by judge its row on each benchmark; None where it was not asked. The highest mean accuracy is first, and judges with an
        accuracy on every benchmark stand before the others."""
        judges = rows_by_name(board.rows for board in self.boards)

        def complete_first(judge: str) -> tuple[int, float]:
            values = [value for row in judges[judge] if row and (value := row.value("accuracy")) is not None]
            return len(self.boards) - len(values), -float(np.mean(values)) if values else 0.0

        return {judge: judges[judge] for judge in sorted(judges, key=complete_first)}

    @property
    def baselines(self) -> dict[str, RowOnEach]:
        """Return by baseline its row on each benchmark; None where the benchmark does not allow it."""
        return rows_by_name(board.baselines for board in self.boards)

    def as_json(self) -> dict[str, Any]:
        return {"benchmarks": {name: board.as_json() for name, board in zip(self.names, self.boards, strict=True)}}


def leaderboards(
    judged: Sequence[AnyRun], *, arms: bool = False, options: ReportOptions = ReportOptions()
) -> Leaderboards:
    """Return a leaderboard of each benchmark that these runs are over. Raises as `leaderboard`."""
    groups = by_benchmark(judged).values()
    return Leaderboards(tuple(leaderboard(group, arms=arms, options=options) for group in groups))


def accuracy_order(row: LeaderboardRow) -> tuple[float, float]:
    """Return the key that sorts by accuracy; judges without verdicts come last, by how well they order items."""
    accuracy, auroc = row.value("accuracy"), row.value("auroc")
    return (1.0 if accuracy is None else -accuracy, 1.0 if auroc is None else -auroc)


def measure_contender(contender: Contender, common: BoolArray, pairs: PairIndex) -> dict[str, Measured]:
    """Return its numbers by name; none where more than half of the items are unscored, so that it is not ranked."""
    sample = contender.sample().where(common)
    if sample.unscored_share > MOSTLY:
        return {}
    metrics = (*parse_metrics(*SHOWN, "unscored_rate"), *REFUSALS, *FLOORS)
    return {number.name: number for number in (*measure(sample, metrics=metrics), *measured_flips(sample, pairs))}


def row_of(
    contender: Contender, measured: dict[str, Measured], common: BoolArray, reference_scores: ReferenceScores
) -> LeaderboardRow:
    sample, floors = contender.sample().where(common), {metric.name for metric in FLOORS}
    numbers = {name: estimate_of(number) for name, number in measured.items() if name not in floors}
    if "cross_entropy" in measured and "attainable_entropy" in measured:
        above = difference_of(measured["cross_entropy"], measured["attainable_entropy"])
        numbers["cross_entropy_above_floor"] = above
    size, against = reference_scores.people(common).others, None
    if measured and size and sample.gives_verdicts:
        against = against_others(reference_scores.subject, common, {"it": sample.verdicts}, reference_size=size).get(
            "it"
        )
    return LeaderboardRow(
        name=contender.name,
        kind=contender.kind,
        source=contender.source,
        numbers=numbers,
        against_others=against,
        n_unscored=int(np.ceil(sample.unscored_share * len(sample) - ROUNDING)),
        cost_usd=contender.cost_usd,
        judge=contender.judge,
    )


def board_notes(
    runs: JudgedRuns,
    common: BoolArray,
    judges: Sequence[Contender],
    outputs: Sequence[Contender],
    options: ReportOptions,
) -> Iterator[str]:
    yield from (*runs.benchmark.notes(), *runs.silent_notes, *runs.repeats_notes, *runs.judges_notes)
    if not common.all():
        did = "every run scored (--unscored exclude)" if options.unscored == "exclude" else "every run was asked"
        yield text(
            "All numbers are over the {n:,} of {all:item} that {did}.", n=int(common.sum()), all=len(common), did=did
        )
    for output in outputs:
        if output not in judges:
            yield text("{judge} lacks some of these items, so it is not on this board.", judge=output.name)
    yield from against_full_context([judge.name for judge in judges if not judge.shows_all], runs.items)
