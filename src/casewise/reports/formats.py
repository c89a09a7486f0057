"""The formats of a report: HTML, Markdown, LaTeX, JSON and the terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import polars as pl
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text

from casewise.errors import ConfigurationError, did_you_mean
from casewise.plugins import all_parts, find_part, part_names
from casewise.reports import charts
from casewise.reports.document import (
    Block,
    Document,
    Exhibit,
    Figure,
    Folded,
    Forest,
    ForestRow,
    Prose,
    Table,
    unfolded,
)
from casewise.storage.files import replacing, write_text
from casewise.text import SyntheticNote


def html(document: Document, *, path: Callable[[Path], str] | None = None) -> str:
    """Return the whole of `document` as a page; `path` writes a path for its readers, if not as from here.

    Charts are drawn into the page as SVG, so it needs no script and works offline, in print, and under a strict
    Content-Security-Policy.
    """
    return str(template("page.html").render(document=document.rendered(path)))


@cache
def template(name: str) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("casewise.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "breakable": lambda name: Markup("<wbr>").join(BREAK.split(name)),
        "kind": lambda block: type(block).__name__,
        "for_page": charts.for_page,
    }
    return environment.get_template(name)


BREAK = re.compile(r"(?<=[+:/_.])(?=\w{4})")
"""Places at which a name such as `twin:recipient+datamark` may be broken."""


LATEX = str.maketrans(
    {
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
)


def latex(document: Document) -> str:
    """Return every table of `document`; needs `\\usepackage{booktabs}`. Notices come first, as comments."""
    document = document.rendered()
    notices = [f"% {' '.join(notice.split())}" for notice in document.notices]
    mark = "Synthetic data. " if is_synthetic(document) else ""
    tables = (latex_table(replace(table, caption=f"{mark}{table.caption}")) for table in document.tables())
    return "\n".join([*notices, *tables]) + "\n"


def latex_table(table: Table) -> str:
    """Return one table."""
    alignment = "".join("r" if numeric else "l" for numeric in table.numeric)
    head, *rows = (" & ".join(map(latex_escaped, cells)) + r" \\" for cells in (table.columns, *table.rows))
    lines = (
        r"\begin{table}",
        rf"\caption{{{latex_escaped(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "",
    )
    return "\n".join(lines)


def latex_escaped(text: str) -> str:
    """Return `text` with what LaTeX would read as commands made harmless."""
    return " ".join(text.split()).translate(LATEX)


def markdown(document: Document) -> str:
    """Return the whole of `document` as GitHub-flavoured Markdown; figures are named, their tables given."""
    document = document.rendered()
    parts = [f"# {markdown_escaped(document.title)}", markdown_escaped(document.subtitle)]
    parts += [f"> **{markdown_escaped(notice)}**" for notice in document.notices]
    for section in document.sections:
        parts.append(f"## {markdown_escaped(section.heading)}")
        for block in section.blocks:
            parts += markdown_block(block)
    return "\n\n".join(filter(None, parts)) + "\n"


def markdown_block(block: Block) -> list[str]:
    match block:
        case Prose():
            text = markdown_escaped(block.text)
            return [f"> **{text}**" if block.notice else text]
        case Table():
            return [f"**{markdown_escaped(block.caption)}**", markdown_table(block)]
        case Forest():
            return markdown_block(block.table)
        case Figure():
            tables = [markdown_table(block.behind)] if block.behind is not None else []
            return [f"**{markdown_escaped(block.caption)}** {markdown_escaped(block.alt)}", *tables]
        case Folded():
            inside = (part for inner in block.blocks for part in markdown_block(inner))
            return [f"### {markdown_escaped(block.summary)}", *inside]
        case Exhibit():
            context = (
                "\n".join([f"- {markdown_escaped(group)}", *(f"  {fact(*text)}" for text in texts)])
                for group, texts in block.context
            )
            reply = [f"> {markdown_escaped(block.reply)}"] if block.reply else []
            heading = [f"### {markdown_escaped(block.heading)}", f"> {markdown_escaped(block.query)}"]
            return [*heading, *context, "\n".join(fact(*pair) for pair in block.facts), *reply]


def fact(name: str, value: str) -> str:
    return f"- {markdown_escaped(name)}: {markdown_escaped(value)}"


def markdown_table(table: Table) -> str:
    """Return one table."""
    rule = "|" + "|".join("---:" if numeric else "---" for numeric in table.numeric) + "|"
    head, *rows = ("| " + " | ".join(map(markdown_escaped, cells)) + " |" for cells in (table.columns, *table.rows))
    return "\n".join([head, rule, *rows])


MARKDOWN = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_[]|#"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
)


def markdown_escaped(text: str) -> str:
    """Return `text` on one line, with what Markdown or HTML would read as markup made harmless."""
    return " ".join(text.split()).translate(MARKDOWN)


WIDTH = 100
"""Width in characters of a report that is written to a file."""

LONG_WORD = 14
"""A longer word, such as a model's name, is broken where a line is too short; no number is."""


