"""The cases of a table as queries, contexts, items and ratings, with a receipt of every row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from casewise.errors import BenchmarkError, ConfigurationError, DataError
from casewise.records import (
    Annotator,
    Category,
    Context,
    Group,
    Item,
    Parameter,
    ParameterSet,
    Query,
    Taxonomy,
    paper_parameters,
    sorry_bench,
)
from casewise.records.base import canonical_json, content_id
from casewise.records.context import OPTIONAL
from casewise.records.item import NO_CONTEXT_CONDITION, condition_of
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.entries import Entry
from casewise.storage.files import first_problem
from casewise.storage.intake.cells import CaseCells, CaseFrame, Policies, cell_text, plain
from casewise.storage.intake.queries import UNCATEGORISED, QueryReader
from casewise.storage.intake.ratings import RatingLists, RatingReader, RowWithoutVerdict
from casewise.storage.intake.roles import TRAIT, CaseColumns, listed, rater_columns
from casewise.storage.intake.table import RejectedRow, Table, table_of
from casewise.storage.receipt import ColumnRead, MergedRows, Receipt, WordRead
from casewise.storage.words import VerdictWords
from casewise.text import count_of

MOST_NAMED = 5
"""Columns that a remark lists."""

DECIDED = {"vote", "value", "votes", "n_safe", "label", "rate", "mean"}
"""Parts that hold what people decided."""

COMPARED = ("id", "category", "cluster", "pair", "rate", "mean", "n_votes")
"""Parts of a case that are the same in all its rows."""

OF_A_CASE = ("query", "reply", "before", "tool_call", "context", "judged", "intended")
"""Parts that tell one case from another, beside the columns of parameters."""


@dataclass
class CaseRecords:
    """The records that a case becomes."""

    item: Item
    query: Query
    context: Context | None


@dataclass
class CaseDraft:
    """A case in preparation, with the first row that states it."""

    id: str
    """The item's id, or another name of its own where no records are made."""
    first: int
    """The place of the row."""
    compared: tuple[Any, ...]
    imported: CaseRecords | None = None
    raters: dict[str | None, int] = field(default_factory=dict)
    """Annotators to the places of their rows."""

    @property
    def records(self) -> CaseRecords:
        """The records of the case, which is imported and not only counted."""
        assert self.imported is not None
        return self.imported


class Contradiction(DataError):
    """An error of two rows of one case or annotator that cannot both count. Neither is a bad row, so that --skip-bad does not choose."""


