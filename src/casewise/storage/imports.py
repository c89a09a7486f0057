"""A user's own cases from CSV, spreadsheets, JSON Lines, Parquet or the Hugging Face hub."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import polars as pl
from pydantic import ValidationError

from casewise.errors import BenchmarkError, ConfigurationError, DataError, did_you_mean
from casewise.options import Hidden
from casewise.records import (
    Annotator,
    Category,
    Context,
    Group,
    Item,
    Parameter,
    ParameterSet,
    Query,
    Rating,
    RatingScale,
    Taxonomy,
    Turn,
    Vote,
    paper_parameters,
    sorry_bench,
)
from casewise.records.base import content_id
from casewise.records.context import OPTIONAL, stated
from casewise.records.item import NO_CONTEXT_CONDITION
from casewise.storage.annotation_tools import export_rows
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.benchmark_folder import (
    RECORDS,
    item_view,
    new_folder,
    write_manifest,
    write_table,
    write_tables,
)
from casewise.storage.files import (
    brief,
    cannot_read,
    read_text,
    replacing,
    what_is_wrong,
    write_text,
)

# Which columns of a file of cases hold what: as its owner says, or guessed from their names.


GUESSES: dict[str, tuple[str, ...]] = {
    "query": ("query", "prompt", "question", "request", "user_query", "input"),
    "id": ("case_id", "item_id", "source_id", "id"),
    "judged": ("judged",),
    "before": ("before", "conversation", "history"),
    "context": ("context", "circumstances", "situation", "setting"),
    "category": ("category", "topic", "harm_category"),
    "cluster": ("cluster", "cluster_id"),
    "pair": ("pair", "pair_id"),
    "intended": ("intended_safe", "intended", "intent", "context_intended_to_be_safe"),
    "annotator": (
        "annotator",
        "annotator_id",
        "rater",
        "rater_id",
        "worker",
        "worker_id",
        "participant",
        "participant_id",
    ),
    "vote": ("vote",),
    "value": ("value",),
    "votes": ("votes", "ratings", "verdicts"),
    "n_safe": ("n_safe", "safe_votes", "votes_safe", "safe_count"),
    "n_unsafe": ("n_unsafe", "unsafe_votes", "votes_unsafe", "unsafe_count"),
    "n_unsure": ("n_unsure", "unsure_votes", "votes_unsure", "unsure_count"),
    "n_votes": ("n_votes", "n_ratings", "total_votes", "total"),
    "label": ("label", "verdict", "judgement", "judgment", "decision", "gold"),
    "rate": ("safe_rate", "rate", "share_safe"),
    "mean": ("mean", "mean_rating"),
}
"""What columns are usually called; capitals, spaces and hyphens do not count."""

ON_SCALE = ("value", "mean")
"""Those of them that need a scale."""

TRAIT = "trait."
"""How the name of a column begins that holds a trait of the annotator."""


@dataclass(frozen=True)
class CaseColumns:
    """The column of each part of a case: None guesses it from the names of columns, empty means that there is none."""

    query: str | None = None
    """The column with the query."""
    id: str | None = None
    """The column with your own id of the case; reports show it."""
    judged: str | None = None
    """The column with the kind of thing that is judged: request, reply or action."""
    before: str | None = None
    """The column with the conversation before the query: a text, or a list of turns with role and text."""
    context: str | None = None
    """The column with the context: free text; in JSON Lines also an object."""
    context_as: str = "situation"
    """The group.parameter that holds a context of free text. A group alone means its description."""
    parameters: Hidden[Mapping[str, str]] = field(default_factory=dict)
    """Further columns, by the context parameter that each states: group.parameter."""
    category: str | None = None
    """The column with the category; '' for none."""
    cluster: str | None = None
    """The column with the cluster of a case, such as a conversation. Default: cases of one query are a cluster."""
    pair: str | None = None
    """The column with the id of the pair, or larger group, of contexts."""
    intended: str | None = None
    """The column with the intent of the context's author: safe or unsafe."""
    annotator: str | None = None
    """The column with the annotator, if each row is one rating. A case then has several rows."""
    trait: tuple[str, ...] = ()
    """A column with a trait of the annotator; may be repeated. Columns whose names begin with trait. count as well."""
    vote: str | None = None
    """The column with one person's vote: safe, unsafe or unsure."""
    value: str | None = None
    """The column with one person's rating on the scale."""
    votes: str | None = None
    """The column with a list of votes or of ratings on the scale, one for each person."""
    n_safe: str | None = None
    """The column with the number of safe votes."""
    n_unsafe: str | None = None
    """The column with the number of unsafe votes."""
    n_unsure: str | None = None
    """The column with the number of unsure votes."""
    n_votes: str | None = None
    """The column with the number of all safe and unsafe votes."""
    label: str | None = None
    """The column with one verdict for the case."""
    rate: str | None = None
    """The column with the share of people who say safe."""
    mean: str | None = None
    """The column with the mean rating on the scale, if the file has no single ratings."""

    @property
    def free_text(self) -> tuple[str, str]:
        """Group and parameter of a context of free text."""
        group, _, parameter = self.context_as.partition(".")
        return group, parameter or "description"

    def used(self) -> frozenset[str]:
        """The columns that say something here."""
        named = {getattr(self, option.name) for option in fields(self) if option.name in GUESSES}
        return frozenset(named | set(self.parameters) | set(self.trait)) - {None, ""}

    @classmethod
    def of_rows(cls, names: Collection[str]) -> CaseColumns:
        """The columns of rows as `of_rows` takes them: each is called as its option is."""
        options: dict[str, Any] = {option: option if option in names else "" for option in GUESSES}
        return cls(**options)


