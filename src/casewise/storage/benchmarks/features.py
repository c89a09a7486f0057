"""The words of an item that a classifier may read."""

from __future__ import annotations

from typing import Literal

from casewise.records import Item
from casewise.storage.benchmarks.benchmark import Benchmark

__all__ = ["Features", "texts"]

Features = Literal["context", "query", "query+context"]


def texts(benchmark: Benchmark, features: Features = "context") -> list[str]:
    """The texts of every item, in order; without a context there is nothing of it to read."""
    return [text(benchmark, item, features) for item in benchmark.items]


def text(benchmark: Benchmark, item: Item, features: Features) -> str:
    context = benchmark.context_of(item)
    parts = [benchmark.query[item.query_id].text] if "query" in features else []
    if "context" in features and context is not None:
        parts += context.texts().values()
    return "\n".join(parts)
