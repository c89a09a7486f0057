"""A report, whatever format it is written in: sections of prose, tables, figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from types import NoneType
from typing import Any, Self, TypeVar, cast

import polars as pl

from casewise.notation import NOTHING, count, interval, number, percent, points, share
from casewise.records import ShortRepr
from casewise.records.base import shipped_toml
from casewise.stats.estimates import ALIKE, ESTIMATE_COLUMNS, NO_SPREAD, ONE_CLUSTER, ONE_QUERY, Estimate
from casewise.stats.measured import NO_ITEMS
from casewise.stats.metrics import FLOORS, ON_SCALE, REFUSALS, all_metrics, is_share
from casewise.stats.words import Piece, difference
from casewise.text import QUERY, Form, Noun, Text, paths_in_command, render, shortest_names, text


@dataclass(frozen=True, repr=False)
class Prose(ShortRepr):
    """A paragraph, in which names are as short as in tables."""

    text: str
    lead: bool = False
    """True for the sentence to take away."""
    notice: bool = False
    """True for a warning that every reader has to see."""


def paragraph(template: str, /, *, lead: bool = False, notice: bool = False, **values: Any) -> Prose:
    """Return a paragraph from a template and its values, as `casewise.text.text` takes them."""
    return Prose(text(template, **values), lead=lead, notice=notice)


PHONE = 48
"""Width of a phone, in characters of a table."""


@dataclass(frozen=True, repr=False)
class Table(ShortRepr):
    """A table of cells that are already written out."""

    name: str
    """A short name for files and anchors."""
    caption: str
    columns: tuple[str, ...]
    """Heads."""
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    """One truth value per column: True if it is set flush right."""
    frame: pl.DataFrame = field(compare=False, repr=False)
    """The numbers behind the cells, unrounded, for Parquet."""
    links: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Targets of cells that lead somewhere, for pages that stand beside each other."""
    meanings: Mapping[str, str] | None = field(default=None, compare=False, repr=False)
    """The meanings of its names, where they differ from those in every other report."""
    large: bool = False
    """True for a few numbers that a page shows in large figures: a name, a share, its interval, and a count a row."""

    @property
    def wide(self) -> bool:
        """True if its columns do not fit side by side on a phone."""
        return sum(2 + max(map(len, column)) for column in zip(*self.rows, strict=True)) > PHONE

    @property
    def about(self) -> Mapping[str, str]:
        """The meanings of its column and row names that are not plain."""
        return meanings_in(self) if self.meanings is None else self.meanings


@dataclass(frozen=True)
class Drawing:
    """A chart that names series, so that it is drawn when a document is rendered."""

    draw: Callable[[Form], str]
    """Draws it as standalone SVG."""
    names: tuple[str, ...] = ()
    """The series that it names."""


@dataclass(frozen=True, repr=False)
class Figure(ShortRepr):
    """A chart, what it shows in words, and the table behind it."""

    name: str
    caption: str
    alt: str
    svg: str | Drawing
    """Standalone, with colours of its own."""
    behind: Table | None = None


CHATBOT = "chatbot"


MARKS = {"same": ("", ""), "new": ("[+", "+]"), "gone": ("[-", "-]")}
"""The marks around what was added to a text and what is gone, where an output has no others."""


class MarkedText(str):
    """A text with its differences from an earlier one: a `str` with `MARKS`, which keeps its pieces.

    Examples
    --------
    >>> MarkedText("a nurse", "a nurse on duty")
    'a nurse[+ on duty+]'
    """

    __slots__ = ("pieces",)

    pieces: tuple[Piece, ...]

    def __new__(cls, before: str, after: str) -> Self:
        """Make the text of what `after` has and `before` had."""
        pieces = tuple(difference(before, after))
        made = super().__new__(cls, "".join(piece.text.join(MARKS[piece.kind]) for piece in pieces))
        made.pieces = pieces
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[str, ...]]:
        sides = ("".join(piece.text for piece in self.pieces if piece.kind != kind) for kind in ("new", "gone"))
        return type(self), tuple(sides)