def print_document(document: Document, console: Console, *, full: bool = True) -> None:
    """Print the title, the notices and the answer of `document`; `full` adds the brief sections."""
    document = document.rendered()
    console.print(plain(document.title, style="bold"))
    if document.subtitle:
        console.print(plain(document.subtitle, style="dim"))
    for notice in document.notices:
        console.print(Panel(plain(notice), border_style="yellow"))
    answered = any(section.first for section in document.sections)
    for section in document.sections:
        if section.first or (section.brief and (full or not answered)):
            for block in unfolded(section.blocks) if section.brief else section.blocks:
                print_block(block, console)


def text(document: Document) -> str:
    """Return the text of `document` as the terminal shows it, without colours."""
    file = io.StringIO()
    print_document(document, Console(file=file, width=WIDTH, soft_wrap=False, color_system=None))
    return file.getvalue()


def print_block(block: Block, console: Console) -> None:
    match block:
        case Table():
            print_table(block, console)
        case Forest():
            print_forest(block, console)
        case Prose():
            text = plain(block.text, style="bold" if block.lead else "")
            console.print(Panel(text, border_style="yellow") if block.notice else text)
        case Exhibit():
            print_exhibit(block, console)


def print_exhibit(exhibit: Exhibit, console: Console) -> None:
    console.print(plain(exhibit.heading, style="bold"))
    console.print(Panel(plain(exhibit.query), title=exhibit.noun, title_align="left"))
    for group, texts in exhibit.context:
        console.print(plain(group, style="bold"))
        for name, text in texts:
            console.print(Padding(Text.assemble(plain(f"{name}: ", style="dim"), plain(text)), (0, 0, 0, 2)))
    if not exhibit.context:
        console.print(Text("no context", style="dim"))
    for name, value in exhibit.facts:
        console.print(Text.assemble(plain(f"{name}: ", style="bold"), plain(value)))
    if exhibit.reply:
        console.print(Panel(plain(exhibit.reply), title="reply", title_align="left"))


MIN_AXIS, MAX_AXIS = 12, 40
"""Cells that an axis takes."""


def print_forest(forest: Forest, console: Console) -> None:
    """Print a line a row: its name, its interval drawn with the estimate in it, and the numbers."""
    label, written = (
        max(map(cell_len, cells))
        for cells in zip(*((without_controls(row.label), row.written) for row in forest.rows), strict=True)
    )
    label = min(label, max(MIN_AXIS, console.width - written - MIN_AXIS - 6))
    room = max(MIN_AXIS, min(MAX_AXIS, console.width - label - written - 6))
    console.print(plain(forest.caption, style="bold"))
    for heading, rows in forest.groups:
        if heading:
            console.print(plain(heading, style="dim"))
        for row in rows:
            name = without_controls(row.label)
            name = name if cell_len(name) <= label else f"{name[: label - 1]}…"
            style = "bold" if row.strong else ""
            parts = (plain(name.ljust(label), style=style), (drawn_row(forest, row, room), style), (row.written, style))
            line = Text.assemble(*(cell for part in parts for cell in ("  ", part)))
            console.print(line, no_wrap=True, overflow="crop")
    first, last = forest.ticks[0], forest.ticks[-1]
    start, middle, end = (forest.tick(tick) for tick in (first, (first + last) / 2, last))
    axis = start + middle.center(room - len(start) - len(end)) + end
    console.print(plain(" " * (label + 4) + axis, style="dim"))


