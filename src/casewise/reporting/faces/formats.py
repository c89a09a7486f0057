"""Every format that a report can be written in. A new one is a file in this folder and a line here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from casewise.errors import ConfigurationError, did_you_mean
from casewise.reporting.document import Document
from casewise.reporting.faces.html import html
from casewise.reporting.faces.latex import latex
from casewise.reporting.faces.markdown import markdown
from casewise.reporting.faces.terminal import text

__all__ = ["FORMATS", "Format", "format_named"]


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

    Raises
    ------
    ConfigurationError
        There is none.
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
