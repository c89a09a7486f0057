"""Docstrings as the documentation site reads them: formulas and references of reStructuredText become Markdown."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from griffe import Extension, Module, Object

__all__ = ["ReadAsMarkdown"]

INLINE = re.compile(r":math:`([^`]+)`")
DISPLAY = re.compile(r"^( *)\.\. math::[ ]*(.*(?:\n(?:\1 +\S.*|[ ]*(?=\n\1 +\S)))*)", re.MULTILINE)
REFERENCE = re.compile(r"^( *)\.\. \[(\d+)\] (.*(?:\n\1 +\S.*)*)", re.MULTILINE)


class ReadAsMarkdown(Extension):
    """Rewrites each docstring before it is parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Every name that `casewise/__init__.pyi` brings from a room is public."""
        if pkg.exports is None:
            pkg.exports = [name for name, member in pkg.members.items() if member.is_alias and name[0] != "_"]


def as_markdown(text: str) -> str:
    """A docstring with its formulas fenced and its references a numbered list."""
    text = DISPLAY.sub(_fenced, text)
    text = INLINE.sub(lambda found: f"`#!math {' '.join(found[1].split())}`", text)
    return REFERENCE.sub(lambda found: f"{found[1]}{found[2]}. {' '.join(found[3].split())}", text)


def _fenced(found: re.Match[str]) -> str:
    indent, formula = found[1], textwrap.dedent(found[2]).strip()
    body = " ".join(formula.split())
    return f"{indent}```math\n{indent}{body}\n{indent}```"
