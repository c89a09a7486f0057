"""A report as JSON: what stands in it, for reports that have no numbers of their own to give."""

from __future__ import annotations

import math
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import polars as pl

from casewise.reporting.document import Block, Document, Figure, Forest, Notice, Prose, Table

__all__ = ["document_json", "plain"]


def document_json(document: Document) -> dict[str, Any]:
    """The whole of `document` as plain JSON values; a table is its heads and its cells as they are written."""
    return {
        "title": document.title,
        "subtitle": document.subtitle,
        "notices": list(document.notices),
        "sections": [
            {
                "name": section.anchor,
                "heading": section.heading,
                "blocks": [block_json(block) for block in section.blocks],
            }
            for section in document.sections
        ],
    }


def block_json(block: Block) -> dict[str, Any]:
    if isinstance(block, (Prose, Notice)):
        return {"text": block.text}
    if isinstance(block, Table):
        return {
            "table": block.name,
            "caption": block.caption,
            "columns": list(block.columns),
            "rows": [list(row) for row in block.rows],
        }
    if isinstance(block, Forest):
        return block_json(block.table)
    if isinstance(block, Figure):
        behind = {"behind": block_json(block.behind)} if block.behind is not None else {}
        return {"figure": block.name, "caption": block.caption, "shows": block.alt, **behind}
    return {
        "exhibit": block.heading,
        "facts": [list(fact) for fact in block.facts],
        "query": block.query,
        "context": {group: dict(texts) for group, texts in block.context},
        **({"reply": block.reply} if block.reply else {}),
    }


def plain(value: Any) -> Any:
    """`value` as JSON knows it; numbers that are none become null."""
    if isinstance(value, pl.DataFrame):
        return plain(value.to_dicts())
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(part) for key, part in vars(value).items()}
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
