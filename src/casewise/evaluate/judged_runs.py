"""The contents of runs, ready for statistics: one series of values for each judge, elicitation and arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import polars as pl
from cyclopts.types import PositiveFloat, PositiveInt
from numpy.typing import NDArray

from casewise.ask.elicitations import find_elicitation
from casewise.audits.subject import raters_of, scale_of
from casewise.errors import BenchmarkError, ConfigurationError, DataError, did_you_mean, one_of
from casewise.notation import percent, spoken
from casewise.options import FitThresholds, GraderLabels, Hidden
from casewise.records import NO_CONTEXT, Arm, CollectedReply, Elicitation, Grade, ShortRepr, as_text, elicitation_names
from casewise.records.call import OUTCOMES, SETTLED
from casewise.replies.behaviour import POLICIES, REPLIES, Behaviour, Policy, ReplyManifest, read_behaviours
from casewise.settings import outputs_folder
from casewise.stats.arrays import FloatArray, Raters
from casewise.stats.costs import fitted_verdicts
from casewise.stats.estimates import FEW, JudgeNoise, item_values, judge_noise
from casewise.stats.labels import VOTES, LabelPolicy, Ties
from casewise.stats.sample import (
    ROUNDING,
    Sample,
    ScaleRatings,
    UnscoredPolicy,
    integer_codes,
    judge_sample,
    query_numbers,
)
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import places_of
from casewise.storage.load import Source, load
from casewise.storage.loaders.public import CASEBENCH, OUTPUTS
from casewise.storage.loaders.registry import fetched_file
from casewise.storage.run_folder import (
    JUDGEMENTS,
    AnyRun,
    RunManifest,
    StoredRun,
    folder_of,
    judgement_table,
    kind_of,
    last_attempts,
    line_blocks,
    read_run,
    run_notes,
)
from casewise.storage.wording import LabelWords
from casewise.text import Noun, Text, count_of, first_few, join, plural, reference, text


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report."""

    labels: Hidden[LabelPolicy] = VOTES
    """The label policy of every number but those that name another."""
    unscored: Hidden[UnscoredPolicy] = "miss"
    """The value of items without a verdict in label metrics."""
    seed: Hidden[int] = 0
    """Seed of what is drawn: folds of queries, reference votes, normal draws for ranks."""
    disagreements: Hidden[int] = 10
    """The number of the worst disagreements to lay out."""
    items: Hidden[str | None] = None
    """The subset of items that it is about, one of `casewise.audits.words.SUBSETS`; all that were asked if None."""
    fit_thresholds: FitThresholds = False
    margin: float = 0.05
    """Largest shortfall in agreement, compared with one more person, that still counts as no worse."""
    grader_labels: GraderLabels = None
    over: tuple[PositiveInt, ...] = (5, 20)
    """For actions: report the probability of at least one harm in this number of calls; may be repeated."""
    harm_cost: PositiveFloat = 5.0
    """For actions: cost of an action that is allowed and that people refuse, in over-refusals."""
    ask_cost: PositiveFloat = 0.25
    """For actions: cost of a question to the user, in over-refusals."""
    cluster: str | None = None
    """Compute intervals over the values of this column, such as category, instead of over queries."""
    with_replies: bool = False
    """Add a chatbot's replies to the worst disagreements to the page, hidden until a click."""


def policy_of(labels: str | LabelPolicy) -> LabelPolicy:
    """Return a label policy, or the one of this name."""
    return labels if isinstance(labels, LabelPolicy) else LabelPolicy.parse(labels)


def options_of(labels: str | LabelPolicy, options: ReportOptions | None) -> ReportOptions:
    """Return the options, or by default options with this label policy."""
    return options or ReportOptions(labels=policy_of(labels))


def report_options(
    labels: str = "votes",
    *,
    ties: str = "half",
    unscored: str = "miss",
    items: str | None = None,
    fit_thresholds: bool = False,
) -> ReportOptions:
    """Return the options of a report that these words name. Raises ConfigurationError: one of them is no such policy."""
    tied: Ties = one_of(ties, get_args(Ties), "--ties")
    lacking: UnscoredPolicy = one_of(unscored, get_args(UnscoredPolicy), "--unscored")
    policy = LabelPolicy.parse(labels, ties=tied)
    return ReportOptions(labels=policy, unscored=lacking, items=items, fit_thresholds=fit_thresholds)


