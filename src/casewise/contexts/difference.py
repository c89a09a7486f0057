"""What changed between two texts, word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from casewise.contexts.checks import Wording
from casewise.records import ParameterSet, paper_parameters

WORDS = re.compile(r"\w+|[^\w\s]|\s+")


@dataclass(frozen=True)
class Piece:
    """A run of words that both texts have, or only the first (`gone`), or only the second (`new`)."""

    kind: Literal["same", "gone", "new"]
    text: str


def difference(before: str, after: str) -> list[Piece]:
    """The pieces of `before` and `after` in reading order; what is gone comes before what is new in its place.

    Putting together all that is not `new` gives `before`; all that is not `gone`, `after`.
    """
    first, second = WORDS.findall(before), WORDS.findall(after)
    pieces: list[Piece] = []
    for tag, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(first[a:b])))
            continue
        if a < b:
            pieces.append(Piece("gone", "".join(first[a:b])))
        if c < d:
            pieces.append(Piece("new", "".join(second[c:d])))
    return pieces


def wording_difference(
    before: Wording | None, after: Wording | None, parameters: ParameterSet = paper_parameters()
) -> dict[str, list[Piece]]:
    """The difference in each of `parameters` that either wording states, by dotted name in reading order."""
    first, second = (words.fields() if words else {} for words in (before, after))
    return {
        name: difference(first.get(name, ""), second.get(name, ""))
        for name in parameters.every
        if name in first or name in second
    }


def is_same(pieces: list[Piece]) -> bool:
    """Whether nothing changed."""
    return all(piece.kind == "same" for piece in pieces)
