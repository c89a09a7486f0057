"""Items that were decided otherwise than people do, as their owner knows them, and what separates them from the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from casewise.evaluate.judged_runs import JudgedRuns
from casewise.records import ShortRepr, ShownContext
from casewise.records.context import Statement, as_text
from casewise.records.item import Judged, Turn
from casewise.stats.arrays import BoolArray
from casewise.stats.separation import Memberships, separation
from casewise.stats.thresholds import PromiseKind
from casewise.storage.files import json_fields
from casewise.storage.wording import LabelWords


@dataclass(frozen=True, repr=False)
class Case(ShortRepr):
    """An item in its owner's words, with people's votes on it."""

    id: str
    """The id in the owner's file; the item's where the file gave none."""
    item_id: str
    query: str
    category: str
    condition: str
    intended_safe: bool | None
    n_safe: int
    n_votes: int
    published_rate: float | None
    """The share of safe votes that a file states."""
    columns: dict[str, Statement]
    """Every other column of the owner's file."""
    shown: ShownContext
    """Its context; empty where it has none."""
    judged: Judged
    """The kind of `query`: a request, a reply or an action."""
    before: tuple[Turn, ...]
    """The conversation before it."""
    labels: LabelWords

    @classmethod
    def from_place(cls, runs: JudgedRuns, place: int) -> Self:
        """Return the item at `place` of the benchmark."""
        row, item = runs.items.row(place, named=True), runs.benchmark.items[place]
        context, query = runs.benchmark.context_of(item), runs.benchmark.query[row["query_id"]]
        named = {
            name: row[name]
            for name in ("item_id", "category", "condition", "intended_safe", "n_safe", "n_votes", "published_rate")
        }
        return cls(
            id=item.own_id,
            query=query.text,
            judged=query.judged,
            before=query.before or (),
            columns=dict(item.columns or {}),
            shown=context.shown() if context else {},
            labels=LabelWords.for_benchmark(runs.benchmark),
            **named,
        )

    @property
    def people(self) -> str:
        """The votes, `2 of 21 say safe (10 %)`, or the label."""
        return self.labels.votes(self.n_safe, self.n_votes, share=self.published_rate)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The owner's id and columns, labelled."""
        return (("Item", self.id), *((name, as_text(statement)) for name, statement in self.columns.items()))

    def as_json(self) -> dict[str, Any]:
        return {
            name: value for name, value in vars(self).items() if name not in ("shown", "judged", "before", "labels")
        }


CATEGORY = "category"
"""The name under which the category of an item is searched beside the parameters of its context."""

LEVEL = 0.05

MOST_ITEMS = 10_000
"""Most items on which an error can be made that are searched; of more, whole queries are drawn."""

MOST_CASES = 10
"""Items of a group that are shown."""


class ErrorsAtRisk(NamedTuple):
    """The items on which one kind of error can be made, and those on which it was made."""

    kind: PromiseKind
    places: NDArray[np.intp]
    """Places of the items in the benchmark."""
    error: BoolArray


class StatementErrors(NamedTuple):
    """The errors on the items of one statement."""

    statement: str | None
    """None where the context does not state the parameter."""
    errors: int
    items: int


@dataclass(frozen=True, repr=False)
class ErrorGroup(ShortRepr):
    """The best separation of one kind of error, and whether it is beyond chance."""

    kind: PromiseKind
    parameter: str
    """Its dotted name, or `category`."""
    statements: tuple[StatementErrors, ...]
    """The one statement that separates; or, where the parameter does as a whole, each of its statements, those with the
    largest share of errors first."""
    errors: int
    items: int
    """Number of items of this kind."""
    p: float
    """P value of no relation between these errors and any context, corrected for all that was searched."""
    searched: int
    """Statements and parameters; 0 where every item is an error, or no statement stands in enough of the contexts."""
    cases: tuple[Case, ...]
    """The wrong items of the group, at most `MOST_CASES`."""

    @property
    def holds(self) -> bool:
        """True if the errors are separated beyond chance, at 5 % after the search."""
        return self.p < LEVEL

    @property
    def single_statement(self) -> StatementErrors | None:
        """The single statement that separates; None where the parameter does as a whole."""
        return self.statements[0] if len(self.statements) == 1 else None

    def as_json(self) -> dict[str, Any]:
        statements = [statement._asdict() for statement in self.statements]
        return {**json_fields(self, without=("statements",)), "statements": statements, "holds": self.holds}


