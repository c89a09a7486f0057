"""A report at the terminal: its answer, or its brief sections."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from itertools import takewhile
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text

from casewise.reporting.document import Document, Exhibit, Forest, ForestRow, Notice, Prose, Section, Table

__all__ = ["plain", "print_document", "print_forest", "print_table", "text"]

WIDTH = 100
"""Of a report that is written to a file, in characters."""

LONG_WORD = 14
"""A longer word, such as a model's name, is broken before a number is."""

LEAST_PIECE = 8
"""Words are broken into no shorter pieces than this, if that helps."""


def print_document(document: Document, console: Console, *, full: bool = True) -> None:
    """Print the title, the notices and the answer of `document`; `full` adds the brief sections."""
    console.print(said(document.title, style="bold"))
    if document.subtitle:
        console.print(said(document.subtitle, style="dim"))
    for notice in document.notices:
        console.print(Panel(said(notice), border_style="yellow"))
    answered = any(section.first for section in document.sections)
    for section in document.sections:
        if section.first or (section.brief and (full or not answered)):
            print_section(section, console)


def text(document: Document) -> str:
    """What the terminal shows of `document`, without colours."""
    file = io.StringIO()
    print_document(document, Console(file=file, width=WIDTH, soft_wrap=False, color_system=None))
    return file.getvalue()


def print_section(section: Section, console: Console) -> None:
    for block in section.blocks:
        if isinstance(block, Table):
            print_table(block, console)
        elif isinstance(block, Forest):
            print_forest(block, console)
        elif isinstance(block, Prose):
            console.print(said(block.text, style="bold" if block.lead else ""))
        elif isinstance(block, Notice):
            console.print(Panel(said(block.text), border_style="yellow"))
        elif isinstance(block, Exhibit):
            print_exhibit(block, console)


def print_exhibit(exhibit: Exhibit, console: Console) -> None:
    console.print(said(exhibit.heading, style="bold"))
    console.print(Panel(said(exhibit.query), title="query", title_align="left"))
    for group, texts in exhibit.context:
        console.print(said(group, style="bold"))
        for name, text in texts:
            console.print(Padding(Text.assemble(said(f"{name}: ", style="dim"), said(text)), (0, 0, 0, 2)))
    if not exhibit.context:
        console.print(Text("no context", style="dim"))
    for name, value in exhibit.facts:
        console.print(Text.assemble(said(f"{name}: ", style="bold"), said(value)))
    if exhibit.reply:
        console.print(Panel(said(exhibit.reply), title="reply", title_align="left"))


def print_forest(forest: Forest, console: Console) -> None:
    """A line a row: its name, its interval drawn with the estimate in it, and the numbers."""
    label, written = (max(cell_len(cell) for cell in cells) for cells in zip(*map(cells_of, forest.rows), strict=True))
    label = min(label, max(MIN_AXIS, console.width - written - MIN_AXIS - 6))
    room = max(MIN_AXIS, min(MAX_AXIS, console.width - label - written - 6))
    console.print(said(forest.caption, style="bold"))
    for heading, rows in forest.groups:
        if heading:
            console.print(said(heading, style="dim"))
        for row in rows:
            name, numbers = cells_of(row)
            name = name if cell_len(name) <= label else f"{name[: label - 1]}…"
            style = "bold" if row.strong else ""
            drawn = drawn_row(forest, row, room)
            console.print(
                Text.assemble("  ", said(name.ljust(label), style=style), "  ", (drawn, style), "  ", (numbers, style)),
                no_wrap=True,
                overflow="crop",
            )
    first, last = forest.ticks[0], forest.ticks[-1]
    start, middle, end = (f"{100 * tick:g} %" for tick in (first, (first + last) / 2, last))
    axis = start + middle.center(room - len(start) - len(end)) + end
    console.print(said(" " * (label + 4) + axis, style="dim"))


MIN_AXIS, MAX_AXIS = 12, 40
"""Cells that an axis takes."""


def cells_of(row: ForestRow) -> tuple[str, str]:
    return plain(row.label), row.written


