"""Collect a chatbot's replies over a benchmark, and grade them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from casewise.api.benchmarks import Source, as_benchmark, benchmark_of, folders_of, source_of
from casewise.api.evaluating import SaysDoesReport, report_options
from casewise.api.judging import Run, arms_named
from casewise.ask.chat import Chat, chat_with
from casewise.errors import ConfigurationError
from casewise.evaluate.judged_runs import ReportOptions, find_benchmark
from casewise.judges.run import Plan, Selection, select
from casewise.models.load import LoadedModel, ModelOptions, load_model
from casewise.models.protocol import Model
from casewise.records import FULL, OUTCOMES, Arm, CollectedReply
from casewise.replies.behaviour import (
    REPLIES,
    import_replies,
    read_replies,
    replies_in,
    texts_discarded,
)
from casewise.replies.collect import ChatSummary, CollectOptions, chat_plan, collect_into, estimate_collecting
from casewise.replies.grade import (
    GradeOptions,
    GradeSummary,
    discard_texts,
    estimate_grading,
    estimate_pairs,
    grade_into,
    grade_pairs,
    read_labelled_pairs,
)
from casewise.replies.graders import CallableGrader, Grader, grader_named, with_rehearsals
from casewise.runs.limits import Limits, finished, spent_of
from casewise.runs.run import CallEstimate
from casewise.runs.texts import spent_making
from casewise.stats.shares import wilson
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import read_jsonl
from casewise.transforms.texts import MadeTexts, MakingOptions, estimate_before, making

__all__ = [
    "Chat",
    "CollectOptions",
    "GradeOptions",
    "GradeSummary",
    "Grader",
    "GraderCheck",
    "LoadedModel",
    "Replies",
    "as_grader",
    "before_collecting",
    "chat_model",
    "chat_with",
    "check_estimate",
    "check_grader",
    "collect",
    "collecting_estimate",
    "compare_says_does",
    "discard",
    "grade",
    "grading_estimate",
    "import_table",
    "texts_discarded",
]

AnyGrader = str | Grader | Callable[[str, str], Any]
"""A grader's name, a grader, or a function `f(query, reply)`."""


@dataclass(frozen=True)
class Replies:
    """A chatbot's replies over a benchmark, in a run folder."""

    path: Path
    benchmark: Benchmark = field(repr=False)
    summary: ChatSummary = field(repr=False)

    def __repr__(self) -> str:
        done = self.summary
        stopped = f", stopped: {done.stopped}" if done.stopped else ""
        return f"<Replies on {self.benchmark.name}: {done.n_usable:,} replies, {done.n_unusable:,} unanswered{stopped}>"

    @property
    def frame(self) -> pl.DataFrame:
        """Every reply that counts, a row each, with its text."""
        return pl.DataFrame(
            [reply.model_dump(mode="json") for reply in replies_in(self.path)], infer_schema_length=None
        )


def chat_model(model: str | Model, options: ModelOptions | None = None) -> LoadedModel:
    """The chat model that `model` names, or a model of one's own, whose price nobody knows.

    Raises
    ------
    ConfigurationError
        There is no such model, or a key is not set.
    """
    if isinstance(model, str):
        return load_model(model, with_rehearsals(options))
    return LoadedModel(model, options.prices if options else None)


def collect(
    benchmark: Source,
    model: str | Model | LoadedModel,
    *,
    out: str | Path,
    chat: Chat | None = None,
    arms: str | Arm | Sequence[Arm | str] = (),
    repeats: int = 1,
    selection: Selection = Selection(),
    base_url: str | None = None,
    options: CollectOptions = CollectOptions(),
) -> Replies:
    """Send every query of `benchmark` in its context to a chatbot, as a user would, and store the replies.

    Parameters
    ----------
    model
        A model's name as on the command line, or a `casewise.models.protocol.Model`.
    out
        A run folder, new or to be gone on with; only its owner may read it.
    chat
        How the context reaches the model: see `chat_with`. By default it is in the system message.
    arms, repeats, selection
        What is sent; by default every item once, with its whole context.
    base_url
        The address of a model that is given by its name, for any server that speaks OpenAI's chat completions.

    Raises
    ------
    ConfigurationError
        There is no such model or arm, or `base_url` is given with a model that is not a name.
    RunConflict
        `out` holds something else, another run, or another process works on it.

    Examples
    --------
    >>> import tempfile
    >>> found = collect("demo", "fake/rehearsal", out=tempfile.mkdtemp() + "/replies")
    >>> found.summary.n_usable
    90
    """
    if base_url is not None:
        if not isinstance(model, str):
            raise ConfigurationError("base_url is the address of a model that is given by its name; leave it out")
        model = chat_model(model, ModelOptions(base_url, batch=options.batch is not None))
    loaded, plan, found = prepared(benchmark, model, arms, repeats, selection, options.batch is not None)
    folder, asks = Path(out), partial(plan.asks_given, found)
    log = folder / REPLIES.file
    made = making_for(options, loaded)
    there = partial(read_jsonl, log, CollectedReply, growing=True) if log.exists() else tuple
    before = finished(making(folder, plan.arms, asks, made, spent=lambda: spent_of(there())))
    if before.stopped:
        return Replies(folder, found, ChatSummary(run=folder, n_items=len(plan.items), stopped=before.stopped))
    source, limits = options.benchmark_source or source_of(benchmark, found), options.limits.less(spent_making(folder))
    given, plan = replace(options, benchmark_source=source, limits=limits), replace(plan, made=before.made)
    summary = finished(collect_into(folder, found, loaded, chat=chat or chat_with(), plan=plan, options=given))
    return Replies(folder, found, summary)


