"""Numbers as JSON that other programs read: one way of writing it, in which what is counted is a whole number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["json_text"]


def json_text(value: Any) -> str:
    """`value` as one JSON document; `n`, `n_…` and `items` are whole numbers (a tie, which counts half in each class, may be half)."""
    return json.dumps(counted(value), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def counted(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: counted(one, str(key)) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [counted(one) for one in value]
    is_count = name in ("n", "items") or name.startswith("n_")
    return int(value) if is_count and isinstance(value, float) and value.is_integer() else value