@dataclass(frozen=True, repr=False)
class Exhibit(ShortRepr):
    """The texts of one item, with people's and judges' verdicts."""

    heading: str
    facts: tuple[tuple[str, str], ...]
    query: str
    context: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """Group to labelled texts; empty where nothing was shown."""
    reply: str | None = None
    reply_by: str = "judge"
    """The judge, or `CHATBOT`."""
    noun: str = text("{query}")
    """The noun for the text that is judged."""


@dataclass(frozen=True)
class ForestRow:
    """An estimate and its interval on the axis of a `Forest`; only a range where there is no estimate."""

    label: str
    estimate: float | None
    low: float | None
    high: float | None
    strong: bool = False
    """True if the report is about it."""
    words: str | None = None
    """The numbers in words, where they are no shares."""
    key: bool = False
    """True if the verdict is about it: a page's answer draws these rows alone."""

    @classmethod
    def from_estimate(cls, label: str, estimate: Estimate, *, strong: bool = False, key: bool = False) -> ForestRow:
        """Return the row of an estimate."""
        return cls(label, estimate.estimate, estimate.ci_low, estimate.ci_high, strong, key=key)

    @property
    def written(self) -> str:
        """The numbers in words: shares in per cent."""
        if self.words is not None:
            return self.words
        if self.estimate is None and self.low is not None and self.high is not None:
            return interval(100 * self.low, 100 * self.high, digits=1)
        return share(self.estimate, self.low, self.high)


MOST_DRAWN = 5
"""Most judges that the answer of a page draws; a fold has all of them."""

SHORT_AXIS = 4
"""Start of an axis, in tenths, from which every tenth is labelled."""


@dataclass(frozen=True, repr=False)
class Forest(ShortRepr):
    """Shares on one axis, a row each. Each format draws it in its own way, so that it can be read on a phone."""

    name: str
    caption: str
    groups: tuple[tuple[str, tuple[ForestRow, ...]], ...]
    """Heading and rows; what stands under different headings is measured against different things."""
    heads: tuple[str, ...] = ("Name", "Against", "Accuracy")
    """The names of the rows, of their headings and of the measure: for the table."""
    ends: tuple[float, float] | None = None
    """Ends of an axis of plain numbers; None for shares, from below all that is drawn to 1."""
    behind: Table | None = None
    """All numbers behind it, where these are more than it draws."""

    @property
    def rows(self) -> tuple[ForestRow, ...]:
        """All rows."""
        return tuple(row for _, rows in self.groups for row in rows)

    @property
    def brief(self) -> Forest:
        """The rows that the verdict is about; all where none is marked."""
        groups = ((heading, tuple(row for row in rows if row.key)) for heading, rows in self.groups)
        return replace(self, groups=tuple(group for group in groups if group[1]) or self.groups)

    @property
    def ticks(self) -> tuple[float, ...]:
        """The axis, named at each tenth, or at each fifth of a long one; an axis of plain numbers at each quarter of it."""
        if self.ends is not None:
            low, high = self.ends
            high = high if high > low else low + 1
            return tuple(low + (high - low) * place / 4 for place in range(5))
        least = min((value for row in self.rows for value in (row.estimate, row.low) if value is not None), default=0.0)
        tenths = min(9, max(0, math.floor(10 * least)))
        step = 1 if tenths >= SHORT_AXIS else 2
        return tuple(tick / 10 for tick in range(tenths - tenths % step, 11, step))

    def tick(self, value: float) -> str:
        """Return the name of a tick: shares in per cent."""
        return f"{100 * value:g} %" if self.ends is None else f"{value:.3g}"

    def place(self, value: float) -> float:
        """Return the place of a value on the axis, in per cent of its length."""
        start, *_, end = self.ticks
        return round(100 * min(1.0, max(0.0, (value - start) / (end - start))), 2)

    @property
    def table(self) -> Table:
        """The same as a table."""
        if self.behind is not None:
            return self.behind
        cells = [
            (row.label, heading, number(row.estimate), interval(row.low, row.high))
            for heading, rows in self.groups
            for row in rows
        ]
        return table_of(f"{self.name}-table", self.caption, (*self.heads, "95 % interval"), cells)


