"""`casewise contexts`: from queries to a released set of contexts that people stand behind."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.attack import paraphrases
from casewise.cli.commands import with_groups
from casewise.cli.printing import (
    DatabaseOption,
    DryRunOption,
    JsonOption,
    OverBatchOptions,
    SpendingOptions,
    YesOption,
    command_line,
    end,
    leave,
    note,
    note_first,
    print_cost,
    print_json,
    say,
    tell_pending,
    watching,
)
from casewise.errors import ConfigurationError, ExitCode

app = typer.Typer(
    help="Select queries, generate contexts for them, check, review and release them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DraftArgument = Annotated[str, typer.Argument(help="The draft's name.")]
EndpointOption = Annotated[
    str | None,
    typer.Option("--base-url", "--model-url", help="Address of a chat-completions server, up to and with /v1."),
]


@app.command()
def select(
    queries: Annotated[
        Path,
        typer.Argument(
            help="CSV, JSONL, JSON, Parquet, SORRY-Bench's question.jsonl, or a benchmark: demo, casebench, a folder, a published JSON file."
        ),
    ],
    draft: Annotated[str | None, typer.Option("--draft", help="The new draft's name. Default: the file's.")] = None,
    per_category: Annotated[
        int | None, typer.Option("--per-category", min=1, help="Queries of each category. Default: all.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Which queries are drawn.")] = 0,
    taxonomy: Annotated[Path | None, typer.Option("--taxonomy", help="Your own categories, as TOML.")] = None,
    parameters: Annotated[
        Path | None, typer.Option("--parameters", help="What contexts state: parameters of your own, as TOML.")
    ] = None,
    intents: Annotated[str, typer.Option("--intents", help="Intents to make contexts for.")] = "safe,unsafe",
    movable: Annotated[
        bool, typer.Option("--movable", help="Leave out a benchmark's queries that no context moves (casewise audit).")
    ] = False,
    database: DatabaseOption = None,
) -> None:
    """Choose queries, balanced by category, and begin a draft with them. Duplicates are named and left out."""
    name = draft or queries.stem.lower()
    chosen = api.contexts.select(
        queries,
        draft=name,
        per_category=per_category,
        seed=seed,
        movable=movable,
        wanted=api.contexts.WantedContexts(
            intents=[part.strip() for part in intents.split(",")], taxonomy=taxonomy, parameters=parameters
        ),
        database=database,
    )
    again = [
        (twin, "again" if twin.similarity == 1 else f"nearly again ({twin.similarity:.0%})") for twin in chosen.twins
    ]
    note_first([f"left out, {how}: {twin.dropped.text!r} (kept: {twin.kept.text!r})" for twin, how in again])
    note_first([f"{category}: only {count} of {per_category}" for category, count in chosen.short.items()])
    found = len({query.category for query in chosen.queries})
    what = f"{len(chosen.queries)} queries in {found} categories"
    twins = [{"left_out": twin.dropped.text, "kept": twin.kept.text, "how": how} for twin, how in again]
    say(
        f"{name}: {what}",
        draft=name,
        queries=len(chosen.queries),
        categories=found,
        left_out=len(twins),
        twins=twins,
        short=chosen.short,
    )
    note(f"next: casewise contexts generate {name} --model MODEL")


@dataclass(frozen=True)
class WritingOptions:
    """How contexts are written."""

    intents: Annotated[str, typer.Option("--intents", help="safe, unsafe, or both with a comma.")] = "safe,unsafe"
    which: Annotated[
        str, typer.Option("--which", help="missing, new, failed, or 'beyond repair' (writes those anew).")
    ] = "missing"
    attempts: Annotated[int, typer.Option("--attempts", min=1, help="Calls for one context, at most.")] = 2
    temperature: Annotated[float, typer.Option("--temperature", help="The model's temperature.")] = 1.0
    prompts: Annotated[Path | None, typer.Option("--prompts", help="Your own wording, as TOML.")] = None

    def writing(self, calls: CallOptions) -> api.contexts.Writing:
        """What these options mean."""
        return api.contexts.Writing(
            intents=self.intents.split(","),
            which=self.which,
            attempts=self.attempts,
            temperature=self.temperature,
            prompts=self.prompts,
            base_url=calls.base_url,
            prices=calls.prices(),
            limits=calls.limits(),
            command=command_line(),
            batch=calls.batches(),
        )


@dataclass(frozen=True)
class CallOptions(SpendingOptions, OverBatchOptions):
    """How a model is called, and what that may cost; whether it is done, or only reckoned."""

    base_url: EndpointOption = None
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Calls at a time.")] = 16
    dry_run: DryRunOption = False
    yes: YesOption = False

    def limits(self) -> api.Limits:
        """What it may take."""
        return api.Limits(self.concurrency, self.max_cost, self.max_tokens_total)

    def leave(self, what: str, to: str | None) -> None:
        """Ask for leave to send something."""
        leave(what, to, agreed=self.yes)


@app.command()
@with_groups
def generate(
    *,
    draft: DraftArgument,
    model: Annotated[
        str, typer.Option("--model", help="openai/gpt-4o, ollama/NAME, …; fake/contexts to rehearse at no cost.")
    ],
    writing: WritingOptions,
    calls: CallOptions,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have a model write the contexts that are missing. The same command again goes on where it stopped."""
    how = writing.writing(calls)
    if calls.dry_run:
        estimate = api.contexts.estimate_generating(draft, model, writing=how, database=database)
        print_calls(estimate, model, "contexts", as_json=as_json)
        return
    with watching(f"generating {draft}", quiet=as_json) as watch:
        summary = api.contexts.generate(draft, model, writing=how, database=database, watch=watch, leave=calls.leave)
    if as_json:
        print_json(summary.as_json())
    else:
        say_generated(summary, draft)
    end(summary)


