"""`casewise contexts`: from queries to a released set of contexts that people stand behind."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.cli.printing import JsonOption, note, print_json, progress_bar
from casewise.cli.serve import DatabaseOption

if TYPE_CHECKING:
    from casewise.contexts.select import SelectedQueries
    from casewise.contexts.writing.generation import GenerationSummary
    from casewise.database import Database

__all__ = ["app", "opened"]

app = typer.Typer(
    help="Select queries, generate contexts for them, check, review and release them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DraftArgument = Annotated[str, typer.Argument(help="The draft's name.")]


def opened(database: str | None) -> Database:
    """The database that is meant, brought up to date."""
    from casewise import database as databases
    from casewise.settings import DEFAULT_DATABASE

    return databases.open(database or os.environ.get("CASEWISE_DATABASE") or DEFAULT_DATABASE)


@app.command()
def select(
    queries: Annotated[
        Path,
        typer.Argument(
            help="CSV, JSONL, JSON, Parquet, SORRY-Bench's question.jsonl, or a benchmark: demo, casebench, a folder."
        ),
    ],
    draft: Annotated[str | None, typer.Option("--draft", help="The new draft's name. Default: the file's.")] = None,
    per_category: Annotated[
        int | None, typer.Option("--per-category", min=1, help="Queries of each category. Default: all.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Which queries are drawn.")] = 0,
    taxonomy: Annotated[Path | None, typer.Option("--taxonomy", help="Your own categories, as TOML.")] = None,
    intents: Annotated[str, typer.Option("--intents", help="Intents to make contexts for.")] = "safe,unsafe",
    database: DatabaseOption = None,
) -> None:
    """Choose queries, balanced by category, and begin a draft with them. Duplicates are named and left out."""
    import numpy as np

    from casewise.contexts.drafts import create_draft
    from casewise.contexts.select import read_queries, select_queries
    from casewise.records import Taxonomy, sorry_bench

    categories = Taxonomy.read(taxonomy) if taxonomy else sorry_bench()
    chosen = select_queries(
        read_queries(queries, categories), categories, per_category=per_category, rng=np.random.default_rng(seed)
    )
    say_selected(chosen, per_category)
    name = draft or queries.stem.lower()
    store = opened(database)
    with store.write() as connection:
        create_draft(
            connection,
            name,
            queries=chosen.queries,
            taxonomy=categories,
            intents=[part.strip() for part in intents.split(",")],
            now=datetime.now(UTC),
        )
    store.close()
    found = len({query.category for query in chosen.queries})
    typer.echo(f"{name}: {len(chosen.queries)} queries in {found} categories")
    note(f"next: casewise contexts generate {name} --model MODEL")


def say_selected(chosen: SelectedQueries, per_category: int | None) -> None:
    for twin in chosen.twins:
        kind = "again" if twin.similarity == 1 else f"nearly again ({twin.similarity:.0%})"
        note(f"left out, {kind}: {twin.dropped.text!r} (kept: {twin.kept.text!r})")
    for category, count in chosen.short.items():
        note(f"{category}: only {count} of {per_category}")


@app.command()
def generate(
    draft: DraftArgument,
    model: Annotated[
        str, typer.Option("--model", help="openai/gpt-4o, ollama/NAME, …; fake/contexts to rehearse at no cost.")
    ],
    intents: Annotated[str, typer.Option("--intents", help="safe, unsafe, or both with a comma.")] = "safe,unsafe",
    which: Annotated[
        str, typer.Option("--which", help="missing, new, failed, or 'beyond repair' (writes those anew).")
    ] = "missing",
    attempts: Annotated[int, typer.Option("--attempts", min=1, help="Calls for one context, at most.")] = 2,
    temperature: Annotated[float, typer.Option("--temperature", help="The model's temperature.")] = 1.0,
    prompts: Annotated[Path | None, typer.Option("--prompts", help="Your own wording, as TOML.")] = None,
    base_url: Annotated[str | None, typer.Option("--model-url", help="The address of a compatible endpoint.")] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Calls at a time.")] = 16,
    max_cost: Annotated[float | None, typer.Option("--max-cost", help="US dollars to spend, at most.")] = None,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have a model write the contexts that are missing. The same command again goes on where it stopped."""
    from casewise.contexts.drafts import checked_intent, find_draft
    from casewise.contexts.writing.fake_writers import REHEARSALS
    from casewise.contexts.writing.generation import GenerationOptions, checked_which
    from casewise.contexts.writing.generation import generate as run
    from casewise.contexts.writing.prompts import default_prompt, read_prompt
    from casewise.models.load import ModelOptions, load_model
    from casewise.runs.limits import Limits

    writer = load_model(model, ModelOptions(base_url, fakes=REHEARSALS))
    options = GenerationOptions(
        prompt=read_prompt(prompts) if prompts else default_prompt(),
        which=checked_which(which),
        intents=tuple(checked_intent(part.strip()) for part in intents.split(",")),
        attempts=attempts,
        temperature=temperature,
        limits=Limits(concurrency=concurrency, max_cost_usd=max_cost),
        prices=writer.prices,
    )
    store = opened(database)
    with store.read() as connection:
        found = find_draft(connection, draft)
    with progress_bar(f"generating {draft}", quiet=as_json) as progress:
        summary = asyncio.run(run(store, found, writer.model, options=options, progress=progress, say=note))
    store.close()
    say_generated(summary, draft, as_json=as_json)


