"""Markdown for annotators, made into HTML once: raw HTML in it is shown as text, never as HTML."""

from __future__ import annotations

from functools import lru_cache

from markdown_it import MarkdownIt
from markupsafe import Markup

__all__ = ["LABELS", "markdown", "panel"]

LABELS = {
    "sender": "The chatbot",
    "recipient": "The person asking",
    "transmission_principle": "The terms",
    "nature_of_the_interaction": "Kind of conversation",
    "platform_type": "Platform",
    "type": "Who they are here",
    "background": "Background",
    "urgency": "Urgency",
    "sender_purpose": "What the chatbot is for",
    "confidentiality": "Who can see the conversation",
    "source_accountability": "Who answers for what is said",
    "subject": "Whom it is about",
    "information_type": "Kind of information",
}
"""A context's groups and parameters in words that annotators know."""


@lru_cache(maxsize=256)
def markdown(text: str) -> Markup:
    """`text` as HTML that may be put into a page; headings begin at the second level."""
    made = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return Markup(made.replace("<h3>", "<h2>").replace("</h3>", "</h2>"))  # noqa: S704 - raw HTML is off


def panel(context: dict[str, dict[str, str] | str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """A shown context as groups of labelled texts, in reading order."""
    return [
        (LABELS.get(group, group), [(LABELS.get(name, name), text) for name, text in value.items()])
        if isinstance(value, dict)
        else (LABELS.get(group, group), [("", value)])
        for group, value in context.items()
    ]
