"""A report, whatever format it is written in: sections of prose, tables, figures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from casewise.notation import NOTHING, count, interval, number, points, share
from casewise.records import ShortRepr
from casewise.stats.estimates import ESTIMATE_COLUMNS, NO_SHARES, Estimate

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Prose(ShortRepr):
    """A paragraph, in which names are as short as in tables; `lead` is the sentence to take away."""

    text: str
    lead: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", short_name(self.text))


@dataclass(frozen=True)
class Notice:
    """Something that nobody may miss."""

    text: str


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
    """Which columns are set flush right."""
    frame: pl.DataFrame | None = field(default=None, compare=False, repr=False)
    """The numbers behind the cells, unrounded, for Parquet."""
    hover: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Of a cell that was shortened, all of it."""
    links: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Of a cell that leads somewhere, where to, for pages that stand beside each other."""


@dataclass(frozen=True, repr=False)
class Figure(ShortRepr):
    """A chart, what it shows in words, and the table behind it."""

    name: str
    caption: str
    alt: str
    svg: str
    behind: Table | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "caption", short_name(self.caption))
        object.__setattr__(self, "alt", short_name(self.alt))


CHATBOT = "chatbot"


@dataclass(frozen=True, repr=False)
class Exhibit(ShortRepr):
    """One item laid out to read: labelled texts, and what people and judges said."""

    heading: str
    facts: tuple[tuple[str, str], ...]
    query: str
    context: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """Group to labelled texts; empty where nothing was shown."""
    reply: str | None = None
    reply_by: str = "judge"
    """The judge, or `CHATBOT`."""
    brief: bool = False
    """Whether a page shows the request and what was said of it, and the rest when a reader opens it; a terminal leaves it out."""
    marked: bool = False
    """Whether its texts mark what was added as `[+ … +]` and what is gone as `[- … -]`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", tuple((short_name(name), said) for name, said in self.facts))


@dataclass(frozen=True)
class ForestRow:
    """An estimate and its interval on the axis of a `Forest`; only a range where there is no estimate."""

    label: str
    estimate: float | None
    low: float | None
    high: float | None
    strong: bool = False
    """Whether it is what the report is about."""

    @property
    def written(self) -> str:
        """The numbers in words: shares in per cent."""
        return share(self.estimate, self.low, self.high).removeprefix(f"{NOTHING} ")


SHORT_AXIS = 4
"""An axis that begins at so many tenths, or later, is named at every tenth."""


@dataclass(frozen=True, repr=False)
class Forest(ShortRepr):
    """Shares under each other on one axis. Every face draws it in its own way: it has to be read on a phone too."""

    name: str
    caption: str
    groups: tuple[tuple[str, tuple[ForestRow, ...]], ...]
    """Heading and rows; what stands under different headings is measured against different things."""
    heads: tuple[str, ...] = ("Name", "Against", "Accuracy")
    """The names of the rows, of their headings and of the measure: for the table."""

    @property
    def rows(self) -> tuple[ForestRow, ...]:
        """All rows."""
        return tuple(row for _, rows in self.groups for row in rows)

    @property
    def ticks(self) -> tuple[float, ...]:
        """The axis, named at each tenth, or at each fifth of a long one: from below all that is drawn to 1."""
        least = min((value for row in self.rows for value in (row.estimate, row.low) if value is not None), default=0.0)
        tenths = min(9, max(0, math.floor(10 * least)))
        step = 1 if tenths >= SHORT_AXIS else 2
        return tuple(tick / 10 for tick in range(tenths - tenths % step, 11, step))

    def place(self, value: float) -> float:
        """Where a value lies on the axis, in per cent of it."""
        start = self.ticks[0]
        return round(100 * min(1.0, max(0.0, (value - start) / (1 - start))), 2)

    @property
    def table(self) -> Table:
        """The same as a table."""
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "summary", short_name(self.summary))


Block = Prose | Notice | Table | Figure | Forest | Exhibit | Folded


def unfolded(blocks: Iterable[Block]) -> Iterator[Block]:
    """All blocks, and those in folds, in reading order."""
    for block in blocks:
        if isinstance(block, Folded):
            yield from unfolded(block.blocks)
        else:
            yield block


def all_numbers(sections: Iterable[Section], *, brief: bool = False) -> Section:
    """One section in which each of `sections` is folded."""
    folds = tuple(Folded(one.heading, one.blocks, one.anchor) for one in sections if one.blocks)
    return Section("all-numbers", "All numbers", folds, brief=brief)


