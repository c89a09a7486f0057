"""Items, ratings and the taxonomy of harm categories."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from casewise.records.action import Action
from casewise.records.base import ContentRecord, Record, read_record, shipped_toml
from casewise.records.context import Context, Statement, Text

# Harm categories in their domains: the 45 classes of SORRY-Bench by default, or the user's own as TOML.


class Category(Record):
    """A harm category."""

    name: str
    domain: str
    risks: str | None = None
    """The risks of an answer by a chatbot, in a sentence; shown to reviewers and annotators."""
    aliases: tuple[str, ...] = ()
    """Other spellings met in published data."""


class Taxonomy(Record):
    """Categories by name, in their order."""

    name: str
    source: str | None = None
    categories: tuple[Category, ...]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names: set[str] = set()
        for name in (n for category in self.categories for n in (category.name, *category.aliases)):
            if name in names:
                raise ValueError(f"two categories are called {name!r}")
            names.add(name)
        return self

    def resolve(self, name: str) -> Category | None:
        """Return the category called `name`, by its name or an alias; None if there is none."""
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

        Raises DataError: the file is not TOML, or not a taxonomy; the message says where.
        """
        return read_record(path, cls, "a taxonomy")


@cache
def sorry_bench() -> Taxonomy:
    """Return the 45 classes in four domains of SORRY-Bench (Xie et al., 2024), as CASE-Bench uses them."""
    return Taxonomy.model_validate(shipped_toml("casewise.records", "sorry_bench.toml"))


# A query, and an item: a query with a context, or with none, as people were shown it.


Judged = Literal["request", "reply", "action"]
"""A user's request, a chatbot's reply, or an action of an agent."""


class Turn(Record):
    """One turn of a conversation."""

    role: Text
    """The speaker: `user`, `assistant`, or as the file says it."""
    text: Text


class Query(ContentRecord):
    """The request, reply or action judged. Two with the same words after the same conversation are the same query."""

    kind: ClassVar[str] = "q"
    identity: ClassVar[tuple[str, ...]] = ("text", "judged", "before")

    text: Text
    judged: Annotated[Judged, Field(exclude_if=lambda judged: judged == "request")] = "request"
    """The kind of text. A request is not written, so that ids and files without the field stay as they are."""
    before: Annotated[tuple[Turn, ...], Field(min_length=1)] | None = None
    """The conversation before what is judged."""
    action: Action | None = None
    """The recorded tool call that `text` states in words, where an action is judged."""
    category: Text
    """A category's name in the benchmark's taxonomy."""
    source: str | None = None
    """The source of the query."""
    category_as_published: str | None = None
    """The category's name in the file this was imported from, where that differs (misspelt ones are mapped)."""


NO_CONTEXT_CONDITION = "no_context"

INTENT_UNKNOWN = "imported"
"""The condition of a context that came without an intent."""

CONDITIONS = (NO_CONTEXT_CONDITION, "safe_generated", "unsafe_generated", "safe_revised", "unsafe_revised")
"""The five conditions of CASE-Bench (§3.2). A study may define others."""


SHORT = 12
"""Characters of an id that pages print."""


class Item(ContentRecord):
    """A query with a context (or none) in an experimental condition."""

    kind: ClassVar[str] = "i"
    identity: ClassVar[tuple[str, ...]] = ("query_id", "context_id", "condition", "repeat")

    query_id: str
    context_id: str | None = None
    condition: Text
    repeat: Annotated[int, Field(ge=1)] | None = None
    """The number of items with the same query, context and condition that stand before it, where a file repeats a case."""
    pair_id: str | None = None
    """Joins the safe-intended and the unsafe-intended item of one query and one origin."""
    published_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    """The safe rate that the file this was imported from states. It may count more than people's votes."""
    category: Text | None = None
    """A category's name, where it is not the query's."""
    cluster: Text | None = None
    """Items with one cluster belong together: folds, resampling and standard errors keep them together. The query by default."""
    mean: float | None = None
    """The mean rating on the benchmark's scale, where a file states it and no single ratings."""
    source_id: Text | None = None
    """The id that the user's own file gives it."""
    columns: dict[str, Statement] | None = None
    """Every other column of the file that it was imported from."""

    @model_validator(mode="after")
    def _condition_fits_context(self) -> Self:
        if (self.context_id is None) != (self.condition == NO_CONTEXT_CONDITION):
            raise ValueError(
                f"condition is {self.condition!r} and context_id is {self.context_id!r}: "
                f"an item has no context exactly when its condition is {NO_CONTEXT_CONDITION!r}"
            )
        return self

    @property
    def own_id(self) -> str:
        """The id in its owner's file; if the file has none, the beginning of `id`, which finds the item."""
        return self.source_id or self.id[:SHORT]

    @classmethod
    def from_context(
        cls,
        context: Context,
        *,
        condition: str | None = None,
        published_rate: float | None = None,
        source_id: str | None = None,
    ) -> Item:
        """Return the item that shows `context` with its query."""
        return cls(
            query_id=context.query_id,
            context_id=context.id,
            condition=condition or condition_of(context),
            pair_id=context.pair_id,
            published_rate=published_rate,
            source_id=source_id,
        )


