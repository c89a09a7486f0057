"""From queries to a released set of contexts that people stand behind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from casewise import database as databases
from casewise.contexts.drafts import (
    Draft,
    SelectedQueries,
    checked_intent,
    create_draft,
    find_draft,
    read_queries,
    select_queries,
    source_benchmark,
)
from casewise.contexts.generation import (
    REHEARSALS,
    WHICH,
    GenerationOptions,
    GenerationSummary,
    default_prompt,
    estimate_generation,
    read_prompt,
)
from casewise.contexts.generation import generate as write_contexts
from casewise.contexts.opinions import OpinionOptions, OpinionSummary, ask_opinions, estimate_opinions
from casewise.contexts.queue import ReviewStatistics, SetReport, check_draft, review_statistics
from casewise.contexts.release import ReleaseOptions
from casewise.contexts.release import release as write_release
from casewise.database import Database
from casewise.errors import ConfigurationError, DataError, one_of
from casewise.models.endpoints import Prices
from casewise.models.load import LoadedModel, ModelOptions, load_model
from casewise.records import ParameterSet, Taxonomy, paper_parameters, sorry_bench
from casewise.runs.limits import Watch, finished
from casewise.runs.run import CallEstimate, CallingOptions, default_folder
from casewise.storage.benchmark import Benchmark
from casewise.storage.load import load_benchmark

__all__ = [
    "CallEstimate",
    "GenerationSummary",
    "ReaderOptions",
    "ReleaseOptions",
    "WantedContexts",
    "Writing",
    "ask",
    "check",
    "estimate_asking",
    "estimate_generating",
    "generate",
    "release",
    "select",
    "status",
]


@dataclass(frozen=True, kw_only=True)
class WantedContexts:
    """The contexts that a draft needs: their categories, intents and parameters."""

    intents: Sequence[str] = ("safe", "unsafe")
    taxonomy: str | Path | None = None
    """Your own categories, as TOML; by default those of the benchmark that the queries come from, or SORRY-Bench's."""
    parameters: str | Path | None = None
    """Your own parameters, as TOML; by default those of the benchmark that the queries come from, or the paper's."""

    def categories(self, source: Benchmark | None) -> Taxonomy:
        """The categories, where queries come from `source`."""
        if self.taxonomy:
            return Taxonomy.read(Path(self.taxonomy))
        return source.taxonomy if source else sorry_bench()

    def stating(self, source: Benchmark | None) -> ParameterSet:
        """The parameters, where queries come from `source`."""
        if self.parameters:
            return ParameterSet.read(Path(self.parameters))
        return source.parameters if source else paper_parameters()