@dataclass(frozen=True, repr=False)
class Section(ShortRepr):
    """A heading and what stands under it."""

    anchor: str
    heading: str
    blocks: tuple[Block, ...]
    brief: bool = False
    """True for what the terminal shows too."""
    first: bool = False
    """True for the answer: what stands on the first screen, and all that a terminal shows unless it is asked for more."""


@dataclass(frozen=True, repr=False)
class Document(ShortRepr):
    """A report."""

    title: str
    subtitle: str
    notices: tuple[str, ...]
    sections: tuple[Section, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "subtitle", short_name(self.subtitle))
        object.__setattr__(self, "notices", tuple(map(short_name, self.notices)))

    @property
    def main_table(self) -> Table | None:
        """The first table that is more than names and what they stand for: it is shown however many rows it has."""
        return next((block for block in self.blocks if isinstance(block, Table) and len(block.columns) > 2), None)

    @property
    def blocks(self) -> Iterator[Block]:
        """Every block in reading order, those in folds too."""
        return unfolded(block for section in self.sections for block in section.blocks)

    def tables(self) -> Iterable[Table]:
        """Every table, those behind figures included, in reading order."""
        for block in self.blocks:
            if isinstance(block, Table):
                yield block
            elif isinstance(block, Figure) and block.behind is not None:
                yield block.behind
            elif isinstance(block, Forest):
                yield block.table

    @property
    def in_brief(self) -> Document:
        """The sections that a terminal shows too; all where none is brief."""
        return replace(self, sections=tuple(one for one in self.sections if one.brief) or self.sections)

    @property
    def answer(self) -> Document:
        """The answer alone; what is brief where the document has none."""
        return replace(self, sections=tuple(one for one in self.sections if one.first) or self.in_brief.sections)

    @property
    def quotes_replies(self) -> bool:
        """Whether it holds what a chatbot wrote: files of it are their owner's alone."""
        return any(
            isinstance(one, Exhibit) and one.reply is not None and one.reply_by == CHATBOT for one in self.blocks
        )

    @property
    def without_exhibits(self) -> Document:
        """All but the items that are laid out to read, for readers who may not see their texts."""

        def kept(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
            return tuple(
                replace(one, blocks=kept(one.blocks)) if isinstance(one, Folded) else one
                for one in blocks
                if not isinstance(one, Exhibit)
            )

        return replace(self, sections=tuple(replace(one, blocks=kept(one.blocks)) for one in self.sections))

    def figures(self) -> Iterable[Figure]:
        """Every figure, in reading order."""
        return (block for block in self.blocks if isinstance(block, Figure))


def of_tables(title: str, tables: Iterable[Table], remarks: Iterable[str] = (), *, lead: str = "") -> Document:
    """A document of tables and what to remember with them, under the sentence to take away where there is one."""
    first = (Prose(lead, lead=True),) if lead else ()
    blocks: tuple[Block, ...] = (*first, *tables, *(Prose(remark) for remark in remarks))
    return Document(title, "", (), (Section("tables", "Numbers", blocks, brief=True),))


def table_of(
    name: str,
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    frame: pl.DataFrame | None = None,
) -> Table:
    """A table from cells: texts are set flush left, numbers (written out or not) flush right."""
    whole = tuple(tuple(cell if isinstance(cell, str) else count(cell) for cell in row) for row in rows)
    hover = {short: cell for row in whole for cell in row if (short := short_name(cell)) != cell}
    written = tuple(tuple(map(short_name, row)) for row in whole)
    numeric = tuple(bool(written) and all(looks_numeric(row[i]) for row in written) for i in range(len(columns)))
    return Table(name, short_name(caption), tuple(columns), written, numeric, frame, hover)


SERIES = re.compile(
    r"(?:(recorded:)([^()]+?)|([^\s()]+)) \((binary|score|probability|scalar)(?:, without:([\w.,]+))?\)"
)
BY_FILE = re.compile(
    r"\b(verified|annotated|checked)(?:@\d+)?:(?:[^+@\s]*/)?([^+@/\s]+[^+@\s]*)@[0-9a-f]{8}(?:@\d{4}-\d{2}-\d{2})?"
)

OWN_WORDS = re.compile(r"\btoml(?:@\d+)?:(?:[^+@\s#]*/)?([^+@\s#/]+#[^+@\s]+)@[0-9a-f]{8}")


def from_here(path: Path) -> str:
    """A path as others may read it: from where we stand; of one that lies elsewhere its name alone, for it names a machine."""
    if not path.is_absolute():
        return str(path)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


def again(command: str, paths: Iterable[Path], labels: str) -> str:
    """What to type to make a report again."""
    policy = "" if labels == "votes" else f" --labels '{labels}'"
    return f"casewise {command} {' '.join(map(from_here, paths))}{policy}"


def short_name(name: str) -> str:
    """A recorded judge, one that was shown less, or an arm that goes by a file, in few letters; the rest stays as it is.

    Examples
    --------
    >>> short_name("twin:all+verified@2:data/facts.jsonl@0da55ad1@2026-06-01")
    'twin:all+verified:facts.jsonl'
    >>> short_name("toml:data/set.jsonl#story/user/safe@0da55ad1")
    'set.jsonl#story/user/safe'
    >>> short_name("recorded:claude-3-5-sonnet (score, without:sender)")
    'claude-3-5-sonnet (score) −sender'
    """
    return SERIES.sub(short_series, BY_FILE.sub(r"\1:\2", OWN_WORDS.sub(r"\1", name)))


def short_series(found: re.Match[str]) -> str:
    without = (f" −{one.rpartition('.')[2]}" for one in (found[5] or "").split(",") if one)
    return f"{found[2] or found[3]} ({found[4]}){''.join(without)}"


def table_by(
    name: str,
    caption: str,
    rows: Iterable[T],
    columns: Mapping[str, Callable[[T], Any]],
    *,
    frame: pl.DataFrame | None = None,
    several: str = "",
) -> Table:
    """A table with a row for each of `rows`; each head of `columns` has the function that writes its cell.

    `several`: a column that is left out where it says the same in every row, such as the name of the only judge.
    """
    rows = list(rows)
    if several in columns and len({columns[several](row) for row in rows}) < 2:
        columns = {head: cell for head, cell in columns.items() if head != several}
    cells = ([cell(row) for cell in columns.values()] for row in rows)
    return table_of(name, caption, tuple(columns), cells, frame=frame)


WHY_NONE = {
    "no interval: the two are alike on every query": "alike",
    "no interval: the queries do not differ": "all alike",
    "no interval: one query only": "one query",
    "undefined: no items of that kind": "no items",
}
"""Why there is no interval, in the room of a cell; `REASONS` explains the words."""

REASONS = (
    "Where no interval can be given, the table gives the reason. Alike: both are the same on every query. All alike: the "
    "queries do not differ. One query, no items: too few to say."
)


def estimate_cell(found: Estimate | None) -> str:
    """Return an estimate as every table writes it: `62.2 % [51.9, 71.6]`, or `0.243 [0.100, 0.400]` of what is no share.

    Where there is no interval, the reason follows in brackets.
    """
    if found is None:
        return NOTHING
    if found.name in NO_SHARES:
        written = f"{number(found.estimate)} {interval(found.ci_low, found.ci_high)}".removesuffix(f" {NOTHING}")
    else:
        written = found.as_share
    return written if found.limits else f"{written} ({WHY_NONE.get(found.method, found.method)})"


def difference_cell(found: Estimate | None, *, unit: str = " points") -> str:
    """Return a difference as every table writes it: `7.1 points [4.4, 9.8]` of shares, plain numbers of all else."""
    if found is None or found.estimate is None:
        return NOTHING
    if found.name in NO_SHARES:
        return estimate_cell(found)
    written = points(found.estimate, found.ci_low, found.ci_high).replace(" points", unit)
    return written if found.limits else f"{written} ({WHY_NONE.get(found.method, found.method)})"


def estimate_of_row(row: Mapping[str, Any]) -> Estimate:
    """Return the estimate that stands in a row of a table of metrics."""
    return Estimate(row["metric"], *(row[name] for name in ESTIMATE_COLUMNS))


def estimate_frame(rows: Sequence[tuple[str, Estimate]]) -> pl.DataFrame:
    """Return estimates unrounded, each with the name of whose it is."""
    schema = {"series": pl.String(), "name": pl.String(), **ESTIMATE_COLUMNS}
    return pl.DataFrame([(who, *found.cells) for who, found in rows], schema=schema, orient="row")


def looks_numeric(cell: str) -> bool:
    return cell == NOTHING or (cell[:1] in "0123456789-−[<" and not any(c.isalpha() for c in cell.replace("e", "")))