def condition_of(context: Context) -> str:
    """Return the condition that a context's intent and origin put it in; imported contexts count as revised.

    A context without a stated intent has a condition of its own.
    """
    if context.intended_safe is None:
        return INTENT_UNKNOWN
    origin = "generated" if context.origin == "generated" else "revised"
    return f"{'safe' if context.intended_safe else 'unsafe'}_{origin}"


def condition_problem(condition: str, context: Context) -> str | None:
    """Return the reason why `condition` does not fit `context`, or None. A study's own conditions always fit.

    A revised context with which its own lineage begins was approved as it was generated: it stands for both.
    """
    fitting = {condition_of(context)}
    if context.origin == "revised" and context.intended_safe is not None and context.lineage_id == context.id:
        fitting.add(f"{'safe' if context.intended_safe else 'unsafe'}_generated")
    if condition in CONDITIONS and condition not in fitting:
        return f"condition is {condition!r}, but its context's intent and origin make it {condition_of(context)!r}"
    return None


# A rating: one annotator's decision on one item, and annotators with what is known of them.


Verdict = Literal["safe", "unsafe"]

Vote = Literal["safe", "unsafe", "unsure", "ask"]
"""An `unsure` vote, or one that the user is to be asked first (`ask`), is counted and shown; a label policy says what it is worth."""

LabelsBy = Literal["people", "author", "law", "policy", "models", "experts"]
"""The source of labels: several people, the item's author, a law, a policy, models, or experts."""


class RatingScale(Record):
    """The scale that people rate on, and where a verdict begins."""

    low: float
    high: float
    cut: float | None = None
    """Beyond it lies a verdict of safe, on the side that `safe` names. A value at the cut is unsafe."""
    safe: Literal["below", "above"] = "below"
    question: str | None = None
    """The question that people answered on it."""

    @model_validator(mode="after")
    def _cut_lies_on_it(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"a scale from {self.low:g} to {self.high:g} has no length: low must be less than high")
        if self.cut is not None and not self.low <= self.cut <= self.high:
            raise ValueError(f"the cut {self.cut:g} does not lie between {self.low:g} and {self.high:g}")
        return self

    def is_safe(self, value: Any) -> Any:
        """Return True if a value, or each of a column, lies beyond the cut on the safe side. There must be a cut."""
        return value < self.cut if self.safe == "below" else value > self.cut

    def share(self, value: Any) -> Any:
        """Return a value, or each of a column, as a share of the scale: 1 at its safe end, 0 at the other."""
        from_low = (value - self.low) / (self.high - self.low)
        return 1 - from_low if self.safe == "below" else from_low


class Rating(Record):
    """One annotator's decision on one item: a vote, a value on the benchmark's scale, or both.

    Its key is (item_id, annotator_id) where annotators are known, else (item_id, position): equal votes on an item
    do not collapse. A position is a place in a vote string and no annotator.
    """

    item_id: str
    annotator_id: str | None = None
    position: int | None = None
    verdict: Vote | None = None
    """A benchmark with a cut on its scale fills it in from the value."""
    value: float | None = None
    """Rating on the benchmark's scale."""
    seconds: float | None = None
    """Time from the page's arrival to the decision."""
    at: datetime | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.verdict is None and self.value is None:
            raise ValueError("a rating has a verdict (safe, unsafe, unsure or ask), a value on the scale, or both")
        return self

    @property
    def key(self) -> tuple[str, str]:
        return (self.item_id, f"annotator:{self.annotator_id}" if self.annotator_id else f"position:{self.position}")


class Annotator(Record):
    """A person who rates, and the traits that the benchmark states of them."""

    id: Text
    traits: dict[str, Statement] = Field(default_factory=dict)
    """A trait's name to its value: `{"age": "25-34"}`."""
