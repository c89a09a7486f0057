"""From queries to a released set of contexts that people stand behind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from casewise import database as databases
from casewise.contexts import generation
from casewise.contexts.drafts import (
    Draft,
    SelectedQueries,
    create_draft,
    find_draft,
    read_queries,
    select_queries,
    source_benchmark,
)
from casewise.contexts.generation import REHEARSALS, GenerationOptions, GenerationSummary, estimate_generation
from casewise.contexts.opinions import OpinionOptions, OpinionSummary, ask_opinions, estimate_opinions
from casewise.contexts.queue import ReviewStatistics, SetReport, check_draft, review_statistics
from casewise.contexts.release import ReleaseOptions
from casewise.contexts.release import release as write_release
from casewise.database import Database
from casewise.errors import ConfigurationError, DataError
from casewise.models.endpoints import Prices
from casewise.models.load import LoadedModel, ModelOptions, load_model
from casewise.records import ParameterSet, Taxonomy, paper_parameters, sorry_bench
from casewise.runs.limits import Watch, finished
from casewise.runs.run import CallEstimate, default_folder
from casewise.storage.load import load_benchmark


def select(
    queries: str | Path,
    *,
    draft: str | None = None,
    per_category: int | None = None,
    seed: int = 0,
    movable: bool = False,
    intents: Sequence[str] = ("safe", "unsafe"),
    taxonomy: str | Path | None = None,
    parameters: str | Path | None = None,
    database: str | None = None,
) -> SelectedQueries:
    """Choose queries, balanced by category, and begin a draft with them. Duplicates are named and left out.

    Parameters
    ----------
    queries
        CSV, JSONL, JSON, Parquet, SORRY-Bench's `question.jsonl`, or a benchmark.
    draft
        The new draft's name; by default the file's.
    per_category
        Queries of each category; by default all.
    movable
        Leave out the queries of a benchmark that no context moves: people's verdict is the same under each.
    intents
        The intents that each query needs a context for.
    taxonomy, parameters
        TOML files with categories and with parameters of contexts of your own; by default those of the benchmark that the
        queries come from, or SORRY-Bench's and the paper's.
    """
    source = source_benchmark(Path(queries))
    categories = Taxonomy.read(Path(taxonomy)) if taxonomy else source.taxonomy if source else sorry_bench()
    stated = ParameterSet.read(Path(parameters)) if parameters else source.parameters if source else paper_parameters()
    candidates = read_queries(Path(queries), categories)
    if movable:
        unmoved = unmoved_in(queries)
        candidates = [query for query in candidates if query.id not in unmoved]
    selected = select_queries(candidates, categories, per_category=per_category, rng=np.random.default_rng(seed))
    with databases.open(database) as store, store.write() as connection:
        create_draft(
            connection,
            draft or Path(queries).stem.lower(),
            queries=selected.queries,
            taxonomy=categories,
            parameters=stated,
            intents=intents,
            now=datetime.now(UTC),
        )
    return selected


def unmoved_in(source: str | Path) -> Collection[str]:
    """Return the ids of a benchmark's queries that no context moves."""
    try:
        benchmark = load_benchmark(source)
    except DataError as error:
        raise ConfigurationError(
            f"which queries contexts move is known of a benchmark with ratings only: {error}"
        ) from error
    if not benchmark.counts.ratings:
        raise ConfigurationError(f"which queries contexts move is not known of {benchmark.name!r}: it has no ratings")
    return benchmark.unmoved


Leave = Callable[[str, str | None], None]
"""Told what is to be sent, in words, and to whom (None: it does not leave this machine); raises where that may not be."""


def generate(
    draft: str,
    model: str,
    *,
    options: GenerationOptions = GenerationOptions(),
    base_url: str | None = None,
    database: str | None = None,
    watch: Watch | None = None,
    leave: Leave | None = None,
) -> GenerationSummary:
    """Have a model write the contexts that are missing. The same call again resumes where it stopped.

    Parameters
    ----------
    base_url
        The address of a compatible endpoint.
    leave
        Asked before anything is sent.

    Raises
    ------
    ModelError
        No further call can succeed; what was generated before is kept.
    ConfigurationError
        The model's name is unknown, a key is not set, a choice is none, a limit cannot be kept, or nothing may be sent.
    """
    writer = loaded(model, base_url, options.prices, batch=options.batch is not None)
    with draft_named(draft, database) as (store, contexts):
        if leave is not None:
            leave("the draft's queries", writer.model.sends_to)
        options = replace(options, prices=writer.prices)
        return finished(generation.generate(store, contexts, writer.model, options=options, watch=watch))