def guessed_columns(columns: Sequence[str], given: CaseColumns, frame: CaseFrame, *, alone: bool = True) -> CaseColumns:
    """Return the `given` columns, and for each part that these leave open the one among `columns` whose name is usual for it.

    Without a scale no column is guessed to hold values on it. Ratings may be missing where the file does not stand `alone`.

    Raises ConfigurationError: a given column is not there, or a required one is missing.
    """
    named = {option: name for option in GUESSES if (name := getattr(given, option))}
    taken = {*named.values(), *given.parameters, *given.trait}
    for name in (*named.values(), *given.parameters, *given.trait):
        if name not in columns:
            raise ConfigurationError(f"there is no column {name!r}{did_you_mean(name, columns)}; {listed(columns)}")
    plain = {plainly(name): name for name in reversed(columns)}
    stating = dict(given.parameters)
    for dotted in (
        *(frame.parameters or paper_parameters()).names,
        *(name for name in columns if DOTTED.fullmatch(name)),
    ):
        column = plain.get(plainly(dotted))
        if column is not None and column not in taken and dotted not in stating.values():
            stating[column] = dotted
            taken.add(column)
    guessed: dict[str, Any] = {
        option: next((plain[guess] for guess in guesses if guess in plain and plain[guess] not in taken), "")
        for option, guesses in GUESSES.items()
        if getattr(given, option) is None and (frame.scale or option not in ON_SCALE)
    }
    chosen = replace(given, parameters=stating, **guessed)
    return checked(chosen, columns) if alone else chosen


DOTTED = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


def plainly(name: str) -> str:
    return re.sub(r"[\s.\-]+", "_", name.strip().lower())


def checked(chosen: CaseColumns, columns: Sequence[str]) -> CaseColumns:
    if not chosen.query:
        raise ConfigurationError(f"no column is called query or the like; name it with --query; {listed(columns)}")
    if chosen.n_safe and not (chosen.n_votes or chosen.n_unsafe):
        raise ConfigurationError(
            f"{chosen.n_safe!r} counts safe votes, but of how many? Name the column with --n-unsafe or --n-votes; "
            f"{listed(columns)}"
        )
    if not (chosen.vote or chosen.value or chosen.votes or chosen.n_safe or chosen.label or chosen.rate or chosen.mean):
        raise ConfigurationError(
            "no column holds what people decided; name it: --label (one word a case), --votes (a list of words), --n-safe with "
            "--n-unsafe or --n-votes (counts), --rate (a share), --annotator with --vote (a rating a row), or --value and "
            f"--mean (on a scale); {listed(columns)}"
        )
    return chosen


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
    """The cells of a row that say something, by column, the line that it begins on, and its file where there are several."""

    line: int
    cells: dict[str, Any]
    path: Path | None = None