Outputs = str | Path | Sequence[str | Path] | None
"""Judges' published output files or folders of them; None for the folder that `CASEWISE_OUTPUTS` names, if any."""


def output_files(outputs: Outputs) -> list[Path]:
    """Return judges' published output files: those named, and those at any depth in the folders named.

    `casebench` names those that `casewise data fetch casebench --outputs` fetched, unless there is something of that name here.

    Raises ConfigurationError: `CASEWISE_OUTPUTS` is asked, and names no folder; or what is named is not there.
    """
    if outputs is None:
        folder = outputs_folder()
        outputs = () if folder is None else folder
    named = [outputs] if isinstance(outputs, (str, Path)) else outputs
    places = [fetched_outputs() if str(place) == "casebench" and not Path(place).exists() else place for place in named]
    if lost := [str(place) for place in places if not Path(place).exists()]:
        raise ConfigurationError(f"no file or folder of published outputs is at {', '.join(lost)}")
    return [
        file
        for place in map(Path, places)
        for file in (sorted(place.rglob("output_*.json")) if place.is_dir() else [place])
    ]


def fetched_outputs() -> Path:
    """Return the folder of the fetched outputs of CASE-Bench's judges. Raises DataError: one is not here, or damaged."""
    for file in OUTPUTS:
        fetched_file(CASEBENCH, file)
    return CASEBENCH.display_path(OUTPUTS[0])


def vote_counts(benchmark: Benchmark, column: Literal["condition", "category"]) -> pl.DataFrame:
    """Return a row a condition or category (with its `domain`): `items`, `votes`, how many of these are `safe`, and how many votes
    besides are `unsure`."""
    return benchmark.item_columns.group_by(
        [column, "domain"] if column == "category" else [column], maintain_order=True
    ).agg(items=pl.len(), votes=pl.col("n_votes").sum(), safe=pl.col("n_safe").sum(), unsure=pl.col("n_unsure").sum())


def judgement_counts(run: Path) -> pl.DataFrame:
    """Return a row an elicitation and arm: how many `judgements`, how many of them `unscored`, and their `mean` value."""
    return (
        last_attempts(judgement_table(run / JUDGEMENTS))
        .group_by("elicitation", "arm", maintain_order=True)
        .agg(judgements=pl.len(), unscored=pl.col("value").is_null().sum(), mean=pl.col("value").mean())
    )


def reply_counts(replies: Iterable[CollectedReply]) -> pl.DataFrame:
    """Return a row an arm: how many `replies`, how many `unanswered`, and `reasons`.

    As when they are collected, a refusal by the provider's filter and a question of a defence are replies.
    """
    rows = [
        (reply.arm, None if reply.unanswered is None or reply.unanswered in SETTLED else reply.unanswered.value)
        for reply in replies
    ]
    reasons = pl.col("why").drop_nulls().unique(maintain_order=True).str.join(", ")
    return (
        pl.DataFrame(rows, schema={"arm": pl.String, "why": pl.String}, orient="row")
        .group_by("arm", maintain_order=True)
        .agg(replies=pl.col("why").null_count(), unanswered=pl.col("why").count(), why=reasons)
    )


def grade_counts(grades: Iterable[Grade]) -> dict[str, int]:
    """Return the number of replies graded as each outcome, and of those given to the grader that are `ungraded`."""
    counts: Counter[str] = Counter(grade.outcome or "ungraded" for grade in grades)
    return {name: counts[name] for name in (*OUTCOMES, "ungraded")}


NEEDED = (
    "item_id",
    "judge_id",
    "elicitation",
    "arm",
    "repeat",
    "attempt",
    "value",
    "unscored_reason",
    "model_version",
    "cost_usd",
    "assumed_cost_usd",
    "read_as",
    "latency_s",
)
"""The columns of a judgement that a report needs. Other columns are not read, to save memory."""

MOSTLY = 0.5
"""A judge with a larger share of its items unscored has no headline, and no rank."""

FEWEST_ERRORS = 1.0
"""The ratio of harm to over-refusal at which a fitted threshold makes the fewest errors of either kind."""


