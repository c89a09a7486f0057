"""`casewise replies`: what a chatbot does, collected and graded."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from casewise import api
from casewise.cli.commands import with_groups
from casewise.cli.judge import BaseUrlOption, ItemOptions, LimitOptions, LocalModelOptions, print_before
from casewise.cli.printing import (
    BenchmarkArgument,
    BenchmarkOption,
    DryRunOption,
    JsonOption,
    YesOption,
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

app = typer.Typer(
    help="What a chatbot does in context: collect its replies, and grade them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class ChatOptions:
    """How a chatbot is told of the circumstances, and how it replies."""

    context_role: Annotated[
        str, typer.Option("--context-role", help="The message that holds the context: system or user.")
    ] = "system"
    verified: Annotated[
        bool, typer.Option("--verified", help="Say that the circumstances have been verified, as judges are told.")
    ] = False
    system: Annotated[
        Path | None, typer.Option("--system", help="Your own system prompt, a text file that holds {context}.")
    ] = None
    temperature: Annotated[float, typer.Option("--temperature", min=0.0, help="Of the replies.")] = 0.0
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Of a reply, thinking included.")] = 1024

    def chat(self) -> api.replying.Chat:
        """How the context reaches the chatbot.

        Raises ConfigurationError: the role is neither, or options contradict each other.
        """
        if self.context_role not in ("user", "system"):
            raise ConfigurationError(f"--context-role is {self.context_role!r}; it is user or system")
        role: Any = self.context_role
        return api.replying.chat_with(role=role, verified=self.verified, system=self.system)


@dataclass(frozen=True)
class AskedChatbot:
    """Which replies are collected, of whom, and how the models are reached that take part in it."""

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

    def tell_estimate(self, options: api.replying.CollectOptions, *, as_json: bool) -> None:
        """Say what replies would take, and texts that models make before."""
        whole, selection = (self.benchmark, self.loaded), self.selection
        estimate = api.replying.collecting_estimate(
            *whole, chat=self.chat, arms=self.arms, repeats=self.repeats, selection=selection, options=options
        )
        before = api.before_collecting(*whole, arms=self.arms, selection=selection, options=options)
        if as_json:
            made = {"before": {name: asdict(one) for name, one in before.items()}} if before else {}
            print_json({"asked": self.name, **asdict(estimate), **made})
            return
        typer.echo(f"{self.name}: {estimate.n_calls:,} calls")
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


@app.command()
@with_groups
def collect(
    *,
    benchmark: BenchmarkArgument,
    model: Annotated[str, typer.Option("--model", help="The chatbot: openai/MODEL, vllm/MODEL, hf:PATH, ...")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Run folder, new or to go on with. Default: replies/BENCHMARK-MODEL.")
    ] = None,
    chat: ChatOptions,
    base_url: BaseUrlOption = None,
    arms: Annotated[
        str | None, typer.Option("--arms", help="Arms by name, with spaces: 'full none without:recipient'.")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How often to send each item.")] = 1,
    retry_unanswered: Annotated[
        int, typer.Option("--retry-unanswered", min=0, help="How often to ask again at most where no reply came.")
    ] = 0,
    items: ItemOptions,
    limits: LimitOptions,
    local: LocalModelOptions,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Send every query as a user would, in its context, and keep the replies. The same command again goes on.

    Replies may hold what nobody should spread: the folder is readable by you alone.
    """
    found = api.load(benchmark)
    reached = limits.model(base_url, local, needs_key=not dry_run)
    asked = AskedChatbot(
        found, model, api.arms_named(arms), items.selection(found), reached, chat=chat.chat(), repeats=repeats
    )
    options = api.replying.CollectOptions(
        temperature=chat.temperature,
        max_tokens=chat.max_tokens,
        seed=items.seed,
        retries=retry_unanswered,
        limits=limits.limits(),
        batch=limits.batches(),
        command=command_line(),
        benchmark_source=api.source_of(benchmark, found),
        makers=reached,
    )
    if dry_run:
        asked.tell_estimate(options, as_json=as_json)
        return
    asked.leave("the benchmark's queries", agreed=yes)
    folder = out or Path("replies") / api.default_folder(f"{Path(benchmark).stem}-{model}").name
    with watching(f"asking {model}", quiet=as_json) as watch:
        kept = asked.collect(folder, replace(options, watch=watch))
    summary = kept.summary
    if as_json:
        print_json(summary.as_json())
    else:
        typer.echo(f"{done_of(summary, 'replies')}: {folder}")
        note_problems(summary)
        note_unfinished(summary, folder)
        where, gone = shlex.quote(str(folder)), api.replying.texts_discarded(folder)
        if not summary.n_pending:
            note(f"next: casewise {f'report {where}' if gone else f'replies grade {where} --grader rubric:MODEL'}")
    end(summary)


