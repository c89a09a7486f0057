"""A query, and an item: a query with a context, or with none, as people were shown it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from casewise.records.base import ContentRecord
from casewise.records.context import Context
from casewise.records.statement import Text

__all__ = ["CONDITIONS", "NO_CONTEXT_CONDITION", "Item", "Query", "condition_of", "condition_problem"]


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
