"""How a context is laid out for whoever reads it: as a list, as prose, as JSON or as XML. What it says is the same."""

from __future__ import annotations

import json
from typing import Literal
from xml.sax.saxutils import escape

from casewise.prompting.context_words import groups, in_words, spoken
from casewise.records import ShownContext
from casewise.records.statement import as_text

__all__ = ["Layout", "laid_out"]

Layout = Literal["list", "prose", "json", "xml"]


def laid_out(shown: ShownContext, layout: Layout) -> str:
    """A context in this layout.

    Examples
    --------
    >>> laid_out({"recipient": {"type": "a nurse"}}, "prose")
    'The type of the recipient is: a nurse'
    >>> laid_out({"recipient": {"type": "a nurse"}}, "xml")
    '<context><recipient><type>a nurse</type></recipient></context>'
    """
    if layout == "json":
        return json.dumps(shown, ensure_ascii=False)
    if layout == "prose":
        return prose(shown)
    return xml(shown) if layout == "xml" else in_words(shown)


def prose(shown: ShownContext) -> str:
    said = []
    for group in groups(shown):
        for name, statement in group.statements:
            what = f"{spoken(name)} of the {spoken(group.name)}" if name else spoken(group.name)
            said.append(f"The {what} is: {as_text(statement)}")
    return " ".join(one if one.endswith((".", "!", "?")) else f"{one}." for one in said[:-1]) + (
        f" {said[-1]}" if len(said) > 1 else "".join(said)
    )


def xml(shown: ShownContext) -> str:
    whole = []
    for group in groups(shown):
        inner = "".join(
            f"<{name}>{escape(as_text(statement))}</{name}>" if name else escape(as_text(statement))
            for name, statement in group.statements
        )
        whole.append(f"<{group.name}>{inner}</{group.name}>")
    return f"<context>{''.join(whole)}</context>"
