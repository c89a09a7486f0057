"""What a page of a report holds: its paragraphs, tables and sections."""

from __future__ import annotations

from collections.abc import Iterable

from casewise.reports.document import Block, Document, Prose, Section, Table


def prose(blocks: Iterable[Block]) -> list[str]:
    """The paragraphs among blocks."""
    return [str(block.text) for block in blocks if isinstance(block, Prose)]


def table_named(blocks: Iterable[Block], name: str) -> Table:
    """The only table of this name."""
    (table,) = (block for block in blocks if isinstance(block, Table) and block.name == name)
    return table


def sections_of(document: Document) -> dict[str, Section]:
    """The sections of a page by their anchors."""
    return {section.anchor: section for section in document.sections}
