"""From queries to a released set of contexts that people stand behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from casewise.api.databases import opened
from casewise.api.waiting import finished
from casewise.contexts.drafts import checked_intent, create_draft, find_draft
from casewise.contexts.releasing.release import ReleaseOptions
from casewise.contexts.releasing.release import release as write_release
from casewise.contexts.reviewing.drafts_checked import check_draft
from casewise.contexts.reviewing.set_report import SetReport
from casewise.contexts.reviewing.statistics import ReviewStatistics, review_statistics
from casewise.contexts.select import SelectedQueries, read_queries, select_queries
from casewise.contexts.writing.fake_writers import REHEARSALS
from casewise.contexts.writing.generation import GenerationOptions, GenerationSummary, checked_which
from casewise.contexts.writing.generation import generate as write_contexts
from casewise.contexts.writing.opinions import ask_opinions, summary_lines
from casewise.contexts.writing.prompts import default_prompt, read_prompt
from casewise.models.load import ModelOptions, load_model
from casewise.records import Taxonomy, sorry_bench
from casewise.runs.limits import Limits

__all__ = ["ReleaseOptions", "Writing", "check", "generate", "release", "select", "status"]

Progress = Callable[[int, int], None]


def select(
    queries: str | Path,
    *,
    draft: str | None = None,
    per_category: int | None = None,
    seed: int = 0,
    taxonomy: str | Path | None = None,
    intents: Sequence[str] = ("safe", "unsafe"),
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
    taxonomy
        Your own categories, as TOML.
    intents
        What to make contexts for.
    """
    categories = Taxonomy.read(Path(taxonomy)) if taxonomy else sorry_bench()
    read = read_queries(Path(queries), categories)
    chosen = select_queries(read, categories, per_category=per_category, rng=np.random.default_rng(seed))
    with opened(database) as store, store.write() as connection:
        create_draft(
            connection,
            draft or Path(queries).stem.lower(),
            queries=chosen.queries,
            taxonomy=categories,
            intents=intents,
            now=datetime.now(UTC),
        )
    return chosen


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How contexts are written by a model."""

    intents: Sequence[str] = ("safe", "unsafe")
    which: str = "missing"
    """`missing`, `new`, `failed`, or `beyond repair`."""
    attempts: int = 2
    temperature: float = 1.0
    prompts: Path | None = None
    """Your own wording, as TOML."""
    base_url: str | None = None
    """The address of a compatible endpoint."""
    limits: Limits = field(default_factory=Limits)


def generate(
    draft: str,
    model: str,
    *,
    writing: Writing = Writing(),
    database: str | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda _text: None,
) -> GenerationSummary:
    """Have a model write the contexts that are missing. The same call again goes on where it stopped.

    Raises
    ------
    ModelError
        No further call can succeed; what was generated before is kept.
    ConfigurationError
        The model's name is unknown, a key is not set, or a choice is none.
    """
    writer = load_model(model, ModelOptions(writing.base_url, fakes=REHEARSALS))
    options = GenerationOptions(
        prompt=read_prompt(writing.prompts) if writing.prompts else default_prompt(),
        which=checked_which(writing.which),
        intents=tuple(checked_intent(one.strip()) for one in writing.intents),
        attempts=writing.attempts,
        temperature=writing.temperature,
        limits=writing.limits,
        prices=writer.prices,
    )
    with opened(database) as store:
        with store.read() as connection:
            found = find_draft(connection, draft)
        return finished(write_contexts(store, found, writer.model, options=options, progress=progress, say=say))


def check(
    draft: str,
    *,
    ask: str | None = None,
    base_url: str | None = None,
    concurrency: int = 16,
    database: str | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda _text: None,
) -> SetReport:
    """Look for drift, contradictions, misplaced words, give-aways, leaks and copies; reviewers see what is found.

    Parameters
    ----------
    ask
        A model to ask for its opinion too; its findings bear its name.
    say
        Told what became of the asking.
    """
    writer = load_model(ask, ModelOptions(base_url, fakes=REHEARSALS)) if ask else None
    with opened(database) as store:
        with store.read() as connection:
            found = find_draft(connection, draft)
        if writer is not None:
            limits = Limits(concurrency=concurrency)
            asked = finished(ask_opinions(store, found, writer.model, limits=limits, progress=progress))
            for line in summary_lines(asked, writer.model.name):
                say(line)
        with store.write() as connection:
            return check_draft(connection, found)


def status(draft: str, *, database: str | None = None) -> ReviewStatistics:
    """Where each context stands, how well the reviewers agree, and how much they changed."""
    with opened(database) as store, store.read() as connection:
        return review_statistics(connection, find_draft(connection, draft))


def release(draft: str, *, options: ReleaseOptions, out: str | Path | None = None, database: str | None = None) -> Path:
    """Write an immutable, checksummed benchmark; refused while any context is not signed off.

    Parameters
    ----------
    out
        The new folder; by default `DRAFT-VERSION`.
    """
    folder = Path(out) if out is not None else Path(f"{draft}-{options.version}")
    with opened(database) as store, store.read() as connection:
        return write_release(connection, find_draft(connection, draft), folder, options=options, now=datetime.now(UTC))
