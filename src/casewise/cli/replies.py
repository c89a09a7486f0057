"""`casewise replies`: a chatbot's replies, collected and graded."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from cyclopts.types import NonNegativeInt, PositiveInt

from casewise import api
from casewise.ask.layouts import ContextRole
from casewise.cli.judge import print_before
from casewise.cli.options import (
    ASKED,
    ITEMS,
    MACHINE,
    MODEL,
    ArmsOption,
    BaseUrlOption,
    BenchmarkArgument,
    BenchmarkOption,
    Calls,
    DryRunOption,
    Items,
    YesOption,
)
from casewise.cli.printing import (
    as_json,
    command_line,
    done_of,
    end,
    leave,
    note,
    note_problems,
    note_unfinished,
    print_cost,
    print_json,
    say,
    watching,
)
from casewise.errors import ConfigurationError
from casewise.models.protocol import Sampling
from casewise.options import Flat
from casewise.runs.run import CallEstimate

app = App(name="replies")

RepliesArgument = Annotated[Path, Parameter(help="A folder of casewise replies collect.")]


@dataclass(frozen=True)
class ChatOptions:
    """The form in which a chatbot gets the context, and its sampling."""

    context_role: ContextRole = "system"
    """The message that gives the chatbot the context."""
    verified: bool = False
    """Tell the chatbot, as judges are told, that the context has been verified."""
    system: Path | None = None
    """A text file with your own system prompt, which holds {context}."""
    sampling: Flat[Sampling] = field(default_factory=Sampling)

    def chat(self) -> api.replying.Chat:
        """Return the form in which the context reaches the chatbot."""
        return api.replying.chat_with(role=self.context_role, verified=self.verified, system=self.system)


@dataclass(frozen=True)
class AskedChatbot:
    """A chatbot, the items that it replies to, and the options of the models involved."""

    benchmark: api.Benchmark
    name: str
    arms: tuple[api.Arm, ...]
    selection: api.Selection
    reached: api.ModelOptions
    chat: api.replying.Chat | None = None
    repeats: int = 1

    @cached_property
    def loaded(self) -> api.replying.LoadedModel:
        """The chatbot."""
        return api.replying.chat_model(self.name, self.reached)

    def tell_estimate(self, options: api.replying.CollectOptions) -> None:
        """Print the estimated cost of replies, and of texts that models make before."""
        whole, selection = (self.benchmark, self.loaded), self.selection
        estimate = api.replying.collecting_estimate(
            *whole, chat=self.chat, arms=self.arms, repeats=self.repeats, selection=selection, options=options
        )
        before = api.before_collecting(*whole, arms=self.arms, selection=selection, options=options)
        if as_json():
            made = {"before": {name: asdict(one) for name, one in before.items()}} if before else {}
            print_json({"asked": self.name, **asdict(estimate), **made})
            return
        print(f"{self.name}: {estimate.n_calls:,} calls")
        print_cost(estimate)
        print_before(before)

    def leave(self, what: str, *others: str | None, agreed: bool) -> None:
        """Ask for leave to send something to the chatbot, to models that make texts for arms, and to others."""
        makers = api.others_asked(self.arms, self.reached)
        leave(what, self.loaded.model.sends_to, *others, *makers, agreed=agreed)

    def collect(self, folder: Path, options: api.replying.CollectOptions) -> api.Replies:
        """Collect them."""
        return api.collect(
            self.benchmark,
            self.loaded,
            out=folder,
            chat=self.chat,
            arms=self.arms,
            repeats=self.repeats,
            selection=self.selection,
            options=options,
        )


@app.command
def collect(
    benchmark: BenchmarkArgument,
    /,
    *,
    model: str,
    from_: Path | None = None,
    out: Path | None = None,
    chat: Annotated[ChatOptions, MODEL] = ChatOptions(),
    base_url: BaseUrlOption = None,
    arms: ArmsOption = None,
    repeats: Annotated[PositiveInt, Parameter(group=ASKED.group)] = 1,
    retry_unanswered: Annotated[NonNegativeInt, Parameter(group=ASKED.group)] = 0,
    items: Annotated[Items, ITEMS] = Items(),
    calls: Flat[Calls] = Calls(),
    local: Annotated[api.LocalOptions, MACHINE] = api.LocalOptions(),
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Send every query in its context to a chatbot, as a user would, and store the replies. The same command resumes.

    Replies may be harmful. Only you can read the folder.

    Parameters
    ----------
    model
        The chatbot: openai/MODEL, vllm/MODEL, hf:PATH, ...; with --from, the name of the chatbot.
    from_
        Import these replies instead: a .jsonl or .parquet file with the columns item_id and text.
    out
        Run folder, new or to resume. Default: replies/BENCHMARK-MODEL.
    repeats
        Number of times to send each item.
    retry_unanswered
        Maximum number of further calls if no reply comes.
    """
    found = api.load(benchmark)
    folder = out or Path("replies") / api.default_folder(f"{Path(benchmark).stem}-{model}").name
    if from_ is not None:
        n = api.replying.import_table(from_, benchmark, model=model, out=folder)
        say(f"{folder}: {n:,} replies", folder=str(folder), replies=n)
        return
    reached = calls.model(base_url, local, needs_key=not dry_run)
    asked = AskedChatbot(
        found, model, api.arms_named(arms), items.of(found), reached, chat=chat.chat(), repeats=repeats
    )
    options = api.replying.CollectOptions(
        temperature=chat.sampling.temperature,
        max_tokens=chat.sampling.max_tokens,
        seed=items.seed,
        retries=retry_unanswered,
        limits=calls.limits,
        batch=calls.batches.options(),
        command=command_line(),
        benchmark_source=api.source_of(benchmark, found),
        makers=reached,
    )
    if dry_run:
        asked.tell_estimate(options)
        return
    asked.leave("the benchmark's queries", agreed=yes)
    with watching(f"asking {model}") as watch:
        kept = asked.collect(folder, replace(options, watch=watch))
    summary = kept.summary
    if as_json():
        print_json(summary.as_json())
    else:
        print(f"{done_of(summary, 'replies')}: {folder}")
        note_problems(summary)
        note_unfinished(summary, folder)
        where, gone = shlex.quote(str(folder)), api.replying.texts_discarded(folder)
        if not summary.n_pending:
            note(f"next: casewise {f'report {where}' if gone else f'replies grade {where} --grader rubric:MODEL'}")
    end(summary)


