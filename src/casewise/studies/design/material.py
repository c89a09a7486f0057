"""What a round shows: items without their labels, and the categories that the warning names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from casewise.errors import StudyError
from casewise.prompting.context_words import FOR_ANNOTATORS, groups, spoken
from casewise.records import Item, ShownContext, Taxonomy
from casewise.records.context import OPTIONAL
from casewise.records.item import NO_CONTEXT_CONDITION
from casewise.records.statement import as_text
from casewise.storage import Benchmark
from casewise.studies.design.design import CHILD_RELATED, Design
from casewise.studies.design.ledger import LedgerItem

__all__ = ["Material", "StudyItem", "as_panel", "collect", "pilot_sample", "rated_items"]


@dataclass(frozen=True, slots=True)
class StudyItem:
    """An item as annotators are shown it. The intended label is not part of it."""

    item_id: str
    query_id: str
    condition: str
    shown: dict[str, Any]
    """`query`: its text; `context`: groups of parameters, empty in the no-context condition; `in`: both by language."""
    context_id: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that a round shows."""

    items: tuple[StudyItem, ...]
    categories: tuple[tuple[str, str], ...]
    """Name and risks, in the order of the taxonomy."""
    benchmark: dict[str, Any] = field(default_factory=dict)
    left_out: int = 0
    """Items of the child-related category that were left out."""

    def ledger_items(self) -> list[LedgerItem]:
        """The items as the ledger takes them."""
        return [LedgerItem(item.item_id, item.query_id, item.condition) for item in self.items]


def collect(design: Design, benchmark: Benchmark) -> Material:
    """What of a benchmark the design shows. Raises StudyError: a condition of the design has no item."""
    wanted = rated_items(design, benchmark)
    kept = [item for item in wanted if design.sensitive.child_related or not is_child_related(item, benchmark)]
    for condition in design.conditions:
        if not any(item.condition == condition for item in kept):
            there = ", ".join(sorted({item.condition for item in benchmark.items}))
            raise StudyError(f"conditions names {condition!r}, but the benchmark has no item in it; it has: {there}")
    met = {benchmark.query[item.query_id].category for item in kept}
    return Material(
        items=tuple(study_item(item, benchmark) for item in kept),
        categories=tuple(described(benchmark.taxonomy, met)),
        benchmark={"name": benchmark.name, "version": benchmark.about.version, "digest": benchmark.digest},
        left_out=len(wanted) - len(kept),
    )


def rated_items(design: Design, benchmark: Benchmark) -> tuple[Item, ...]:
    """The items of the design's conditions; a query without an item that shows no context is given one, if needed."""
    found = [item for item in benchmark.items if item.condition in design.conditions]
    if NO_CONTEXT_CONDITION in design.conditions:
        have = {item.query_id for item in found if item.condition == NO_CONTEXT_CONDITION}
        found += [
            Item(query_id=query.id, condition=NO_CONTEXT_CONDITION)
            for query in benchmark.queries
            if query.id not in have
        ]
    return tuple(found)


def is_child_related(item: Item, benchmark: Benchmark) -> bool:
    name = benchmark.query[item.query_id].category
    category = benchmark.taxonomy.resolve(name)
    return (category.name if category else name) == CHILD_RELATED


def described(taxonomy: Taxonomy, met: set[str]) -> list[tuple[str, str]]:
    known = [(category.name, category.risks or "") for category in taxonomy.categories if category.name in met]
    names = {name for name, _ in known}
    return known + [(name, "") for name in sorted(met - names)]


def study_item(item: Item, benchmark: Benchmark) -> StudyItem:
    context = benchmark.context_of(item)
    shown = {
        "query": benchmark.query[item.query_id].text,
        "context": as_panel(context.shown(), benchmark.parameters.titles) if context else {},
    }
    return StudyItem(item.id, item.query_id, item.condition, shown, item.context_id or "")


def as_panel(shown: ShownContext, titles: Mapping[str, str]) -> dict[str, dict[str, str] | str]:
    """Groups of running texts: parameters that are stated under headings become one text each.

    Groups and parameters of a benchmark's own go by their titles, or their names in words; the paper's keep their names,
    which the pages know.
    """
    panel: dict[str, dict[str, str] | str] = {}
    for group in groups(shown):
        texts = {
            called(f"{group.name}.{name}" if name else group.name, titles): as_text(said)
            for name, said in group.statements
        }
        one = called(group.name, titles)
        panel[one] = texts[one] if group.name in OPTIONAL else texts
    return panel


def called(dotted: str, titles: Mapping[str, str]) -> str:
    name = dotted.rpartition(".")[2]
    return name if dotted in FOR_ANNOTATORS else titles.get(dotted, spoken(name).capitalize())


def pilot_sample(material: Material, *, queries: int, rng: np.random.Generator) -> Material:
    """The same number of random queries, in all their conditions: a small round of the whole design."""
    ids = sorted({item.query_id for item in material.items})
    chosen = {ids[index] for index in rng.permutation(len(ids))[:queries]}
    kept = tuple(item for item in material.items if item.query_id in chosen)
    return Material(kept, material.categories, material.benchmark, material.left_out)