def drawn_row(forest: Forest, row: ForestRow, room: int) -> str:
    """Return an interval as a line and an estimate as a dot on it, in `room` cells."""

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
        console.print(plain(f"{table.caption}: nothing"))
        return
    title: Text | None = plain(table.caption)
    for part in in_parts(table, console.width):
        grid = RichTable(title=title, title_justify="left", title_style="bold", header_style="")
        widths = column_widths(part, console.width) or (None,) * len(part.columns)
        for head, numeric, width in zip(part.columns, part.numeric, widths, strict=True):
            grid.add_column(plain(head), justify="right" if numeric else "left", overflow="fold", width=width)
        for row in part.rows:
            grid.add_row(*map(plain, row))
        console.print(grid)
        title = None


def in_parts(table: Table, room: int) -> list[Table]:
    """Return the table; where its columns do not fit beside each other several, each with the columns up to the first of words,
    which say what a row is, such as a rank and a name."""

    def part(places: list[int]) -> Table:
        columns, *rows = (tuple(row[at] for at in places) for row in (table.columns, *table.rows))
        return replace(table, columns=columns, numeric=tuple(table.numeric[at] for at in places), rows=tuple(rows))

    if column_widths(table, room) is not None:
        return [table]
    first = table.numeric.index(False) if False in table.numeric else 0
    keys = [*range(first), *takewhile(lambda at: not table.numeric[at], range(first, len(table.columns)))]
    groups: list[list[int]] = [[]]
    for at in range(len(keys), len(table.columns)):
        if groups[-1] and column_widths(part([*keys, *groups[-1], at]), room) is None:
            groups.append([])
        groups[-1].append(at)
    parts = [part([*keys, *group]) for group in groups]
    return parts if all(column_widths(part, room) for part in parts) else [table]


def column_widths(table: Table, room: int) -> Sequence[int] | None:
    """Return column widths that break no number and no word but long ones; None where there is no room for that.

    `room`: cells in a line, borders and padding (three a column, and one) included.
    """
    columns = [[without_controls(cell) for cell in column] for column in zip(table.columns, *table.rows, strict=True)]
    whole = [max(map(cell_len, column)) for column in columns]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=1) for column in columns]
    widths = [
        max(min(LONG_WORD, word), max(map(cell_len, column[1:])) if numeric else 0)
        for word, column, numeric in zip(words, columns, table.numeric, strict=True)
    ]
    left = room - 3 * len(columns) - 1 - sum(widths)
    if left < 0:
        return None
    # Room that is left goes to a column that breaks a word, else to the one that is folded most.
    for _ in range(min(left, sum(whole) - sum(widths))):
        places = [place for place, word in enumerate(words) if widths[place] < word] or range(len(widths))
        widths[max(places, key=lambda place: whole[place] / widths[place])] += 1
    return widths


def plain(text: str, *, style: str = "") -> Text:
    """Return `text` without markup or control characters."""
    return Text(without_controls(text), style=style)


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")


def without_controls(text: str) -> str:
    """Return `text` with every control character as �, for a terminal would obey it; a line may end as Windows ends it."""
    return CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


@dataclass(frozen=True)
class Format:
    """A format of documents.

    casewise's own are the entries of `FORMATS`. Another package brings one under the entry-point group
    `casewise.report_formats`,
    by an entry point with the name that `--format` takes.
    """

    write: Callable[[Document], str]
    endings: tuple[str, ...] = ()
    """The endings of its files, which choose it where no format is named."""


FORMATS: dict[str, Format] = {
    "html": Format(html, (".html", ".htm")),
    "markdown": Format(markdown, (".md",)),
    "latex": Format(latex, (".tex",)),
    "text": Format(text, (".txt",)),
}
"""Formats by the name that `--format` takes."""