@dataclass(frozen=True, repr=False)
class Folded(ShortRepr):
    """Blocks that a page shows when a reader opens them; a terminal prints those of brief sections."""

    summary: str
    blocks: tuple[Block, ...]
    anchor: str = ""


Block = Prose | Table | Figure | Forest | Exhibit | Folded


def unfolded(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield all blocks, and those in folds, in reading order."""
    for block in blocks:
        if isinstance(block, Folded):
            yield from unfolded(block.blocks)
        else:
            yield block


def all_numbers(sections: Iterable[Section], *, brief: bool = False) -> Section:
    """Return one section in which each of `sections` stands under its heading."""
    folds = tuple(Folded(part.heading, part.blocks, part.anchor) for part in sections if part.blocks)
    return Section("all-numbers", "All numbers", folds, brief=brief)


@dataclass(frozen=True, repr=False)
class Section(ShortRepr):
    """A heading with its blocks."""

    anchor: str
    heading: str
    blocks: tuple[Block, ...]
    brief: bool = False
    """True for what the terminal shows too."""
    first: bool = False
    """True for the answer: what stands on the first screen, and all that a terminal shows unless it is asked for more."""

    @property
    def why(self) -> str:
        """The reason to open its fold."""
        return str(terms()["folds"].get(self.anchor, ""))


MOST_FOLDS = 8
"""Folds of a page under its answer."""


@dataclass(frozen=True, repr=False)
class Document(ShortRepr):
    """A report."""

    title: str
    subtitle: str
    notices: tuple[str, ...]
    sections: tuple[Section, ...]
    noun: Noun = QUERY
    """The noun for what is judged."""
    cluster: Noun | None = None
    """The noun for what intervals are over, where that is another."""

    @property
    def blocks(self) -> Iterator[Block]:
        """Every block in reading order, those in folds too."""
        return unfolded(block for section in self.sections for block in section.blocks)

    def tables(self) -> Iterable[Table]:
        """Yield every table, those behind figures included, in reading order."""
        for block in self.blocks:
            if isinstance(block, Table):
                yield block
            elif isinstance(block, Figure) and block.behind is not None:
                yield block.behind
            elif isinstance(block, Forest):
                yield block.table

    @property
    def answer(self) -> Document:
        """The answer alone; without one the sections that a terminal shows, or else all."""
        first, brief = (tuple(part for part in self.sections if getattr(part, name)) for name in ("first", "brief"))
        return replace(self, sections=first or brief or self.sections)

    @property
    def quotes_replies(self) -> bool:
        """True if it holds a chatbot's replies, so that only the owner may read its files."""
        exhibits = (block for block in self.blocks if isinstance(block, Exhibit))
        return any(exhibit.reply is not None and exhibit.reply_by == CHATBOT for exhibit in exhibits)

    @property
    def without_exhibits(self) -> Document:
        """The document without the texts of items, for readers who may not see them."""

        def without(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
            return tuple(
                replace(block, blocks=without(block.blocks)) if isinstance(block, Folded) else block
                for block in blocks
                if not isinstance(block, Exhibit)
            )

        return replace(self, sections=tuple(replace(part, blocks=without(part.blocks)) for part in self.sections))

    @cached_property
    def folds(self) -> tuple[Section, ...]:
        """The sections that a page folds under its answer; the last fold holds those beyond `MOST_FOLDS`."""
        if not any(section.first for section in self.sections):
            return ()
        folded = [section for section in self.sections if section.blocks and not section.first]
        first = (block for section in self.sections if section.first for block in section.blocks)
        if charts := tuple(block for block in first if isinstance(block, Forest)):
            folded.insert(0, Section("chart", "The whole chart", charts))
        most = MOST_FOLDS - bool(self.definitions)
        if len(folded) <= most:
            return tuple(folded)
        *rest, last = folded[most - 1 :]
        inner = tuple(Folded(part.heading, part.blocks, part.anchor) for part in rest)
        whole = last if last.anchor == "all-numbers" else all_numbers((last,))
        return (*folded[: most - 1], replace(whole, blocks=(*inner, *whole.blocks)))

    @cached_property
    def definitions(self) -> dict[str, str]:
        """The meanings of the names in its tables; a name with two meanings includes its table."""
        meanings: dict[str, str] = {}
        drawn = (block if isinstance(block, Table) else getattr(block, "behind", None) for block in self.blocks)
        for table in filter(None, drawn):
            for name, meaning in table.about.items():
                known = meanings.setdefault(name, meaning)
                if known != meaning:
                    meanings[f"{name} ({table.caption})"] = meaning
        return meanings

    def figures(self) -> Iterable[Figure]:
        """Return every figure, in reading order."""
        return (block for block in self.blocks if isinstance(block, Figure))

    def rendered(self, path: Callable[[Path], str] | None = None) -> Document:
        """Return the document in plain text: judges by their shortest unique names, and the noun for what is judged.

        `path`: writes a path for the readers of the output; `from_document_folder` if None.
        """
        return plain(self, Form(self.noun, self.cluster, shortest_names(texts_in(self)), path or from_document_folder))


P = TypeVar("P")


def texts_in(part: object) -> Iterator[str]:
    """Yield every text in a part of a document."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Drawing):
        yield from part.names
    elif isinstance(part, (tuple, Mapping)):
        for piece in part:
            yield from texts_in(piece)
    elif is_dataclass(part):
        for of_part in fields(part):
            yield from texts_in(getattr(part, of_part.name))


def plain(part: P, form: Form) -> P:
    """Return a part of a document with every text in it rendered."""
    done: Any = part
    if isinstance(part, str):
        done = render(part, form)
    elif isinstance(part, Drawing):
        done = part.draw(form)
    elif isinstance(part, tuple):
        done = tuple(plain(piece, form) for piece in part)
    elif isinstance(part, Mapping):
        done = {plain(key, form): plain(value, form) for key, value in part.items()}
    elif isinstance(part, Table):
        whole = replace(part, meanings=part.about)
        done = replace(whole, **{name: plain(getattr(whole, name), form) for name in TEXTS_OF_TABLES})
    elif is_dataclass(part) and not isinstance(part, type):
        done = replace(part, **{of_part.name: plain(getattr(part, of_part.name), form) for of_part in fields(part)})
    return cast(P, done)


TEXTS_OF_TABLES = ("caption", "columns", "rows", "links", "meanings")
"""The fields of a table that hold texts."""


def document_of_tables(
    title: str, tables: Iterable[Table], remarks: Iterable[str] = (), *, lead: str = "", noun: Noun = QUERY
) -> Document:
    """Return a document of tables and what to remember with them, under the sentence to take away where there is one."""
    first = (Prose(lead, lead=True),) if lead else ()
    blocks = (*first, *tables, *map(Prose, remarks))
    section = Section("tables", "The answer" if lead else "Numbers", blocks, brief=True, first=bool(lead))
    return Document(title, "", (), (section,), noun)


def table_of(
    name: str, caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, frame: pl.DataFrame | None = None
) -> Table:
    """Return a table from cells: texts are set flush left, numbers (written out or not) flush right.

    `frame`: the numbers behind it; those of its cells if None.
    """
    rows = [tuple(row) for row in rows]
    frame = numbers_behind(columns, rows) if frame is None else frame
    cells = tuple(tuple(map(written, row)) for row in rows)
    numeric = tuple(bool(cells) and all(map(looks_numeric, column)) for column in zip(*cells, strict=True))
    return Table(name, caption, tuple(columns), cells, numeric or (False,) * len(columns), frame)


def numbers_behind(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """Return the values of cells unrounded, a column for each head; an estimate's interval stands in columns of its own."""
    values: dict[str, list[Any]] = {}
    for head, column in zip(heads, zip(*rows, strict=True) if rows else [()] * len(heads), strict=True):
        name = head.name if isinstance(head, IntervalHead) else str(head)
        if any(isinstance(cell, Estimate) for cell in column):
            for part, ending in (("estimate", ""), ("ci_low", " ci_low"), ("ci_high", " ci_high"), ("n", " n")):
                values[name + ending] = [getattr(cell, part, None) for cell in column]
        elif all(isinstance(cell, (int, float, NoneType)) for cell in column):
            values[name] = list(column)
        else:
            values[name] = [None if cell is None else str(cell) for cell in column]
    return pl.DataFrame(values, strict=False)


LargeFigure = tuple[str, Estimate | tuple[str, str], float]
"""A name, a share (another number written out, with its interval), and how many it rests on."""


def large_figures(name: str, caption: str, figures: Iterable[LargeFigure], *, counted: str = "Items") -> Table:
    """Return the few numbers to read first: each with its name, its interval or why it has none, and how many it rests on.

    A number that is no share comes written out, with its interval.
    """
    rows = []
    for title, figure, n in figures:
        if isinstance(figure, Estimate):
            ends = [100 * end for end in figure.limits or ()]
            limits = interval(*ends, digits=1) if ends else why_none(figure.method)
            rows.append((title, percent(figure.estimate), limits, n))
        else:
            rows.append((title, *figure, n))
    return replace(table_of(name, caption, ("Number", "Value", "95 % interval", counted), rows), large=True)


def error_figures(name: str, caption: str, shares: Mapping[str, Estimate]) -> Table:
    """Return harm, over-refusal and the share of unscored items of a judge, of those that are known, in large figures."""
    titles = {"harm": "Harm", "over_refusal": "Over-refusal", "unscored_rate": "Unscored"}
    shown = [(title, shares[key]) for key, title in titles.items() if key in shares]
    return large_figures(name, caption, ((title, share, share.n) for title, share in shown))


def next_step(words: str) -> Prose:
    """Return the paragraph that says what to do next."""
    return paragraph("Next: {words}", words=words)


def written(cell: Any) -> str:
    """Return a cell as every table writes it: an estimate with its interval, a number as a count, a text as it is."""
    if isinstance(cell, Estimate):
        return estimate_cell(cell)
    return cell if isinstance(cell, str) else count(cell)


def looks_numeric(cell: str) -> bool:
    return cell == NOTHING or (cell[:1] in "0123456789-−[<" and not any(c.isalpha() for c in cell.replace("e", "")))


class IntervalHead(str):
    """The head of a column of numbers with their intervals."""

    __slots__ = ("name",)

    name: str
    """The head of the numbers alone."""

    def __new__(cls, name: str) -> Self:
        """Make the head of numbers that are called `name`."""
        head = super().__new__(cls, f"{name}, 95 % interval")
        head.name = name
        return head

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.name,)


Column = str | tuple[Any, ...] | Callable[[Any], Any]
"""The way a column finds its cell in a row: a path such as `beside.accuracy` or `0.name` of fields, keys and places; a
function with the paths of what it writes; or a function of the whole row."""


Columns = dict[str, Column]
"""The columns of a table by their heads."""


def value_at(row: Any, path: str) -> Any:
    """Return the value at `path` in a row; None if a part of the path is None."""
    for name in path.split("."):
        if row is None:
            return None
        row = row.get(name) if isinstance(row, Mapping) else row[int(name)] if name.isdigit() else getattr(row, name)
    return row


def number_of(row: Any, column: Column) -> Any:
    """Return the value behind a cell: what a function of one path writes, or the cell."""
    return value_at(row, column[1]) if isinstance(column, tuple) and len(column) == 2 else cell_of(row, column)


def cell_of(row: Any, column: Column) -> Any:
    if isinstance(column, str):
        return value_at(row, column)
    if isinstance(column, tuple):
        write, *paths = column
        return write(*(value_at(row, path) for path in paths))
    return column(row)


def table_by(
    name: str,
    caption: str,
    rows: Iterable[Any],
    columns: Mapping[str, Column],
    *,
    frame: pl.DataFrame | None = None,
    several: str = "",
) -> Table:
    """Return a table with a row for each of `rows`; each head of `columns` says how its cells are found.

    `rows`: records, mappings, or a frame, which is then the numbers behind the table.
    `several`: a column that is left out where it says the same in every row, such as the name of the only judge.

    Examples
    --------
    >>> table_by("t", "Means", [{"mean": 0.25, "n": 4}], {"Mean": (number, "mean"), "Items": "n"}).rows
    (('0.250', '4'),)
    """
    if isinstance(rows, pl.DataFrame):
        frame, rows = rows if frame is None else frame, rows.to_dicts()
    rows = list(rows)
    if several in columns and len({cell_of(row, columns[several]) for row in rows}) < 2:
        columns = {head: column for head, column in columns.items() if head != several}
    cells = ([cell_of(row, column) for column in columns.values()] for row in rows)
    if frame is None:
        frame = numbers_behind([*columns], [[number_of(row, column) for column in columns.values()] for row in rows])
    return table_of(name, caption, tuple(columns), cells, frame=frame)


def next_without_verdicts(run: Path) -> Prose:
    """Return what to do with a run that gave too few verdicts."""
    return next_step(text("casewise reread {run} shows the replies without a verdict.", run=paths_in_command(run)))


def next_for_judges(runs: Sequence[Path], *, judge: str, decided: bool) -> Prose:
    """Return what to do after a comparison: deploy the first judge if it is decided, else plan to tell the first two apart.

    `runs`: the run of each judge, the best first. `judge`: the first judge as on the command line.
    """
    from casewise.deciding.decider import why_not_deployed  # and the whole service

    if decided and why_not_deployed(judge):
        return next_step("judge the same items with a model: casewise judge BENCHMARK --judge openai/MODEL.")
    if decided:
        words = "casewise recommend {runs} tests whether to deploy it."
        return next_step(text(words, runs=paths_in_command(runs[0]) if runs else "RUN"))
    two = tuple(dict.fromkeys(runs))[:2]
    words = "casewise power judges --from {runs} says how many {queries} would tell two judges apart."
    return next_step(text(words, runs=paths_in_command(*two) if len(two) == 2 else "RUN RUN"))


def from_document_folder(path: Path) -> str:
    """Return a path for other readers: relative to the working folder, or only its name if it lies elsewhere."""
    if not path.is_absolute():
        return str(path)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


def how_made(command: str, paths: Iterable[Path], labels: str, facts: Iterable[tuple[str, str]]) -> tuple[Block, ...]:
    """Return the command that makes a report again, and its sources and settings in a fold."""
    policy = "" if labels == "votes" else f" --labels '{labels}'"
    again = f"To make this report again: casewise {command} " + paths_in_command(*paths) + policy
    caption = "Sources and settings"
    return Prose(again), Folded(caption, (table_of("how-made", caption, ("Setting", "Value"), facts),))


WHY_NONE: Mapping[str, str] = {
    ALIKE: "alike",
    NO_SPREAD: "all alike",
    ONE_QUERY: text("one {cluster}"),
    ONE_CLUSTER: "one cluster",
    NO_ITEMS: "no items",
}
"""The reason why there is no interval, in the room of a cell; `REASONS` explains the words."""

REASONS = text(
    "Where no interval can be given, the table gives the reason. Alike: both are the same on every {cluster}. All alike: the "
    "{clusters} do not differ. One {cluster}, no items: too few to say."
)


def why_none(method: str) -> str:
    """Return the reason why an estimate has no interval, in the room of a cell, from its method."""
    return WHY_NONE.get(method, method)


def estimate_cell(estimate: Estimate | None) -> Text:
    """Return an estimate as every table writes it: `62.2 % [51.9, 71.6]`, or `0.243 [0.100, 0.400]` of what is no share.

    Where there is no interval, the reason follows in brackets.
    """
    if estimate is None:
        return Text(NOTHING)
    cell = estimate.as_share if is_share(estimate.name) else with_interval(estimate)
    return Text(cell) if estimate.limits else text("{cell} ({why})", cell=cell, why=why_none(estimate.method))


def with_interval(estimate: Estimate | float | None) -> str:
    """Return an estimate as a plain number with its interval, where it has one, and without a reason where it has none."""
    if not isinstance(estimate, Estimate):
        return number(estimate)
    if estimate.limits is None:
        return number(estimate.estimate)
    return f"{number(estimate.estimate)} {interval(*estimate.limits)}"


def difference_cell(difference: Estimate | None, *, unit: str = " points") -> Text:
    """Return a difference as every table writes it: `7.1 points [4.4, 9.8]` of shares, plain numbers of all else."""
    if difference is None or difference.estimate is None:
        return Text(NOTHING)
    if not is_share(difference.name):
        return estimate_cell(difference)
    cell = points(difference.estimate, difference.ci_low, difference.ci_high, unit=unit)
    return Text(cell) if difference.limits else text("{cell} ({why})", cell=cell, why=why_none(difference.method))


def estimate_of_row(row: Mapping[str, Any]) -> Estimate:
    """Return the estimate that stands in a row of a table of metrics."""
    return Estimate(row["metric"], *(row[name] for name in ESTIMATE_COLUMNS))


def estimate_frame(rows: Iterable[tuple[str, Estimate]]) -> pl.DataFrame:
    """Return the unrounded estimates, each with the name of its judge."""
    schema = {"series": pl.String(), "name": pl.String(), **ESTIMATE_COLUMNS}
    return pl.DataFrame([(name, *estimate.cells) for name, estimate in rows], schema=schema, orient="row")


@cache
def terms() -> Mapping[str, Any]:
    return shipped_toml("casewise.reports", "terms.toml")


@cache
def meanings() -> Mapping[str, str]:
    """Return the meanings by name, in the order of the page; a meaning for one table is called `TABLE/NAME`."""
    from casewise.audits.words import SUBSETS  # and the whole audit

    metrics = {metric.heading: metric.how for metric in (*all_metrics(), *FLOORS, *ON_SCALE)}
    return {name: text(meaning) for name, meaning in (metrics | SUBSETS | dict(terms()["terms"])).items()}


def meanings_in(table: Table) -> dict[str, str]:
    """Return the meanings of a table's column and row names that are not plain."""
    by_name, kind = meanings(), table.name.rstrip("-0123456789")
    names = [*table.columns, *(cell for row in table.rows for cell in row), *terms()["also"].get(table.name, ())]
    about = {}
    for name in dict.fromkeys(name if name == name.strip() else name.strip() for name in names):
        base_name = name.name if isinstance(name, IntervalHead) else str(name)
        keys = (f"{kind}/{base_name}", name, base_name, name.partition(" (")[0], name[:1].upper() + name[1:])
        if meaning := next((by_name[key] for key in keys if key in by_name), None):
            about[name] = meaning
    return about


@cache
def titles() -> dict[str, str]:
    """Return the titles of metrics by name, in the order of every table."""
    return {metric.name: metric.heading for metric in (*all_metrics(), *REFUSALS, *ON_SCALE)} | {
        "right_flips": "Right flips, where the labels differ",
        "false_flips": "False flips, where the labels agree",
    }