class Cases:
    """The cases that the rows of a table state, and the benchmark of them."""

    def __init__(
        self, table: Table, columns: CaseColumns, frame: CaseFrame, *, declared: CaseColumns | None = None
    ) -> None:
        self.table, self.columns, self.frame, self.path = table, columns, frame, table.path
        self.declared = declared or columns
        raters = rater_columns(table.names, columns.raters)
        self.traits_by_column = {name: name for name in columns.trait} | {
            name: name.removeprefix(TRAIT) for name in table.names if name.startswith(TRAIT) and name != TRAIT
        }
        if self.traits_by_column and not columns.annotator:
            raise ConfigurationError(
                f"there are traits and no column of annotators; name it with --annotator; {listed(table.names)}"
            )
        if not frame.policies.skip_bad:
            table.whole()
        self.cells = CaseCells(table, columns, frame)
        self.column = self.cells.column
        self.query_reader = QueryReader(self.cells)
        self.rating_reader = RatingReader(self.cells, raters)
        used = {*self.column.values(), *columns.parameters, *self.traits_by_column, *raters}
        self.other_columns = [name for name in table.names if name not in used]
        """Columns that are kept with the item as they are."""
        self.queries: dict[str, Query] = {}
        self.contexts: dict[str, Context] = {}
        self.drafts: dict[Hashable, CaseDraft] = {}
        self.ratings = RatingLists()
        self.traits: dict[str, tuple[dict[str, Any], int]] = {}
        """By annotator, with the place of the row."""
        self.varying: dict[str, None] = {}
        """Columns that differ among the rows of an item."""
        self.rejected: list[RejectedRow] = list(table.rejected)
        self.dropped: list[tuple[str, int]] = []
        self.merged: list[int] = []

    # The benchmark that the rows make.

    def benchmark(self, about: About | None = None) -> Benchmark:
        """Return the benchmark of all rows.

        Raises DataError: a row cannot be read, or rows contradict each other. ConfigurationError: something would have to be
        guessed.
        """
        draft_of_row = self.add_rows()
        self.find_varying(draft_of_row)
        self.join_pairs()
        items = tuple(self.item(draft) for draft in self.drafts.values())
        if not items:
            first = self.rejected[0] if self.rejected else None
            raise DataError(
                self.path,
                first.line if first else None,
                f"no row can be used; {first.problem if first else 'none has a verdict'}",
            )
        categories = [query.category for query in self.queries.values()]
        categories += [item.category for item in items if item.category is not None]
        about = about or About(name=self.path.stem, scale=self.frame.scale)
        try:
            return Benchmark(
                about.model_copy(
                    update={
                        "source": about.source or f"imported from {self.path.name}",
                        "remarks": (*(about.remarks or ()), *self.remarks()) or None,
                        "receipt": self.receipt(),
                    }
                ),
                tuple(self.queries.values()),
                tuple(self.contexts.values()),
                items,
                self.ratings.columns(),
                taxonomy=self.frame.taxonomy or taxonomy_of(about.name, categories),
                parameters=self.frame.parameters or parameters_of(about.name, self.contexts.values()),
                annotators=tuple(
                    Annotator(id=annotator, traits=traits) for annotator, (traits, _) in self.traits.items() if traits
                ),
            )
        except BenchmarkError as error:
            raise DataError(self.path, None, str(error)) from error

    def add_rows(self) -> list[CaseDraft | None]:
        """Add every row; return the case of each."""
        by_part = self.cells.by_part
        identity = [by_part[part] for part in OF_A_CASE if part in by_part]
        identity += [self.table.columns[name] for name in self.columns.parameters]
        keys = zip(*map(hashable, identity), strict=True)
        compared = [by_part[part] for part in COMPARED if part in by_part]
        rows = zip(*compared, strict=True) if compared else iter(lambda: (), None)
        annotators = by_part.get("annotator") or [None] * len(self.table)
        draft_of_row: list[CaseDraft | None] = []
        for place, (key, parts_of_row, annotator) in enumerate(zip(keys, rows, annotators, strict=False)):
            try:
                draft_of_row.append(self.add_row(place, key, parts_of_row, annotator))
            except RowWithoutVerdict as reason:
                self.dropped.append((str(reason), place))
                draft_of_row.append(None)
            except (DataError, ValidationError) as error:
                problem = error.problem if isinstance(error, DataError) else first_problem(error)
                if not self.frame.policies.skip_bad or isinstance(error, Contradiction):
                    if isinstance(error, DataError):
                        raise
                    self.table.row(place).refuse(problem)
                self.rejected.append(rejected_row(self.table, place, problem))
                draft_of_row.append(None)
        return draft_of_row

    def add_row(self, place: int, key: Hashable, compared: tuple[Any, ...], annotator: Any) -> CaseDraft | None:
        """Add a row: its case, its ratings, and its annotator's traits. Return its case; None if it was merged."""
        annotator_key = None if "votes" in self.column else annotator  # beside a list of votes stands one of annotators
        if annotator_key is not None and not isinstance(annotator_key, str):
            annotator_key = self.table.row(place).name(self.column["annotator"])
        draft, repeat = self.drafts.get(key), None
        if draft is not None and annotator_key in draft.raters:
            if self.frame.policies.repeats != "keep":
                self.settle_repeat(place, draft.raters[annotator_key], annotator_key)
                return None
            repeat = next(n for n in count(1) if self.is_free((key, n), annotator_key))
            key = (key, repeat)
            draft = self.drafts.get(key)
        new = draft is None
        if draft is None:
            draft = self.draft(place, compared, repeat=repeat)
        elif compared != draft.compared:
            self.refuse_contradiction(place, draft)
        ratings = self.rating_reader.ratings(place, annotator_key)
        if annotator_key is not None:
            self.add_traits(place, annotator_key)
        draft.raters[annotator_key] = place
        if new:
            self.drafts[key] = draft
            if (imported := draft.imported) is not None:
                self.queries.setdefault(imported.query.id, imported.query)
                if imported.context is not None:
                    self.contexts[imported.context.id] = imported.context
        for rating in ratings:
            self.ratings.add(draft.id, *rating)
        return draft

    def is_free(self, key: Hashable, annotator_key: str | None) -> bool:
        """Return whether there is no case of this key, or none that the annotator has rated."""
        draft = self.drafts.get(key)
        return draft is None or annotator_key not in draft.raters

    def settle_repeat(self, place: int, before: int, annotator_key: str | None) -> None:
        """Merge a row with the one that says the same, or leave it out. Raises DataError: the policy refuses that."""
        row, line, policy = self.table.row(place), self.table.lines[before], self.frame.policies.repeats
        repeat_words = (
            f"{annotator_key!r} rated this case on line {line}; each annotator rates a case once"
            if annotator_key is not None
            else f"the same query and context as line {line}; each case stands once, unless a column says who rated (--annotator)"
        )
        if policy == "refuse":
            row.refuse(f"{repeat_words}. To import it anyway: --repeats merge, first or keep", Contradiction)
        if policy == "first":
            self.dropped.append(("the case, or the rating of it, stands on an earlier line", place))
            return
        for name, cells in self.table.columns.items():
            if name != self.column.get("id") and cells[place] != cells[before]:
                row.refuse(
                    f"{repeat_words}, and {name!r} differs, so that they cannot be merged; --repeats first takes the first, and "
                    "--repeats keep both",
                    Contradiction,
                )
        self.merged.append(place)

    def draft(self, place: int, compared: tuple[Any, ...], *, repeat: int | None = None) -> CaseDraft:
        """Return the case that a row is the first of."""
        row, name = self.table.row(place), self.cells.name
        query, system = self.query_reader.query(row, place)
        query = self.queries.get(query.id, query)
        context = self.query_reader.context(row, place, query, system)
        category = self.query_reader.category(row, place) if "category" in self.column else query.category
        item = Item(
            query_id=query.id,
            context_id=None if context is None else context.id,
            condition=NO_CONTEXT_CONDITION if context is None else condition_of(context),
            repeat=repeat,
        )
        updates: dict[str, Any] = {
            "category": None if category == query.category else category,
            "cluster": name(row, place, "cluster"),
            "source_id": name(row, place, "id"),
            "mean": self.rating_reader.on_scale(place, "mean"),
            "published_rate": self.rating_reader.share(place),
            "pair_id": None if context is None else context.pair_id,
        }
        if (pair := name(row, place, "pair")) is not None:
            updates["pair_id"] = content_id("p", {"pair": pair})
        return CaseDraft(item.id, place, compared, CaseRecords(item.model_copy(update=updates), query, context))

    # Traits, and what differs among the rows of a case.

    def add_traits(self, place: int, annotator: str) -> None:
        """Keep the traits of an annotator. Raises DataError: an earlier row says otherwise."""
        if not self.traits_by_column:
            return
        missing = self.frame.words.is_missing
        traits = {
            name: plain(cell)
            for column, name in self.traits_by_column.items()
            if not missing(cell := self.table.columns[column][place])
        }
        earlier, first = self.traits.setdefault(annotator, (traits, place))
        if earlier == traits:
            return
        for name, trait in traits.items():
            if (before := earlier.setdefault(name, trait)) != trait:
                self.table.row(place).refuse(
                    f"the trait {name!r} of {annotator!r} is {cell_text(trait)} here and {cell_text(before)} on line "
                    f"{self.table.lines[first]}",
                    Contradiction,
                )

    def refuse_contradiction(self, place: int, draft: CaseDraft) -> None:
        """Refuse a row that says something else of its case than the first one did."""
        for part in COMPARED:
            if (now := self.cells.get(place, part)) != (before := self.cells.get(draft.first, part)):
                self.table.row(place).refuse(
                    f"{self.column[part]!r} is {cell_text(now)} here and {cell_text(before)} on line "
                    f"{self.table.lines[draft.first]}, and both are of one case: a case has one (name another column, or none "
                    "with '')",
                    Contradiction,
                )

    def find_varying(self, draft_of_row: list[CaseDraft | None]) -> None:
        """Find the columns that differ among the rows of a case: these are of ratings and not of the case."""
        if len(self.drafts) == len(draft_of_row):
            return
        for name in self.other_columns:
            cells = self.table.columns[name]
            for cell, draft in zip(cells, draft_of_row, strict=False):
                if draft is not None and cell is not (first := cells[draft.first]) and cell != first:
                    self.varying[name] = None
                    break

    def join_pairs(self) -> None:
        """Make a cluster of each pair or group over several queries, where no column says which cases belong together."""
        if "pair" not in self.column or "cluster" in self.column:
            return
        groups: dict[str | None, list[CaseDraft]] = {}
        for draft in self.drafts.values():
            if self.cells.get(draft.first, "pair") is not None:
                groups.setdefault(draft.records.item.pair_id, []).append(draft)
        for pair, drafts in groups.items():
            if len({draft.records.item.query_id for draft in drafts}) > 1:
                for draft in drafts:
                    draft.records.item = draft.records.item.model_copy(update={"cluster": pair})

    def item(self, draft: CaseDraft) -> Item:
        """Return the finished item."""
        row, item = self.table.row(draft.first), draft.records.item
        names = [name for name in self.other_columns if row.has(name) and name not in self.varying]
        if not names:
            return item
        try:
            return Item.model_validate(item.as_json() | {"columns": {name: plain(row.values[name]) for name in names}})
        except ValidationError as error:
            row.refuse(first_problem(error))

    def has_label(self, draft: CaseDraft) -> bool:
        """Return whether the case has a label: a rating, a share or a mean."""
        stated = (self.cells.get(draft.first, part) for part in ("rate", "mean"))
        return draft.id in self.ratings.items or any(cell is not None for cell in stated)

    # What is told of the import.

    def receipt(self) -> Receipt:
        """Return how each column and word was read, and what became of the rows."""
        table, notes, reader = self.table, [*self.cells.notes], self.rating_reader
        dropped = [MergedRows(reason=reason, n=n) for reason, n in table.left_out.items()]
        dropped += grouped_rows(self.dropped, table)
        if self.rejected:
            first = self.rejected[0]
            problem = f"({first.problem})"
            dropped.append(
                MergedRows(reason="could not be read", n=len(self.rejected), first_line=first.line, first=problem)
            )
        merged = [*grouped_rows((("says the same as an earlier row", place) for place in self.merged), table)]
        n_rows = len(table) + len(table.rejected) + sum(table.left_out.values())
        if (masked := self.query_reader.mask.sentence()) is not None:
            notes.append(masked)
        silent = [draft for draft in self.drafts.values() if not self.has_label(draft)]
        if 0 < len(silent) < len(self.drafts):  # that none has one is a remark on the file
            lines = f"; the first is on line {line}" if (line := table.lines[silent[0].first]) else ""
            notes.append(f"{count_of(len(silent), 'case has')} no label{lines}. They count in no number.")
        if reader.n_blank:
            notes.append(f"Without a rating, though an annotator is named: {count_of(reader.n_blank, 'row')}.")
        declared, varies = self.declared, "left out: differs among the ratings of a case"
        roles = [
            *((name, part.replace("_", " "), getattr(declared, part) == name) for part, name in self.column.items()),
            *(
                (name, f"context parameter {part}", name in declared.parameters)
                for name, part in self.columns.parameters.items()
            ),
            *((name, f"trait {trait}", name in declared.trait) for name, trait in self.traits_by_column.items()),
            *((name, f"votes of {person}", True) for name, person in reader.raters.items()),
            *((name, varies if name in self.varying else "kept with the case", True) for name in self.other_columns),
        ]
        return Receipt(
            file=self.path.name,
            format=table.format or "table",
            n_rows=n_rows,
            n_kept=n_rows - sum(rows.n for rows in (*merged, *dropped)),
            columns=tuple(ColumnRead(column=name, role=role, declared=said) for name, role, said in roles),
            words=tuple(
                WordRead(column=column, word=word, read_as=reading, how=how, n=n)
                for (column, word, reading, how), n in self.cells.words.items()
            ),
            merged=tuple(merged),
            dropped=tuple(dropped),
            notes=tuple(notes),
        )

    def remarks(self) -> Iterator[str]:
        """Yield what the file lacks, and what of it was left out."""
        column, raters = self.column, self.rating_reader.raters
        if self.varying:
            names = list(self.varying)
            more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
            yield (
                f"Left out of the file: {', '.join(names[:MOST_NAMED])}{more}, which differ among the ratings of a case. Name those "
                "that are traits of annotators with --trait."
            )
        if "votes" in column and ("n_safe" in column or "label" in column):
            yield f"The labels are read from {column['votes']!r} alone."
        elif "n_safe" in column and "label" in column:
            yield f"The labels are read from the counts alone, not from {column['label']!r}."
        elif not (DECIDED & set(column) or raters):
            yield "Your file states no labels. Ask people (casewise study init), or import labels with --ratings."
        elif (
            not raters and not {"votes", "n_safe", "annotator"} & set(column) and not {"rate", "n_votes"} <= set(column)
        ):
            labels = (
                "one label per case"
                if {"label", "vote", "value"} & set(column)
                else "shares without numbers of votes"
                if "rate" in column
                else "means without single ratings"
            )
            yield f"Your file has {labels}, so casewise cannot say how much people disagree or what the best possible score is."
        if not self.contexts and not any(query.before for query in self.queries.values()):
            yield "Your file states no contexts, so every query is judged alone."
        elif self.contexts and "intended" not in column:
            yield "Your file states no intents, so reports have no pairs and no comparison with the author's intent."
        if "category" not in column and {query.category for query in self.queries.values()} == {UNCATEGORISED}:
            yield "Your file states no categories, so all cases are in one category."


