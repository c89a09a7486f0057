"""Items, ratings and the taxonomy of harm categories."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from casewise.records.base import ContentRecord, Record, read_record, shipped_toml
from casewise.records.context import Context, Text

# Harm categories in their domains: the 45 classes of SORRY-Bench by default, or the user's own as TOML.


class Category(Record):
    """A harm category."""

    name: str
    domain: str
    risks: str | None = None
    """What may go wrong when a chatbot answers, in a sentence; shown to reviewers and annotators."""
    aliases: tuple[str, ...] = ()
    """Other spellings met in published data."""


class Taxonomy(Record):
    """Categories by name, in their order."""

    name: str
    source: str | None = None
    categories: tuple[Category, ...]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        seen: set[str] = set()
        for name in (n for category in self.categories for n in (category.name, *category.aliases)):
            if name in seen:
                raise ValueError(f"two categories are called {name!r}")
            seen.add(name)
        return self

    def resolve(self, name: str) -> Category | None:
        """The category called `name`, by its name or an alias; None if there is none."""
        return next((c for c in self.categories if name == c.name or name in c.aliases), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(category.name for category in self.categories)

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(category.domain for category in self.categories))

    @classmethod
    def read(cls, path: Path) -> Taxonomy:
        """Read a taxonomy from TOML: `name`, `source`, and a `[[categories]]` table for each category.

        Raises
        ------
        DataError
            The file is not TOML, or not a taxonomy; the message says where.
        """
        return read_record(path, cls, "a taxonomy")


@cache
def sorry_bench() -> Taxonomy:
    """The 45 classes in four domains of SORRY-Bench (Xie et al., 2024), as CASE-Bench uses them."""
    return Taxonomy.model_validate(shipped_toml("casewise.records", "sorry_bench.toml"))


# A query, and an item: a query with a context, or with none, as people were shown it.


class Query(ContentRecord):
    """The request judged. Two queries with the same words are the same query."""

    kind: ClassVar[str] = "q"
    identity: ClassVar[tuple[str, ...]] = ("text",)

    text: Text
    category: Text
    """A category's name in the benchmark's taxonomy."""
    source: str | None = None
    """Where the query comes from."""
    category_as_published: str | None = None
    """The category's name in the file this was imported from, where that differs (misspelt ones are mapped)."""


NO_CONTEXT_CONDITION = "no_context"

INTENT_UNKNOWN = "imported"
"""The condition of a context that came without an intent."""

CONDITIONS = (NO_CONTEXT_CONDITION, "safe_generated", "unsafe_generated", "safe_revised", "unsafe_revised")
"""The five conditions of CASE-Bench (§3.2). A study may define others."""


class Item(ContentRecord):
    """A query with a context (or none) in an experimental condition."""

    kind: ClassVar[str] = "i"
    identity: ClassVar[tuple[str, ...]] = ("query_id", "context_id", "condition")

    query_id: str
    context_id: str | None = None
    condition: Text
    pair_id: str | None = None
    """Joins the safe-intended and the unsafe-intended item of one query and one origin."""
    published_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    """The safe rate that the file this was imported from states. It may count more than people's votes."""

    @model_validator(mode="after")
    def _condition_fits_context(self) -> Self:
        if (self.context_id is None) != (self.condition == NO_CONTEXT_CONDITION):
            raise ValueError(
                f"condition is {self.condition!r} and context_id is {self.context_id!r}: "
                f"an item has no context exactly when its condition is {NO_CONTEXT_CONDITION!r}"
            )
        return self

    @classmethod
    def of(cls, context: Context, *, condition: str | None = None, published_rate: float | None = None) -> Item:
        """The item that shows `context` with its query."""
        return cls(
            query_id=context.query_id,
            context_id=context.id,
            condition=condition or condition_of(context),
            pair_id=context.pair_id,
            published_rate=published_rate,
        )


def condition_of(context: Context) -> str:
    """The condition that a context's intent and origin put it in; imported contexts count as revised.

    A context whose author's intent nobody stated is in one of its own.
    """
    if context.intended_safe is None:
        return INTENT_UNKNOWN
    origin = "generated" if context.origin == "generated" else "revised"
    return f"{'safe' if context.intended_safe else 'unsafe'}_{origin}"


def condition_problem(condition: str, context: Context) -> str | None:
    """Why `condition` does not fit `context`, or None. Conditions that a study defined itself always fit.

    A revised context with which its own lineage begins was approved as it was generated: it stands for both.
    """
    fitting = {condition_of(context)}
    if context.origin == "revised" and context.intended_safe is not None and context.lineage_id == context.id:
        fitting.add(f"{'safe' if context.intended_safe else 'unsafe'}_generated")
    if condition in CONDITIONS and condition not in fitting:
        return f"condition is {condition!r}, but its context's intent and origin make it {condition_of(context)!r}"
    return None


# A rating: one annotator's decision on one item.


Verdict = Literal["safe", "unsafe"]


class Rating(Record):
    """One annotator's decision on one item.

    Its key is (item_id, annotator_id) where annotators are known, else (item_id, position): equal votes on an item
    do not collapse. A position is a place in a vote string and no annotator.
    """

    item_id: str
    annotator_id: str | None = None
    position: int | None = None
    verdict: Verdict
    seconds: float | None = None
    """Time from the page's arrival to the decision."""
    at: datetime | None = None

    @property
    def key(self) -> tuple[str, str]:
        return (self.item_id, f"annotator:{self.annotator_id}" if self.annotator_id else f"position:{self.position}")
