"""Collect a chatbot's replies over a benchmark, and grade them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from casewise.api.judging import makers_send_to, parse_arms
from casewise.ask.prompts import Chat, chat_with
from casewise.errors import ConfigurationError
from casewise.evaluate.behaviour import SaysDoesNumbers
from casewise.evaluate.judged_runs import ReportOptions, find_benchmark, options_of
from casewise.judges.judge import is_unseen
from casewise.judges.plan import Plan, Selection, select, unseen_attacks, unseen_note
from casewise.models.load import LoadedModel, ModelOptions, load_model
from casewise.models.protocol import Model
from casewise.records import FULL, Arm
from casewise.replies.behaviour import REPLIES, read_replies
from casewise.replies.collect import ChatSummary, CollectOptions, Collector, chat_plan, make_asks, reply_manifest
from casewise.replies.grade import GradeOptions, GradeSummary, grade_into
from casewise.replies.graders import CallableGrader, Grader, load_grader, with_rehearsals
from casewise.reports.behaviour import says_does_page
from casewise.reports.formats import Report
from casewise.runs.limits import RunObserver, run_sync
from casewise.runs.run import CallEstimate, estimate_calls, folder_log, new_session, perform, run_spend
from casewise.runs.texts import makers_spend
from casewise.storage.benchmark import Benchmark
from casewise.storage.load import Source, loaded_benchmark, source_of
from casewise.storage.run_folder import AnyRun, StoredRun, folder_of, read_manifest
from casewise.text import count_of
from casewise.transforms.texts import MadeTexts, MakingOptions, estimate_before, make_arm_texts

AnyGrader = str | Grader | Callable[[str, str], Any]
"""A grader's name, a grader, or a function `f(query, reply)`."""


@dataclass(frozen=True)
class Replies(StoredRun):
    """A chatbot's replies over a benchmark, in a run folder."""

    summary: ChatSummary = field(repr=False)

    def __repr__(self) -> str:
        summary, stopped = self.summary, f", stopped: {self.summary.stopped}" if self.summary.stopped else ""
        return f"<Replies on {self.benchmark.name}: {count_of(summary.n_usable, 'reply')}, {summary.n_unusable:,} unanswered{stopped}>"

    @property
    def frame(self) -> pl.DataFrame:
        """Every reply that counts, a row each, with its text."""
        return pl.DataFrame(
            [reply.model_dump(mode="json") for reply in read_replies(self.path)], infer_schema_length=None
        )


def chat_model(model: str | Model | LoadedModel, options: ModelOptions | None = None) -> LoadedModel:
    """Return the chat model that a name stands for, or the user's own model, whose price is unknown.

    Raises ConfigurationError: there is no such model, or a key is not set.
    """
    if isinstance(model, str):
        return load_model(model, with_rehearsals(options))
    return model if isinstance(model, LoadedModel) else LoadedModel(model, options.prices if options else None)


