"""A report as one HTML page that holds everything it needs: no script, no network, nothing from elsewhere unescaped."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from casewise.reporting.document import Document, Exhibit, Figure, Forest, Notice, Prose, Table
from casewise.reporting.terms import meanings_in

__all__ = ["html", "html_fragment"]

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
    }
    return names[type(block)]


@cache
def template(name: str) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("casewise.reporting.faces"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"with_marks": with_marks, "meanings_in": meanings_in}
    return environment.get_template(name)


MARKS = (("ins", re.compile(r"\[\+(.*?)\+\]", re.DOTALL)), ("del", re.compile(r"\[-(.*?)-\]", re.DOTALL)))


def with_marks(text: str) -> Any:
    """`text`, escaped, with what is marked as added or gone set as such."""
    from markupsafe import Markup, escape

    said = str(escape(text))
    for tag, pattern in MARKS:
        said = pattern.sub(rf"<{tag}>\1</{tag}>", said)
    return Markup(said)  # noqa: S704 - it was escaped before the tags were put in
