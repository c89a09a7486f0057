"""A user's own cases from CSV, spreadsheets, JSON Lines, Parquet or the Hugging Face hub."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import repeat
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import polars as pl
from pydantic import ValidationError

from casewise.errors import BenchmarkError, ConfigurationError, DataError, did_you_mean
from casewise.options import Hidden
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
from casewise.records.context import OPTIONAL, stated
from casewise.records.item import NO_CONTEXT_CONDITION
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.benchmark_folder import (
    item_view,
    new_folder,
    tables_with_rows,
    write_manifest,
    write_table,
    write_tables,
)
from casewise.storage.files import (
    brief,
    cannot_read,
    numbered_lines,
    parse,
    read_text,
    replacing,
    what_is_wrong,
    write_text,
)

# Which columns of a file of cases hold what: as its owner says, or guessed from their names.


GUESSES: dict[str, tuple[str, ...]] = {
    "query": ("query", "prompt", "question", "request", "user_query", "input"),
    "context": ("context", "circumstances", "situation", "setting"),
    "category": ("category", "topic", "harm_category"),
    "pair": ("pair", "pair_id"),
    "intended": ("intended_safe", "intended", "intent", "context_intended_to_be_safe"),
    "votes": ("votes", "ratings", "verdicts"),
    "n_safe": ("n_safe", "safe_votes", "votes_safe", "safe_count"),
    "n_unsafe": ("n_unsafe", "unsafe_votes", "votes_unsafe", "unsafe_count"),
    "n_votes": ("n_votes", "n_ratings", "total_votes", "total"),
    "label": ("label", "verdict", "judgement", "judgment", "decision", "gold"),
    "rate": ("safe_rate", "rate", "share_safe"),
}
"""What columns are usually called; capitals, spaces and hyphens do not count."""


@dataclass(frozen=True)
class CaseColumns:
    """The column for each thing that a case may say: None where it is to be guessed, empty where there is none."""

    query: str | None = None
    """The column with the query."""
    context: str | None = None
    """The column with the context: free text, or in JSON Lines an object."""
    context_as: str = "situation"
    """The group, or group.parameter, that a context of free text is given for; its description where it names a group."""
    parameters: Hidden[Mapping[str, str]] = field(default_factory=dict)
    """Further columns, by the context parameter that each states: group.parameter."""
    category: str | None = None
    """The column with the category; '' for none."""
    pair: str | None = None
    """The column with what joins the two contexts of a pair."""
    intended: str | None = None
    """The column with what the context's author meant: safe or unsafe."""
    votes: str | None = None
    """The column with a list of verdicts, a person each."""
    n_safe: str | None = None
    """The column with the number of safe votes."""
    n_unsafe: str | None = None
    """The column with the number of unsafe votes."""
    n_votes: str | None = None
    """The column with the number of all votes."""
    label: str | None = None
    """The column with one verdict a case."""
    rate: str | None = None
    """The column with the share of people who say safe."""

    @property
    def free_text(self) -> tuple[str, str]:
        """Group and parameter of a context of free text."""
        group, _, parameter = self.context_as.partition(".")
        return group, parameter or "description"

    def used(self) -> frozenset[str]:
        """The columns that say something here."""
        named = {getattr(self, one.name) for one in fields(self) if one.name in GUESSES}
        return frozenset(named | set(self.parameters)) - {None, ""}


def found_columns(columns: Sequence[str], said: CaseColumns, parameters: ParameterSet) -> CaseColumns:
    """Who says what among `columns`: what is said stands, the rest is guessed from their names.

    Raises ConfigurationError: a column that was named is not there, or one that must be is missing.
    """
    named = {option: name for option in GUESSES if (name := getattr(said, option))}
    for name in (*named.values(), *said.parameters):
        if name not in columns:
            raise ConfigurationError(f"there is no column {name!r}{did_you_mean(name, columns)}; {listed(columns)}")
    plain = {plainly(name): name for name in reversed(columns)}
    taken = {*named.values(), *said.parameters}
    stating = dict(said.parameters)
    for dotted in (*parameters.names, *(name for name in columns if DOTTED.fullmatch(name))):
        column = plain.get(plainly(dotted))
        if column is not None and column not in taken and dotted not in stating.values():
            stating[column] = dotted
            taken.add(column)
    guessed = {
        option: next((plain[guess] for guess in guesses if guess in plain and plain[guess] not in taken), "")
        for option, guesses in GUESSES.items()
        if getattr(said, option) is None
    }
    found = replace(said, parameters=stating, **guessed)
    return checked(found, columns)


DOTTED = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


def plainly(name: str) -> str:
    return re.sub(r"[\s.\-]+", "_", name.strip().lower())