@dataclass(frozen=True, repr=False)
class JudgedRun(ShortRepr):
    """One judge's run: its folder, its manifest, and the judge's notes."""

    path: Path
    manifest: RunManifest
    notes: tuple[str, ...]
    behaviour: Behaviour | None = None
    """The behaviour of a chatbot, where its replies were graded. The verdicts are then the grader's."""
    policy: Policy | None = None
    """The policy for its partial answers."""

    @property
    def wording(self) -> str:
        """The name of the prompts that its judge was asked with; empty where it was asked with none."""
        return "" if self.behaviour is not None else str(self.manifest.identity.settings.get("prompts", ""))

    @property
    def log(self) -> Path:
        """The file that its judgements come from."""
        return self.path / (JUDGEMENTS if self.behaviour is None else REPLIES.file)

    def judgements(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return every judgement, with the columns of `judgement_table`, or those of them that reports need; or with `columns`."""
        if self.behaviour is None or self.policy is None:
            return judgement_table(self.log, columns=columns)
        return self.behaviour.judgements(self.policy).select(columns or pl.all())


@dataclass(frozen=True, repr=False)
class Series(ShortRepr):
    """The values of one judge under one elicitation and one arm."""

    run: JudgedRun
    """The run that it comes from."""
    judge: str
    """The judge's name; several runs of one judge are told apart by a number."""
    elicitation: Elicitation
    arm: str
    values: FloatArray
    """One value an item, in the order of the benchmark: its mean over repeats; nan where unscored."""
    asked: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """True where the item was asked at all."""
    reasons: dict[str, int]
    """The reasons why items have no value: reason to number of items."""
    repeats: int
    """The number of times that each item was asked."""
    n_judged: int
    """The number of judgements over all items and repeats."""
    spread: pl.DataFrame | None
    """The table of `item_values` by place, for the judge's differences from itself; None where nothing was asked twice."""
    versions: tuple[str, ...]
    cost_usd: float | None
    """The most that all its calls cost, including those that were made again; None where no price is known."""
    assumed_cost_usd: float = 0.0
    """The part of it that is assumed, for calls whose tokens the endpoint did not report."""
    answers: FloatArray | None = None
    """(answers, items) the single answers of a judge that was asked several times; None where each item has one answer. An item
    with fewer answers than others has them again from the first."""
    latency_s: float | None = None
    """Seconds that an answer took, the median; None where nothing was called."""
    read_as: dict[str, int] = field(default_factory=dict)
    """The number of its replies with a value, by how they were read."""
    alone: bool = False
    """True if no other run of this judge was asked so: its name needs no number."""

    @property
    def silent(self) -> bool:
        """True if no item has a verdict or a value."""
        return not np.isfinite(self.values[self.asked]).any()

    @property
    def unscored_share(self) -> float:
        """The share of answers to the asked items without a verdict or a value."""
        values = self.values if self.answers is None else self.answers
        return float(np.isnan(values[..., self.asked]).mean()) if self.asked.any() else 0.0

    @property
    def n_unscored(self) -> int:
        """The number of asked items on which one answer gives no verdict or value; of several answers the mean, rounded up."""
        return int(np.ceil(self.unscored_share * self.asked.sum() - ROUNDING))

    @property
    def mostly_unscored(self) -> bool:
        """True if more than half of the asked items are unscored: too many for any agreement to be its own."""
        return self.unscored_share > MOSTLY

    def counted(self, unscored: UnscoredPolicy) -> NDArray[np.bool_]:
        """Return (items,) True for items that a comparison under this policy uses: those asked and, under `exclude`, scored."""
        return self.asked & np.isfinite(self.values) if unscored == "exclude" else self.asked

    @property
    def together(self) -> str:
        """All answers of a judge that was asked several times, in words."""
        if self.elicitation != "binary":
            return f"mean of its {self.repeats} answers"
        return f"majority of its {self.repeats} answers" + (" (a tie is unsafe)" if self.repeats % 2 == 0 else "")

    @property
    def shown(self) -> Arm:
        """The arm in which items were shown."""
        return Arm.parse(self.arm)

    @property
    def judge_title(self) -> Text:
        """The name of the judge. Where its verdicts are a chatbot's replies, it says so, whatever the grader."""
        behaviour = self.run.behaviour
        if behaviour is not None:
            return Text(f"Replies of {behaviour.manifest.identity.model}")
        return reference(self.judge.removeprefix(RECORDED), self.judge)

    @property
    def name(self) -> Text:
        """The judge, and how it was asked where that is not obvious."""
        return series_name(self.run.manifest.judge_name if self.alone else self.judge, self.elicitation, self.shown)

    @property
    def how(self) -> str:
        """The elicitation, and the arm where it does not show all."""
        return elicitation_and_arm(self.elicitation, self.shown)


RECORDED = "recorded:"
"""The first part of the name of a judge whose outputs were recorded elsewhere."""


def series_name(judge: str, elicitation: str, arm: Arm, *, prefix: str = "") -> Text:
    """Return the reference to one judge, asked in one way and shown items in one arm.

    `prefix` stands before the full name, and not before shorter ones.

    Examples
    --------
    >>> series_name("recorded:claude-3", "score", Arm.without("sender.role")).parts[0].forms
    ('claude-3 (score) −role', 'claude-3 (score) −sender.role', 'recorded:claude-3 (score, without:sender.role)')
    """
    how = elicitation_and_arm(elicitation, arm)
    full, short = f"{prefix}{judge} ({how})", judge.removeprefix(RECORDED)
    if arm.shows_all:
        return reference(f"{short} ({how})", full)
    if arm.only_omits and arm != NO_CONTEXT:
        roles, paths = (
            "".join(f" −{name.rpartition('.')[2] if last else name}" for name in arm.omitted) for last in (True, False)
        )
        return reference(f"{short} ({elicitation}){roles}", f"{short} ({elicitation}){paths}", full)
    return reference(f"{short} ({elicitation}, {arm.short_name})", f"{short} ({how})", full)


def elicitation_and_arm(elicitation: str, arm: Arm) -> str:
    """Return the elicitation, and the arm where it does not show all."""
    return elicitation if arm.shows_all else f"{elicitation}, {arm.name}"


def noun_of_series(series: Sequence[Series]) -> str:
    """Return the noun for the differences of series: judges or, of one judge, wordings, elicitations, arms or runs."""
    series = [judge_series for judge_series in series if judge_series.run.behaviour is None]
    judges = {judge_series.run.manifest.judge_name for judge_series in series}
    several = {
        "wording": {judge_series.run.wording for judge_series in series},
        "elicitation": {judge_series.elicitation for judge_series in series},
        "arm": {judge_series.arm for judge_series in series},
    }
    varied = [noun for noun, values in several.items() if len(values) > 1]
    if len(judges) == len(series) or (len(judges) > 1 and not varied):
        return "judge"
    if len(judges) > 1 or len(varied) > 1:
        return "configuration"
    return varied[0] if varied else "run"


def few_verdicts(name: str, unscored_share: float) -> Text:
    """Return the sentence that replaces the agreement of a judge with verdicts on less than half of its items."""
    if unscored_share == 1:
        return text("{name} gave no verdict on any item: every reply is unscored.", name=name)
    share = percent(unscored_share)
    return text(
        "{name} gave no verdict on {share} of items, so no agreement is reported for it.", name=name, share=share
    )


@dataclass(frozen=True)
class JudgedRuns:
    """A benchmark with the series of the runs over it."""

    benchmark: Benchmark
    items: pl.DataFrame
    """The table of its items."""
    runs: tuple[JudgedRun, ...]
    series: tuple[Series, ...]
    fit_thresholds: bool = False
    """Give scalars verdicts, each item's by a threshold fitted on other queries."""
    clustered_by: str | None = None
    """The column whose values are the clusters that intervals are over; queries if None."""

    def __repr__(self) -> str:
        return f"<JudgedRuns on {self.benchmark.name}: {count_of(len(self.runs), 'run')}, {len(self.series)} series>"

    @property
    def paths(self) -> tuple[Path, ...]:
        """The folders, in the order given."""
        return tuple(dict.fromkeys(run.path for run in self.runs))

    @property
    def judges_notes(self) -> tuple[str, ...]:
        """Notes of the judges that a reader must know, each once."""
        return tuple(dict.fromkeys(note for run in self.runs for note in run.notes))

    @property
    def nothing_scored(self) -> bool:
        """True if no item of any series has a verdict or a value."""
        return all(series.silent for series in self.series)

    @property
    def silent_notes(self) -> tuple[str, ...]:
        """A sentence for each series with a verdict on less than half of its items: no agreement of it is reported."""
        return tuple(
            few_verdicts(series.name, series.unscored_share) for series in self.series if series.mostly_unscored
        )

    @property
    def repeats_notes(self) -> tuple[Text, ...]:
        """A sentence on the judges with several answers to an item: every number is of one answer."""
        several = [series for series in self.series if series.answers is not None]
        names = join(", ", [series.name + f" ({series.repeats} times)" for series in several])
        note = (
            "Asked more than once: {names}. Agreement and errors are those expected of one answer. Calibration, best thresholds and "
            "single items use all answers together."
        )
        return (text(note, names=names),) if several else ()

    @property
    def main_series(self) -> tuple[Series, ...]:
        """Those that were shown the whole context; all where none was."""
        whole = tuple(series for series in self.series if series.shown.shows_all)
        return whole or self.series

    def sample(self, series: Series, *, policy: LabelPolicy = VOTES, unscored: UnscoredPolicy = "miss") -> Sample:
        """Return a series beside people's labels, over the items that it was asked."""
        whole = self.whole_sample(series, policy=policy, unscored=unscored)
        return whole if series.asked.all() else whole.where(series.asked)

    @cached_property
    def cluster(self) -> NDArray[np.intp]:
        """The cluster of each item, as a number."""
        if self.clustered_by is None:
            return query_numbers(self.items)
        return integer_codes(cluster_values(self.benchmark, self.clustered_by))

    @property
    def by_queries(self) -> JudgedRuns:
        """The same with intervals over queries."""
        return replace(self, clustered_by=None)

    @property
    def cluster_noun(self) -> Noun | None:
        """The noun for the clusters that intervals are over, where these are not the queries."""
        if self.clustered_by is None:
            return None
        name = spoken(self.clustered_by.removesuffix("_id"))
        return Noun(name, plural(name))

    @property
    def cluster_notes(self) -> tuple[Text, ...]:
        """A sentence on the clusters that intervals are over, where these are not the queries; with what is wrong with them."""
        if self.clustered_by is None:
            return ()
        query, clusters = query_numbers(self.items), int(self.cluster.max()) + 1
        split = len(np.unique(np.column_stack([query, self.cluster]), axis=0)) > query.max() + 1
        return (
            text(
                "Intervals and tests are over {n:,} {clusters}: items with one value of {column} count as one cluster. "
                "Categories are compared by their {queries}.{split}{few}",
                n=clusters,
                column=self.clustered_by,
                split=" These clusters divide queries, so that items of one query count as independent."
                if split
                else "",
                few=" With so few clusters the intervals are wide and depend on each of them."
                if clusters < FEW
                else "",
            ),
        )

    def noise(self, series: Series) -> JudgeNoise | None:
        """Return the differences of a judge from itself over repeats; None where nothing was asked twice."""
        table = series.spread
        return None if table is None else judge_noise(table, self.cluster[table["item_id"].to_numpy()])

    @cached_property
    def raters(self) -> Raters | None:
        """The votes with the person who gave each; None where votes are anonymous."""
        return raters_of(self.benchmark, self.items)

    @cached_property
    def scale(self) -> ScaleRatings | None:
        """People's ratings on a scale; None without any."""
        return scale_of(self.benchmark, self.items)

    @property
    def intervals_over(self) -> Text:
        """The units that intervals of numbers against people's votes are over, in words."""
        return text("{clusters}") if self.raters is None else text("{clusters} and people")

    def whole_sample(self, series: Series, *, policy: LabelPolicy = VOTES, unscored: UnscoredPolicy = "miss") -> Sample:
        """Return a series beside people's labels, over all items; those that it was not asked have no verdict."""
        raters = self.raters if policy.unsure == "drop" else raters_of(self.benchmark, self.items, unsure=policy.unsure)
        whole = judge_sample(
            self.items,
            series.values if series.answers is None else series.answers,
            raters,
            elicitation=series.elicitation,
            policy=policy,
            unscored=unscored,
            cluster=self.cluster,
            scale=self.scale,
        )
        if not self.fit_thresholds or series.elicitation != "scalar":
            return whole
        return with_fitted_verdicts(whole)


def with_fitted_verdicts(sample: Sample) -> Sample:
    """Return the sample with verdicts by thresholds fitted on other queries, for each answer; unchanged if none can be
    fitted."""
    fitted = fitted_verdicts(sample, FEWEST_ERRORS, seed=0)
    answers = tuple(map(with_fitted_verdicts, sample.answers))
    return sample if fitted is None else replace(sample, safe=fitted.safe, answers=answers)


@dataclass(frozen=True, repr=False)
class RunNumbers(ShortRepr):
    """The numbers of runs under the options of a report; each kind of report adds its numbers."""

    runs: JudgedRuns
    options: ReportOptions

    @property
    def benchmark(self) -> Benchmark:
        return self.runs.benchmark

    @property
    def label_words(self) -> LabelWords:
        """The words for the benchmark's labels."""
        return LabelWords.for_benchmark(self.benchmark)

    @property
    def nothing_scored(self) -> bool:
        """True if no item of any series has a verdict or a value."""
        return self.runs.nothing_scored


def read_runs(judged: Sequence[AnyRun], *, benchmark: Source | None = None) -> JudgedRuns:
    """Read runs over one benchmark.

    `benchmark`: the benchmark, where it is no longer where the runs found it.

    Raises DataError: a folder is no run, or holds no judgements. BenchmarkError: there are no runs, they are over
    different benchmarks, or the benchmark found is not theirs.
    """
    runs, judged_benchmark = open_runs(judged, benchmark)
    items, names = judged_benchmark.item_columns, judge_names(runs)
    read = (read_series(run, name, items) for run, name in zip(runs, names, strict=True))
    series = [replace(a_series, alone=True) for of_run in read for a_series in of_run]
    counts = Counter(a_series.name for a_series in series)
    return JudgedRuns(
        judged_benchmark, items, runs, tuple(replace(a_series, alone=counts[a_series.name] == 1) for a_series in series)
    )


def open_runs(judged: Sequence[AnyRun], benchmark: Source | None) -> tuple[tuple[JudgedRun, ...], Benchmark]:
    """Return the runs, and the benchmark that all of them are over: the one given, else the one that the first holds or names."""
    if not judged:
        raise BenchmarkError("there are no runs to read: give at least one run")
    runs = tuple(run for judged_run in judged for run in runs_of_folder(folder_of(judged_run)))
    if len({run.manifest.identity.benchmark for run in runs}) > 1:
        listed = "; ".join(f"{run.path}: {run.manifest.benchmark_name}" for run in runs)
        raise BenchmarkError(
            f"these runs are over different benchmarks or label sets ({listed}); report them separately"
        )
    if benchmark is None and isinstance(judged[0], StoredRun):
        benchmark = judged[0].benchmark
    return runs, find_benchmark(runs[0].manifest, benchmark)


def runs_of_folder(path: Path) -> tuple[JudgedRun, ...]:
    """Return the run in a folder; of a chatbot's replies one for each grader and policy."""
    if kind_of(path) != REPLIES.name:
        return (JudgedRun(path, read_run(path), run_notes(path)),)
    behaviours = read_behaviours(path)
    return tuple(
        JudgedRun(path, behaviour.run_manifest(policy, several=len(behaviours) > 1), behaviour.notes, behaviour, policy)
        for behaviour in behaviours
        for policy in POLICIES
    )


def cluster_values(benchmark: Benchmark, column: str) -> pl.Series:
    """Return the value of a column for each item; an item without one is in the cluster of its query.

    `column`: one of the benchmark's own, such as `category`, or of its owner's.

    Raises ConfigurationError: there is no such column, or all items have one value in it.
    """
    items = benchmark.item_columns
    item_columns = [item.columns or {} for item in benchmark.items]
    fixed = ("category", "domain", "condition", "pair_id", "query_id", "cluster")
    named = dict.fromkeys((*fixed, *(name for columns in item_columns for name in columns)))
    if column not in named:
        raise ConfigurationError(
            f"no column is called {column!r}{did_you_mean(column, named)}; items can be clustered by {', '.join(named)}"
        )
    if column in fixed:
        values = items[column].cast(pl.String)
    else:
        stated = [columns.get(column) for columns in item_columns]
        values = pl.Series(column, [None if value is None else as_text(value) for value in stated], dtype=pl.String)
    if values.n_unique() < 2:
        raise ConfigurationError(f"all items have the same {column}, so there is one cluster and no interval")
    return pl.select(pl.coalesce("=" + values, "query " + items["query_id"])).to_series()


def by_benchmark(judged: Sequence[AnyRun]) -> dict[str, list[AnyRun]]:
    """Return runs by the digest of the benchmark that they are over, in the order given."""
    runs: dict[str, list[AnyRun]] = {}
    for run in judged:
        runs.setdefault(runs_of_folder(folder_of(run))[0].manifest.identity.benchmark, []).append(run)
    return runs


def find_benchmark(manifest: RunManifest | ReplyManifest, stated: str | Path | Benchmark | None) -> Benchmark:
    """Return the benchmark of a run. Raises BenchmarkError: it is not where it was, or the one given is another."""
    if isinstance(stated, Benchmark):
        benchmark = stated
    elif stated is not None:
        benchmark = load(stated)
    else:
        try:
            benchmark = load(manifest.benchmark_source)
        except DataError as error:
            raise BenchmarkError(
                f"{error}\nIf the run's benchmark has moved, give its new place with --benchmark."
            ) from error
    if benchmark.digest != manifest.identity.benchmark:
        reason = (
            f"{benchmark.name!r} has other items or ratings now than when it was judged"
            if benchmark.name == manifest.benchmark_name
            else f"the run is over {manifest.benchmark_name!r}, and {benchmark.name!r} has other items or ratings"
        )
        raise BenchmarkError(f"{reason}; give the one that it was run on with --benchmark")
    return benchmark


def judge_names(runs: Sequence[JudgedRun]) -> list[str]:
    """Return unique names of the runs' judges, by their prompts where these differ, else by numbers."""
    prompts: dict[str, set[str]] = {}
    for run in runs:
        prompts.setdefault(run.manifest.judge_name, set()).add(run.wording)
    return number_duplicates(
        [
            run.manifest.judge_name + (f", prompts {run.wording}" if len(prompts[run.manifest.judge_name]) > 1 else "")
            for run in runs
        ]
    )


def number_duplicates(names: Sequence[str]) -> list[str]:
    """Return unique names: two runs of one judge become `linear` and `linear #2`."""
    times: Counter[str] = Counter()
    numbered = []
    for name in names:
        times[name] += 1
        numbered.append(name if times[name] == 1 else f"{name} #{times[name]}")
    return numbered


def read_series(
    run: JudgedRun, judge: str, items: pl.DataFrame, *, judgements: pl.DataFrame | None = None
) -> list[Series]:
    """Return the series of one run, from its judgements if they were read before."""
    every = run.judgements(NEEDED) if judgements is None else judgements.select(NEEDED)
    if not len(every):
        raise DataError(run.log, None, "holds no judgements yet; run casewise judge again to resume it")
    keys = ["elicitation", "arm"]
    amounts = pl.col("cost_usd", "assumed_cost_usd")
    costs = every.group_by(keys).agg(amounts.sum(), priced=pl.any_horizontal(amounts.count() > 0))
    last = last_attempts(every)
    del every
    about = last.group_by(keys).agg(
        versions=pl.col("model_version").cast(pl.String).drop_nulls().unique().sort(),
        latency_s=pl.col("latency_s").median(),
    )
    read_as: dict[tuple[str, ...], dict[str, int]] = {}
    for *names, reading, n in (
        last.drop_nulls("read_as").group_by([*keys, "read_as"]).len().sort("len", "read_as").iter_rows()
    ):
        read_as.setdefault(tuple(map(str, names)), {})[str(reading)] = n
    about_key = {tuple(str(row[name]) for name in keys): row for row in about.join(costs, on=keys).to_dicts()}
    placed = last.select(*keys, "value", "unscored_reason", place=places_of(items, last, source=run.log))
    del last
    series = []
    for values, group in placed.group_by(keys, maintain_order=True):
        key = tuple(map(str, values))
        row = about_key[key]
        a_series = replace(
            series_of(group, run, judge, key, items),
            cost_usd=row["cost_usd"] + row["assumed_cost_usd"] if row["priced"] else None,
            assumed_cost_usd=row["assumed_cost_usd"],
            latency_s=row["latency_s"],
            versions=tuple(row["versions"]),
            read_as=read_as.get(key, {}),
        )
        series.append(a_series)
    order = elicitation_names()
    return sorted(series, key=lambda each: (not each.shown.shows_all, each.arm, order.index(each.elicitation)))


def series_of(group: pl.DataFrame, run: JudgedRun, judge: str, key: tuple[str, ...], items: pl.DataFrame) -> Series:
    """Return the series of the judgements of one elicitation and arm, without cost and model versions."""
    elicitation: Elicitation = key[0]
    per_item = group.select("value", item_id="place")
    repeats = int(np.bincount(per_item["item_id"].to_numpy()).max())
    answers = None
    if repeats > 1:
        # a protocol says that a judge's answer is the mean of its calls
        if run.behaviour is not None or run.manifest.identity.settings.get("protocol") is None:
            answers = answers_of(per_item, len(items), repeats)
        per_item = item_values(per_item, elicitation=elicitation)
    values, was_asked = np.full(len(items), np.nan), np.zeros(len(items), dtype=np.bool_)
    places = per_item["item_id"].to_numpy()
    values[places] = per_item["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    was_asked[places] = True
    silent = group.join(per_item.filter(pl.col("value").is_null()), left_on="place", right_on="item_id", how="semi")
    unscored = silent.unique("place", maintain_order=True)
    reasons = unscored["unscored_reason"].cast(pl.String).value_counts(sort=True)
    return Series(
        run=run,
        judge=judge,
        elicitation=elicitation,
        arm=key[1],
        values=values,
        asked=was_asked,
        reasons={str(reason): count for reason, count in reasons.iter_rows()},
        repeats=repeats,
        n_judged=len(group),
        spread=per_item if repeats > 1 else None,
        versions=(),
        cost_usd=None,
        answers=answers,
    )


def answers_of(judgements: pl.DataFrame, n_items: int, repeats: int) -> FloatArray:
    """Return (repeats, n_items) the value of each answer, in the order of `judgements`; nan for an item that was not asked."""
    number = pl.int_range(pl.len()).over("item_id")
    place, repeat = judgements["item_id"].to_numpy(), judgements.select(number).to_series().to_numpy()
    answers, n_asked = np.full((repeats, n_items), np.nan), np.bincount(place, minlength=n_items)
    answers[repeat, place] = judgements["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    again = np.arange(repeats)[:, None] % np.maximum(n_asked, 1)
    return np.take_along_axis(answers, again, axis=0)


def against_full_context(names: Sequence[str], items: pl.DataFrame) -> tuple[str, ...]:
    """Return the note on series that were not shown all that people saw, by their names; nothing for none."""
    if not names or not items["intended_safe"].is_not_null().any():
        return ()
    few = first_few(names, sep="; ")
    return (
        text(
            "These arms do not show the whole context, so their numbers are against full-context labels: {few}.",
            few=few,
        ),
    )


@dataclass(frozen=True)
class SecondReadings:
    """The readings by a run's second reader (`--reader`), compared with those by the strict reader."""

    judge: str
    reader: str
    n_read: int
    """Replies without a verdict for the strict reader, that it read."""
    n_none: int
    """Those in which it found none either."""
    n_both: int
    """Replies that the strict reader read and it was given too."""
    n_same: int
    """Those of them in which it found the same verdict."""


def second_readings(runs: JudgedRuns) -> Iterator[SecondReadings]:
    """Yield one entry a run that was judged with a second reader."""
    word = pl.col("second_reader")
    by_model = pl.col("read_as") == "model"
    for run in runs.runs:
        reader = None if run.behaviour is not None else run.manifest.identity.settings.get("reader")
        if not reader:
            continue
        value = pl.col("outcome").struct.field("value")
        strict = value.is_not_null() & ~by_model
        words = second_reader_words(run.log)
        second = pl.coalesce(
            pl.lit(None, pl.Float64),
            *(
                pl.when(pl.col("elicitation") == name).then(word.replace_strict(values_of_answers(name), default=None))
                for name in words["elicitation"].unique()
            ),
        )
        counts = words.select(
            n_read=by_model.sum(),
            n_none=(~by_model & ~strict).sum(),
            n_both=strict.sum(),
            n_same=(strict & (second == value)).fill_null(value=False).sum(),
        )
        yield SecondReadings(run.manifest.judge_name, str(reader.get("model")), **counts.row(0, named=True))


def values_of_answers(elicitation: Elicitation) -> dict[str, float]:
    """Return the value of each answer of a second reader, as the log writes it; none where no second model can read a reply."""
    question = find_elicitation(elicitation).second
    return {} if question is None else {str(answer): float(value) for answer, value in question.answers.items()}


def second_reader_words(log: Path) -> pl.DataFrame:
    """Return the judgements of a log whose replies the second reader was given, with its word."""
    schema = {
        **dict.fromkeys(("elicitation", "read_as"), pl.String()),
        "outcome": pl.Struct({"kind": pl.String, "value": pl.Float64}),
        "detail": pl.Struct({"second_reader": pl.String}),
    }
    blocks = [pl.read_ndjson(lines, schema=schema) for lines in line_blocks(log)]
    words = pl.concat([pl.DataFrame(schema=schema), *blocks]).with_columns(
        pl.col("read_as").fill_null(""), pl.col("detail").struct.field("second_reader")
    )
    return words.drop_nulls("second_reader")
