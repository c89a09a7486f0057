"""Tokens with which a reply of a label can begin: `safe`, ` Safe`, `SAFE`, `un` …"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

QUOTES = "\"'`“”‘’*_"
MARKS = " \t\r\n.,:;!" + QUOTES + "▁Ġ"
"""Characters around a word in a token; the last two are how tokenizers write a space."""

SHORTEST_BEGINNING = 2
"""A single letter begins too many words to stand for one."""


def spellings(word: str) -> tuple[str, ...]:
    """Return the ways in which a reply may begin with `word`: three cases, with a space, a quotation mark or both before it."""
    cases = (word.lower(), word.capitalize(), word.upper())
    return tuple(f"{before}{case}" for before in ("", " ", '"', ' "', "**", "\n") for case in cases)


def class_of(token: str, words: Mapping[str, str]) -> str | None:
    """Return the class of the word that `token` is or begins, by `words` with their classes, or None.

    A token of at least two letters that begins words of one class alone counts for it (`un` for `unsafe`), because the
    model has to reply with one of the words and nothing else.
    """
    stripped = token.strip(MARKS).casefold()
    if stripped in words:
        return words[stripped]
    short = len(stripped) < SHORTEST_BEGINNING
    begun = set() if short else {kind for word, kind in words.items() if word.startswith(stripped)}
    return begun.pop() if len(begun) == 1 else None


def first_token_ids(
    words: Iterable[str], encode: Callable[[str], list[int]], decode: Callable[[int], str]
) -> Mapping[str, tuple[int, ...]]:
    """Return for each word the ids of the tokens with which a reply of it may begin, by trying all spellings.

    A first token that begins spellings of two words (a lone space or quotation mark) is left out, as is one that does not
    begin its word.
    """
    ids_of: dict[str, dict[int, None]] = {word: {} for word in words}
    itself = {word: word for word in ids_of}
    for word, tokens in ids_of.items():
        for spelling in spellings(word):
            ids = encode(spelling)
            if ids and class_of(decode(ids[0]), itself) == word:
                tokens[ids[0]] = None
    shared = set.intersection(*(set(ids) for ids in ids_of.values()))
    return {word: tuple(id_ for id_ in ids if id_ not in shared) for word, ids in ids_of.items()}
