"""`casewise contexts`: from queries to a released set of contexts that people stand behind."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.types import NonNegativeInt

from casewise.cli.calls import Calls
from casewise.cli.data import ParametersOption, TaxonomyOption
from casewise.cli.options import (
    ADDRESS,
    ASKED,
    FREE_TEXT,
    DatabaseOption,
    DryRunOption,
    ParameterColumns,
    YesOption,
    values_by_name,
)
from casewise.cli.printing import (
    confirm_sending,
    exit_with_status,
    is_json_output,
    note,
    print_estimate,
    print_first_notes,
    print_json,
    print_pending,
    progress_display,
    say,
)
from casewise.contexts.drafts import draft_queries, open_draft
from casewise.contexts.generation import REHEARSALS, GenerationOptions, estimate_generation, named_prompt
from casewise.contexts.generation import generate as generate_contexts
from casewise.contexts.opinions import OpinionOptions, ask_opinions, estimate_opinions
from casewise.contexts.queue import check_draft
from casewise.contexts.record import read_record
from casewise.contexts.release import ReleaseOptions, pairs_of, pairs_table, rehearsal_models
from casewise.contexts.release import release as write_release
from casewise.contexts.review import Act, NotAllowed, ReviewAction
from casewise.contexts.selection import (
    ContextColumns,
    SelectedQueries,
    SelectionOptions,
    add_to_draft,
    begin_draft,
)
from casewise.contexts.statistics import review_statistics
from casewise.contexts.store import OWNER, act_on_query, places_of_query
from casewise.errors import ConfigurationError, ExitCode
from casewise.models.load import LoadedModel, load_model
from casewise.options import Flat
from casewise.runs.limits import run_sync
from casewise.runs.run import default_folder
from casewise.storage.files import json_fields, write_text
from casewise.text import count_of

app = App(name="contexts")

DraftArgument = Annotated[str, Parameter(help="The draft's name.")]
EndpointOption = Annotated[str | None, ADDRESS, Parameter(name=("--base-url", "--model-url"))]


@app.command
def select(
    queries: Path,
    /,
    *,
    draft: str | None = None,
    options: Flat[SelectionOptions] = SelectionOptions(),
    columns: Flat[ContextColumns] = ContextColumns(),
    parameter: ParameterColumns = (),
    vary: str = "",
    taxonomy: TaxonomyOption = None,
    parameters: ParametersOption = None,
    database: DatabaseOption = None,
) -> None:
    """Select queries, balanced by category, and begin a draft. Contexts in the file enter the review.

    Duplicates are left out and listed, as is everything else of the file that the draft does not take.

    Parameters
    ----------
    queries
        A table (CSV, Excel, JSON, JSONL, Parquet) of queries or of contexts, SORRY-Bench's question.jsonl, or a benchmark: demo,
        casebench, a release, a published JSON file.
    draft
        Name of the new draft. Default: the file's name.
    vary
        Parameters or groups in which the two contexts of a query are meant to differ, separated by commas. The check then
        reports pairs that differ in none of them, or beyond them.
    """
    name = draft or queries.stem.lower()
    chosen = begin_draft(
        queries,
        draft=name,
        options=options,
        columns=replace(columns, parameters=values_by_name(parameter)),
        vary=[name.strip() for name in vary.split(",") if name.strip()],
        taxonomy=taxonomy,
        parameters=parameters,
        database=database,
    )
    print_selection(name, chosen, options)


@app.command
def add(
    draft: DraftArgument,
    queries: Path,
    /,
    *,
    options: Flat[SelectionOptions] = SelectionOptions(),
    columns: Flat[ContextColumns] = ContextColumns(),
    parameter: ParameterColumns = (),
    database: DatabaseOption = None,
) -> None:
    """Add queries to a draft, with the contexts that come with them, and contexts for queries of the draft that lack one.

    Parameters
    ----------
    queries
        A file as select reads it.
    """
    chosen = add_to_draft(
        draft,
        queries,
        options=options,
        columns=replace(columns, parameters=values_by_name(parameter)),
        database=database,
    )
    print_selection(draft, chosen, options)


def print_selection(name: str, chosen: SelectedQueries, options: SelectionOptions) -> None:
    """Print the chosen queries, the contexts that came with them, and everything that was left out."""
    duplicates = [
        {
            "left_out": duplicate.dropped.text,
            "kept": duplicate.kept.text,
            "how": "again" if duplicate.similarity == 1 else f"nearly again ({duplicate.similarity:.0%})",
        }
        for duplicate in chosen.duplicates
    ]
    print_first_notes(
        [
            f"left out, {duplicate['how']}: {duplicate['left_out']!r} (kept: {duplicate['kept']!r})"
            for duplicate in duplicates
        ]
    )
    print_first_notes(
        [f"{category}: only {count} of {options.per_category}" for category, count in chosen.short.items() if count]
    )
    if absent := [category for category, count in chosen.short.items() if not count]:
        note(f"the file has no query in {count_of(len(absent), 'category')}: {'; '.join(absent)}")
    for line in chosen.notes:
        note(line)
    categories = len({query.category for query in chosen.queries})
    noun = "action" if {query.judged for query in chosen.queries} == {"action"} else "query"
    came = {
        "imported for review": chosen.imported,
        "imported with their approval": chosen.adopted,
        "left for reviewers to write": chosen.missing,
    }
    say(
        "\n".join(
            [
                f"{name}: {count_of(len(chosen.queries), noun)} in {count_of(categories, 'category')}",
                *(f"{count_of(count, 'context')} {became}" for became, count in came.items() if count),
            ]
        ),
        draft=name,
        queries=len(chosen.queries),
        categories=categories,
        left_out=len(duplicates),
        duplicates=duplicates,
        short=chosen.short,
        imported=chosen.imported,
        adopted=chosen.adopted,
        missing=chosen.missing,
        notes=list(chosen.notes),
    )
    if chosen.imported or chosen.adopted or chosen.missing:
        note(f"next: casewise contexts check {shlex.quote(str(name))}")
    else:
        note(f"next: casewise contexts generate {shlex.quote(str(name))} --model MODEL")


def context_model(model: str, base_url: str | None, calls: Calls, *, dry_run: bool) -> LoadedModel:
    """Return a model that writes or reads contexts."""
    options = calls.model(base_url, needs_key=not dry_run)
    return load_model(model, replace(options, fakes=REHEARSALS, batch=options.batch and not dry_run))


@app.command
def generate(
    draft: DraftArgument,
    /,
    *,
    model: str,
    writing: Annotated[GenerationOptions, ASKED] = GenerationOptions(),
    base_url: EndpointOption = None,
    calls: Flat[Calls] = Calls(),
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    database: DatabaseOption = None,
) -> None:
    """Generate the missing contexts with a model. The same command resumes.

    Parameters
    ----------
    model
        The model: openai/gpt-4o, ollama/NAME, …; fake/contexts makes up contexts at no cost.
    """
    loaded = context_model(model, base_url, calls, dry_run=dry_run)
    options = replace(writing, prices=loaded.prices, **calls.common())
    with open_draft(draft, database) as (store, contexts):
        if dry_run:
            print_estimate(estimate_generation(store, contexts, loaded.model, options), model)
            prompt = named_prompt(options.prompts, contexts.parameters)
            note(f"prompt {prompt.id}" + (f": {prompt.about}" if prompt.about else ""))
            return
        confirm_sending("the draft's queries", loaded.model.sends_to, agreed=yes)
        with progress_display(f"generating {draft}") as watch:
            summary = run_sync(generate_contexts(store, contexts, loaded.model, options=options, watch=watch))
    if is_json_output():
        print_json(summary.as_json())
        exit_with_status(summary)
        return
    print(
        f"{count_of(summary.n_usable, 'context')} generated, {summary.failed.total():,} failed, in {count_of(summary.n_calls, 'call')}"
    )
    for reason, count in summary.failed.most_common():
        note(f"  {count} {reason}")
    print_pending(summary)
    if summary.stopped:
        note(f"stopped: {summary.stopped}; the same command resumes")
    if summary.failed:
        note(
            f"to try only these again: casewise contexts generate {shlex.quote(str(draft))} --which failed --model MODEL"
        )
    note(f"next: casewise contexts check {shlex.quote(str(draft))}")
    exit_with_status(summary)


@app.command
def check(
    draft: DraftArgument,
    /,
    *,
    ask: str | None = None,
    out: Path | None = None,
    pairs: Path | None = None,
    retry_unread: NonNegativeInt = 0,
    base_url: EndpointOption = None,
    calls: Flat[Calls] = Calls(),
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    database: DatabaseOption = None,
) -> None:
    """Check contexts and pairs of contexts by rules, and show the progress of the review. Reviewers see the findings.

    The rules look for drift, contradictions, misplaced words, give-aways, verdicts, leaks, instructions, placeholders, other
    languages, copies of the query, and contexts that are too alike.

    Parameters
    ----------
    ask
        Also ask this model for its opinion of every context. Its findings show its name.
    out
        Run folder of the model's opinions, new or to resume. Default: runs/DRAFT-opinions-MODEL.
    pairs
        Write a CSV file with the parameters in which the two contexts of each query differ.
    retry_unread
        Maximum number of further calls if a reply gives no opinion.
    """
    if dry_run and ask is None:
        raise ConfigurationError("--dry-run estimates the calls to a model; give --ask MODEL with it")
    opinions = None
    with open_draft(draft, database) as (store, contexts):
        if ask is not None:
            loaded = context_model(ask, base_url, calls, dry_run=dry_run)
            options = OpinionOptions(prices=loaded.prices, retries=retry_unread, **calls.common())
            if dry_run:
                print_estimate(estimate_opinions(store, contexts, loaded.model, options), ask)
                return
            confirm_sending("the draft's queries and contexts", loaded.model.sends_to, agreed=yes)
            folder = out or default_folder(f"{draft}-opinions-{ask}")
            with progress_display(f"asking {ask}") as watch:
                opinions = run_sync(
                    ask_opinions(store, contexts, loaded.model, folder=folder, options=options, watch=watch)
                )
            for line in opinions.lines(ask):
                note(line)
        with store.write() as connection:
            report, record = check_draft(connection, contexts), read_record(connection, contexts)
            compared = pairs_of(draft_queries(connection, contexts), record, vary=contexts.vary)
        review = review_statistics(record)
        if pairs is not None:
            write_text(pairs, pairs_table(compared))
    if is_json_output():
        print_json({**json_fields(report), "review": review.as_json()})
    else:
        print("\n".join([*report.lines(), *review.lines()]))
    if opinions is not None and (opinions.stopped or opinions.n_pending or opinions.n_unavailable):
        raise SystemExit(ExitCode.STOPPED)


@app.command
def withdraw(
    draft: DraftArgument,
    query: Annotated[str, FREE_TEXT],
    /,
    *,
    reason: Annotated[str, FREE_TEXT],
    restore: bool = False,
    database: DatabaseOption = None,
) -> None:
    """Leave a query out of the draft's releases, with both of its contexts and a reason. Nothing is deleted.

    Parameters
    ----------
    query
        The query's text, or its id.
    reason
        Why. The release states it. `-` reads it from standard input.
    restore
        Take back a query that was withdrawn. Its contexts are reviewed anew.
    """
    with open_draft(draft, database) as (store, contexts), store.write() as connection:
        of_draft = draft_queries(connection, contexts)
        query_found = next((candidate for candidate in of_draft if query in (candidate.id, candidate.text)), None)
        if query_found is None:
            raise ConfigurationError(f"{draft} has no query {query!r}; give its whole text, or its id")
        place, *_ = places_of_query(connection, contexts.id, query_found.id)
        action = ReviewAction(by=OWNER, act=Act.RESTORE if restore else Act.WITHDRAW, reason=reason)
        try:
            act_on_query(connection, place.id, action, seen=None, now=datetime.now(UTC))
        except NotAllowed as error:
            raise ConfigurationError(f"{query_found.text!r}: {error}") from error
    became = "restored; reviewers review its contexts again" if restore else "withdrawn from the releases"
    say(f"{query_found.text!r} is {became}", draft=draft, query=query_found.id, withdrawn=not restore, reason=reason)


@app.command
def release(
    draft: DraftArgument,
    /,
    *,
    options: Flat[ReleaseOptions],
    out: Path | None = None,
    database: DatabaseOption = None,
) -> None:
    """Write an immutable benchmark with checksums. Every context must be approved, except with --unreviewed.

    Parameters
    ----------
    out
        The new folder. Default: DRAFT-VERSION.
    """
    folder = out or Path(f"{draft}-{options.version}")
    with open_draft(draft, database) as (store, contexts), store.write() as connection:
        write_release(connection, contexts, folder, options=options, now=datetime.now(UTC))
        made_up = rehearsal_models(read_record(connection, contexts))
    if made_up:
        note(
            f"warning: {', '.join(made_up)} made up contexts of this draft at random; do not publish them as a benchmark"
        )
    say(f"{draft} {options.version} is released: {folder}", draft=draft, version=options.version, folder=str(folder))
    note(f"next: casewise judge {shlex.quote(str(folder))} --judge constant:intended")