@app.command()
@with_groups
def grade(
    *,
    replies: Annotated[
        Path | None, typer.Argument(help="A folder that casewise replies collect has made; none with --check.")
    ] = None,
    grader: Annotated[
        list[str],
        typer.Option(
            "--grader",
            help="Who grades: rubric:MODEL, hf:PATH (a classifier of refusals), guard:NAME@MODEL, python:MODULE:FUNCTION, keywords (a weak baseline). May be repeated.",
        ),
    ],
    rubric: Annotated[
        str, typer.Option("--rubric", help="For rubric: graders: strict, lenient, or a TOML file of your own.")
    ] = "strict",
    check: Annotated[
        Path | None,
        typer.Option(
            "--check", help="Try the graders on a labelled file instead: prompt, response, label (CSV or JSONL)."
        ),
    ] = None,
    benchmark: BenchmarkOption = None,
    base_url: BaseUrlOption = None,
    retry_ungraded: Annotated[
        int, typer.Option("--retry-ungraded", min=0, help="How often to ask again at most where no grade came.")
    ] = 0,
    discard_replies: Annotated[
        bool,
        typer.Option(
            "--discard-replies", help="Once all are graded, remove the replies' texts; grades and digests stay."
        ),
    ] = False,
    limits: LimitOptions,
    local: LocalModelOptions,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say of every reply whether it answers, partly answers or refuses. Another grader costs no new replies."""
    made = [
        api.replying.as_grader(name, rubric=rubric, options=limits.model(base_url, local, needs_key=not dry_run))
        for name in grader
    ]
    if replies is None or check is not None:
        file = file_to_check(check, replies, keeps=discard_replies or retry_ungraded > 0)
        try_graders(file, made, limits, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    if dry_run:
        for one in made:
            tell_estimate(api.replying.grading_estimate(replies, one, benchmark=benchmark), one.name, as_json=as_json)
        return
    leave("the benchmark's queries and the replies", *(one.sends_to for one in made), agreed=yes)
    summaries = []
    for one in made:
        with watching(f"grading by {one.name}", quiet=as_json) as watch:
            options = api.replying.GradeOptions(
                retries=retry_ungraded,
                limits=limits.limits(),
                command=command_line(),
                watch=watch,
                batch=limits.batches(),
            )
            summary = api.grade(replies, one, benchmark=benchmark, options=options)
        summaries.append(summary)
        if not as_json:
            tell_grading(one.name, summary, replies)
    if discard_replies:
        discard(replies, summaries)
    if as_json:
        print_json([summary.as_json() for summary in summaries])
    elif not any(summary.n_pending for summary in summaries):
        note(f"next: casewise report {shlex.quote(str(replies))}")
    for summary in summaries:
        end(summary)


@app.command()
def export(
    replies: Annotated[Path, typer.Argument(help="A folder of replies.")],
    to: Annotated[Path, typer.Argument(help="The file to write: .jsonl or .parquet.")],
    with_replies: Annotated[
        bool, typer.Option("--with-replies", help="With what the chatbot and graders wrote; else outcomes and digests.")
    ] = False,
) -> None:
    """Write replies and their grades as one table, a row a reply and grader."""
    done = api.replying.export(replies, to, with_replies=with_replies)
    for text in done.notes:
        note(f"note: {text}")
    say(f"{to}: {done.rows:,} rows", file=str(to), rows=done.rows)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A .jsonl or .parquet file with the columns item_id and text.")],
    benchmark: Annotated[str, typer.Option("--benchmark", help="The benchmark whose items were replied to.")],
    model: Annotated[str, typer.Option("--model", help="Who replied.")],
    out: Annotated[Path, typer.Option("--out", help="The folder to make.")],
) -> None:
    """Make a folder of replies, with their grades, from a table that was exported or collected elsewhere."""
    n = api.replying.import_table(file, benchmark, model=model, out=out)
    say(f"{out}: {n:,} replies", folder=str(out), replies=n)


def tell_grading(name: str, summary: api.replying.GradeSummary, replies: Path) -> None:
    """What came of grading, in a line or two."""
    typer.echo(f"{name}: {done_of(summary, 'graded')}")
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


def try_graders(
    file: Path, graders: list[api.replying.Grader], limits: LimitOptions, *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Each grader tried on a labelled file, or what that would take."""
    if dry_run:
        for one in graders:
            tell_estimate(api.replying.check_estimate(file, one), one.name, as_json=as_json)
        return
    leave("the prompts and the responses", *(one.sends_to for one in graders), agreed=yes)
    checked = [api.replying.check_grader(file, one, limits=limits.limits()) for one in graders]
    tell_checks(checked, as_json=as_json)


def discard(replies: Path, summaries: list[api.replying.GradeSummary]) -> None:
    """Remove the texts, unless something is left to grade."""
    if any(summary.stopped or summary.n_pending or summary.n_unusable for summary in summaries):
        note("the replies' texts are kept: not all of them have a grade; the same command goes on")
        return
    note(f"the texts of {api.replying.discard(replies):,} replies were removed; grades and digests stay")


def tell_estimate(estimate: api.contexts.CallEstimate, whom: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"asked": whom, **asdict(estimate)})
        return
    typer.echo(f"{whom}: {estimate.n_calls:,} calls")
    print_cost(estimate)


def tell_checks(found: list[api.replying.GraderCheck], *, as_json: bool) -> None:
    """How often each grader says what people say, and of which replies it does not."""
    if as_json:
        print_json([one.as_json() for one in found])
        return
    for one in found:
        typer.echo(f"{one.grader}: says what people say of {one.agree:.1%} of {one.n:,} labelled replies")
        for row in one.classes.to_dicts():
            typer.echo(f"  {row['outcome']:8} {row['n']:5,} by people; {shares(row)}")


def shares(row: dict[str, Any]) -> str:
    parts = []
    for name, words in (("recall", "found"), ("precision", "right where it says so")):
        if row[name] is not None:
            parts.append(f"{words} {row[name]:.3f} [{row[f'{name}_ci_low']:.3f}, {row[f'{name}_ci_high']:.3f}]")
    return "; ".join(parts)