def estimate_generating(
    draft: str,
    model: str,
    *,
    options: GenerationOptions = GenerationOptions(),
    base_url: str | None = None,
    database: str | None = None,
) -> CallEstimate:
    """Estimate the calls of `generate` if every first attempt succeeds. Calls no model and needs no key."""
    writer = loaded(model, base_url, options.prices, needs_key=False)
    with draft_named(draft, database) as (store, contexts):
        return estimate_generation(store, contexts, writer.model, replace(options, prices=writer.prices))


def check(draft: str, *, database: str | None = None) -> SetReport:
    """Look for drift, contradictions, misplaced words, give-aways, leaks and copies; reviewers see what is found."""
    with draft_named(draft, database) as (store, contexts), store.write() as connection:
        return check_draft(connection, contexts)


def ask(
    draft: str,
    model: str,
    *,
    out: Path | None = None,
    options: OpinionOptions = OpinionOptions(),
    base_url: str | None = None,
    database: str | None = None,
    watch: Watch | None = None,
    leave: Leave | None = None,
) -> OpinionSummary:
    """Ask a model for its opinion of every context; reviewers see its findings, under its name.

    The same call again asks about what is left, or has other words by then.

    Parameters
    ----------
    out
        The run folder of its opinions, new or to resume; by default `runs/DRAFT-opinions-MODEL`.
    base_url
        The address of a compatible endpoint.
    leave
        Asked before anything is sent.

    Raises
    ------
    ModelError
        No further call can succeed; what was answered before is kept.
    RunConflict
        The run folder holds something else, or another process asks the same.
    ConfigurationError
        The model's name is unknown, a key is not set, a limit cannot be kept, or nothing may be sent.
    """
    reader = loaded(model, base_url, options.prices, batch=options.batch is not None)
    folder = out or default_folder(f"{draft}-opinions-{model}")
    with draft_named(draft, database) as (store, contexts):
        if leave is not None:
            leave("the draft's queries and contexts", reader.model.sends_to)
        options = replace(options, prices=reader.prices)
        return finished(ask_opinions(store, contexts, reader.model, folder=folder, options=options, watch=watch))


def estimate_asking(
    draft: str,
    model: str,
    *,
    options: OpinionOptions = OpinionOptions(),
    base_url: str | None = None,
    database: str | None = None,
) -> CallEstimate:
    """Estimate the calls of `ask` about every context, as if none had been made. Calls no model."""
    reader = loaded(model, base_url, options.prices, needs_key=False)
    with draft_named(draft, database) as (store, contexts):
        return estimate_opinions(store, contexts, reader.model, replace(options, prices=reader.prices))


def loaded(
    model: str, base_url: str | None, prices: Prices | None, *, needs_key: bool = True, batch: bool = False
) -> LoadedModel:
    return load_model(model, ModelOptions(base_url, prices, fakes=REHEARSALS, needs_key=needs_key, batch=batch))


@contextmanager
def draft_named(name: str, database: str | None) -> Iterator[tuple[Database, Draft]]:
    with databases.open(database) as store:
        with store.read() as connection:
            draft = find_draft(connection, name)
        yield store, draft


def status(draft: str, *, database: str | None = None) -> ReviewStatistics:
    """Return the state of each context, the agreement of the reviewers, and the amount that they changed."""
    with draft_named(draft, database) as (store, contexts), store.read() as connection:
        return review_statistics(connection, contexts)


def release(draft: str, *, options: ReleaseOptions, out: str | Path | None = None, database: str | None = None) -> Path:
    """Write an immutable, checksummed benchmark; refused while any context is not signed off.

    Parameters
    ----------
    out
        The new folder; by default `DRAFT-VERSION`.
    """
    folder = Path(out) if out is not None else Path(f"{draft}-{options.version}")
    with draft_named(draft, database) as (store, contexts), store.read() as connection:
        return write_release(connection, contexts, folder, options=options, now=datetime.now(UTC))