@dataclass(frozen=True)
class PlannedReplies:
    """A planned collection of a chatbot's replies. Everything is loaded and checked, and no call is made."""

    folder: Path
    benchmark: Benchmark
    model: LoadedModel
    plan: Plan
    chat: Chat = field(default_factory=chat_with)
    options: CollectOptions = field(default_factory=CollectOptions)

    @property
    def making(self) -> MakingOptions:
        """The options of models that make texts for the arms."""
        options = self.options
        return MakingOptions(options.makers, self.model.model.name, options.limits, options.watch, options.command)

    def estimate(self) -> CallEstimate:
        """Return calls, tokens and cost of collecting. Calls no model."""
        plan, collector = replace(self.plan, made=MadeTexts(planning=True)), self.collector
        asks = make_asks(plan, self.benchmark, collector)
        return estimate_calls(collector, asks, takes_call=lambda ask: not is_unseen(collector, ask))

    @property
    def collector(self) -> Collector:
        """The asker that sends queries to the chatbot."""
        return Collector(self.model, self.chat, self.options)

    @cached_property
    def unseen(self) -> tuple[str, ...]:
        """The attacks that change nothing that the chatbot is sent."""
        return unseen_attacks(self.benchmark, self.collector, self.plan)

    def unseen_note(self) -> str | None:
        """Return how many attacks change nothing that the chatbot is sent, in a sentence; None if all do."""
        return unseen_note(self.model.model.name, self.unseen)

    def estimate_before(self) -> dict[str, CallEstimate]:
        """Return the calls of models that make texts for the arms, by model. Calls no model."""
        return estimate_before(self.plan.arms, partial(self.plan.asks_given, self.benchmark), self.making)

    def sends_to(self) -> tuple[str | None, ...]:
        """Return the receivers of texts; None stands for this machine."""
        return (self.model.model.sends_to, *makers_send_to(self.plan.arms, self.making))

    def perform(self, watch: RunObserver | None = None) -> Replies:
        """Collect the remaining replies. Raises as `collect`."""
        return run_sync(self._perform(replace(self.options, watch=watch) if watch else self.options))

    async def _perform(self, options: CollectOptions) -> Replies:
        folder, plan = self.folder, self.plan
        asks = partial(plan.asks_given, self.benchmark)
        making_options = replace(self.making, watch=options.watch)
        collector, summary = Collector(self.model, self.chat, options), ChatSummary(run=folder, n_items=len(plan.items))
        try:
            before = await make_arm_texts(
                folder, plan.arms, asks, making_options, spent=partial(run_spend, folder, REPLIES)
            )
            if before.stopped:
                summary.stopped = before.stopped
                return Replies(folder, self.benchmark, summary)
            if (note := self.unseen_note()) and options.watch is not None:
                options.watch.say(note)
            options = replace(options, limits=options.limits.reduced_by(makers_spend(folder)))
            session = new_session(options.limits, command=options.command, items=summary.n_items, asks=plan.by_way)
            begun = reply_manifest(collector, self.benchmark)
            asked = make_asks(replace(plan, made=before), self.benchmark, collector)
            await perform(
                collector,
                collector.answer,
                asked,
                folder_log(folder, begun, REPLIES, session, private=True),
                options=options,
                progress=summary,
                watch=options.watch,
            )
            return Replies(folder, self.benchmark, summary)
        finally:
            await collector.close()


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
        A run folder, new or to be resumed; only its owner may read it.
    chat
        How the context reaches the model: see `casewise.ask.prompts.chat_with`. By default it is in the system message.
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
    >>> replies = collect("demo", "fake/rehearsal", out=tempfile.mkdtemp() + "/replies")
    >>> replies.summary.n_usable
    90
    """
    if base_url is not None and not isinstance(model, str):
        raise ConfigurationError("base_url is the address of a model that is given by its name; leave it out")
    loaded = loaded_benchmark(benchmark)
    planned = PlannedReplies(
        Path(out),
        loaded,
        chat_model(model, ModelOptions(base_url, batch=options.batch is not None)),
        chat_plan(select(loaded, selection), parse_arms(arms) or (FULL,), repeats),
        chat or chat_with(),
        replace(options, benchmark_source=options.benchmark_source or source_of(benchmark, loaded)),
    )
    return planned.perform()


def make_grader(grader: AnyGrader, *, rubric: str = "strict", options: ModelOptions | None = None) -> Grader:
    """Return the grader that a name or a function `f(query, reply)` stands for; a grader is returned as it is.

    Raises ConfigurationError: there is no such grader.
    """
    if isinstance(grader, str):
        return load_grader(grader, rubric=rubric, options=options)
    if callable(grader) and not hasattr(grader, "grade"):
        return CallableGrader(grader)
    return grader  # type: ignore[return-value]  # it has a `grade`


def grade(
    replies: AnyRun,
    grader: AnyGrader,
    *,
    benchmark: Source | None = None,
    rubric: str = "strict",
    base_url: str | None = None,
    options: GradeOptions = GradeOptions(),
) -> GradeSummary:
    """Grade every reply: it answers, partly answers or refuses. The grades are stored in the folder of the replies.

    Parameters
    ----------
    grader
        `keywords`, `rubric:MODEL`, `hf:PATH`, `guard:NAME@MODEL`, `python:MODULE:FUNCTION`, a function `f(query, reply)`, or a `Grader`.
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
    >>> replies = collect("demo", "fake/rehearsal", out=tempfile.mkdtemp() + "/replies")
    >>> grade(replies, "rubric:fake/rehearsal").n_usable
    90
    """
    folder = folder_of(replies)
    own_benchmark = replies.benchmark if isinstance(replies, StoredRun) else None
    loaded = find_benchmark(read_manifest(folder, REPLIES), benchmark or own_benchmark)
    by = make_grader(grader, rubric=rubric, options=ModelOptions(base_url, batch=options.batch is not None))
    return run_sync(grade_into(folder, loaded, by, options=options))


def compare_says_does(
    says: Sequence[AnyRun],
    does: Sequence[AnyRun],
    *,
    benchmark: Source | None = None,
    labels: str = "votes",
    options: ReportOptions | None = None,
) -> Report[SaysDoesNumbers]:
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
        A folder is not a run, or its replies are not graded.
    """
    numbers = SaysDoesNumbers.from_runs(says, does, benchmark=benchmark, options=options_of(labels, options))
    return Report(numbers, says_does_page)
