"""Numbers that show themselves, in a notebook and as frames; documents written to a terminal, a file, charts and tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import polars as pl

from casewise.reporting.charts.drawing import png
from casewise.reporting.document import Document, Table
from casewise.reporting.faces.as_json import plain
from casewise.reporting.faces.formats import FORMATS, format_named, frame_of, write_figures, write_tables
from casewise.reporting.faces.html import html, html_fragment
from casewise.reporting.faces.markdown import markdown
from casewise.reporting.faces.terminal import print_document
from casewise.storage.files.atomic import write_text

__all__ = [
    "FORMATS",
    "Displayed",
    "DisplayedNumbers",
    "Document",
    "Table",
    "format_named",
    "plain",
    "png",
    "print_document",
    "write_figures",
    "write_tables",
    "write_text",
]


class Displayed(ABC):
    """What has a document, and so every face that a document has."""

    laid_out: ClassVar[staticmethod[..., Document]]
    """Makes the document of it: a function of `reporting`, as a static method."""

    @cached_property
    def document(self) -> Document:
        """The numbers laid out, ready for any face."""
        return type(self).laid_out(self)

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table of the document by its name: unrounded where it keeps its numbers, else the cells as texts."""
        return {table.name: frame_of(table) for table in self.document.tables()}

    def to_html(self) -> str:
        """One self-contained page."""
        return html(self.document)

    def to_markdown(self) -> str:
        """GitHub-flavoured Markdown."""
        return markdown(self.document)

    def _repr_html_(self) -> str:
        return html_fragment(self.document.answer)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.document.title}>"


class Numbers(Protocol):
    """What was found, as far as it says itself as JSON."""

    def as_json(self) -> dict[str, Any]: ...


N = TypeVar("N", bound=Numbers)


@dataclass(frozen=True, repr=False)
class DisplayedNumbers(Displayed, Generic[N]):
    """What was found in a room below, displayed: it is what is laid out, and its numbers are the JSON."""

    found: N

    @cached_property
    def document(self) -> Document:
        """The numbers laid out, ready for any face."""
        return type(self).laid_out(self.found)

    def as_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        return self.found.as_json()