def error_groups(runs: JudgedRuns, risks: list[ErrorsAtRisk], *, searches: int = 1, seed: int = 0) -> list[ErrorGroup]:
    """Return the best separation of each kind of error that was made.

    Statements that differ in case, spaces or a final full stop alone are one.

    `searches`: the number of judges for which the same is searched. Their p are corrected for that, and for the kinds.
    """
    made = [risk for risk in risks if risk.error.any()]
    return [error_group(runs, risk, times=len(risks) * searches, seed=seed) for risk in made]


def error_group(runs: JudgedRuns, risk: ErrorsAtRisk, *, times: int, seed: int) -> ErrorGroup:
    rng = np.random.default_rng(seed)
    cluster = runs.cluster[risk.places]
    searched = sample_queries(cluster, rng)
    places, error, cluster = risk.places[searched], risk.error[searched], cluster[searched]
    rows: defaultdict[tuple[str, str | None], list[int]] = defaultdict(list)
    stating: defaultdict[str, set[int]] = defaultdict(set)
    first_spelling: dict[tuple[str, str], str] = {}
    for row, stated in enumerate(stated_values(runs, places)):
        for name, text in stated.items():
            words = " ".join(text.casefold().split()).rstrip(".")
            rows[name, first_spelling.setdefault((name, words), text)].append(row)
            stating[name].add(row)
    names = sorted(stating)
    for name in names:
        rows[name, None] = [row for row in range(len(places)) if row not in stating[name]]
    features = [feature for feature, items in rows.items() if items]
    memberships = Memberships(
        item=np.concatenate([rows[feature] for feature in features]).astype(np.intp),
        feature=np.repeat(np.arange(len(features)), [len(rows[feature]) for feature in features]),
        parameter=np.array([names.index(name) for name, _ in features], dtype=np.intp),
    )
    best = separation(error, memberships, cluster, rng=rng)
    if best is None:
        return ErrorGroup(risk.kind, "", (), int(error.sum()), len(error), p=1.0, searched=0, cases=())
    parameter = names[best.parameter]
    chosen = [
        feature
        for at, feature in enumerate(features)
        if (feature[0] == parameter if best.feature is None else at == best.feature)
    ]
    counted = [
        StatementErrors(text, int(error[rows[name, text]].sum()), len(rows[name, text])) for name, text in chosen
    ]
    counted.sort(key=lambda of_one: (-of_one.errors / of_one.items, -of_one.items))
    wrong = sorted({row for feature in chosen for row in rows[feature] if error[row]})
    return ErrorGroup(
        kind=risk.kind,
        parameter=parameter,
        statements=tuple(counted),
        errors=int(error.sum()),
        items=len(error),
        p=min(1.0, times * best.p),
        searched=best.searched,
        cases=tuple(Case.from_place(runs, int(places[row])) for row in wrong[:MOST_CASES]),
    )


def sample_queries(cluster: NDArray[np.intp], rng: np.random.Generator) -> BoolArray:
    """Return all items, or of more than `MOST_ITEMS` those of so many whole queries as hold about that number."""
    if len(cluster) <= MOST_ITEMS:
        return np.ones(len(cluster), dtype=np.bool_)
    queries, n_items = np.unique(cluster, return_counts=True)
    order = rng.permutation(len(queries))
    chosen = queries[order[np.cumsum(n_items[order]) <= MOST_ITEMS]]
    some: BoolArray = np.isin(cluster, chosen)
    return some


def stated_values(runs: JudgedRuns, places: NDArray[np.intp]) -> Iterator[dict[str, str]]:
    """Yield for each item the parameters that its context states, with their statements, and its category."""
    contexts = runs.benchmark.written(runs.benchmark.items.at(places))
    for context, category in zip(contexts, runs.items["category"].gather(places), strict=True):
        yield {**(context.texts if context else {}), CATEGORY: category}
