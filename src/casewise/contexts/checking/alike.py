"""Contexts that are too like each other: a set of copies tests one thing many times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from casewise.contexts.checking.wording import Wording
from casewise.stats.words.near_duplicates import EarlierTexts, word_runs

__all__ = ["ALIKE", "Alike", "find_alike"]

ALIKE = 0.5
"""Share of word triples in common (Jaccard) from which two contexts are too alike."""
RARE = 40
"""A triple that more contexts have says nothing about two of them, and is not used to find candidates."""


@dataclass(frozen=True)
class Alike:
    """A context, the one most like it, and how alike they are."""

    first: str
    second: str
    similarity: float


def find_alike(wordings: Mapping[str, Wording], *, threshold: float = ALIKE) -> list[Alike]:
    """For each context the most similar earlier one, where that is at least `threshold` similar.

    Exact copies are found by their words; others by the rare word triples that they share, so that the cost grows with
    the set and not with its square.
    """
    said = {key: " ".join(wording.fields().values()).casefold() for key, wording in wordings.items()}
    copies: dict[frozenset[str], str] = {}
    earlier, keys = EarlierTexts(rare=RARE), list[str]()
    found: list[Alike] = []
    for key, text in said.items():
        mine = word_runs(re.findall(r"\w+", text), length=3)
        if (copied := copies.setdefault(mine, key)) != key:
            found.append(Alike(key, copied, 1.0))
            continue
        places, similarity = earlier.most_alike(mine)
        if places and similarity >= threshold:
            found.append(Alike(key, max(keys[place] for place in places), similarity))
        earlier.add(mine)
        keys.append(key)
    return found