def select(
    queries: str | Path,
    *,
    draft: str | None = None,
    per_category: int | None = None,
    seed: int = 0,
    movable: bool = False,
    wanted: WantedContexts = WantedContexts(),
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
    wanted
        What contexts are to be made.
    """
    source = source_benchmark(Path(queries))
    categories = wanted.categories(source)
    read = read_queries(Path(queries), categories)
    if movable:
        unmoved = unmoved_in(queries)
        read = [query for query in read if query.id not in unmoved]
    chosen = select_queries(read, categories, per_category=per_category, rng=np.random.default_rng(seed))
    with databases.open(database) as store, store.write() as connection:
        create_draft(
            connection,
            draft or Path(queries).stem.lower(),
            queries=chosen.queries,
            taxonomy=categories,
            parameters=wanted.stating(source),
            intents=wanted.intents,
            now=datetime.now(UTC),
        )
    return chosen


def unmoved_in(source: str | Path) -> Collection[str]:
    try:
        found = load_benchmark(source)
    except DataError as error:
        raise ConfigurationError(
            f"which queries contexts move is known of a benchmark with ratings only: {error}"
        ) from error
    if not found.counts.ratings:
        raise ConfigurationError(f"which queries contexts move is not known of {found.name!r}: it has no ratings")
    return found.unmoved


Leave = Callable[[str, str | None], None]
"""Told what is to be sent, in words, and to whom (None: it does not leave this machine); raises where that may not be."""


def no_leave_needed(_what: str, _to: str | None) -> None:
    """Whoever calls from Python knows what is sent."""


@dataclass(frozen=True, kw_only=True)
class Writing(CallingOptions):
    """Options of writing contexts with a model. Limits on money and tokens count over all calls for the draft."""

    intents: Sequence[str] = ("safe", "unsafe")
    which: str = "missing"
    """`missing`, `new`, `failed`, or `beyond repair`."""
    attempts: int = 2
    temperature: float = 1.0
    prompts: Path | None = None
    """Your own wording, as TOML."""
    base_url: str | None = None
    """The address of a compatible endpoint."""
    prices: Prices | None = None
    """Prices of tokens, if no public list states them."""

    def options(self, prices: Prices | None, parameters: ParameterSet) -> GenerationOptions:
        """The same, with what the model costs and contexts are to state."""
        return GenerationOptions(
            prompt=read_prompt(self.prompts, parameters) if self.prompts else default_prompt(),
            which=one_of(self.which, WHICH, "which"),
            intents=tuple(checked_intent(one.strip()) for one in self.intents),
            attempts=self.attempts,
            temperature=self.temperature,
            limits=self.limits,
            prices=prices,
            command=self.command,
            batch=self.batch,
        )


def generate(
    draft: str,
    model: str,
    *,
    writing: Writing = Writing(),
    database: str | None = None,
    watch: Watch | None = None,
    leave: Leave = no_leave_needed,
) -> GenerationSummary:
    """Have a model write the contexts that are missing. The same call again goes on where it stopped.

    Parameters
    ----------
    leave
        Asked before anything is sent.

    Raises
    ------
    ModelError
        No further call can succeed; what was generated before is kept.
    ConfigurationError
        The model's name is unknown, a key is not set, a choice is none, a limit cannot be kept, or nothing may be sent.
    """
    writer = loaded(model, writing.base_url, writing.prices, batch=writing.batch is not None)
    with draft_named(draft, database) as (store, found):
        options = writing.options(writer.prices, found.parameters)
        leave("the draft's queries", writer.model.sends_to)
        return finished(write_contexts(store, found, writer.model, options=options, watch=watch))


def estimate_generating(
    draft: str, model: str, *, writing: Writing = Writing(), database: str | None = None
) -> CallEstimate:
    """Estimate the calls of `generate` if every first attempt succeeds. Calls no model and needs no key."""
    writer = loaded(model, writing.base_url, writing.prices, needs_key=False, batch=writing.batch is not None)
    with draft_named(draft, database) as (store, found):
        return estimate_generation(store, found, writer.model, writing.options(writer.prices, found.parameters))


@dataclass(frozen=True, kw_only=True)
class ReaderOptions(OpinionOptions):
    """Options of asking a model for its opinion of contexts, and the folder of its opinions."""

    out: Path | None = None
    """The run folder of its opinions, new or to go on with; by default `runs/DRAFT-opinions-MODEL`."""
    base_url: str | None = None
    """The address of a compatible endpoint."""

    def folder(self, draft: str, model: str) -> Path:
        """Return the run folder of the model's opinions."""
        return self.out or default_folder(f"{draft}-opinions-{model}")


def check(draft: str, *, database: str | None = None) -> SetReport:
    """Look for drift, contradictions, misplaced words, give-aways, leaks and copies; reviewers see what is found."""
    with draft_named(draft, database) as (store, found), store.write() as connection:
        return check_draft(connection, found)


def ask(
    draft: str,
    model: str,
    *,
    reading: ReaderOptions = ReaderOptions(),
    database: str | None = None,
    watch: Watch | None = None,
    leave: Leave = no_leave_needed,
) -> OpinionSummary:
    """Ask a model for its opinion of every context; reviewers see its findings, under its name.

    The same call again asks about what is left, or has other words by then.

    Parameters
    ----------
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
    reader = loaded(model, reading.base_url, reading.prices, batch=reading.batch is not None)
    folder, options = reading.folder(draft, model), replace(reading, prices=reader.prices)
    with draft_named(draft, database) as (store, found):
        leave("the draft's queries and contexts", reader.model.sends_to)
        return finished(ask_opinions(store, found, reader.model, folder=folder, options=options, watch=watch))


def estimate_asking(
    draft: str, model: str, *, reading: ReaderOptions = ReaderOptions(), database: str | None = None
) -> CallEstimate:
    """Estimate the calls of `ask` about every context, as if none had been made. Calls no model."""
    reader = loaded(model, reading.base_url, reading.prices, needs_key=False, batch=reading.batch is not None)
    with draft_named(draft, database) as (store, found):
        return estimate_opinions(store, found, reader.model, replace(reading, prices=reader.prices))


def loaded(
    model: str, base_url: str | None, prices: Prices | None, *, needs_key: bool = True, batch: bool = False
) -> LoadedModel:
    return load_model(model, ModelOptions(base_url, prices, fakes=REHEARSALS, needs_key=needs_key, batch=batch))


@contextmanager
def draft_named(name: str, database: str | None) -> Iterator[tuple[Database, Draft]]:
    with databases.open(database) as store:
        with store.read() as connection:
            found = find_draft(connection, name)
        yield store, found


def status(draft: str, *, database: str | None = None) -> ReviewStatistics:
    """Return the state of each context, the agreement of the reviewers, and the amount that they changed."""
    with databases.open(database) as store, store.read() as connection:
        return review_statistics(connection, find_draft(connection, draft))


def release(draft: str, *, options: ReleaseOptions, out: str | Path | None = None, database: str | None = None) -> Path:
    """Write an immutable, checksummed benchmark; refused while any context is not signed off.

    Parameters
    ----------
    out
        The new folder; by default `DRAFT-VERSION`.
    """
    folder = Path(out) if out is not None else Path(f"{draft}-{options.version}")
    with databases.open(database) as store, store.read() as connection:
        return write_release(connection, find_draft(connection, draft), folder, options=options, now=datetime.now(UTC))
