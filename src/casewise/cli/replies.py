"""`casewise replies`: a chatbot's replies, collected and graded."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.types import NonNegativeInt, PositiveInt

from casewise import api
from casewise.api.replying import PlannedReplies, chat_model, make_grader
from casewise.ask.layouts import ContextRole
from casewise.ask.prompts import chat_with
from casewise.cli.calls import Calls, Items
from casewise.cli.options import (
    ASKED,
    ITEMS,
    MACHINE,
    MODEL,
    ArmsOption,
    BaseUrlOption,
    BenchmarkArgument,
    BenchmarkOption,
    DryRunOption,
    YesOption,
)
from casewise.cli.printing import (
    confirm_sending,
    exit_with_status,
    is_json_output,
    note,
    print_estimate,
    print_failures,
    print_json,
    print_unfinished,
    progress_display,
    say,
    session_line,
)
from casewise.evaluate.judged_runs import find_benchmark
from casewise.judges.plan import select
from casewise.models.local import LocalOptions
from casewise.models.protocol import Sampling
from casewise.options import Flat
from casewise.records import FULL
from casewise.replies.behaviour import REPLIES, has_discarded_texts, import_replies
from casewise.replies.collect import CollectOptions, chat_plan
from casewise.replies.grade import GradeOptions, GradeSummary, discard_texts, estimate_grading, grading_spend
from casewise.replies.graders import Grader
from casewise.runs.run import default_folder
from casewise.storage.load import Source, source_of
from casewise.storage.run_folder import read_manifest
from casewise.text import count_of

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
    local: Annotated[LocalOptions, MACHINE] = LocalOptions(),
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
        Import these replies instead: a table (CSV, JSON Lines, Parquet and others) with the columns item_id, or query,
        and text.
    out
        Run folder, new or to resume. Default: replies/BENCHMARK-MODEL.
    repeats
        Number of times to send each item.
    retry_unanswered
        Maximum number of further calls if no reply comes.
    """
    loaded = api.load(benchmark)
    folder = out or Path("replies") / default_folder(f"{Path(benchmark).stem}-{model}").name
    if from_ is not None:
        n = import_replies(from_, folder, loaded, model=model, source=source_of(benchmark, loaded))
        say(f"{folder}: {count_of(n, 'reply')}", folder=str(folder), replies=n)
        return
    reached = calls.model(base_url, local, needs_key=not dry_run)
    options = CollectOptions(
        temperature=chat.sampling.temperature,
        max_tokens=chat.sampling.max_tokens,
        seed=items.seed,
        retries=retry_unanswered,
        benchmark_source=source_of(benchmark, loaded),
        makers=reached,
        **calls.common(),
    )
    planned = PlannedReplies(
        folder,
        loaded,
        chat_model(model, reached),
        chat_plan(select(loaded, items.select_from(loaded)), api.parse_arms(arms) or (FULL,), repeats),
        chat_with(role=chat.context_role, verified=chat.verified, system=chat.system),
        options,
    )
    if dry_run:
        print_estimate(planned.estimate(), model, planned.estimate_before())
        return
    confirm_sending("the benchmark's queries", *planned.sends_to(), agreed=yes)
    with progress_display(f"asking {model}") as watch:
        summary = planned.perform(watch).summary
    if is_json_output():
        print_json(summary.as_json())
    else:
        print(f"{session_line(summary, 'reply')}: {folder}")
        print_failures(summary)
        print_unfinished(summary, folder)
        if summary.n_done and not summary.n_pending:
            where, gone = shlex.quote(str(folder)), has_discarded_texts(folder)
            note(f"next: casewise {f'report {where}' if gone else f'replies grade {where} --grader rubric:MODEL'}")
    exit_with_status(summary)


@app.command
def grade(
    replies: RepliesArgument,
    /,
    *,
    grader: list[str],
    rubric: str = "strict",
    benchmark: BenchmarkOption = None,
    base_url: BaseUrlOption = None,
    retry_ungraded: NonNegativeInt = 0,
    discard_replies: bool = False,
    calls: Flat[Calls] = Calls(),
    local: Annotated[LocalOptions, MACHINE] = LocalOptions(),
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Grade every stored reply: answers, partly answers, or refuses.

    Parameters
    ----------
    grader
        The grader: rubric:MODEL, hf:PATH (a classifier of refusals), guard:NAME@MODEL, python:MODULE:FUNCTION, keywords
        (a weak baseline). May be repeated.
    rubric
        Rubric of rubric:MODEL: strict, lenient, or a TOML file of your own.
    retry_ungraded
        Maximum number of further calls if no grade comes.
    discard_replies
        Delete the texts of the replies once all are graded; keep grades and digests.
    """
    reached = calls.model(base_url, local, needs_key=not dry_run)
    graders = [make_grader(name, rubric=rubric, options=reached) for name in grader]
    if dry_run:
        over = find_benchmark(read_manifest(replies, REPLIES), benchmark)
        for grader_made in graders:
            print_estimate(estimate_grading(replies, over, grader_made), grader_made.name)
        return
    for grader_made in graders:
        confirm_sending("the benchmark's queries and the replies", grader_made.sends_to, agreed=yes)
    options = GradeOptions(retries=retry_ungraded, **calls.common())
    summaries = grade_each(replies, graders, options, benchmark=benchmark)
    if discard_replies:
        discard(replies, summaries)
    if is_json_output():
        print_json([summary.as_json() for summary in summaries])
    elif not any(summary.n_pending for summary in summaries):
        note(f"next: casewise report {shlex.quote(str(replies))}")
    for summary in summaries:
        exit_with_status(summary)


def grade_each(
    replies: Path, graders: Sequence[Grader], options: GradeOptions, *, benchmark: Source | None = None
) -> list[GradeSummary]:
    """Grade all replies with each grader under one budget, and print the results."""
    summaries = []
    for grader in graders:
        limits = options.limits.reduced_by(grading_spend(replies, (other for other in graders if other is not grader)))
        with progress_display(f"grading by {grader.name}") as watch:
            graded = replace(options, limits=limits, watch=watch)
            summary = api.grade(replies, grader, benchmark=benchmark, options=graded)
        summaries.append(summary)
        if not is_json_output():
            print(f"{grader.name}: {session_line(summary, 'grade')}")
            print_failures(summary)
            print_unfinished(summary, replies)
            for text in summary.notes:
                note(f"note: {text}")
    return summaries


def discard(replies: Path, summaries: list[GradeSummary]) -> None:
    """Remove the texts, unless a reply remains to be graded."""
    if any(summary.stopped or summary.n_pending or summary.n_unusable for summary in summaries):
        note("the texts stay, because some replies have no grade yet; the same command resumes")
        return
    note(f"the texts of {count_of(discard_texts(replies), 'reply was')} removed; grades and digests stay")