def collecting_estimate(
    benchmark: Source,
    model: str | Model | LoadedModel,
    *,
    chat: Chat | None = None,
    arms: str | Arm | Sequence[Arm | str] = (),
    repeats: int = 1,
    selection: Selection = Selection(),
    options: CollectOptions = CollectOptions(),
) -> CallEstimate:
    """Estimate calls, tokens and cost of collecting. Calls no model."""
    loaded, plan, found = prepared(benchmark, model, arms, repeats, selection, options.batch is not None)
    plan = replace(plan, made=MadeTexts(planning=True))
    return estimate_collecting(found, loaded, chat=chat or chat_with(), plan=plan, options=options)


def before_collecting(
    benchmark: Source,
    model: str | Model | LoadedModel,
    *,
    arms: str | Arm | Sequence[Arm | str] = (),
    selection: Selection = Selection(),
    options: CollectOptions = CollectOptions(),
) -> dict[str, CallEstimate]:
    """Estimate the calls of models that make texts for the arms, by model. Calls no model."""
    loaded, plan, found = prepared(benchmark, model, arms, 1, selection, options.batch is not None)
    return estimate_before(plan.arms, partial(plan.asks_given, found), making_for(options, loaded))


def making_for(options: CollectOptions, loaded: LoadedModel) -> MakingOptions:
    """Return the options of models that make texts for the arms of a collection."""
    return MakingOptions(options.makers, loaded.model.name, options.limits, options.watch, options.command)


def prepared(
    benchmark: Source,
    model: str | Model | LoadedModel,
    arms: str | Arm | Sequence[Arm | str],
    repeats: int,
    selection: Selection,
    batch: bool,
) -> tuple[LoadedModel, Plan, Benchmark]:
    """Return the model, the plan and the benchmark of a collection."""
    found = as_benchmark(benchmark)
    loaded = model if isinstance(model, LoadedModel) else chat_model(model, ModelOptions(batch=batch))
    return loaded, chat_plan(select(found, selection), arms_named(arms) or (FULL,), repeats), found


def as_grader(grader: AnyGrader, *, rubric: str = "strict", options: ModelOptions | None = None) -> Grader:
    """The grader that is meant.

    Raises
    ------
    ConfigurationError
        There is no such grader.
    """
    if isinstance(grader, str):
        return grader_named(grader, rubric=rubric, options=options)
    if callable(grader) and not hasattr(grader, "grade"):
        return CallableGrader(grader)
    return grader  # type: ignore[return-value]  # it has a `grade`


def folder_of(replies: Replies | str | Path) -> Path:
    return replies.path if isinstance(replies, Replies) else Path(replies)


def collected_benchmark(replies: str | Path, given: Source | None = None) -> Benchmark:
    """The benchmark that replies were collected over, where it was or where it is said to be now."""
    return find_benchmark(read_replies(Path(replies)), given)


def grade(
    replies: Replies | str | Path,
    grader: AnyGrader,
    *,
    benchmark: Source | None = None,
    rubric: str = "strict",
    base_url: str | None = None,
    options: GradeOptions = GradeOptions(),
) -> GradeSummary:
    """Have a grader say of every reply whether it answers, partly answers or refuses. Its findings lie with the replies.

    Parameters
    ----------
    grader
        `keywords`, `rubric:MODEL`, `hf:PATH`, `python:MODULE:FUNCTION`, a function `f(query, reply)`, or a `Grader`.
    rubric
        For `rubric:`, `strict`, `lenient`, or the path of a TOML file.
    base_url
        The address of the grader's model, for any server that speaks OpenAI's chat completions.

    Raises
    ------
    DataError
        There are no replies there, or their texts were discarded.
    ConfigurationError
        There is no such grader.

    Examples
    --------
    >>> import tempfile
    >>> found = collect("demo", "fake/rehearsal", out=tempfile.mkdtemp() + "/replies")
    >>> grade(found, "keywords").n_usable
    90
    """
    folder = folder_of(replies)
    found = collected_benchmark(folder, replies.benchmark if isinstance(replies, Replies) else benchmark)
    asked = as_grader(grader, rubric=rubric, options=ModelOptions(base_url, batch=options.batch is not None))
    return finished(grade_into(folder, found, asked, options=options))


