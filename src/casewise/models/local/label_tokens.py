"""Which tokens say which word: `safe`, ` Safe`, `SAFE`, `un` …"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

__all__ = ["MARKS", "SHORTEST_BEGINNING", "first_token_ids", "spellings", "word_of"]

QUOTES = "\"'`“”‘’*_"
MARKS = " \t\r\n.,:;!" + QUOTES + "▁Ġ"
"""What may stand around a word in a token; the last two are how tokenizers write a space."""

SHORTEST_BEGINNING = 2
"""A single letter begins too many words to stand for one."""


def spellings(word: str) -> tuple[str, ...]:
    """The ways a model may begin its reply with `word`: three cases, each with and without a space, a quotation mark
    or both before it."""
    cases = (word.lower(), word.capitalize(), word.upper())
    return tuple(f"{before}{case}" for before in ("", " ", '"', ' "', "**", "\n") for case in cases)


def word_of(token: str, words: Iterable[str]) -> str | None:
    """The one of `words` that `token` says or begins to say, or None.

    A token that is the beginning of exactly one of the words counts for it (`un` for `unsafe`), if it has at least two
    letters: the model was told to reply with one of the words and nothing else.
    """
    bare = token.strip(MARKS).casefold()
    if len(bare) < SHORTEST_BEGINNING:
        return None
    if bare in words:
        return bare
    begun = [word for word in words if word.startswith(bare)]
    return begun[0] if len(begun) == 1 else None


def first_token_ids(
    words: Iterable[str], encode: Callable[[str], list[int]], decode: Callable[[int], str]
) -> Mapping[str, tuple[int, ...]]:
    """For each word, the ids of the tokens with which a reply of that word may begin, found by trying all spellings.

    A first token that begins spellings of two words (a lone space or quotation mark) decides nothing and is left out;
    so is one that is no beginning of its word.
    """
    found: dict[str, dict[int, None]] = {word: {} for word in words}
    for word, tokens in found.items():
        for spelling in spellings(word):
            ids = encode(spelling)
            if ids and word_of(decode(ids[0]), found) == word:
                tokens[ids[0]] = None
    shared = set.intersection(*(set(ids) for ids in found.values()))
    return {word: tuple(id_ for id_ in ids if id_ not in shared) for word, ids in found.items()}