def read_case_rows(path: Path) -> tuple[tuple[str, ...], list[CaseRow]]:
    """The columns of a file and its rows: `.jsonl` and `.ndjson` are JSON Lines, `.json` is an array or what an annotation tool
    exports, and all else is CSV.

    Raises DataError: the file is neither, or holds nothing; the message says where.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise cannot_read(path, error) from error
    if problem := next((kind_of_file for start, kind_of_file in NOT_TEXT.items() if head.startswith(start)), None):
        raise DataError(path, None, problem)
    if path.suffix.lower() not in (".json", ".jsonl", ".ndjson"):
        return of_csv(path, read_text(path))
    return of_mappings(path, export_rows(path))


def frame_rows(frame: Any, name: str) -> tuple[tuple[str, ...], list[CaseRow]]:
    """The columns and rows of a polars or pandas frame, or of dictionaries; rows are counted from 1.

    Raises ConfigurationError: it is none of these. DataError: it holds nothing.
    """
    if hasattr(frame, "to_dicts"):
        rows = frame.to_dicts()
    elif hasattr(frame, "to_dict"):
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")  # without NaN, NaT and NA
    else:
        rows = list(frame) if isinstance(frame, Iterable) and not isinstance(frame, (str, bytes, Mapping)) else [None]
    if not all(isinstance(row, Mapping) for row in rows):
        raise ConfigurationError(f"{type(frame).__name__} is no frame; give a polars or pandas frame, or dictionaries")
    return of_mappings(Path(name), enumerate(rows, 1))


def of_mappings(path: Path, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> tuple[tuple[str, ...], list[CaseRow]]:
    case_rows = [case_row(path, line, row) for line, row in rows]
    if not case_rows:
        raise DataError(path, None, "holds no rows")
    return tuple(dict.fromkeys(name for row in case_rows for name in row.cells)), case_rows


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
        cell = value.strip() if isinstance(value, str) else value.tolist() if hasattr(value, "tolist") else value
        if cell is None or cell in ("", [], {}) or (isinstance(cell, float) and math.isnan(cell)):
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
    safe = safe.rename(harmless)
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
    about, tables = benchmark.about, [table for table in RECORDS if getattr(benchmark, table)]
    notices = "".join(f"> {note}\n\n" for note in benchmark.notes())
    notices += f"> {about.canary}\n\n" if about.canary else ""
    counts = ", ".join(f"{n:,} {kind}" for kind, n in benchmark.counts.as_json().items())
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
UNSURE_WORDS = ("unsure", "not sure", "don't know", "undecided", "abstain")
UNSAFE_WORDS = ("unsafe", "deny", "denied", "refuse", "block", "blocked", "inappropriate", "unacceptable")

UNCATEGORISED = "uncategorised"

MOST_VOTES = 100_000
"""On one case; a larger count is a slip."""


@dataclass(frozen=True)
class CaseFrame:
    """What a file of cases does not say of itself.

    `safe_words`, `unsafe_words` and `unsure_words` are the words of its votes, instead of the usual ones; an empty unsure
    word makes a vote of an empty cell. Without `taxonomy` the categories are SORRY-Bench's where all are of these, else
    those in the file; without `parameters` a context may state any.
    """

    taxonomy: Taxonomy | None = None
    parameters: ParameterSet | None = None
    safe_words: tuple[str, ...] = ()
    unsafe_words: tuple[str, ...] = ()
    unsure_words: tuple[str, ...] = ()
    scale: RatingScale | None = None
    """The scale of `value`, `mean` and of numbers among `votes`."""

    def vote(self, word: Any) -> Vote | None:
        """The vote that a word states, or None."""
        answer = str(word).strip().casefold()
        of_file: dict[Vote, tuple[str, ...]] = {"safe": self.safe_words, "unsafe": self.unsafe_words}
        for vote, words in (of_file | {"unsure": self.unsure_words}).items():
            if answer in {word.casefold() for word in words}:
                return vote
        if not self.unsure_words and answer in UNSURE_WORDS:
            return "unsure"
        if self.safe_words or self.unsafe_words:
            return None
        return "safe" if answer in SAFE_WORDS else "unsafe" if answer in UNSAFE_WORDS else None

    @property
    def empty_is_unsure(self) -> bool:
        """Whether an empty cell is an unsure vote."""
        return "" in self.unsure_words


RATING = "rating"
"""The column that a wide table's cells become."""