def say_generated(summary: api.contexts.GenerationSummary, draft: str) -> None:
    typer.echo(f"{summary.generated} contexts generated, {summary.failed.total()} failed, in {summary.n_calls} calls")
    for reason, count in summary.failed.most_common():
        note(f"  {count} {reason}")
    tell_pending(summary)
    if summary.stopped:
        note(f"stopped: {summary.stopped}; the same command goes on")
    if summary.failed:
        note(f"again, these alone: casewise contexts generate {draft} --which failed --model MODEL")
    note(f"next: casewise contexts check {draft}")


def print_calls(estimate: api.contexts.CallEstimate, model: str, what: str, *, as_json: bool) -> None:
    """What asking would take."""
    if as_json:
        print_json({"model": model, what: estimate.n_calls, **asdict(estimate)})
        return
    typer.echo(f"{model}: {estimate.n_calls:,} {what} in as many calls")
    print_cost(estimate)


@app.command()
@with_groups
def check(
    *,
    draft: DraftArgument,
    ask: Annotated[
        str | None, typer.Option("--ask", help="Also ask this model for its opinion; its findings bear its name.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Run folder of its opinions, to go on with. Default: runs/DRAFT-opinions-MODEL."),
    ] = None,
    retries: Annotated[
        int,
        typer.Option("--retry-unread", min=0, help="How often to ask again at most where a reply was no opinion."),
    ] = 0,
    calls: CallOptions,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look for drift, contradictions, misplaced words, give-aways, leaks and copies; reviewers see what is found."""
    reading = api.contexts.ReaderOptions(
        out=out,
        base_url=calls.base_url,
        prices=calls.prices(),
        limits=calls.limits(),
        retries=retries,
        command=command_line(),
        batch=calls.batches(),
    )
    if calls.dry_run:
        if ask is None:
            raise ConfigurationError("--dry-run says what asking a model would take; give --ask MODEL")
        estimate = api.contexts.estimate_asking(draft, ask, reading=reading, database=database)
        print_calls(estimate, ask, "opinions", as_json=as_json)
        return
    asked = None
    if ask is not None:
        with watching(f"asking {ask}", quiet=as_json) as watch:
            asked = api.contexts.ask(draft, ask, reading=reading, database=database, watch=watch, leave=calls.leave)
        for line in asked.lines(ask):
            note(line)
    report = api.contexts.check(draft, database=database)
    if as_json:
        print_json(report.as_json())
    else:
        typer.echo("\n".join(report.lines()))
    if asked is not None and (asked.stopped or asked.n_pending):
        raise typer.Exit(ExitCode.STOPPED)


@app.command()
def status(draft: DraftArgument, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Where each context stands, how well the reviewers agree, and how much they changed."""
    found = api.contexts.status(draft, database=database)
    if as_json:
        print_json(found.as_json())
        return
    for phase, count in found.progress.items():
        if count:
            typer.echo(f"{count:6}  {phase}")
    typer.echo(f"both reviewers submitted the same words: {found.agreed_at_once}")
    typer.echo(f"both, or neither, saw a need to change: {found.same_need}")
    typer.echo(f"changed since they were generated: {found.changed}")
    typer.echo(f"returned by an expert: {found.returned}")


@app.command()
def release(
    draft: DraftArgument,
    version: Annotated[str, typer.Option("--version", help="The release's version, such as 1.0.0.")],
    out: Annotated[Path | None, typer.Option("--out", help="The new folder. Default: DRAFT-VERSION.")] = None,
    licence: Annotated[str | None, typer.Option("--licence", help="The licence you give it.")] = None,
    gated: Annotated[bool, typer.Option("--gated/--open", help="Whether people must accept terms to get it.")] = True,
    no_context: Annotated[bool, typer.Option("--no-context", help="Also an item per query without context.")] = False,
    generated: Annotated[
        bool, typer.Option("--generated", help="Also items for generated contexts that the review changed.")
    ] = False,
    unreviewed: Annotated[
        bool, typer.Option("--unreviewed", help="Generated contexts only, which nobody needs to have signed off.")
    ] = False,
    database: DatabaseOption = None,
) -> None:
    """Write an immutable, checksummed benchmark; refused while any context is not signed off, but with --unreviewed."""
    options = api.contexts.ReleaseOptions(
        version=version,
        licence=licence,
        gated=gated,
        with_no_context=no_context,
        with_generated=generated,
        unreviewed=unreviewed,
    )
    folder = api.contexts.release(draft, options=options, out=out, database=database)
    say(f"{draft} {version} is released: {folder}", draft=draft, version=version, folder=str(folder))
    note(f"next: casewise judge {folder} --judge constant:intended")


for verb in (paraphrases,):
    app.command()(verb)
