"""Formulas of the documentation site as MathML, which every browser draws by itself: no script is fetched to draw them."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

from latex2mathml.converter import convert

__all__ = ["display", "inline"]


def inline(source: str, language: str, css_class: str, _md: Any, **_: Any) -> str:  # noqa: ARG001
    """What pymdownx.inlinehilite calls for a formula within a line."""
    return mathml(source, display="inline")


def display(source: str, language: str, css_class: str, options: Any, _md: Any, **_: Any) -> str:  # noqa: ARG001
    """What pymdownx.superfences calls for a formula on a line of its own."""
    return f'<div class="{escape(css_class)}" tabindex="0">{mathml(source, display="block")}</div>'


def mathml(source: str, *, display: str) -> str:
    found: str = convert(" ".join(source.split()), display=display)
    return found
