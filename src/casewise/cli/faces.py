"""What reports are also written as, beside what is printed: options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.cli.printing import write

if TYPE_CHECKING:
    from casewise.reporting.document import Document

__all__ = ["Faces", "FiguresOption", "LatexOption", "MarkdownOption", "TablesOption"]

MarkdownOption = Annotated[Path | None, typer.Option("--markdown", help="Write Markdown here too.")]

LatexOption = Annotated[Path | None, typer.Option("--latex", help="Write the tables as LaTeX (booktabs) here too.")]

FiguresOption = Annotated[
    Path | None, typer.Option("--figures", help="Write every chart as SVG and PNG to this folder.")
]

TablesOption = Annotated[Path | None, typer.Option("--tables", help="Write every table as Parquet to this folder.")]


@dataclass(frozen=True)
class Faces:
    """Where to write which face; None for those that nobody asked for."""

    markdown: Path | None = None
    latex: Path | None = None
    figures: Path | None = None
    tables: Path | None = None

    def write(self, document: Document) -> None:
        """Write those that were asked for."""
        from casewise.reporting.faces.files import write_figures, write_tables
        from casewise.reporting.faces.latex import latex
        from casewise.reporting.faces.markdown import markdown

        if self.markdown is not None:
            write(self.markdown, markdown(document))
        if self.latex is not None:
            write(self.latex, latex(document))
        if self.figures is not None:
            write_figures(document, self.figures)
        if self.tables is not None:
            write_tables(document, self.tables)