def grading_estimate(replies: str | Path, grader: Grader, *, benchmark: Source | None = None) -> CallEstimate:
    """Estimate the calls of grading. Calls no model."""
    return estimate_grading(Path(replies), collected_benchmark(replies, benchmark), grader)


def compare_says_does(
    says: Sequence[Run | str | Path],
    does: Sequence[Replies | str | Path],
    *,
    benchmark: Source | None = None,
    labels: str = "votes",
    options: ReportOptions | None = None,
) -> SaysDoesReport:
    """Compare models' verdicts with their replies, item by item, and with people's labels.

    Parameters
    ----------
    says
        Judges' runs; best with the prompts `bridge`, so that nothing but the question differs.
    does
        Folders of the same models' replies, graded.

    Raises
    ------
    BenchmarkError
        They are over different benchmarks, or no model has both.
    DataError
        A folder is no run, or nobody has graded the replies.
    """
    found, folders = options or report_options(labels), [folder_of(one) for one in does]
    return SaysDoesReport.of(folders_of(says), folders, benchmark=benchmark_of(says, benchmark), options=found)


@dataclass(frozen=True)
class GraderCheck:
    """A grader against labelled prompts and responses from anywhere."""

    grader: str
    n: int
    agree: float
    confusion: pl.DataFrame
    """`person`, `grader` (an outcome, or `ungraded`), `replies`."""
    classes: pl.DataFrame
    """For each outcome `n` by people, `recall` and `precision` of the grader with the ends of their Wilson intervals;
    an ungraded reply is none that was found."""

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {name: one.to_dicts() if isinstance(one, pl.DataFrame) else one for name, one in vars(self).items()}


def check_estimate(file: str | Path, grader: Grader) -> CallEstimate:
    """Estimate the calls of `check_grader`. Calls no model."""
    return estimate_pairs(read_labelled_pairs(Path(file)), grader)


def check_grader(file: str | Path, grader: Grader, *, limits: Limits = Limits()) -> GraderCheck:
    """Try a grader on a file of prompts, responses and labels: CSV or JSON Lines.

    Raises
    ------
    DataError
        The file cannot be read, or a label is none.
    ConfigurationError
        It may take more than `limits` allow: nothing is kept, so nothing is begun that may not be finished.
    """
    pairs = read_labelled_pairs(Path(file))
    graded = finished(grade_pairs(pairs, grader, limits=limits))
    words = {"person": [pair.label for pair in pairs], "grader": [found.outcome or "ungraded" for found in graded]}
    said = pl.DataFrame(words, schema={"person": pl.String, "grader": pl.String})
    confusion = said.group_by("person", "grader").agg(replies=pl.len()).sort("person", "grader")
    return GraderCheck(
        grader.name,
        len(said),
        float((said["person"] == said["grader"]).mean() or 0.0),  # type: ignore[arg-type]  # a share
        confusion,
        pl.DataFrame([class_row(said, outcome) for outcome in OUTCOMES if (said["person"] == outcome).any()]),
    )


def class_row(said: pl.DataFrame, outcome: str) -> dict[str, Any]:
    both = int(((said["person"] == outcome) & (said["grader"] == outcome)).sum())
    n, found = int((said["person"] == outcome).sum()), int((said["grader"] == outcome).sum())
    row: dict[str, Any] = {"outcome": outcome, "n": n}
    for name, whole in (("recall", n), ("precision", found)):
        limits = wilson(both, whole) if whole else None
        low, high = (float(limits.low), float(limits.high)) if limits else (None, None)
        row |= {name: both / whole if whole else None, f"{name}_ci_low": low, f"{name}_ci_high": high}
    return row


def import_table(file: str | Path, benchmark: Source, *, model: str, out: str | Path) -> int:
    """Make a folder of replies, with their grades, from JSON Lines or Parquet with `item_id` and `text`; how many replies.

    Raises
    ------
    DataError
        The file cannot be read, or a row is no reply to an item of the benchmark.
    RunConflict
        There is something at `out` already.
    """
    found = as_benchmark(benchmark)
    return import_replies(Path(file), Path(out), found, model=model, source=source_of(benchmark, found))


def discard(replies: Replies | str | Path) -> int:
    """Remove the texts of replies for good; grades, grounds and digests stay. Return the number removed.

    Raises
    ------
    RunConflict
        Another process works on the folder.
    """
    return discard_texts(folder_of(replies))
