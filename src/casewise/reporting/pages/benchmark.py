"""A benchmark, or one item of it, as a person would like to read it."""

from __future__ import annotations

from typing import Any, Literal

from casewise.evaluation.contents import vote_counts
from casewise.records import Item
from casewise.reporting.document import Document, Exhibit, Section, Table, count, percent, table_of
from casewise.reporting.pages.judge import shown_groups
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.item_table import item_table

__all__ = ["benchmark_json", "benchmark_page", "item_exhibit", "item_json", "item_page"]


def benchmark_page(benchmark: Benchmark) -> Document:
    """Counts, conditions and the taxonomy with how many items and how safe people find them."""
    c = benchmark.counts
    return Document(
        title=benchmark.title,
        subtitle=benchmark.about.description or benchmark.about.source or "",
        notices=benchmark.notes(),
        sections=(
            Section(
                "counts",
                "What it holds",
                (
                    table_of(
                        "counts",
                        "What it holds",
                        ("Kind", "Number"),
                        [(kind, n) for kind, n in c.model_dump().items()],
                    ),
                    by(benchmark, "condition", "Conditions"),
                    by(benchmark, "category", "Categories"),
                ),
                brief=True,
            ),
        ),
    )


def by(benchmark: Benchmark, column: Literal["condition", "category"], caption: str) -> Table:
    cells = [
        (
            row[column],
            *((row["domain"] or "–",) if column == "category" else ()),
            count(row["items"]),
            count(row["votes"]),
            percent(row["safe"] / row["votes"]) if row["votes"] else "–",
        )
        for row in vote_counts(benchmark, column).to_dicts()
    ]
    head = (column.capitalize(), *(("Domain",) if column == "category" else ()), "Items", "Ratings", "Safe")
    return table_of(caption.lower(), caption, head, cells)


def item_page(benchmark: Benchmark, item: Item) -> Document:
    """One item: its query, its context, and what people said."""
    return Document(
        title=f"Item {item.id}",
        subtitle=benchmark.title,
        notices=(f"SYNTHETIC DATA: {benchmark.about.synthetic}",) if benchmark.about.synthetic else (),
        sections=(Section("item", "The item", (item_exhibit(benchmark, item),), brief=True),),
    )


def item_exhibit(benchmark: Benchmark, item: Item) -> Exhibit:
    """One item laid out."""
    query, context, votes = benchmark.query[item.query_id], benchmark.context_of(item), benchmark.votes[item.id]
    intent = (
        "none" if context is None or context.intended_safe is None else "safe" if context.intended_safe else "unsafe"
    )
    rate = f" ({percent(votes.rate, digits=0)})" if votes.total else ""
    return Exhibit(
        heading=f"{query.category}, {item.condition.replace('_', ' ')}",
        facts=(("People", f"{votes.safe} of {votes.total} say safe{rate}"), ("Intended", intent)),
        query=query.text,
        context=shown_groups(context.shown() if context else {}),
    )


def item_json(benchmark: Benchmark, item: Item) -> dict[str, Any]:
    """One item as plain JSON values."""
    query, context, votes = benchmark.query[item.query_id], benchmark.context_of(item), benchmark.votes[item.id]
    return {
        "id": item.id,
        "query": query.text,
        "category": query.category,
        "condition": item.condition,
        "pair_id": item.pair_id,
        "intended_safe": context.intended_safe if context else None,
        "context": context.shown() if context else None,
        "n_safe": votes.safe,
        "n_votes": votes.total,
    }


def benchmark_json(benchmark: Benchmark) -> dict[str, Any]:
    """What a benchmark holds as plain JSON values."""
    return {
        "name": benchmark.name,
        "version": benchmark.about.version,
        "digest": benchmark.digest,
        "counts": benchmark.counts.model_dump(),
        "taxonomy": {"name": benchmark.taxonomy.name, "categories": list(benchmark.taxonomy.names)},
        "conditions": item_table(benchmark)["condition"].value_counts(sort=True).to_dicts(),
        "synthetic": benchmark.about.synthetic,
        "notes": list(benchmark.notes()),
    }
