"""A report as Markdown."""

from __future__ import annotations

from casewise.reporting.document import Block, Document, Exhibit, Figure, Forest, Notice, Prose, Table

__all__ = ["markdown", "markdown_table"]


def markdown(document: Document) -> str:
    """The whole of `document` as GitHub-flavoured Markdown; figures are named, their tables given."""
    parts = [f"# {escaped(document.title)}", escaped(document.subtitle)]
    parts += [f"> **{escaped(notice)}**" for notice in document.notices]
    for section in document.sections:
        parts.append(f"## {escaped(section.heading)}")
        for block in section.blocks:
            parts += written(block)
    return "\n\n".join(part for part in parts if part) + "\n"


def written(block: Block) -> list[str]:
    if isinstance(block, Prose):
        return [escaped(block.text)]
    if isinstance(block, Notice):
        return [f"> **{escaped(block.text)}**"]
    if isinstance(block, Table):
        return [f"**{escaped(block.caption)}**", markdown_table(block)]
    if isinstance(block, Forest):
        return written(block.table)
    if isinstance(block, Figure):
        behind = [markdown_table(block.behind)] if block.behind is not None else []
        return [f"**{escaped(block.caption)}** {escaped(block.alt)}", *behind]
    return exhibit(block)


def exhibit(block: Exhibit) -> list[str]:
    lines = [f"### {escaped(block.heading)}", f"> {escaped(block.query)}"]
    for group, texts in block.context:
        lines.append("\n".join([f"- {escaped(group)}", *(f"  - {escaped(k)}: {escaped(v)}" for k, v in texts)]))
    lines.append("\n".join(f"- {escaped(name)}: {escaped(value)}" for name, value in block.facts))
    return [*lines, f"> {escaped(block.reply)}"] if block.reply else lines


def markdown_table(table: Table) -> str:
    """One table."""
    head = "| " + " | ".join(escaped(name) for name in table.columns) + " |"
    rule = "|" + "|".join("---:" if numeric else "---" for numeric in table.numeric) + "|"
    rows = ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in table.rows]
    return "\n".join([head, rule, *rows])


def escaped(text: str) -> str:
    """`text` on one line, with what Markdown or HTML would read as markup made harmless."""
    one_line = " ".join(text.split())
    for character in "\\`*_[]|#":
        one_line = one_line.replace(character, "\\" + character)
    return one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
