"""Documents written out: to a terminal, to a file, as charts and tables."""

from __future__ import annotations

from casewise.reporting.charts.drawing import png
from casewise.reporting.document import Document, Table
from casewise.reporting.faces.files import write_figures, write_tables
from casewise.reporting.faces.formats import FORMATS, format_named
from casewise.reporting.faces.terminal import print_document, print_table
from casewise.reporting.study.report import plain
from casewise.storage.files.atomic import write_text

__all__ = [
    "FORMATS",
    "Document",
    "Table",
    "format_named",
    "plain",
    "png",
    "print_document",
    "print_table",
    "write_figures",
    "write_tables",
    "write_text",
]