@dataclass(frozen=True)
class RatingTable:
    """The place of ratings that are not one column of the file of cases."""

    ratings: Path | None = None
    """A second file with the ratings: one row for each rating, with the case's id and the annotator. With --wide: one row
    for each person."""
    wide: str | None = None
    """Pattern of the columns of cases in a table with one row for each person. In Rating_*, * is the case's id, or the query
    if there is one file. Empty cells are no ratings; with --unsure-word '' they are unsure votes."""

    def joined(
        self, path: Path, names: Sequence[str], rows: Sequence[CaseRow], columns: CaseColumns, frame: CaseFrame
    ) -> tuple[tuple[str, ...], list[CaseRow], CaseColumns]:
        """The cases, and a row for each rating with what its case says; and what the columns of these are.

        Raises ConfigurationError: a column is not there. DataError: a rating is of no case, or two cases have one id.
        """
        if self.ratings is None:
            self.check(columns, names)
            whole = self.melted(path, names, rows, columns.query or "query")
            said = replace(columns, query=columns.query or "query", **self.holds(frame))
            return tuple(dict.fromkeys(name for row in whole for name in row.cells)), whole, said
        guessed = guessed_columns(
            names, replace(columns, annotator="", trait=(), label="", vote="", value=""), frame, alone=False
        )
        if not (key := guessed.id):
            raise ConfigurationError(f"ratings need the case's id; name its column with --id; {listed(names)}")
        of_ratings, rating_rows = read_case_rows(self.ratings)
        if self.wide is not None:
            self.check(columns, of_ratings)
            rating_rows = self.melted(self.ratings, of_ratings, rating_rows, key)
            columns = replace(columns, **self.holds(frame))
            of_ratings = tuple(dict.fromkeys(name for row in rating_rows for name in row.cells))
        if key not in of_ratings:
            raise ConfigurationError(
                f"{self.ratings.name} has no column {key!r} with the case's id; {listed(of_ratings)}"
            )
        if twice := [name for name in of_ratings if name in names and name != key]:
            raise ConfigurationError(f"both files have a column {twice[0]!r}; name it otherwise in one of them")
        cases: dict[str, CaseRow] = {}
        for row in rows:
            name = str(row.cells.get(key, ""))
            if not name or name in cases:
                problem = f"the same as on line {cases[name].line}" if name else "empty"
                raise DataError(path, row.line, f"{key!r} is {problem}; each case has an id of its own")
            cases[name] = row
        whole = list(rows)
        for row in rating_rows:
            if (name := str(row.cells.get(key, ""))) not in cases:
                examples = f"; {path.name} has {', '.join(list(cases)[:3])}, …"
                raise DataError(
                    self.ratings, row.line, f"{key!r} is {found_there(name)}, and no case has this id{examples}"
                )
            whole.append(CaseRow(row.line, {**row.cells, **cases[name].cells}, self.ratings))
        return (*names, *(name for name in of_ratings if name != key)), whole, replace(columns, id=key)

    def check(self, columns: CaseColumns, names: Sequence[str]) -> None:
        if self.wide is None or self.wide.count("*") != 1:
            raise ConfigurationError(f"--wide is {self.wide!r}; write * once for the case's id, as in 'Rating_*'")
        if not any(self.of(name) for name in names):
            raise ConfigurationError(f"no column is called like {self.wide!r}; {listed(names)}")
        if not columns.annotator:
            raise ConfigurationError(
                f"a row is a person's; name the column that says whose with --annotator; {listed(names)}"
            )

    def of(self, name: str) -> str:
        """The id that a column's name holds; empty where it is no case's column."""
        before, _, after = (self.wide or "").partition("*")
        inside = name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)
        return name[len(before) : len(name) - len(after)] if inside else ""

    def melted(self, path: Path, names: Sequence[str], rows: Iterable[CaseRow], key: str) -> list[CaseRow]:
        """A row for each cell of a case's column, with the row's other cells."""
        ids = {name: self.of(name) for name in names if self.of(name)}
        long_rows = []
        for row in rows:
            others = {name: cell for name, cell in row.cells.items() if name not in ids}
            for name, case in ids.items():
                cell = {RATING: row.cells[name]} if name in row.cells else {}
                long_rows.append(CaseRow(row.line, {**others, key: case, **cell}, path))
        return long_rows

    def holds(self, frame: CaseFrame) -> dict[str, Any]:
        """Which option a wide table's cells are for."""
        return {"value" if frame.scale else "vote": RATING}


def read_cases(
    path: Path,
    columns: CaseColumns = CaseColumns(),
    frame: CaseFrame = CaseFrame(),
    about: About | None = None,
    *,
    ratings: RatingTable = RatingTable(),
) -> Benchmark:
    """The benchmark that a file of cases holds, or an annotation tool's export; `about.remarks` says what the file lacks.

    Raises ConfigurationError: a column is missing that only the file's owner can name; the message says with which
    option. DataError: a row cannot be read; the message names its line.
    """
    names, rows = read_case_rows(path)
    if ratings.wide is not None or ratings.ratings is not None:
        names, rows, columns = ratings.joined(path, names, rows, columns, frame)
    chosen = guessed_columns(names, columns, frame)
    return Cases(path, names, chosen, frame).benchmark(rows, about)


def of_frame(data: Any, name: str, columns: CaseColumns = CaseColumns(), frame: CaseFrame = CaseFrame()) -> Benchmark:
    """The same of a polars or pandas frame, or of dictionaries."""
    names, rows = frame_rows(data, name)
    chosen = guessed_columns(names, columns, frame)
    return Cases(Path(name), names, chosen, frame).benchmark(rows)


def of_rows(
    rows: Iterable[Mapping[str, Any] | CaseRow],
    about: About,
    *,
    source: Path | str,
    taxonomy: Taxonomy | None = None,
    parameters: ParameterSet | None = None,
) -> Benchmark:
    """The benchmark that rows of the one shape make; every way in ends here.

    A row has any of: `id`, `query`, `judged`, `before` (a text, or turns with `role` and `text`), `context` (a mapping of
    groups, or a text), `category`, `cluster`, `pair`, `intended`, `annotator`, `vote` (safe, unsafe or unsure), `value` (on
    the scale), `label`, `votes` (a list of words, or of numbers on the scale), `n_safe`, `n_unsafe`, `n_unsure`, `rate`,
    `mean` and `trait.NAME`. What else it has is kept in the item's columns, where it is the same in every row of the item.
    Rows with one query, `before` and context are ratings of one item, and then each names its annotator.

    `about`: what the benchmark says of itself, with the scale of its values and who made the labels.
    `source`: the file that errors name, with the row's number from 1, or the line of a `CaseRow`.

    Raises DataError: a row cannot be read, or rows contradict each other.
    """
    path = Path(source)
    numbered = (
        row if isinstance(row, CaseRow) else case_row(path, number, row) for number, row in enumerate(rows, start=1)
    )
    case_rows = list(numbered)
    if not case_rows:
        raise DataError(path, None, "holds no rows")
    names = tuple(dict.fromkeys(name for row in case_rows for name in row.cells))
    frame = CaseFrame(taxonomy, parameters, scale=about.scale)
    return Cases(path, names, CaseColumns.of_rows(names), frame).benchmark(case_rows, about)