def grouped_rows(rows: Iterable[tuple[str, int]], table: Table) -> Iterator[MergedRows]:
    """Yield rows by the reason that they share, with the first of each."""
    by_reason: dict[str, list[int]] = {}
    for reason, place in rows:
        by_reason.setdefault(reason, []).append(place)
    for reason, places in by_reason.items():
        first = next((cells[places[0]] for cells in table.columns.values() if cells[places[0]] is not None), None)
        yield MergedRows(reason=reason, n=len(places), first_line=table.lines[places[0]], first=f"({cell_text(first)})")


def hashable(cells: list[Any]) -> Iterable[Hashable]:
    """Return the cells of a column as keys: texts as they are, lists and objects as their JSON."""
    if all(isinstance(cell, str) or cell is None for cell in cells):
        return cells
    return [
        cell if cell.__hash__ is not None and not isinstance(cell, float) else canonical_json(plain(cell))
        for cell in cells
    ]


def rejected_row(table: Table, place: int, problem: str) -> RejectedRow:
    """Return a row that cannot be used, with the reason and its cells."""
    return RejectedRow(table.lines[place], problem, plain(table.row(place).values))


def taxonomy_of(name: str, categories: Iterable[str]) -> Taxonomy:
    """Return SORRY-Bench's taxonomy where all categories are of these, else one of these."""
    distinct = dict.fromkeys(categories)
    if set(distinct) <= set(sorry_bench().names):
        return sorry_bench()
    return Taxonomy(name=name, categories=tuple(Category(name=category, domain="imported") for category in distinct))


