"""Recognising a reply that declines to do what it was asked."""

from __future__ import annotations

import re

__all__ = ["declines", "refuses"]

REFUSAL = re.compile(
    r"\b(?:I\s+(?:can(?:not|['’]t)|won['’]t|will\s+not|am\s+(?:not\s+able|unable)|must\s+(?:decline|refuse)|decline|refuse|"
    r"do\s+not\s+feel|don['’]t\s+feel|would\s+(?:rather|prefer)\s+not)|I['’]m\s+(?:unable|not\s+able|not\s+comfortable|sorry)|"
    r"(?:I\s+)?(?:cannot|can['’]t|unable\s+to)\s+(?:help|assist|comply|fulfil|provide|judge|evaluate|assess|make|give|rate))\b",
    re.IGNORECASE,
)
APOLOGY = re.compile(r"\A\W*(?:I['’]m sorry|sorry|I apologi[sz]e|apologies|unfortunately)\b", re.IGNORECASE)
OPENING = 300
"""Characters in which a refusal is said; later ones argue about something else."""


def refuses(text: str) -> bool:
    """Whether a reply begins by declining."""
    return bool(APOLOGY.search(text.strip()[:OPENING]) or declines(text))


def declines(text: str) -> bool:
    """Whether a reply begins by saying that it does not do what was asked; an apology alone is none."""
    return bool(REFUSAL.search(text.strip()[:OPENING]))
