"""Benchmarks made up for one fault each, and the published release's votes with placeholders for its words."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from casewise.audits.subject import AuditPart
from casewise.records import Context, Item, Query, Rating, Recipient, Sender, TransmissionPrinciple, sorry_bench
from casewise.records.item import Judged
from casewise.storage.benchmark import About, Benchmark

CATEGORIES = sorry_bench().names

WORDS = ["amber", "basalt", "cedar", "delta", "ember", "fjord", "grove", "harbour", "island", "juniper", "kelp", "lagoon", "maple", "nectar", "onyx", "prairie", "quartz", "reef", "savanna", "tundra", "umber", "valley", "willow", "yarrow", "zephyr"]  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One item to be: its query, what its context says, and people's votes."""

    query: str
    intended_safe: bool | None
    votes: Sequence[int]
    category: str = CATEGORIES[0]
    words: str = "plain words"
    urgent: bool = True
    """Whether the context states an urgency."""
    rate: float | None = None
    condition: str | None = None


def benchmark_of(rows: Sequence[Row], *, name: str = "made-up", judged: Judged = "request") -> Benchmark:
    """A benchmark of these items; votes are anonymous, and 1 is safe."""
    queries: dict[str, Query] = {}
    contexts: dict[str, Context] = {}
    items: list[Item] = []
    ratings: list[Rating] = []
    for row in rows:
        query = queries.setdefault(row.query, Query(text=row.query, category=row.category, judged=judged))
        context = Context(
            query_id=query.id,
            intended_safe=row.intended_safe,
            sender=Sender(nature_of_the_interaction=f"n {row.words}", platform_type=f"p {row.words}"),
            recipient=Recipient(type=f"t {row.words}", background=f"b {row.words}"),
            transmission_principle=TransmissionPrinciple(
                urgency=f"u {row.words}" if row.urgent else None,
                sender_purpose=f"s {row.words}",
                confidentiality=f"c {row.words}",
                source_accountability=f"a {row.words}",
            ),
            origin="revised",
        )
        contexts[context.id] = context
        item = Item.from_context(context, condition=row.condition, published_rate=row.rate)
        items.append(item)
        ratings += [
            Rating(item_id=item.id, position=position, verdict="safe" if vote else "unsafe")
            for position, vote in enumerate(row.votes)
        ]
    return Benchmark(About(name=name), tuple(queries.values()), tuple(contexts.values()), tuple(items), tuple(ratings))


def some_words(rng: np.random.Generator, n: int = 8) -> str:
    """Words that say nothing about the item."""
    return " ".join(rng.choice(WORDS, size=n))


def crowd(
    rng: np.random.Generator,
    *,
    queries: int = 60,
    votes: int = 20,
    safe: float = 0.6,
    unsafe: float = 0.25,
    words: Callable[[np.random.Generator, bool], str] | None = None,
) -> list[Row]:
    """A benchmark without faults: people's rates spread around the intent's, words that say nothing, votes independent."""
    rows = []
    for index in range(queries):
        query = f"query {index} {some_words(rng, 3)}"
        for intended, centre in ((True, safe), (False, unsafe)):
            rate = rng.beta(6 * centre, 6 * (1 - centre))
            rows.append(
                Row(
                    query=query,
                    intended_safe=intended,
                    votes=tuple((rng.random(votes) < rate).astype(int).tolist()),
                    category=CATEGORIES[index % 6],
                    words=words(rng, intended) if words else some_words(rng),
                )
            )
    return rows


def published_votes(shared: Path) -> list[Row]:
    """The release's 900 rows: votes, intents, categories and stated rates, with words that are placeholders."""
    with (shared / "data" / "human_ratings.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    taxonomy = sorry_bench()
    rows = []
    for entry in found:
        number = int(entry["row"])
        category = taxonomy.resolve(entry["category"])
        assert category is not None
        rows.append(
            Row(
                query=f"query {number // 2}",
                intended_safe=entry["intended_safe"] == "1",
                votes=tuple(int(vote) for vote in entry["votes20"]),
                category=category.name,
                words=f"context {number}",
                urgent=entry["parameters"] == "1",
                rate=float(entry["safe_rate"]),
            )
        )
    return rows


def looked(look: Callable[[Any, AuditPart], None], at: Any) -> AuditPart:
    """What a look at a subject, or at files, adds to a part of an audit."""
    part = AuditPart("looked")
    look(at, part)
    return part
