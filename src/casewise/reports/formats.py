"""The formats of a report: HTML, Markdown, LaTeX, JSON and the terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text

from casewise.errors import ConfigurationError, did_you_mean
from casewise.reports import charts
from casewise.reports.document import (
    Block,
    Document,
    Exhibit,
    Figure,
    Folded,
    Forest,
    ForestRow,
    Notice,
    Prose,
    Section,
    Table,
    unfolded,
)
from casewise.reports.terms import meanings_in
from casewise.storage.files import replacing, write_text

# A report as JSON: what stands in it, for reports that have no numbers of their own to give.


def document_json(document: Document) -> dict[str, Any]:
    """The whole of `document` as plain JSON values; a table is its heads and its cells as they are written."""
    return {
        "title": document.title,
        "subtitle": document.subtitle,
        "notices": list(document.notices),
        "sections": [
            {
                "name": section.anchor,
                "heading": section.heading,
                "blocks": [block_json(block) for block in section.blocks],
            }
            for section in document.sections
        ],
    }


def block_json(block: Block) -> dict[str, Any]:
    if isinstance(block, (Prose, Notice)):
        return {"text": block.text}
    if isinstance(block, Table):
        return {
            "table": block.name,
            "caption": block.caption,
            "columns": list(block.columns),
            "rows": [list(row) for row in block.rows],
        }
    if isinstance(block, Forest):
        return block_json(block.table)
    if isinstance(block, Figure):
        behind = {"behind": block_json(block.behind)} if block.behind is not None else {}
        return {"figure": block.name, "caption": block.caption, "shows": block.alt, **behind}
    if isinstance(block, Folded):
        return {"folded": block.summary, "blocks": [block_json(one) for one in block.blocks]}
    return {
        "exhibit": block.heading,
        "facts": [list(fact) for fact in block.facts],
        "query": block.query,
        "context": {group: dict(texts) for group, texts in block.context},
        **({"reply": block.reply} if block.reply else {}),
    }


# A report as one HTML page that holds everything it needs: no script, no network, nothing from elsewhere
# unescaped.


LONG_TABLE = 15
"""A table of more rows is folded, and says how many it has."""


def html(document: Document) -> str:
    """The whole of `document` as a page.

    Charts are drawn into the page as SVG, so it needs no script and works offline, in print, and under a strict
    Content-Security-Policy.
    """
    return str(template("page.html").render(document=document, kind=kind, long_table=LONG_TABLE))


def html_fragment(document: Document) -> str:
    """`document` for a notebook: the page's content with its style, without the page around it."""
    return str(template("fragment.html").render(document=document, kind=kind, long_table=LONG_TABLE))


def kind(block: object) -> str:
    """What a block is, for the template."""
    names: dict[type[Any], str] = {
        Prose: "prose",
        Notice: "notice",
        Table: "table",
        Figure: "figure",
        Forest: "forest",
        Exhibit: "exhibit",
        Folded: "folded",
    }
    return names[type(block)]


