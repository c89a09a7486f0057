"""Forgeries with known truth: contexts of a benchmark, some with a false parameter, and facts that know better or do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import cycle
from typing import Annotated, Literal, get_args

import numpy as np
from pydantic import Field

from casewise.errors import BenchmarkError, ConfigurationError
from casewise.records import Context, Item
from casewise.records.base import Record
from casewise.records.context import OPTIONAL
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.verifying.facts import SourcedFact

__all__ = ["EXPECTED", "KINDS_FORGED", "Forged", "ForgedKind", "Forgery", "forge"]

ForgedKind = Literal["true", "swapped", "expired", "role", "no facts"]
KINDS_FORGED: tuple[ForgedKind, ...] = get_args(ForgedKind)

EXPECTED: dict[ForgedKind, str] = {
    "true": "supported",
    "swapped": "contradicted",
    "expired": "expired",
    "role": "contradicted",
    "no facts": "not stated",
}
"""What a verification should say of the parameter: true ones with a fact that holds; the twin's words in its place; true ones whose
fact has expired; true ones of which a fact says something else; true ones of which no fact says anything."""

SOURCE = "forge"


class Forgery(Record):
    """What was done to one context: a line of `truth.jsonl`."""

    context_id: str
    of: Annotated[str, Field(description="The id of the context before.")]
    kind: ForgedKind
    parameter: str


@dataclass(frozen=True)
class Forged:
    """A benchmark of forgeries, what is known outside, and what was done to which context."""

    benchmark: Benchmark
    facts: tuple[SourcedFact, ...]
    truth: tuple[Forgery, ...]


def forge(benchmark: Benchmark, *, parameter: str = "recipient.type", at: date, seed: int = 0) -> Forged:
    """Contexts of `benchmark`, of each kind as many, drawn at random; nobody rated them, so it has no ratings.

    Items are left out whose context does not state the parameter, or says the same there as its twin.

    Raises ConfigurationError: no context can have such a parameter. BenchmarkError: no pair differs in it.
    """
    benchmark.parameters.check_names([parameter])
    if parameter.partition(".")[2] == "" and parameter not in OPTIONAL:
        raise ConfigurationError(f"{parameter!r} is a group: name one of its parameters, such as recipient.type")
    usable = [one for item in benchmark.items if (one := pair_of(benchmark, item, parameter)) is not None]
    if not usable:
        raise BenchmarkError(f"no two contexts of a pair of {benchmark.name!r} differ in {parameter!r}")
    order = np.random.default_rng(seed).permutation(len(usable))
    made = [
        forged_one(usable[place], kind, parameter, at)
        for place, kind in sorted(zip(order.tolist(), cycle(KINDS_FORGED), strict=False))
    ]
    return Forged(
        without_ratings(benchmark, [one.context for one in made]),
        tuple(f for one in made for f in one.facts),
        tuple(one.truth for one in made),
    )


@dataclass(frozen=True)
class Pair:
    """A context, its twin, and what each says of the parameter."""

    item: Item
    context: Context
    own: str
    others: str


@dataclass(frozen=True)
class Made:
    context: Context
    facts: tuple[SourcedFact, ...]
    truth: Forgery


def pair_of(benchmark: Benchmark, item: Item, parameter: str) -> Pair | None:
    context, twin = benchmark.context_of(item), benchmark.twin_of(item)
    if context is None or twin is None:
        return None
    own, others = context.texts().get(parameter), twin.texts().get(parameter)
    return None if own is None or others is None or own == others else Pair(item, context, own, others)


def forged_one(pair: Pair, kind: ForgedKind, parameter: str, at: date) -> Made:
    context = pair.context
    if kind == "swapped":
        context = saying(context, parameter, pair.others)
    issued, expires = at - timedelta(days=365), at + timedelta(days=365)
    if kind == "expired":
        issued, expires = at - timedelta(days=730), at - timedelta(days=1)
    value = pair.others if kind == "role" else pair.own
    fact = SourcedFact(
        subject=pair.context.lineage_id, field=parameter, value=value, source=SOURCE, issued=issued, expires=expires
    )
    truth = Forgery(context_id=context.id, of=pair.context.id, kind=kind, parameter=parameter)
    return Made(context, () if kind == "no facts" else (fact,), truth)


def saying(context: Context, parameter: str, text: str) -> Context:
    """`context` with other words in one parameter, of the same line of revisions."""
    said = context.shown()
    group, _, name = parameter.partition(".")
    changed = {**said, group: text} if not name else {**said, group: {**said[group], name: text}}
    return Context.stating(
        changed,
        query_id=context.query_id,
        intended_safe=context.intended_safe,
        origin=context.origin,
        lineage_id=context.lineage_id,
    )


def without_ratings(benchmark: Benchmark, contexts: Sequence[Context]) -> Benchmark:
    items = tuple(Item.of(one) for one in contexts)
    about = benchmark.about.model_copy(
        update={
            "name": f"{benchmark.name}-forged",
            "remarks": (
                *(benchmark.about.remarks or ()),
                "Contexts were forged for casewise contexts verify; nobody rated them.",
            ),
        }
    )
    kept = benchmark.keeping(benchmark.items)
    queries = {one.query_id for one in contexts}
    return replace(
        kept,
        about=about,
        queries=tuple(one for one in benchmark.queries if one.id in queries),
        contexts=tuple(contexts),
        items=items,
        ratings=(),
        revisions=(),
    )
