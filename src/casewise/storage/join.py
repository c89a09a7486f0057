"""Two benchmarks made one: a release, and what people said since of other items over the same queries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TypeVar

from casewise.errors import BenchmarkError
from casewise.records.base import ContentRecord
from casewise.storage.benchmarks.benchmark import About, Benchmark
from casewise.storage.benchmarks.ratings import RatingColumns

__all__ = ["join"]

R = TypeVar("R", bound=ContentRecord)


def join(first: Benchmark, second: Benchmark, *, name: str | None = None) -> Benchmark:
    """All queries, contexts, items and ratings of both; what stands in both is taken once.

    `name`: of the new benchmark; by default the names of both.

    Raises BenchmarkError: they have no query in common, an item was rated in both (other people, at another time: one
    sample it is not), their contexts state other parameters, or a category of the second is not in the taxonomy of the
    first.
    """
    if not set(first.query) & set(second.query):
        raise BenchmarkError(f"{first.name} and {second.name} have no query in common, so there is nothing to join")
    if first.parameters != second.parameters:
        raise BenchmarkError(f"the contexts of {first.name} and {second.name} do not state the same parameters")
    if twice := sorted(set(first.rated.items) & set(second.rated.items)):
        raise BenchmarkError(
            f"{len(twice):,} items were rated in both, {twice[0]} for one: other people at another time are another sample"
        )
    return Benchmark(
        about=about(first.about, second.about, name),
        queries=once(first.queries, second.queries),
        contexts=once(tuple(first.contexts), tuple(second.contexts)),
        items=once(first.items, second.items),
        ratings=RatingColumns.of(chain(first.ratings, second.ratings)),
        revisions=tuple({one.id: one for one in (*second.revisions, *first.revisions)}.values()),
        taxonomy=first.taxonomy,
    )


def once(first: Sequence[R], second: Sequence[R]) -> tuple[R, ...]:
    """Both, and of what has one id that of the first."""
    there = {record.id for record in first}
    return (*first, *(record for record in second if record.id not in there))


def about(first: About, second: About, name: str | None) -> About:
    """What holds of either, holds of both together."""
    synthetic = dict.fromkeys(said for said in (first.synthetic, second.synthetic) if said)
    return About(
        name=name or f"{first.name}-and-{second.name}",
        description=f"{first.name} {first.version} and {second.name} {second.version}, joined",
        licence=first.licence if first.licence == second.licence else None,
        terms=first.terms or second.terms,
        gated=first.gated or second.gated,
        canary=first.canary or second.canary,
        synthetic=" ".join(synthetic) or None,
        source=first.source,
        remarks=tuple(dict.fromkeys((*(first.remarks or ()), *(second.remarks or ())))) or None,
        published=first.published or second.published,
    )