def checked(found: CaseColumns, columns: Sequence[str]) -> CaseColumns:
    if not found.query:
        raise ConfigurationError(f"no column is called query or the like; name it with --query; {listed(columns)}")
    if found.n_safe and not (found.n_votes or found.n_unsafe):
        raise ConfigurationError(
            f"{found.n_safe!r} counts safe votes, but of how many? Name the column with --n-unsafe or --n-votes; "
            f"{listed(columns)}"
        )
    if not (found.votes or found.n_safe or found.label or found.rate):
        raise ConfigurationError(
            "no column holds what people decided; name it: --label (one word a case), --votes (a list of words), --n-safe with "
            f"--n-unsafe or --n-votes (counts), or --rate (a share); {listed(columns)}"
        )
    return found


def listed(columns: Sequence[str]) -> str:
    return f"the columns are: {', '.join(columns)}"


# The rows of a file of cases as somebody else wrote it: CSV in any of its dialects, or JSON Lines.


NOT_TEXT = {
    b"PK\x03\x04": "is a workbook; save it as CSV (UTF-8)",
    b"\xff\xfe": "is UTF-16; save it as CSV (UTF-8)",
    b"\xfe\xff": "is UTF-16; save it as CSV (UTF-8)",
}
"""How files begin that spreadsheet programs write and that are no CSV in UTF-8."""

DELIMITERS = ",;\t"

SPREADSHEET_ERRORS = ("#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#N/A", "#NULL!", "#NUM!")


class CaseRow(NamedTuple):
    """The cells of a row that say something, by column, and the line that it begins on."""

    line: int
    cells: dict[str, Any]


def read_case_rows(path: Path) -> tuple[tuple[str, ...], list[CaseRow]]:
    """The columns of a file and its rows; `.jsonl` and `.ndjson` are read as JSON Lines, all else as CSV.

    Raises DataError: the file is neither, or holds nothing; the message says where.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise cannot_read(path, error) from error
    if problem := next((said for start, said in NOT_TEXT.items() if head.startswith(start)), None):
        raise DataError(path, None, problem)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return of_mappings(path, objects(path))
    return of_csv(path, read_text(path))


def objects(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in numbered_lines(path):
        value = parse(line, path=path, line=number)
        if not isinstance(value, dict):
            raise DataError(path, number, f"is {type(value).__name__}, not an object with the columns as keys")
        yield number, value


def frame_rows(frame: Any, name: str) -> tuple[tuple[str, ...], list[CaseRow]]:
    """The columns and rows of a polars or pandas frame, or of dictionaries; rows are counted from 1.

    Raises ConfigurationError: it is none of these. DataError: it holds nothing.
    """
    if hasattr(frame, "to_dicts"):
        rows = frame.to_dicts()
    elif hasattr(frame, "to_dict"):
        rows = frame.to_dict("records")
    else:
        rows = list(frame) if isinstance(frame, Iterable) and not isinstance(frame, (str, bytes, Mapping)) else [None]
    if not all(isinstance(row, Mapping) for row in rows):
        raise ConfigurationError(f"{type(frame).__name__} is no frame; give a polars or pandas frame, or dictionaries")
    return of_mappings(Path(name), enumerate(rows, 1))


def of_mappings(path: Path, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> tuple[tuple[str, ...], list[CaseRow]]:
    found = [case_row(path, line, row) for line, row in rows]
    if not found:
        raise DataError(path, None, "holds no rows")
    return tuple(dict.fromkeys(name for row in found for name in row.cells)), found


def of_csv(path: Path, text: str) -> tuple[tuple[str, ...], list[CaseRow]]:
    if (at := text.find("\0")) >= 0:
        raise DataError(path, text.count("\n", 0, at) + 1, "holds a NUL character; it is no text, or was damaged")
    first = text.split("\n", 1)[0].rstrip("\r")
    announced = first[4] if first.lower().startswith("sep=") and len(first) == 5 else None
    head = text.split("\n", 2)[1] if announced and "\n" in text else first
    outside_quotes = "".join(head.split('"')[::2])
    delimiter = announced or max(DELIMITERS, key=outside_quotes.count)
    lines = list(records(path, text, delimiter))[1 if announced else 0 :]
    if len(lines) < 2:
        raise DataError(path, None, "holds no rows" if lines else "is empty")
    line, header = lines[0]
    columns = tuple(cell.strip() for cell in header)
    if wrong := [name for name, n in Counter(columns).items() if n > 1 or not name]:
        problem = f"two columns are called {wrong[0]!r}" if wrong[0] else "a column has no name"
        raise DataError(path, line, f"{problem}; the first line names each column once")
    for number, cells in lines[1:]:
        if len(cells) != len(columns):
            raise DataError(
                path, number, f"has {len(cells)} cells, and there are {len(columns)} columns; is a text not in quotes?"
            )
    return columns, [case_row(path, n, dict(zip(columns, cells, strict=True))) for n, cells in lines[1:]]


def records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV text that are not blank, with the line that each begins on."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a context may be a whole document
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begins = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield begins, cells
            begins = reader.line_num + 1
    except csv.Error as error:
        raise DataError(path, begins, f"is no CSV: {error}") from error


def case_row(path: Path, line: int, row: Mapping[str, Any]) -> CaseRow:
    cells: dict[str, Any] = {}
    for column, value in row.items():
        cell = value.strip() if isinstance(value, str) else value
        if cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)):
            continue
        if isinstance(cell, str) and "\0" in cell:
            raise DataError(path, line, f"{column!r} holds a NUL character; it is no text, or was damaged")
        if cell in SPREADSHEET_ERRORS:
            raise DataError(path, line, f"{column!r} is {cell}, an error of the spreadsheet program; mend it there")
        cells[str(column)] = cell
    return CaseRow(line, cells)


# A benchmark as CSV for a spreadsheet program: to look at, not to read back.


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A cell that begins so may be run as a formula, a command or a link. Full-width forms are folded by some programs."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Tells Excel that the file is UTF-8."""