@dataclass
class Draft:
    """An item on its way, with the row that it was first met in."""

    item: Item
    first: CaseRow
    columns: dict[str, Any]
    raters: dict[str, int] = field(default_factory=dict)
    """Annotators to the lines of their ratings."""


@dataclass
class Cases:
    """Rows on their way to records."""

    path: Path
    names: tuple[str, ...]
    """The columns of the file."""
    columns: CaseColumns
    """Which of them holds what."""
    frame: CaseFrame
    queries: dict[str, Query] = field(default_factory=dict)
    contexts: dict[str, Context] = field(default_factory=dict)
    drafts: dict[str, Draft] = field(default_factory=dict)
    """By the item's id."""
    met: dict[str, Draft] = field(default_factory=dict)
    """By the cells that make the item, so that a long table makes each item once."""
    ratings: list[Rating] = field(default_factory=list)
    traits: dict[str, tuple[dict[str, Any], int]] = field(default_factory=dict)
    """By annotator, with the line."""
    varying: dict[str, None] = field(default_factory=dict)
    """Columns that differ among the rows of an item."""

    @cached_property
    def others(self) -> list[str]:
        """Columns that are kept with the item as they are."""
        return [name for name in self.names if name not in self.columns.used() and not name.startswith(TRAIT)]

    @cached_property
    def of_annotator(self) -> dict[str, str]:
        """Columns with traits of annotators, and the traits' names."""
        traits = {name: name for name in self.columns.trait}
        return traits | {name: name.removeprefix(TRAIT) for name in self.names if name.startswith(TRAIT)}

    @cached_property
    def of_item(self) -> list[str]:
        """Columns that make an item what it is."""
        columns = self.columns
        named = (columns.query, columns.judged, columns.before, columns.context, *columns.parameters, columns.intended)
        return [name for name in named if name]

    @cached_property
    def one_each(self) -> list[str]:
        """Columns of which an item has one value."""
        columns = self.columns
        named = (columns.id, columns.category, columns.cluster, columns.pair, columns.rate, columns.mean)
        return [name for name in named if name]

    def benchmark(self, rows: Iterable[CaseRow], about: About | None = None) -> Benchmark:
        if self.of_annotator and not self.columns.annotator:
            raise ConfigurationError(
                f"there are traits and no column of annotators; name it with --annotator; {listed(self.names)}"
            )
        for row in rows:
            try:
                self.take(row)
            except ValidationError as error:
                raise self.error(row, what_is_wrong(error)) from error
        self.join_pairs()
        items = tuple(self.item(draft) for draft in self.drafts.values())
        categories = [query.category for query in self.queries.values()]
        categories += [item.category for item in items if item.category is not None]
        remarks = tuple(self.remarks())
        about = about or About(name=self.path.stem, scale=self.frame.scale)
        try:
            return Benchmark(
                about.model_copy(
                    update={
                        "source": about.source or f"imported from {self.path.name}",
                        "remarks": (*(about.remarks or ()), *remarks) or None,
                    }
                ),
                tuple(self.queries.values()),
                tuple(self.contexts.values()),
                items,
                self.ratings,
                taxonomy=self.frame.taxonomy or taxonomy_of(about.name, categories),
                parameters=self.frame.parameters or parameters_of(about.name, self.contexts.values()),
                annotators=tuple(
                    Annotator(id=annotator, traits=traits) for annotator, (traits, _) in self.traits.items() if traits
                ),
            )
        except BenchmarkError as error:
            raise DataError(self.path, None, str(error)) from error

    def take(self, row: CaseRow) -> None:
        key = repr([row.cells.get(name) for name in self.of_item])
        if (draft := self.met.get(key)) is None:
            draft = self.met[key] = self.draft(row)
        annotator = self.name(row, self.columns.annotator)
        if row is not draft.first:
            if annotator is None:
                raise self.error(
                    row,
                    f"the same query and context as line {draft.first.line}; each case stands once, unless a column says who "
                    "rated (--annotator)",
                )
            self.agree(row, draft)
        ratings = list(self.rated(row, draft.item.id, annotator))
        if annotator is not None and ratings:
            if annotator in draft.raters:
                raise self.error(
                    row,
                    f"{annotator!r} rated this case on line {draft.raters[annotator]}; each annotator rates a case once",
                )
            draft.raters[annotator] = row.line
        self.ratings += ratings
        if annotator is not None:
            self.know(row, annotator)

    def draft(self, row: CaseRow) -> Draft:
        """The item that a row is of, as it was met before or anew."""
        query = self.query(row)
        context = self.context(row, query)
        category = self.category(row)
        fields: dict[str, Any] = {
            "category": None if category == query.category else category,
            "cluster": self.name(row, self.columns.cluster),
            "source_id": self.name(row, self.columns.id),
            "mean": self.number(row, self.columns.mean),
            "published_rate": self.rate(row),
        }
        if (pair := self.name(row, self.columns.pair)) is not None:
            fields["pair_id"] = content_id("p", {"pair": pair})
        if context is None:
            item = Item(query_id=query.id, condition=NO_CONTEXT_CONDITION)
        else:
            self.contexts[context.id] = context
            item = Item.of(context)
        if item.id not in self.drafts:
            others = {name: row.cells[name] for name in self.others if name in row.cells}
            self.drafts[item.id] = Draft(item.model_copy(update=fields), row, others)
        return self.drafts[item.id]

    def agree(self, row: CaseRow, draft: Draft) -> None:
        """Check that a row says of its item what the first one did; other columns that differ are those of ratings."""
        for column in self.one_each:
            if row.cells.get(column) != draft.first.cells.get(column):
                now, before = (found_there(either_row.cells.get(column)) for either_row in (row, draft.first))
                raise self.error(
                    row,
                    f"{column!r} is {now} here and {before} on line {draft.first.line}, and both are of one case: a case has one "
                    "(name another column, or none with '')",
                )
        for name in self.others:
            if name not in self.varying and row.cells.get(name) != draft.columns.get(name):
                self.varying[name] = None

    def join_pairs(self) -> None:
        """Make a cluster of each pair or group over several queries, where no column says which cases belong together."""
        if not self.columns.pair or self.columns.cluster:
            return
        groups: dict[str, list[Draft]] = {}
        for draft in self.drafts.values():
            if draft.item.pair_id is not None and self.columns.pair in draft.first.cells:
                groups.setdefault(draft.item.pair_id, []).append(draft)
        for pair, drafts in groups.items():
            if len({draft.item.query_id for draft in drafts}) > 1:
                for draft in drafts:
                    draft.item = draft.item.model_copy(update={"cluster": pair})

    def item(self, draft: Draft) -> Item:
        """The finished item."""
        columns = {name: plain(cell) for name, cell in draft.columns.items() if name not in self.varying}
        try:
            return Item.model_validate(draft.item.as_json() | {"columns": columns or None}) if columns else draft.item
        except ValidationError as error:
            raise self.error(draft.first, what_is_wrong(error)) from error

    def know(self, row: CaseRow, annotator: str) -> None:
        """Keep an annotator's traits, and check that they are those of the rows before."""
        traits = {name: plain(row.cells[column]) for column, name in self.of_annotator.items() if column in row.cells}
        earlier, line = self.traits.setdefault(annotator, (traits, row.line))
        for name, trait in traits.items():
            if earlier.setdefault(name, trait) != trait:
                now, before = found_there(trait), found_there(earlier[name])
                raise self.error(row, f"the trait {name!r} of {annotator!r} is {now} here and {before} on line {line}")

    def rated(self, row: CaseRow, item_id: str, annotator: str | None) -> Iterator[Rating]:
        """The ratings that a row holds."""
        if self.columns.annotator and not self.columns.votes:
            voted = any(name in row.cells for name in (self.columns.vote, self.columns.label))
            vote = None if annotator is None and not voted else self.own_vote(row)
            value = self.number(row, self.columns.value)
            if vote is None and value is None:
                return
            if annotator is None:
                raise self.error(row, f"{self.columns.annotator!r} is empty; say who gave this rating")
            yield Rating(item_id=item_id, annotator_id=annotator, verdict=vote, value=value)
            return
        for place, (verdict, value) in enumerate(self.votes(row)):
            yield Rating(item_id=item_id, position=place, verdict=verdict, value=value)

    def own_vote(self, row: CaseRow) -> Vote | None:
        """What the one person of a row says."""
        for column in (self.columns.vote, self.columns.label):
            if column and column in row.cells:
                return self.vote(row, column, row.cells[column])
        column = self.columns.value if self.columns.value and not self.columns.vote else self.columns.vote
        return "unsure" if self.frame.empty_is_unsure and column and column not in row.cells else None

    def error(self, row: CaseRow, problem: str) -> DataError:
        return DataError(row.path or self.path, row.line, problem)

    def query(self, row: CaseRow) -> Query:
        text = row.cells.get(self.columns.query or "")
        if not isinstance(text, str):
            raise self.error(row, f"{self.columns.query!r} is {found_there(text)}, not the text of a query")
        judged = row.cells.get(self.columns.judged or "", "request")
        query = Query(
            text=text, judged=judged, before=self.before(row), category=self.category(row), source=self.path.name
        )
        return self.queries.setdefault(query.id, query)

    def category(self, row: CaseRow) -> str:
        category = self.name(row, self.columns.category) if self.columns.category else UNCATEGORISED
        if category is None:
            raise self.error(row, f"{self.columns.category!r} is empty; give every case a category, or --category ''")
        taxonomy = self.frame.taxonomy or sorry_bench()
        resolved = taxonomy.resolve(category)
        if resolved is None and self.frame.taxonomy is not None:
            raise self.error(row, f"{taxonomy.name!r} has no category {category!r}; it has {', '.join(taxonomy.names)}")
        return resolved.name if resolved else category

    def before(self, row: CaseRow) -> tuple[Turn, ...] | None:
        """The conversation before what is judged; a text that is no JSON list is one turn."""
        cell = row.cells.get(self.columns.before or "")
        if cell is None or cell == []:
            return None
        if isinstance(cell, str) and cell.startswith("["):
            with suppress(ValueError):
                cell = json.loads(cell)
        if isinstance(cell, str):
            return (Turn(role=CONVERSATION, text=cell),)
        turns: list[Any] = cell if isinstance(cell, list) else [None]
        if not all(isinstance(turn, Mapping) and set(turn) == {"role", "text"} for turn in turns):
            raise self.error(
                row,
                f"{self.columns.before!r} is {found_there(cell)}, not a text or a list of turns with 'role' and 'text'",
            )
        return tuple(Turn(**turn) for turn in turns)

    def name(self, row: CaseRow, column: str | None) -> str | None:
        """What a cell calls something: a text or a number."""
        cell = row.cells.get(column or "")
        if isinstance(cell, bool) or not isinstance(cell, (str, int, float, NoneType)):
            raise self.error(row, f"{column!r} is {found_there(cell)}, not a name or a number")
        return None if cell is None else str(cell)

    def context(self, row: CaseRow, query: Query) -> Context | None:
        stated_parts: dict[str, Any] = {}
        whole = row.cells.get(self.columns.context or "")
        group, parameter = self.columns.free_text
        if isinstance(whole, Mapping):
            whole = {name: part for name, value in whole.items() if (part := without_nulls(value)) not in (None, {})}
            in_groups = all(isinstance(value, Mapping) or name in OPTIONAL for name, value in whole.items())
            stated_parts |= whole if in_groups else {group: whole}
        elif whole is not None:
            stated_parts[group] = {parameter: whole}
        for column, name in self.columns.parameters.items():
            if column in row.cells:
                above, _, below = name.partition(".")
                stated_parts[above] = (
                    {**stated_parts.get(above, {}), below: row.cells[column]} if below else row.cells[column]
                )
        if not stated_parts:
            return None
        context = Context.stating(stated_parts, query_id=query.id, intended_safe=self.intended(row), origin="imported")
        if self.frame.parameters and (problem := self.frame.parameters.problem(context)):
            raise self.error(row, problem)
        return context

    def intended(self, row: CaseRow) -> bool | None:
        cell = row.cells.get(self.columns.intended or "")
        if cell is None or isinstance(cell, bool):
            return cell
        plain = str(cell).casefold()
        intent = TRUTH[plain] if plain in TRUTH else {"safe": True, "unsafe": False}.get(self.frame.vote(cell) or "")
        if intent is None:
            raise self.error(
                row, f"{self.columns.intended!r} is {found_there(cell)}; an intent is safe or unsafe, true or false"
            )
        return intent

    def votes(self, row: CaseRow) -> Iterator[tuple[Vote | None, float | None]]:
        """What people decided, each person once; nothing where only a share is stated, or this row says nothing."""
        columns = self.columns
        if columns.votes:
            cell_of_votes = row.cells.get(columns.votes, [])
            words = (
                cell_of_votes
                if isinstance(cell_of_votes, list)
                else re.split(r"[\s,;|/]+", str(cell_of_votes).strip("[]"))
            )
            for word in words:
                cell = word.strip("\"' ") if isinstance(word, str) else word
                on_scale = None if self.frame.vote(cell) or self.frame.scale is None else a_number(cell)
                yield (
                    (self.vote(row, columns.votes, cell), None)
                    if on_scale is None
                    else (
                        None,
                        self.on_scale(row, columns.votes, on_scale),
                    )
                )
        elif columns.n_safe:
            safe, unsafe = self.counts(row)
            yield from repeat(("safe", None), safe)
            yield from repeat(("unsafe", None), unsafe)
            yield from repeat(("unsure", None), self.count(row, columns.n_unsure) if columns.n_unsure else 0)
        else:
            vote, value = self.own_vote(row), self.number(row, columns.value)
            if vote is not None or value is not None:
                yield vote, value

    def vote(self, row: CaseRow, column: str, word: Any) -> Vote:
        plain = str(word).casefold()
        if plain in ("true", "false") and "safe" in column.casefold():
            return "safe" if (plain == "true") != ("unsafe" in column.casefold()) else "unsafe"
        vote = self.frame.vote(word)
        if vote is None:
            raise self.error(
                row,
                f"{column!r} is {found_there(word)}, and nobody said whether that is safe: name the words with --safe-word, "
                "--unsafe-word and --unsure-word",
            )
        return vote

    def number(self, row: CaseRow, column: str | None) -> float | None:
        """A number on the scale."""
        cell = row.cells.get(column or "")
        if cell is None:
            return None
        number = a_number(cell)
        if number is None:
            raise self.error(row, f"{column!r} is {found_there(cell)}, not a number on the scale")
        return self.on_scale(row, column or "", number)

    def on_scale(self, row: CaseRow, column: str, number: float) -> float:
        scale = self.frame.scale
        if scale is None:
            raise ConfigurationError(
                f"{column!r} holds ratings on a scale; say which with --scale-low and --scale-high"
            )
        if not scale.holds(number):
            raise self.error(row, f"{column!r} is {number:g}, beside the scale from {scale.low:g} to {scale.high:g}")
        return number

    def counts(self, row: CaseRow) -> tuple[int, int]:
        safe = self.count(row, self.columns.n_safe or "")
        if self.columns.n_unsafe:
            return safe, self.count(row, self.columns.n_unsafe)
        total = self.count(row, self.columns.n_votes or "")
        if total < safe:
            raise self.error(row, f"{safe} of {total} votes cannot be safe")
        return safe, total - safe

    def count(self, row: CaseRow, column: str) -> int:
        cell = row.cells.get(column)
        if isinstance(cell, bool) or not re.fullmatch(r"\d+(?:\.0+)?", str(cell)):
            raise self.error(row, f"{column!r} is {found_there(cell)}, not a number of votes")
        count = int(str(cell).partition(".")[0])
        if count > MOST_VOTES:
            raise self.error(row, f"{column!r} is {count:,}; more than {MOST_VOTES:,} votes on a case is a slip")
        return count

    def rate(self, row: CaseRow) -> float | None:
        cell = row.cells.get(self.columns.rate or "")
        if cell is None:
            return None
        try:
            rate = float(str(cell).replace(",", "."))
        except ValueError:
            rate = -1.0
        if not 0 <= rate <= 1:
            raise self.error(row, f"{self.columns.rate!r} is {found_there(cell)}, not a share from 0 to 1")
        return rate

    def remarks(self) -> Iterator[str]:
        """What the file lacks, and what of it was left out."""
        columns = self.columns
        if self.varying:
            named = list(self.varying)
            more = f" and {len(named) - MOST_NAMED:,} more" if len(named) > MOST_NAMED else ""
            yield (
                f"Left out of the file: {', '.join(named[:MOST_NAMED])}{more}, which differ among the ratings of a case. Name those "
                "that are traits of annotators with --trait."
            )
        if columns.votes and (columns.n_safe or columns.label):
            yield f"The labels are read from {columns.votes!r} alone."
        elif columns.n_safe and columns.label:
            yield f"The labels are read from the counts alone, not from {columns.label!r}."
        elif not columns.votes and not columns.n_safe and not columns.annotator:
            label_kind = (
                "one label per case"
                if columns.label or columns.vote or columns.value
                else "shares without votes (--labels published reads them)"
                if columns.rate
                else "means without single ratings"
            )
            yield f"Your file has {label_kind}, so casewise cannot say how much people disagree or what the best possible score is."
        if not self.contexts and not any(query.before for query in self.queries.values()):
            yield "Your file states no contexts, so every query is judged alone."
        elif self.contexts and not columns.intended:
            yield "Your file states no intents, so reports have no pairs and no comparison with the author's intent."
        if not columns.category:
            yield "Your file states no categories, so all cases are in one category."


