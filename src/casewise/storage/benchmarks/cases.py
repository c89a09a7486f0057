"""Labelled cases as a company has them become a benchmark: rows with a query, perhaps a context, and what people decided."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from types import NoneType
from typing import Any

from pydantic import ValidationError

from casewise.errors import BenchmarkError, ConfigurationError, DataError
from casewise.records import (
    Category,
    Context,
    Group,
    Item,
    Parameter,
    ParameterSet,
    Query,
    Rating,
    Taxonomy,
    Verdict,
    paper_parameters,
    sorry_bench,
)
from casewise.records.base import content_id
from casewise.records.context import OPTIONAL
from casewise.records.item import NO_CONTEXT_CONDITION
from casewise.records.parameters import stated
from casewise.storage.benchmarks.benchmark import About, Benchmark
from casewise.storage.benchmarks.case_columns import CaseColumns, found_columns
from casewise.storage.benchmarks.case_file import CaseRow, frame_rows, read_case_rows
from casewise.storage.files.strict_json import brief, what_is_wrong

__all__ = ["CaseFrame", "of_frame", "parameters_of", "read_cases", "taxonomy_of"]

SAFE_WORDS = ("safe", "allow", "allowed", "answer", "respond", "appropriate", "acceptable")
UNSAFE_WORDS = ("unsafe", "deny", "denied", "refuse", "block", "blocked", "inappropriate", "unacceptable")

UNCATEGORISED = "uncategorised"

MOST_VOTES = 100_000
"""On one case; a larger count is a slip."""


@dataclass(frozen=True)
class CaseFrame:
    """What a file of cases does not say of itself.

    `safe_words` and `unsafe_words` are the words of its verdicts, beside the usual ones. Without `taxonomy` the categories are
    SORRY-Bench's where all are of these, else those in the file; without `parameters` a context may state any.
    """

    taxonomy: Taxonomy | None = None
    parameters: ParameterSet | None = None
    safe_words: tuple[str, ...] = ()
    unsafe_words: tuple[str, ...] = ()

    def verdict(self, word: Any) -> Verdict | None:
        """What a word says, or None."""
        said = str(word).strip().casefold()
        if said in {one.casefold() for one in self.safe_words}:
            return "safe"
        if said in {one.casefold() for one in self.unsafe_words}:
            return "unsafe"
        if self.safe_words or self.unsafe_words:
            return None
        return "safe" if said in SAFE_WORDS else "unsafe" if said in UNSAFE_WORDS else None


def read_cases(path: Path, columns: CaseColumns = CaseColumns(), frame: CaseFrame = CaseFrame()) -> Benchmark:
    """The benchmark that a CSV or JSON Lines file of cases holds; `notes()` says what it lacks.

    Raises ConfigurationError: a column is missing that only the file's owner can name; the message says with which
    option. DataError: a row cannot be read; the message names its line.
    """
    names, rows = read_case_rows(path)
    return Cases(path, found_columns(names, columns, frame.parameters or paper_parameters()), frame).benchmark(
        names, rows
    )


def of_frame(data: Any, name: str, columns: CaseColumns = CaseColumns(), frame: CaseFrame = CaseFrame()) -> Benchmark:
    """The same of a polars or pandas frame, or of dictionaries."""
    names, rows = frame_rows(data, name)
    chosen = found_columns(names, columns, frame.parameters or paper_parameters())
    return Cases(Path(name), chosen, frame).benchmark(names, rows)


@dataclass
class Cases:
    """Rows on their way to records, with the line that each was first met on."""

    path: Path
    columns: CaseColumns
    frame: CaseFrame
    queries: dict[str, tuple[Query, int]] = field(default_factory=dict)
    contexts: dict[str, Context] = field(default_factory=dict)
    items: dict[str, tuple[Item, int]] = field(default_factory=dict)
    ratings: list[Rating] = field(default_factory=list)

    def benchmark(self, names: Sequence[str], rows: Iterable[CaseRow]) -> Benchmark:
        for row in rows:
            try:
                self.take(row)
            except ValidationError as error:
                raise DataError(self.path, row.line, what_is_wrong(error)) from error
        queries = tuple(query for query, _ in self.queries.values())
        try:
            return Benchmark(
                About(
                    name=self.path.stem,
                    source=f"imported from {self.path.name}",
                    remarks=tuple(self.remarks(names)),
                ),
                queries,
                tuple(self.contexts.values()),
                tuple(item for item, _ in self.items.values()),
                self.ratings,
                taxonomy=self.frame.taxonomy or taxonomy_of(self.path.stem, queries),
                parameters=self.frame.parameters or parameters_of(self.path.stem, self.contexts.values()),
            )
        except BenchmarkError as error:
            raise DataError(self.path, None, str(error)) from error

    def take(self, row: CaseRow) -> None:
        query = self.query(row)
        context = self.context(row, query)
        rate = self.rate(row)
        pair = self.name(row, self.columns.pair)
        if context is None:
            item = Item(query_id=query.id, condition=NO_CONTEXT_CONDITION, published_rate=rate)
        else:
            self.contexts[context.id] = context
            item = Item.of(context, published_rate=rate)
        if pair is not None:
            item = item.model_copy(update={"pair_id": content_id("p", {"pair": pair})})
        if item.id in self.items:
            raise self.error(row, f"the same query and context as line {self.items[item.id][1]}; each case stands once")
        self.items[item.id] = (item, row.line)
        self.ratings += [
            Rating(item_id=item.id, position=place, verdict=one) for place, one in enumerate(self.votes(row))
        ]

    def error(self, row: CaseRow, problem: str) -> DataError:
        return DataError(self.path, row.line, problem)

    def query(self, row: CaseRow) -> Query:
        text = row.cells.get(self.columns.query or "")
        if not isinstance(text, str):
            raise self.error(row, f"{self.columns.query!r} is {found_there(text)}, not the text of a query")
        category = self.name(row, self.columns.category) if self.columns.category else UNCATEGORISED
        if category is None:
            raise self.error(row, f"{self.columns.category!r} is empty; give every case a category, or --category ''")
        taxonomy = self.frame.taxonomy or sorry_bench()
        resolved = taxonomy.resolve(category)
        if resolved is None and self.frame.taxonomy is not None:
            raise self.error(row, f"{taxonomy.name!r} has no category {category!r}; it has {', '.join(taxonomy.names)}")
        query = Query(text=text, category=resolved.name if resolved else category, source=self.path.name)
        earlier, line = self.queries.setdefault(query.id, (query, row.line))
        if earlier.category != query.category:
            raise self.error(row, f"this query's category is {query.category!r}, on line {line} {earlier.category!r}")
        return query

    def name(self, row: CaseRow, column: str | None) -> str | None:
        """What a cell calls something: a text or a number."""
        said = row.cells.get(column or "")
        if isinstance(said, bool) or not isinstance(said, (str, int, float, NoneType)):
            raise self.error(row, f"{column!r} is {found_there(said)}, not a name or a number")
        return None if said is None else str(said)

    def context(self, row: CaseRow, query: Query) -> Context | None:
        said: dict[str, Any] = {}
        whole = row.cells.get(self.columns.context or "")
        group, parameter = self.columns.free_text
        if isinstance(whole, Mapping):
            whole = {name: kept for name, value in whole.items() if (kept := without_nulls(value)) not in (None, {})}
            in_groups = all(isinstance(value, Mapping) or name in OPTIONAL for name, value in whole.items())
            said |= whole if in_groups else {group: whole}
        elif whole is not None:
            said[group] = {parameter: whole}
        for column, name in self.columns.parameters.items():
            if column in row.cells:
                above, _, below = name.partition(".")
                said[above] = {**said.get(above, {}), below: row.cells[column]} if below else row.cells[column]
        if not said:
            return None
        context = Context.stating(said, query_id=query.id, intended_safe=self.intended(row), origin="imported")
        if self.frame.parameters and (problem := self.frame.parameters.problem(context)):
            raise self.error(row, problem)
        return context

    def intended(self, row: CaseRow) -> bool | None:
        said = row.cells.get(self.columns.intended or "")
        if said is None or isinstance(said, bool):
            return said
        plain = str(said).casefold()
        found = TRUTH[plain] if plain in TRUTH else {"safe": True, "unsafe": False}.get(self.frame.verdict(said) or "")
        if found is None:
            raise self.error(
                row, f"{self.columns.intended!r} is {found_there(said)}; an intent is safe or unsafe, true or false"
            )
        return found

    def votes(self, row: CaseRow) -> Iterator[Verdict]:
        """What people decided, each person once; nothing where only a share is stated, or this row says nothing."""
        if self.columns.votes:
            said = row.cells.get(self.columns.votes, [])
            words = said if isinstance(said, list) else re.split(r"[\s,;|/]+", str(said).strip("[]"))
            for word in words:
                yield self.verdict(row, self.columns.votes, word.strip("\"' ") if isinstance(word, str) else word)
        elif self.columns.n_safe:
            safe, unsafe = self.counts(row)
            yield from repeat("safe", safe)
            yield from repeat("unsafe", unsafe)
        elif self.columns.label and self.columns.label in row.cells:
            yield self.verdict(row, self.columns.label, row.cells[self.columns.label])

    def verdict(self, row: CaseRow, column: str, word: Any) -> Verdict:
        plain = str(word).casefold()
        if plain in ("true", "false") and "safe" in column.casefold():
            return "safe" if (plain == "true") != ("unsafe" in column.casefold()) else "unsafe"
        found = self.frame.verdict(word)
        if found is None:
            raise self.error(
                row,
                f"{column!r} is {found_there(word)}, and nobody said whether that is safe: name the words with --safe-word and "
                "--unsafe-word",
            )
        return found

    def counts(self, row: CaseRow) -> tuple[int, int]:
        safe = self.count(row, self.columns.n_safe or "")
        if self.columns.n_unsafe:
            return safe, self.count(row, self.columns.n_unsafe)
        total = self.count(row, self.columns.n_votes or "")
        if total < safe:
            raise self.error(row, f"{safe} of {total} votes cannot be safe")
        return safe, total - safe

    def count(self, row: CaseRow, column: str) -> int:
        said = row.cells.get(column)
        if isinstance(said, bool) or not re.fullmatch(r"\d+(?:\.0+)?", str(said)):
            raise self.error(row, f"{column!r} is {found_there(said)}, not a number of votes")
        count = int(str(said).partition(".")[0])
        if count > MOST_VOTES:
            raise self.error(row, f"{column!r} is {count:,}; more than {MOST_VOTES:,} votes on a case is a slip")
        return count

    def rate(self, row: CaseRow) -> float | None:
        said = row.cells.get(self.columns.rate or "")
        if said is None:
            return None
        try:
            rate = float(str(said).replace(",", "."))
        except ValueError:
            rate = -1.0
        if not 0 <= rate <= 1:
            raise self.error(row, f"{self.columns.rate!r} is {found_there(said)}, not a share from 0 to 1")
        return rate

    def remarks(self, names: Sequence[str]) -> Iterator[str]:
        """What the file lacks, and what of it was left out."""
        columns = self.columns
        if unused := [name for name in names if name not in columns.used()]:
            yield f"Left out of the file: {', '.join(unused)}."
        if columns.votes and (columns.n_safe or columns.label):
            yield f"What people decided is read from {columns.votes!r} alone."
        elif columns.n_safe and columns.label:
            yield f"What people decided is read from the counts alone, not from {columns.label!r}."
        elif not columns.votes and not columns.n_safe:
            one = "one decision a case" if columns.label else "shares without votes (--labels published reads them)"
            yield f"The file states {one}: there is no ceiling, and nothing is known of how far people agree."
        if not self.contexts:
            yield "No context is stated: every query is judged alone."
        elif not columns.intended:
            yield "No intent is stated: nothing is said of pairs, nor of what contexts were meant to do."
        if not columns.category:
            yield "No category is stated: all cases are in one."


def without_nulls(value: Any) -> Any:
    """A group without the parameters that are null: these are absent."""
    return {name: one for name, one in value.items() if one is not None} if isinstance(value, Mapping) else value


def found_there(cell: Any) -> str:
    return "empty" if cell is None else brief(cell)


TRUTH = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


def taxonomy_of(name: str, queries: Iterable[Query]) -> Taxonomy:
    met = dict.fromkeys(query.category for query in queries)
    if set(met) <= set(sorry_bench().names):
        return sorry_bench()
    return Taxonomy(name=name, categories=tuple(Category(name=one, domain="imported") for one in met))


def parameters_of(name: str, contexts: Iterable[Context]) -> ParameterSet:
    """The paper's set where all contexts fit it, else what they state; what one of them leaves out may be missing.

    Raises ConfigurationError: a group or parameter has a name that no arm could say.
    """
    met = list(contexts)
    if all(paper_parameters().problem(context) is None for context in met):
        return paper_parameters()
    said = [stated(context.shown()) for context in met]
    every = dict.fromkeys(one for names in said for one in names if one not in OPTIONAL)
    groups: dict[str, list[Parameter]] = {}
    try:
        for dotted in every:
            group, _, parameter = dotted.partition(".")
            missing = not all(dotted in names for names in said)
            groups.setdefault(group, []).append(Parameter(name=parameter, may_be_missing=missing))
        return ParameterSet(
            name=name, groups=tuple(Group(name=one, parameters=tuple(found)) for one, found in groups.items())
        )
    except ValidationError as error:
        raise ConfigurationError(f"the parameters of the contexts: {what_is_wrong(error)}") from error
