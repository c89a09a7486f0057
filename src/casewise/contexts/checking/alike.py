"""Contexts that are too like each other: a set of copies tests one thing many times."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from casewise.contexts.checking.wording import Wording

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
    triples = {key: word_triples(wording) for key, wording in wordings.items()}
    copies: dict[frozenset[str], str] = {}
    holders: dict[str, list[str]] = defaultdict(list)
    found: list[Alike] = []
    for key, mine in triples.items():
        if (copied := copies.setdefault(mine, key)) != key:
            found.append(Alike(key, copied, 1.0))
            continue
        candidates = {other for triple in mine if len(holders[triple]) <= RARE for other in holders[triple]}
        best = max(candidates, key=lambda other: (jaccard(mine, triples[other]), other), default=None)
        if best is not None and (similarity := jaccard(mine, triples[best])) >= threshold:
            found.append(Alike(key, best, similarity))
        for triple in mine:
            holders[triple].append(key)
    return found


def word_triples(wording: Wording) -> frozenset[str]:
    words = re.findall(r"\w+", " ".join(wording.fields().values()).casefold())
    return frozenset(" ".join(words[at : at + 3]) for at in range(len(words) - 2))


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second) if first or second else 1.0
