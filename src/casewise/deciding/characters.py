"""Characters that a person does not see, or takes for others: requests that have them are not like those that were measured."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u2060-\u2064\u206a-\u206f\u202a-\u202e\u2066-\u2069\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
"""Characters that are not displayed, or that change the order of others: tag characters, characters of no width, controls of direction,
fillers, private use. Joiners, marks of direction and the variation selectors of emoji are part of ordinary text and stand apart."""

LIKE_LATIN = ("CYRILLIC", "GREEK")
"""Scripts with letters that look like Latin ones."""

MAX_CODE_POINTS = 3


def hidden_characters(texts: Iterable[str]) -> str | None:
    """Describe the characters of these texts that a reader cannot see or tell apart; None if there are none.

    Examples
    --------
    >>> hidden_characters(["a nurse"])
    >>> hidden_characters(["a\\u200bnurse"])
    'it has characters that are not displayed (U+200B)'
    >>> hidden_characters(["\\u0430pproved"])
    'it has words in which letters of two scripts look alike (U+0430)'
    """
    text = "\n".join(texts)
    if hidden := dict.fromkeys(HIDDEN.findall(text)):
        return f"it has characters that are not displayed ({code_points(hidden)})"
    if text.isascii():
        return None
    mixed = [letter for word in re.findall(r"\w+", text) if not word.isascii() for letter in look_alikes(word)]
    if mixed:
        return f"it has words in which letters of two scripts look alike ({code_points(dict.fromkeys(mixed))})"
    return None


def look_alikes(word: str) -> list[str]:
    """Return the letters of a word that are Cyrillic or Greek where others are Latin."""
    scripts = [unicodedata.name(letter, "").partition(" ")[0] for letter in word]
    if "LATIN" not in scripts:
        return []
    return [letter for letter, script in zip(word, scripts, strict=True) if script in LIKE_LATIN]


def code_points(characters: Iterable[str]) -> str:
    codes = [f"U+{ord(character):04X}" for character in characters]
    return ", ".join(codes[:MAX_CODE_POINTS]) + (" and others" if len(codes) > MAX_CODE_POINTS else "")
