"""Cells read as numbers, shares and lists, where a text can be read in one way only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from casewise.errors import ConfigurationError, DataError
from casewise.storage.entries import number_of
from casewise.storage.intake.table import Table, structured

SEPARATORS = (",", ";", "|", "\n", "/")
"""Characters that may stand between the ratings of a cell."""


def share_unit(table: Table, column: str, *, percent: bool) -> float:
    """Return what a number of a column of shares is divided by: 100 where they are percentages, else 1.

    Raises DataError: some are shares and some percentages, with a line of each. ConfigurationError: they are percentages
    without a sign, and nobody said so.
    """
    signed: list[int] = []
    shares: list[int] = []
    large: list[int] = []
    for place, cell in enumerate(table.columns[column]):
        if cell is None:
            continue
        if isinstance(cell, str) and cell.endswith("%"):
            signed.append(place)
        elif (number := number_of(cell, decimal_comma=table.decimal_comma)) is not None:
            (large if 1 < number <= 100 else shares).append(place)
    plain = sorted(shares + large)
    for one, other in (
        (signed, plain),
        (large, [place for place in shares if table.columns[column][place] not in (0, "0")]),
    ):
        if one and other and not (one is large and percent):
            first, second = sorted((one[0], other[0]))
            raise DataError(
                table.path,
                table.lines[second],
                f"{column!r} is {table.columns[column][second]!r} here and {table.columns[column][first]!r} on line "
                f"{table.lines[first]}: one is a percentage and one a share; write all in one form",
            )
    if large and not percent:
        raise ConfigurationError(
            f"{column!r} is {table.columns[column][large[0]]!r} on line {table.lines[large[0]]}; give --percent if the column "
            "holds percentages"
        )
    return 100.0 if signed or percent else 1.0


def separator_of(
    cells: Iterable[Any], column: str, can_read: Callable[[str], bool], *, declared: str | None, decimal_comma: bool
) -> str:
    """Return the character between the ratings in the cells of a column; empty where each text is one rating.

    Lists need none. Without a `declared` one there must be a single way to read every cell.

    Raises ConfigurationError: there are several ways, or none; the message names the option.
    """
    if declared is not None:
        return declared
    texts = {cell for cell in cells if isinstance(cell, str) and not isinstance(structured(cell), list)}
    if not texts:
        return ""
    ways = [
        separator
        for separator in ("", *SEPARATORS)
        if (not separator or any(separator in text for text in texts))
        and all(all(can_read(part) for part in parts(text, separator) if part or not separator) for text in texts)
    ]
    if "" in ways and (ways == [""] or decimal_comma):
        return ""
    if len(ways) == 1:
        return ways[0]
    example = min(texts, key=lambda text: (can_read(text), text))
    if not ways:
        if not any(separator in text for text in texts for separator in SEPARATORS):
            return ""  # each is one word, and the word is what cannot be read
        raise ConfigurationError(
            f"{column!r} is {example!r}; give the character between its ratings with --separator, and words that casewise does "
            "not know with --safe-word, --unsafe-word and --unsure-word"
        )
    raise ConfigurationError(
        f"{column!r} is {example!r}, which may be one rating or several; give --separator '' for one, or the character between "
        "them, such as --separator ','"
    )


def parts(text: str, separator: str) -> Sequence[str]:
    """Return the ratings in a text."""
    return [part.strip().strip("\"'") for part in text.split(separator)] if separator else [text]
