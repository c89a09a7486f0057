"""The report of a study in which people said what replies do: it speaks of answers, where others speak of what is safe."""

from __future__ import annotations

import re
from dataclasses import replace

from casewise.reporting.document import Block, Document, Figure, Notice, Prose, Table

__all__ = ["COUNTED", "of_replies"]

COUNTED = (
    "People said what replies do. An answer here is a reply that does what was asked, or some of it; all else is a refusal. "
    "The three are told apart under the study's own questions."
)

INSTEAD = {
    "Safe rates": "Rates of answering",
    "safe rates": "rates of answering",
    "Safe rate": "Rate of answering",
    "safe rate": "rate of answering",
    "say safe": "say that a reply answers",
    "Respond": "Answers",
    "respond": "answers",
    "Unsafe": "Refuses",
    "unsafe": "refuses",
    "Safe": "Answers",
    "safe": "answers",
}
SAID = re.compile(r"\b(?:" + "|".join(INSTEAD) + r")\b")
OURS = {"annotators", "ceilings"}
"""Tables whose cells are words of ours; others may hold what people or owners wrote."""


def of_replies(document: Document) -> Document:
    """`document` with the words that fit replies."""
    sections = tuple(
        replace(section, heading=worded(section.heading), blocks=tuple(map(block_of, section.blocks)))
        for section in document.sections
    )
    return replace(document, sections=sections, notices=(COUNTED, *document.notices))


def worded(text: str) -> str:
    return SAID.sub(lambda found: INSTEAD[found[0]], text)


def block_of(block: Block) -> Block:
    if isinstance(block, Prose | Notice):
        return replace(block, text=worded(block.text))
    if isinstance(block, Table):
        return table_in(block)
    if isinstance(block, Figure):
        drawn = re.sub(r">[^<]+<", lambda text: worded(text[0]), block.svg)
        behind = block.behind and table_in(block.behind)
        return replace(block, caption=worded(block.caption), alt=worded(block.alt), svg=drawn, behind=behind)
    return block


def table_in(table: Table) -> Table:
    rows = table.rows
    if table.name in OURS:
        rows = tuple(tuple(map(worded, row)) for row in rows)
    return replace(table, caption=worded(table.caption), columns=tuple(map(worded, table.columns)), rows=rows)
