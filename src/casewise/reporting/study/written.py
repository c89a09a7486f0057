"""How the study's report writes a contrast, and a p value."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["contrast_name", "p_value"]


def contrast_name(row: dict[str, Any]) -> str:
    """A pair of conditions, in words that a narrow table can break."""
    return f"{row['first']} − {row['second']}".replace("_", " ")


def p_value(p: float | None, log_p: float | None = None) -> str:
    """A p value written out; below the smallest number as a power of ten, from its logarithm."""
    if p is None:
        return "–"
    if p >= 0.001:
        return f"{p:.3f}"
    if p > 0:
        return f"{p:.1e}"
    return "< 1e-300" if log_p is None else f"1e{math.floor(log_p / math.log(10))}"