def drawn_row(forest: Forest, row: ForestRow, room: int) -> str:
    """An interval as a line and an estimate as a dot on it, in `room` cells."""

    def cell(value: float) -> int:
        return round(forest.place(value) / 100 * (room - 1))

    cells = ["·"] * room
    if row.low is not None and row.high is not None:
        for at in range(cell(row.low), cell(row.high) + 1):
            cells[at] = "─"
    if row.estimate is not None:
        cells[cell(row.estimate)] = "●" if row.strong else "○"
    return "".join(cells)


def print_table(table: Table, console: Console) -> None:
    """Print a table; texts from elsewhere are never read as markup."""
    if not table.rows:
        console.print(said(f"{table.caption}: nothing"))
        return
    title: Text | None = said(table.caption)
    for part in in_parts(table, console.width):
        grid = RichTable(title=title, title_justify="left", title_style="bold", header_style="")
        widths = column_widths(part, console.width) or [None] * len(part.columns)
        for head, numeric, width in zip(part.columns, part.numeric, widths, strict=True):
            grid.add_column(said(head), justify="right" if numeric else "left", overflow="fold", width=width)
        for row in part.rows:
            grid.add_row(*(said(cell) for cell in row))
        console.print(grid)
        title = None


def in_parts(table: Table, room: int) -> list[Table]:
    """The table; where its columns do not fit beside each other several, each with the first columns, which say what a row is."""
    if column_widths(table, room) is not None:
        return [table]
    keys = list(takewhile(lambda at: not table.numeric[at], range(len(table.columns))))
    groups: list[list[int]] = [[]]
    for at in range(len(keys), len(table.columns)):
        beside = some_columns(table, [*keys, *groups[-1], at])
        if groups[-1] and column_widths(beside, room, least_piece=LONG_WORD) is None:
            groups.append([])
        groups[-1].append(at)
    parts = [some_columns(table, [*keys, *group]) for group in groups]
    return parts if all(column_widths(part, room) for part in parts) else [table]


def some_columns(table: Table, places: list[int]) -> Table:
    def of(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(row[at] for at in places)

    return replace(table, columns=of(table.columns), numeric=of(table.numeric), rows=tuple(map(of, table.rows)))


def column_widths(table: Table, room: int, *, least_piece: int = LEAST_PIECE) -> list[int] | list[None] | None:
    """How wide to set each column so that no number and no word is broken, or few where there is no room for all.

    `room`: cells in a line, borders and padding (three a column, and one) included.
    `least_piece`: words are broken into no shorter pieces.

    Gives None for each column where all is short enough, and None alone where nothing helps.
    """
    columns = [[plain(cell) for cell in column] for column in zip(table.columns, *table.rows, strict=True)]
    whole = [max(map(cell_len, column)) for column in columns]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=1) for column in columns]
    numbers = [
        max(map(cell_len, column[1:])) if numeric else 0 for column, numeric in zip(columns, table.numeric, strict=True)
    ]
    left = room - 3 * len(columns) - 1
    if sum(whole) <= left:
        return [None] * len(columns)
    longest = max(words)
    with_numbers = (pieces(words, most, numbers) for most in range(max(longest, LONG_WORD), LONG_WORD - 1, -1))
    without = (pieces(words, most) for most in range(longest, least_piece - 1, -1))
    for least in (*with_numbers, *without):
        if sum(least) <= left:
            return widened(least, whole, left - sum(least))
    return None


def pieces(words: list[int], most: int, numbers: list[int] | None = None) -> list[int]:
    """The least width of each column with words broken into pieces of `most` cells, and `numbers` not broken."""
    return [max(min(word, most), number) for word, number in zip(words, numbers or [0] * len(words), strict=True)]


def widened(least: list[int], whole: list[int], spare: int) -> list[int]:
    """`least` with `spare` cells more, each given to the column that is folded most."""
    widths = list(least)
    for _ in range(spare):
        narrowest = max(range(len(widths)), key=lambda place: whole[place] / max(1, widths[place]))
        widths[narrowest] += 1
    return widths


def said(text: str, *, style: str = "") -> Text:
    """`text` as it is: nothing in it is markup, and nothing in it moves the cursor."""
    return Text(plain(text), style=style)


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")


def plain(text: str) -> str:
    """`text` with every control character as �, for a terminal would obey it; a line may end as Windows ends it."""
    return CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