@app.command
def grade(
    replies: Path | None = None,
    /,
    *,
    grader: list[str],
    rubric: str = "strict",
    check: Path | None = None,
    benchmark: BenchmarkOption = None,
    base_url: BaseUrlOption = None,
    retry_ungraded: NonNegativeInt = 0,
    discard_replies: bool = False,
    calls: Flat[Calls] = Calls(),
    local: Annotated[api.LocalOptions, MACHINE] = api.LocalOptions(),
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Grade every stored reply: answers, partly answers, or refuses.

    Parameters
    ----------
    replies
        A folder of casewise replies collect; none with --check.
    grader
        The grader: rubric:MODEL, hf:PATH (a classifier of refusals), guard:NAME@MODEL, python:MODULE:FUNCTION, keywords
        (a weak baseline). May be repeated.
    rubric
        Rubric of rubric:MODEL: strict, lenient, or a TOML file of your own.
    check
        Instead, test the graders on a labelled file: prompt, response, label (CSV or JSONL).
    retry_ungraded
        Maximum number of further calls if no grade comes.
    discard_replies
        Delete the texts of the replies once all are graded; keep grades and digests.
    """
    made = [
        api.replying.as_grader(name, rubric=rubric, options=calls.model(base_url, local, needs_key=not dry_run))
        for name in grader
    ]
    if replies is None or check is not None:
        file = file_to_check(check, replies, keeps=discard_replies or retry_ungraded > 0)
        try_graders(file, made, calls, dry_run=dry_run, yes=yes)
        return
    if dry_run:
        for one in made:
            tell_estimate(api.replying.grading_estimate(replies, one, benchmark=benchmark), one.name)
        return
    leave("the benchmark's queries and the replies", *(one.sends_to for one in made), agreed=yes)
    summaries = []
    for one in made:
        with watching(f"grading by {one.name}") as watch:
            options = api.replying.GradeOptions(
                retries=retry_ungraded,
                limits=calls.limits,
                command=command_line(),
                watch=watch,
                batch=calls.batches.options(),
            )
            summary = api.grade(replies, one, benchmark=benchmark, options=options)
        summaries.append(summary)
        if not as_json():
            tell_grading(one.name, summary, replies)
    if discard_replies:
        discard(replies, summaries)
    if as_json():
        print_json([summary.as_json() for summary in summaries])
    elif not any(summary.n_pending for summary in summaries):
        note(f"next: casewise report {shlex.quote(str(replies))}")
    for summary in summaries:
        end(summary)


def tell_grading(name: str, summary: api.replying.GradeSummary, replies: Path) -> None:
    """Print the result of grading, in a line or two."""
    print(f"{name}: {done_of(summary, 'graded')}")
    note_problems(summary)
    note_unfinished(summary, replies)
    for text in summary.notes:
        note(f"note: {text}")


def file_to_check(file: Path | None, replies: Path | None, *, keeps: bool) -> Path:
    """The labelled file.

    Raises ConfigurationError: there is none, or something is given that a check has no use for.
    """
    if file is None or replies is not None:
        raise ConfigurationError("give a folder of replies, or a labelled file with --check")
    if keeps:
        raise ConfigurationError("--check keeps nothing: leave out --discard-replies and --retry-ungraded")
    return file


def try_graders(file: Path, graders: list[api.replying.Grader], calls: Calls, *, dry_run: bool, yes: bool) -> None:
    """Each grader tried on a labelled file, or what that would take."""
    if dry_run:
        for one in graders:
            tell_estimate(api.replying.check_estimate(file, one), one.name)
        return
    leave("the prompts and the responses", *(one.sends_to for one in graders), agreed=yes)
    checked = [api.replying.check_grader(file, one, limits=calls.limits) for one in graders]
    tell_checks(checked)


def discard(replies: Path, summaries: list[api.replying.GradeSummary]) -> None:
    """Remove the texts, unless something is left to grade."""
    if any(summary.stopped or summary.n_pending or summary.n_unusable for summary in summaries):
        note("the replies' texts are kept: not all of them have a grade; the same command resumes")
        return
    note(f"the texts of {api.replying.discard(replies):,} replies were removed; grades and digests stay")


def tell_estimate(estimate: CallEstimate, whom: str) -> None:
    if as_json():
        print_json({"asked": whom, **asdict(estimate)})
        return
    print(f"{whom}: {estimate.n_calls:,} calls")
    print_cost(estimate)


def tell_checks(found: list[api.replying.GraderCheck]) -> None:
    """Print how often each grader agrees with people, by the outcome of a reply."""
    if as_json():
        print_json([one.as_json() for one in found])
        return
    for one in found:
        print(f"{one.grader}: says what people say of {one.agree:.1%} of {one.n:,} labelled replies")
        for row in one.classes.to_dicts():
            print(f"  {row['outcome']:8} {row['n']:5,} by people; {shares(row)}")


def shares(row: dict[str, Any]) -> str:
    parts = []
    for name, words in (("recall", "found"), ("precision", "right where it says so")):
        if row[name] is not None:
            parts.append(f"{words} {row[name]:.3f} [{row[f'{name}_ci_low']:.3f}, {row[f'{name}_ci_high']:.3f}]")
    return "; ".join(parts)
