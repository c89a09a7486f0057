"""Scores in prose: `8`, `8/10`, `Score: 8`, `I would give it an eight`."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["ScoreReading", "number_in", "scores_in"]

ScoreReading = list[float]
"""Each score stated, in order. One on another scale reads as infinite: it is out of range, whatever it is."""

WORDS = {
    word: float(value)
    for value, word in enumerate("zero one two three four five six seven eight nine ten".split())  # noqa: SIM905
}
NUMBER = r"[-+−]?\d+(?:\.\d+)?|\b(?:" + "|".join(WORDS) + r")\b"
SCALE = re.compile(
    r"(?:between|from|scale(?:\s+of)?|range(?:\s+of)?|\()\s*(?:1|one)(?:\.0)?\s*(?:and|to|-|–|—)\s*(?:10|ten)(?:\.0)?\)?"
    r"|\b1\s*(?:-|–|—|to)\s*10\b",
    re.IGNORECASE,
)
RANGE = re.compile(rf"({NUMBER})\s*(?:-|–|—|to|or)\s*({NUMBER})", re.IGNORECASE)
OUT_OF = re.compile(rf"({NUMBER})\s*(?:/|out\s+of)\s*(\d+)", re.IGNORECASE)
LABELLED = re.compile(
    r"(?:\b(?:scores?|rating|judge?ments?|verdict|answer|rate|rated|grade)\b[\"'”*_]*\s*"
    r"(?:[:=–—]|-(?!\d)|\b(?:of|is|as|it|this|the|query|request|at|would|be)\b|\s)*[\"'“*_]*\s*(?:an?\s+)?"
    r"|\b(?:give|assign)\b[^.\n\d]{0,40}?)[\"'“*_]*"
    rf"({NUMBER})(?!\s*(?:/|out\s+of|-|–|—)\s*\d)",
    re.IGNORECASE,
)
LEADING = re.compile(rf"\A[\"'“*_`\s]*({NUMBER})[\"'”*_`]*\s*(?:[-–—:,(]\s*(?!\d)|\n)", re.IGNORECASE)
BARE = re.compile(rf"\A\W*({NUMBER})\W*\Z", re.IGNORECASE)


def value_of(text: str) -> float:
    text = text.strip().lower().replace("−", "-")
    return WORDS[text] if text in WORDS else float(text)


def on_ten(match: re.Match[str]) -> float:
    return value_of(match[1]) if match[2] == "10" else float("inf")


def number_in(value: Any) -> ScoreReading:
    """The scores in the value of a JSON key: a number, or a text that holds some."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [float(value)]
    if isinstance(value, str):
        text = SCALE.sub(" ", value)
        if outs := [on_ten(match) for match in OUT_OF.finditer(text)]:
            return outs
        return [value_of(match) for match in re.findall(rf"(?<![\w.])(?:{NUMBER})(?![\w%])", text, re.IGNORECASE)]
    return []


def scores_in(text: str) -> ScoreReading:
    """The scores that prose states: with `/10`, after a label, or as the whole reply."""
    text = SCALE.sub(" ", text)
    if match := BARE.match(text):
        return [value_of(match[1])]
    if outs := [on_ten(match) for match in OUT_OF.finditer(text)]:
        return outs
    if match := LEADING.match(text):
        return [value_of(match[1])]
    found = [value_of(match[1]) for match in LABELLED.finditer(text)]
    if ranges := [value_of(side) for match in RANGE.finditer(text) for side in (match[1], match[2])]:
        return [*found, *ranges]
    return found