def say_generated(summary: GenerationSummary, draft: str, *, as_json: bool) -> None:
    if as_json:
        print_json(summary.as_json())
        return
    typer.echo(f"{summary.generated} contexts generated, {summary.failed.total()} failed, in {summary.calls} calls")
    for reason, count in summary.failed.most_common():
        note(f"  {count} {reason}")
    if summary.stopped:
        note(f"stopped: {summary.stopped}; the same command goes on")
    if summary.failed:
        note(f"again, these alone: casewise contexts generate {draft} --which failed --model MODEL")
    note(f"next: casewise contexts check {draft}")


@app.command()
def check(
    draft: DraftArgument,
    ask: Annotated[
        str | None, typer.Option("--ask", help="Also ask this model for its opinion; its findings bear its name.")
    ] = None,
    base_url: Annotated[str | None, typer.Option("--model-url", help="The address of a compatible endpoint.")] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Calls at a time.")] = 16,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look for drift, contradictions, misplaced words, give-aways, leaks and copies; reviewers see what is found."""
    from casewise.contexts.drafts import find_draft
    from casewise.contexts.reviewing.drafts_checked import check_draft
    from casewise.contexts.writing.fake_writers import REHEARSALS
    from casewise.contexts.writing.opinions import ask_opinions, summary_lines
    from casewise.models.load import ModelOptions, load_model
    from casewise.runs.limits import Limits

    writer = load_model(ask, ModelOptions(base_url, fakes=REHEARSALS)) if ask else None
    store = opened(database)
    with store.read() as connection:
        found = find_draft(connection, draft)
    if writer is not None:
        with progress_bar(f"asking {ask}", quiet=as_json) as progress:
            limits = Limits(concurrency=concurrency)
            asked = asyncio.run(ask_opinions(store, found, writer.model, limits=limits, progress=progress))
        for line in summary_lines(asked, writer.model.name):
            note(line)
    with store.write() as connection:
        report = check_draft(connection, found)
    store.close()
    if as_json:
        print_json(report.as_json())
        return
    for line in report.lines():
        typer.echo(line)


@app.command()
def status(draft: DraftArgument, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Where each context stands, how well the reviewers agree, and how much they changed."""
    from casewise.contexts.drafts import find_draft
    from casewise.contexts.reviewing.statistics import review_statistics

    store = opened(database)
    with store.read() as connection:
        found = review_statistics(connection, find_draft(connection, draft))
    store.close()
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
    database: DatabaseOption = None,
) -> None:
    """Write an immutable, checksummed benchmark; refused while any context is not signed off."""
    from casewise.contexts.drafts import find_draft
    from casewise.contexts.releasing.release import ReleaseOptions
    from casewise.contexts.releasing.release import release as write

    folder = out or Path(f"{draft}-{version}")
    options = ReleaseOptions(
        version=version, licence=licence, gated=gated, with_no_context=no_context, with_generated=generated
    )
    store = opened(database)
    with store.read() as connection:
        write(connection, find_draft(connection, draft), folder, options=options, now=datetime.now(UTC))
    store.close()
    typer.echo(f"{draft} {version} is released: {folder}")
    note(f"next: casewise judge {folder} --judge constant:intended")