@cache
def template(name: str) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("casewise.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"with_marks": with_marks, "breakable": breakable, "meanings_in": meanings_in}
    return environment.get_template(name)


MARKS = (("ins", re.compile(r"\[\+(.*?)\+\]", re.DOTALL)), ("del", re.compile(r"\[-(.*?)-\]", re.DOTALL)))


def with_marks(text: str) -> Any:
    """`text`, escaped, with what is marked as added or gone set as such."""
    from markupsafe import Markup, escape

    said = str(escape(text))
    for tag, pattern in MARKS:
        said = pattern.sub(rf"<{tag}>\1</{tag}>", said)
    return Markup(said)  # noqa: S704 - it was escaped before the tags were put in


def breakable(text: str) -> Any:
    """`text`, escaped, with places at which a name such as `twin:recipient+datamark` may be broken."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"([+:/_.])(?=\w{4})", r"\1<wbr>", str(escape(text))))  # noqa: S704 - it was escaped before


# Tables of a report as LaTeX, in booktabs style.


SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "−": r"$-$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "½": r"$\frac{1}{2}$",
    "κ": r"$\kappa$",
    "α": r"$\alpha$",
    "ρ": r"$\rho$",
}


def latex(document: Document) -> str:
    """Every table of `document`; needs `\\usepackage{booktabs}`. Notices come first, as comments."""
    notices = [f"% {' '.join(notice.split())}" for notice in document.notices]
    return "\n".join([*notices, *(latex_table(table) for table in document.tables())]) + "\n"


def latex_table(table: Table) -> str:
    """One table."""
    alignment = "".join("r" if numeric else "l" for numeric in table.numeric)
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{latex_escaped(table.caption)}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            row(table.columns),
            r"\midrule",
            *(row(cells) for cells in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def row(cells: Iterable[str]) -> str:
    return " & ".join(latex_escaped(cell) for cell in cells) + r" \\"


def latex_escaped(text: str) -> str:
    """`text` with what LaTeX would read as commands made harmless."""
    return "".join(SPECIAL.get(character, character) for character in " ".join(text.split()))


# A report as Markdown.


def markdown(document: Document) -> str:
    """The whole of `document` as GitHub-flavoured Markdown; figures are named, their tables given."""
    parts = [f"# {markdown_escaped(document.title)}", markdown_escaped(document.subtitle)]
    parts += [f"> **{markdown_escaped(notice)}**" for notice in document.notices]
    for section in document.sections:
        parts.append(f"## {markdown_escaped(section.heading)}")
        for block in section.blocks:
            parts += written(block)
    return "\n\n".join(part for part in parts if part) + "\n"


def written(block: Block) -> list[str]:
    if isinstance(block, Prose):
        return [markdown_escaped(block.text)]
    if isinstance(block, Notice):
        return [f"> **{markdown_escaped(block.text)}**"]
    if isinstance(block, Table):
        return [f"**{markdown_escaped(block.caption)}**", markdown_table(block)]
    if isinstance(block, Forest):
        return written(block.table)
    if isinstance(block, Figure):
        behind = [markdown_table(block.behind)] if block.behind is not None else []
        return [f"**{markdown_escaped(block.caption)}** {markdown_escaped(block.alt)}", *behind]
    if isinstance(block, Folded):
        return [f"### {markdown_escaped(block.summary)}", *(part for one in block.blocks for part in written(one))]
    return exhibit(block)


def exhibit(block: Exhibit) -> list[str]:
    lines = [f"### {markdown_escaped(block.heading)}", f"> {markdown_escaped(block.query)}"]
    for group, texts in block.context:
        lines.append(
            "\n".join(
                [
                    f"- {markdown_escaped(group)}",
                    *(f"  - {markdown_escaped(k)}: {markdown_escaped(v)}" for k, v in texts),
                ]
            )
        )
    lines.append("\n".join(f"- {markdown_escaped(name)}: {markdown_escaped(value)}" for name, value in block.facts))
    return [*lines, f"> {markdown_escaped(block.reply)}"] if block.reply else lines


def markdown_table(table: Table) -> str:
    """One table."""
    head = "| " + " | ".join(markdown_escaped(name) for name in table.columns) + " |"
    rule = "|" + "|".join("---:" if numeric else "---" for numeric in table.numeric) + "|"
    rows = ["| " + " | ".join(markdown_escaped(cell) for cell in row) + " |" for row in table.rows]
    return "\n".join([head, rule, *rows])


def markdown_escaped(text: str) -> str:
    """`text` on one line, with what Markdown or HTML would read as markup made harmless."""
    one_line = " ".join(text.split())
    for character in "\\`*_[]|#":
        one_line = one_line.replace(character, "\\" + character)
    return one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# A report at the terminal: its answer, or its brief sections.


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
    for block in unfolded(section.blocks) if section.brief else section.blocks:
        if isinstance(block, Table):
            print_table(block, console)
        elif isinstance(block, Forest):
            print_forest(block, console)
        elif isinstance(block, Prose):
            console.print(said(block.text, style="bold" if block.lead else ""))
        elif isinstance(block, Notice):
            console.print(Panel(said(block.text), border_style="yellow"))
        elif isinstance(block, Exhibit) and not block.brief:
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
    return without_controls(row.label), row.written


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
    columns = [[without_controls(cell) for cell in column] for column in zip(table.columns, *table.rows, strict=True)]
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
    return Text(without_controls(text), style=style)


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")


def without_controls(text: str) -> str:
    """`text` with every control character as �, for a terminal would obey it; a line may end as Windows ends it."""
    return CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


# Every format that a report can be written in, and its figures and tables as files.
#
# A new format is a file in this folder and a line here.


class Format(NamedTuple):
    """How a document is written, and how files of it end."""

    write: Callable[[Document], str]
    endings: tuple[str, ...]


FORMATS: dict[str, Format] = {
    "html": Format(html, (".html", ".htm")),
    "markdown": Format(markdown, (".md",)),
    "latex": Format(latex, (".tex",)),
    "text": Format(text, (".txt",)),
}
"""By the name that `--format` knows."""


def format_named(name: str | None, path: Path | None = None) -> Format:
    """The format called `name`; without a name, the one that `path` ends like.

    Raises ConfigurationError: there is none.
    """
    known = ", ".join((*FORMATS, "json"))
    if name is not None:
        if name not in FORMATS:
            raise ConfigurationError(f"--format is {name!r}{did_you_mean(name, FORMATS)}; it can be {known}")
        return FORMATS[name]
    for one in FORMATS.values():
        if path is not None and path.suffix in one.endings:
            return one
    raise ConfigurationError(f"--out is {path}: its ending tells no format; give --format, which can be {known}")


def write_figures(document: Document, folder: Path) -> tuple[Path, ...]:
    """Write every figure of `document` to `folder`, as `NAME.svg` and `NAME.png` (twice the size, on white).

    Raises ConfigurationError: `folder` cannot be written.
    """
    written = []
    for name, drawn in drawings(document).items():
        write_text(folder / f"{name}.svg", drawn)
        with replacing(folder / f"{name}.png") as file:
            file.write(charts.png(drawn))
        written += [folder / f"{name}.svg", folder / f"{name}.png"]
    return tuple(written)


def drawings(document: Document) -> dict[str, str]:
    """Return every figure of `document` as standalone SVG, by its name."""
    figures = {block.name: charts.standalone(block.svg) for block in document.figures() if block.svg}
    return figures | {block.name: forest_drawing(block) for block in document.blocks if isinstance(block, Forest)}


def forest_drawing(forest: Forest) -> str:
    """A forest as SVG: a page draws its own."""
    rows = [
        (f"{row.label} ({heading})" if heading else row.label, row.estimate, row.low, row.high)
        for heading, group in forest.groups
        for row in group
    ]
    schema = {"name": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return charts.dots_with_intervals(pl.DataFrame(rows, schema=schema, orient="row"), title=forest.heads[2])


def write_tables(document: Document, folder: Path) -> tuple[Path, ...]:
    """Write every table of `document` to `folder` as `NAME.parquet`: the numbers unrounded, or the cells as they stand.

    Raises ConfigurationError: `folder` cannot be written.
    """
    written = []
    for table in document.tables():
        path = folder / f"{table.name}.parquet"
        with replacing(path) as file:
            frame_of(table).write_parquet(file)
        written.append(path)
    return tuple(written)


def frame_of(table: Table) -> pl.DataFrame:
    """The numbers behind a table, unrounded; the cells as texts where it keeps none."""
    if table.frame is not None:
        return table.frame
    return pl.DataFrame(list(table.rows), schema=dict.fromkeys(table.columns, pl.String), orient="row")