MOST_NAMED = 5
"""Columns that a remark lists."""

CONVERSATION = "conversation"
"""The role of a conversation that a file gives as one text."""


def a_number(cell: Any) -> float | None:
    """A cell as a number; None where it is none."""
    if isinstance(cell, bool):
        return None
    try:
        number = float(cell.replace(",", ".") if isinstance(cell, str) else cell)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def plain(cell: Any) -> Any:
    """A cell as a record may state it: a date or a number of another library as its text."""
    if isinstance(cell, Mapping):
        return {str(name): plain(part) for name, part in cell.items()}
    if isinstance(cell, (list, tuple)):
        return [plain(part) for part in cell]
    return cell if cell is None or type(cell) in (str, bool, int, float) else str(cell)


def without_nulls(value: Any) -> Any:
    """A group without the parameters that are null: these are absent."""
    return {name: part for name, part in value.items() if part is not None} if isinstance(value, Mapping) else value


def found_there(cell: Any) -> str:
    return "empty" if cell is None else brief(cell)


TRUTH = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


def taxonomy_of(name: str, categories: Iterable[str]) -> Taxonomy:
    """SORRY-Bench's where all categories are of these, else one of these."""
    names = dict.fromkeys(categories)
    if set(names) <= set(sorry_bench().names):
        return sorry_bench()
    return Taxonomy(name=name, categories=tuple(Category(name=category, domain="imported") for category in names))


def parameters_of(name: str, contexts: Iterable[Context]) -> ParameterSet:
    """The paper's set where all contexts fit it, else what they state; what one of them leaves out may be missing.

    Raises ConfigurationError: a group or parameter has a name that no arm could say.
    """
    contexts_stated = list(contexts)
    if all(paper_parameters().problem(context) is None for context in contexts_stated):
        return paper_parameters()
    said = [stated(context.shown()) for context in contexts_stated]
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
