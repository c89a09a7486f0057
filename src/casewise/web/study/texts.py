"""Markdown for annotators, made into HTML once: raw HTML in it is shown as text, never as HTML."""

from __future__ import annotations

from functools import lru_cache

from markdown_it import MarkdownIt
from markupsafe import Markup

from casewise.prompting.context_words import FOR_ANNOTATORS, Labelled, groups

__all__ = ["markdown", "panel"]


@lru_cache(maxsize=256)
def markdown(text: str) -> Markup:
    """`text` as HTML that may be put into a page; headings begin at the second level."""
    made = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return Markup(made.replace("<h3>", "<h2>").replace("</h3>", "</h2>"))  # noqa: S704 - raw HTML is off


def panel(context: dict[str, dict[str, str] | str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """A shown context as groups of labelled texts, in reading order."""
    return [(FOR_ANNOTATORS.get(group.name, group.name), texts_of(group)) for group in groups(context)]


def texts_of(group: Labelled) -> list[tuple[str, str]]:
    return [(FOR_ANNOTATORS.get(f"{group.name}.{name}", name), str(said)) for name, said in group.statements]