def find_format(name: str | None, path: Path | None = None) -> Format:
    """Return the format called `name`; without a name, the one that `path` ends like.

    Raises ConfigurationError: there is none, or its package cannot be imported.
    """
    names = (*part_names("report_formats"), "json")
    if name is not None:
        if (form := find_part("report_formats", name, Format)) is not None:
            return form
        raise ConfigurationError(f"--format is {name!r}{did_you_mean(name, names)}; it can be {', '.join(names)}")
    for form in all_parts("report_formats", Format).values():
        if path is not None and path.suffix in form.endings:
            return form
    raise ConfigurationError(
        f"--out is {path}: casewise knows no format by this ending. Give --format: {', '.join(names)}"
    )


def write_figures(document: Document, folder: Path) -> None:
    """Write every figure of `document` to `folder`, as `NAME.svg` and `NAME.png` (twice the size, on white).

    Raises ConfigurationError: `folder` cannot be written.
    """
    for name, drawn in drawings(document).items():
        write_text(folder / f"{name}.svg", drawn)
        with replacing(folder / f"{name}.png") as file:
            file.write(charts.png(drawn))


def drawings(document: Document) -> dict[str, str]:
    """Return every figure of `document` as standalone SVG, by its name; a page draws a forest itself.

    Each figure of synthetic data says so, as it may be shown without its page.
    """
    document = document.rendered()
    figures = {block.name: str(block.svg) for block in document.figures()}
    schema = {"name": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    for block in document.blocks:
        if isinstance(block, Forest):
            rows = [
                (f"{row.label} ({heading})" if heading else row.label, row.estimate, row.low, row.high)
                for heading, group in block.groups
                for row in group
            ]
            frame = pl.DataFrame(rows, schema=schema, orient="row")
            figures[block.name] = charts.dots_with_intervals(frame, title=block.heads[2], ends=block.ends or (0, 1))
    if not is_synthetic(document):
        return figures
    return {name: figure.rstrip().removesuffix("</svg>") + WATERMARK for name, figure in figures.items()}


def is_synthetic(document: Document) -> bool:
    """Return whether a document is about synthetic data, so that each table and figure of it says so."""
    return any(isinstance(notice, SyntheticNote) for notice in document.notices)


WATERMARK = (
    '<text x="50%" y="50%" text-anchor="middle" font-family="sans-serif" font-size="28" fill="#777" fill-opacity="0.4">'
    "SYNTHETIC DATA</text></svg>"
)
"""The end of a figure of synthetic data."""


def write_tables(document: Document, folder: Path) -> None:
    """Write the numbers behind every table of `document`, unrounded, to `folder` as `NAME.parquet`.

    Raises ConfigurationError: `folder` cannot be written.
    """
    for table in document.rendered().tables():
        with replacing(folder / f"{table.name}.parquet") as file:
            table.frame.write_parquet(file)


class Numbers(Protocol):
    """The numbers of a report: an object that gives itself as plain JSON values."""

    def as_json(self) -> dict[str, Any]: ...


N = TypeVar("N", bound=Numbers | dict[str, Any])


@dataclass(frozen=True, repr=False)
class Report(Generic[N]):
    """Numbers and their page, in every format."""

    numbers: N
    """Everything that was computed, by name; the numbers that are quoted most have a property of the report, too."""
    page: Callable[[N], Document]
    """Lays the numbers out."""

    @cached_property
    def document(self) -> Document:
        """The numbers laid out, ready for any face."""
        return self.page(self.numbers)

    def as_json(self) -> dict[str, Any]:
        return self.numbers if isinstance(self.numbers, dict) else self.numbers.as_json()

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The unrounded numbers behind the tables of the document, by name."""
        return {table.name: table.frame for table in self.document.rendered().tables()}

    def to_html(self) -> str:
        """Return one self-contained page."""
        return html(self.document)

    def to_markdown(self) -> str:
        """Return GitHub-flavoured Markdown."""
        return markdown(self.document)

    def _repr_html_(self) -> str:
        return str(template("fragment.html").render(document=self.document.answer.rendered()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.document.rendered().title}>"

    def __str__(self) -> str:
        """Return the answer, as the command prints it."""
        return text(self.document.answer)