def parameters_of(name: str, contexts: Iterable[Context]) -> ParameterSet:
    """Return the paper's set where all contexts fit it, else what they state; what one of them leaves out may be missing.

    Raises ConfigurationError: a group or parameter has a name that no arm could say.
    """
    every_context = list(contexts)
    if all(paper_parameters().problem(context) is None for context in every_context):
        return paper_parameters()
    names_by_context = [set(context.texts()) for context in every_context]
    ordered = dict.fromkeys(
        dotted_name for context in every_context for dotted_name in context.texts() if dotted_name not in OPTIONAL
    )
    groups: dict[str, list[Parameter]] = {}
    try:
        for dotted in ordered:
            group, _, parameter = dotted.partition(".")
            missing = not all(dotted in names for names in names_by_context)
            groups.setdefault(group, []).append(Parameter(name=parameter, may_be_missing=missing))
        return ParameterSet(
            name=name, groups=tuple(Group(name=group, parameters=tuple(parts)) for group, parts in groups.items())
        )
    except ValidationError as error:
        raise ConfigurationError(f"the parameters of the contexts: {first_problem(error)}") from error


def benchmark_from_rows(
    rows: Iterable[Mapping[str, Any] | Entry],
    about: About,
    *,
    source: Path | str,
    taxonomy: Taxonomy | None = None,
    parameters: ParameterSet | None = None,
    policies: Policies = Policies(),
) -> Benchmark:
    """Return the benchmark that rows of the one shape make; every way in ends here.

    A row has any of: `id`, `query`, `judged`, `before` (a text, or turns with `role` and `text`), `context` (a mapping of
    groups, or a text), `category`, `cluster`, `pair`, `intended` (true is safe), `annotator`, `vote` (safe, unsafe or
    unsure), `value` (on the scale), `label`, `votes` (a list of words, or of numbers on the scale), `n_safe`, `n_unsafe`,
    `n_unsure`, `rate`, `mean` and `trait.NAME`. What else it has is kept in the item's columns, where it is the same in
    every row of the item. Rows with one query, `before` and context are ratings of one item, and then each names its
    annotator.

    `about`: what the benchmark says of itself, with the scale of its values and who made the labels.
    `source`: the file that errors name, with the row's number from 1, or the line of an `Entry`.

    Raises DataError: a row cannot be read, or rows contradict each other.
    """
    path = Path(source)
    table = table_of(
        path,
        (row if isinstance(row, Entry) else Entry(path, number, row) for number, row in enumerate(rows, 1)),
    )
    frame = CaseFrame(taxonomy, parameters, VerdictWords(true_means="safe"), about.scale, policies)
    return Cases(table, CaseColumns.from_rows(table.names), frame).benchmark(about)
