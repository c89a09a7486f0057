"""`casewise contexts`: from queries to a released set of contexts that people stand behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.types import NonNegativeInt, PositiveInt

from casewise.cli.data import ParametersOption, TaxonomyOption
from casewise.cli.options import ADDRESS, ASKED, Calls, DatabaseOption, DryRunOption, YesOption
from casewise.cli.printing import (
    as_json,
    end,
    leave,
    note,
    note_first,
    print_estimate,
    print_json,
    say,
    tell_pending,
    watching,
)
from casewise.contexts.drafts import begin_draft, open_draft
from casewise.contexts.generation import REHEARSALS, GenerationOptions, estimate_generation
from casewise.contexts.generation import generate as generate_contexts
from casewise.contexts.opinions import OpinionOptions, ask_opinions, estimate_opinions
from casewise.contexts.queue import check_draft, review_statistics
from casewise.contexts.release import ReleaseOptions, writing_models
from casewise.contexts.release import release as write_release
from casewise.errors import ConfigurationError, ExitCode
from casewise.models.load import LoadedModel, load_model
from casewise.options import Flat
from casewise.runs.limits import finished
from casewise.runs.run import default_folder
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
    per_category: PositiveInt | None = None,
    seed: int = 0,
    taxonomy: TaxonomyOption = None,
    parameters: ParametersOption = None,
    intents: str = "safe,unsafe",
    movable: bool = False,
    database: DatabaseOption = None,
) -> None:
    """Select queries, balanced by category, and begin a draft. Duplicates are left out and listed.

    Parameters
    ----------
    queries
        CSV, JSONL, JSON, Parquet, SORRY-Bench's question.jsonl, or a benchmark: demo, casebench, a folder, a published
        JSON file.
    draft
        Name of the new draft. Default: the file's name.
    per_category
        Queries of each category. Default: all.
    seed
        Seed of the draw of queries.
    intents
        Intents to make contexts for.
    movable
        Leave out queries of a benchmark whose label is the same in every context (casewise audit).
    """
    name = draft or queries.stem.lower()
    chosen = begin_draft(
        queries,
        draft=name,
        per_category=per_category,
        seed=seed,
        movable=movable,
        intents=[part.strip() for part in intents.split(",")],
        taxonomy=taxonomy,
        parameters=parameters,
        database=database,
    )
    twins = [
        {
            "left_out": twin.dropped.text,
            "kept": twin.kept.text,
            "how": "again" if twin.similarity == 1 else f"nearly again ({twin.similarity:.0%})",
        }
        for twin in chosen.twins
    ]
    note_first([f"left out, {twin['how']}: {twin['left_out']!r} (kept: {twin['kept']!r})" for twin in twins])
    note_first([f"{category}: only {count} of {per_category}" for category, count in chosen.short.items() if count])
    if absent := [category for category, count in chosen.short.items() if not count]:
        note(f"no query at all in {count_of(len(absent), 'category')}: {'; '.join(absent)}")
    categories = len({query.category for query in chosen.queries})
    say(
        f"{name}: {count_of(len(chosen.queries), 'query')} in {count_of(categories, 'category')}",
        draft=name,
        queries=len(chosen.queries),
        categories=categories,
        left_out=len(twins),
        twins=twins,
        short=chosen.short,
    )
    note(f"next: casewise contexts generate {name} --model MODEL")


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
            return
        leave("the draft's queries", loaded.model.sends_to, agreed=yes)
        with watching(f"generating {draft}") as watch:
            summary = finished(generate_contexts(store, contexts, loaded.model, options=options, watch=watch))
    if as_json():
        print_json(summary.as_json())
        end(summary)
        return
    print(f"{summary.generated} contexts generated, {summary.failed.total()} failed, in {summary.n_calls} calls")
    for reason, count in summary.failed.most_common():
        note(f"  {count} {reason}")
    tell_pending(summary)
    if summary.stopped:
        note(f"stopped: {summary.stopped}; the same command resumes")
    if summary.failed:
        note(f"again, these alone: casewise contexts generate {draft} --which failed --model MODEL")
    note(f"next: casewise contexts check {draft}")
    end(summary)


@app.command
def check(
    draft: DraftArgument,
    /,
    *,
    ask: str | None = None,
    out: Path | None = None,
    retry_unread: NonNegativeInt = 0,
    base_url: EndpointOption = None,
    calls: Flat[Calls] = Calls(),
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    database: DatabaseOption = None,
) -> None:
    """Check contexts for drift, contradictions, misplaced words, give-aways, leaks and copies; show the progress of the review.

    Reviewers see the findings.

    Parameters
    ----------
    ask
        Also ask this model for its opinion of every context. Its findings show its name.
    out
        Run folder of the model's opinions, new or to resume. Default: runs/DRAFT-opinions-MODEL.
    retry_unread
        Maximum number of further calls if a reply gives no opinion.
    """
    if dry_run and ask is None:
        raise ConfigurationError("--dry-run says what asking a model would take; give --ask MODEL")
    opinions = None
    with open_draft(draft, database) as (store, contexts):
        if ask is not None:
            loaded = context_model(ask, base_url, calls, dry_run=dry_run)
            options = OpinionOptions(prices=loaded.prices, retries=retry_unread, **calls.common())
            if dry_run:
                print_estimate(estimate_opinions(store, contexts, loaded.model, options), ask)
                return
            leave("the draft's queries and contexts", loaded.model.sends_to, agreed=yes)
            folder = out or default_folder(f"{draft}-opinions-{ask}")
            with watching(f"asking {ask}") as watch:
                opinions = finished(
                    ask_opinions(store, contexts, loaded.model, folder=folder, options=options, watch=watch)
                )
            for line in opinions.lines(ask):
                note(line)
        with store.write() as connection:
            report, review = check_draft(connection, contexts), review_statistics(connection, contexts)
    if as_json():
        print_json({**report.as_json(), "review": review.as_json()})
    else:
        print("\n".join([*report.lines(), *review.lines()]))
    if opinions is not None and (opinions.stopped or opinions.n_pending):
        raise SystemExit(ExitCode.STOPPED)


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
    with open_draft(draft, database) as (store, contexts), store.read() as connection:
        write_release(connection, contexts, folder, options=options, now=datetime.now(UTC))
        rehearsed = sorted(writing_models(connection, contexts) & REHEARSALS.keys())
    if rehearsed:
        note(
            f"warning: {', '.join(rehearsed)} made up contexts of this draft at random; do not publish them as a benchmark"
        )
    say(f"{draft} {options.version} is released: {folder}", draft=draft, version=options.version, folder=str(folder))
    note(f"next: casewise judge {folder} --judge constant:intended")