def harmless(text: str) -> str:
    """`text` so that no spreadsheet program runs it: an apostrophe goes before what looks like a formula."""
    return f"'{text}" if text.lstrip(" \u00a0").startswith(FORMULA_STARTS) else text


def write_spreadsheet(benchmark: Benchmark, path: Path) -> Path:
    """Write one row an item, every cell quoted and formulas neutralised.

    The apostrophes change the texts, so casewise does not read such a file.
    """
    return write_csv(item_view(benchmark), path)


def write_csv(table: pl.DataFrame, path: Path) -> Path:
    """Write any table in that way."""
    texts = [name for name, kind in table.schema.items() if kind == pl.String]
    safe = table.with_columns(pl.col(name).map_elements(harmless, return_dtype=pl.String) for name in texts)
    with replacing(path) as file:
        file.write(BYTE_ORDER_MARK)
        safe.write_csv(file, quote_style="non_numeric", line_terminator="\r\n")
    return path


# A benchmark as a Hugging Face dataset folder, which `datasets.load_dataset(FOLDER)` opens.
#
# The tables are those of `casewise.storage.benchmark_folder`, under `data/`, so the folder reads back as it was. The default
# configuration is a view with one row an item; each table is a configuration of its own.


VIEW = "rated_items"

CARD = """---
{front}
---

# {name}

{notices}{description}

{counts}

`load_dataset("FOLDER")` gives the configuration `{view}`: one row an item, with the query, the parameters of its
context, and how many people called it safe. The other configurations are the records themselves: {tables}.
`casewise show FOLDER` checks them against `benchmark.json`, and every casewise command takes this folder as a
benchmark.
"""


def write_hugging_face(benchmark: Benchmark, folder: Path) -> Path:
    """Write `benchmark` as a new dataset folder: all of it or nothing.

    Raises ConfigurationError: there is something at `folder` already, or it cannot be written.
    """
    with new_folder(folder) as draft:
        names = write_tables(benchmark, draft, under="data/")
        write_table(item_view(benchmark), draft / f"data/{VIEW}.parquet")
        write_text(draft / "README.md", card(benchmark))
        write_manifest(benchmark, draft, names=names)
    return folder


def card(benchmark: Benchmark) -> str:
    """The dataset card: its settings, and what a reader must know."""
    about, tables = benchmark.about, tables_with_rows(benchmark)
    notices = "".join(f"> {note}\n\n" for note in benchmark.notes())
    notices += f"> {about.canary}\n\n" if about.canary else ""
    counts = ", ".join(f"{n:,} {kind}" for kind, n in benchmark.counts.model_dump().items())
    return CARD.format(
        front="\n".join(front(benchmark, [*([VIEW] if benchmark.items else []), *tables])),
        name=about.name,
        notices=notices,
        description=about.description or "",
        counts=f"Version {about.version}: {counts}.",
        view=VIEW,
        tables=", ".join(f"`{table}`" for table in tables),
    )


def front(benchmark: Benchmark, tables: list[str]) -> list[str]:
    """The card's settings as YAML; strings are written as JSON, which YAML reads."""
    about = benchmark.about
    lines = [f"pretty_name: {json.dumps(about.name, ensure_ascii=False)}", "license: other"]
    if about.licence:
        lines.append(f"license_name: {json.dumps(about.licence, ensure_ascii=False)}")
    if about.gated:
        lines.append(f"extra_gated_prompt: {json.dumps(about.terms or 'See the terms.', ensure_ascii=False)}")
    lines.append("configs:")
    for table in tables:
        lines += [f"- config_name: {table}", "  data_files:", "  - split: test", f"    path: data/{table}.parquet"]
        if table == VIEW:
            lines.append("  default: true")
    return lines


# Labelled cases as a company has them become a benchmark: rows with a query, perhaps a context, and what people
# decided.


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
