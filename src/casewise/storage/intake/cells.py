"""Cells of a table by their part of a case, read where a text can be read in one way only."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

from casewise.errors import ConfigurationError, DataError
from casewise.records import ParameterSet, RatingScale, Taxonomy, Vote
from casewise.storage.entries import Entry, id_key, number_of
from casewise.storage.files import shortened_json
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.intake.table import Table, structured
from casewise.storage.words import MeaningSource, NotApplicable, VerdictWords, plain_word

Repeats = Literal["refuse", "merge", "first", "keep"]


@dataclass(frozen=True)
class Policies:
    """Rules for rows and cells that can be read in several ways. The defaults refuse."""

    repeats: Repeats = "refuse"
    """Treatment of a case, or an annotator's rating, that occurs several times. merge: equal rows are one. first: the first counts.
    keep: each is a case of its own."""
    skip_bad: bool = False
    """Leave out rows that cannot be read, and write them with the reasons to a file beside the benchmark."""
    separator: str | None = None
    """The character between the ratings in a cell; '' if a cell holds one. JSON lists need none."""
    percent: bool = False
    """The shares are percentages without a sign."""
    keep_secrets: bool = False
    """Keep keys, passwords and numbers of cards in actions and the conversations before them. By default they are masked."""
    action_words: Path | None = None
    """A TOML file with the words in which actions are shown, in place of casewise's own."""


@dataclass(frozen=True)
class CaseFrame:
    """The facts about a file of cases that the file does not state.

    Without `taxonomy` the categories are SORRY-Bench's where all are of these, else those in the file; without
    `parameters` a context may state any.
    """

    taxonomy: Taxonomy | None = None
    parameters: ParameterSet | None = None
    words: VerdictWords = field(default_factory=VerdictWords)
    scale: RatingScale | None = None
    """The scale of `value`, `mean` and of numbers among `votes`."""
    policies: Policies = field(default_factory=Policies)


NAMES = ("id", "annotator", "cluster", "pair")
"""Parts of a case that are names, which are compared as texts."""

NEVER_MISSING = ("query", "reply", "before", "tool_call", "id")
"""Parts of a case whose texts are taken as they are, even NA."""

SUMS = ("total", "totals", "grand total", "sum", "average", "mean")
"""Names of the row below a table that sums it up."""

MOST_KEPT = 10**15
"""The smallest whole number of which a spreadsheet program does not keep all digits."""

CUT_NUMBER = re.compile(r"\d[.,]\d+E\+\d+")
"""A number in the notation that spreadsheet programs give to one with many digits."""

SEPARATORS = (",", ";", "|", "\n", "/")
"""Characters that may stand between the ratings of a cell."""


class CaseCells:
    """The cells of a table by part of a case, with what holds for whole columns: missing values, units, separators and words.

    Raises DataError: names or shares in a column cannot be told. ConfigurationError: a cell can be read in several ways.
    """

    def __init__(self, table: Table, columns: CaseColumns, frame: CaseFrame) -> None:
        words = replace(frame.words, of_replies=columns.judged_word == "reply")
        self.table, self.columns, self.frame = table, columns, replace(frame, words=words)
        self.column = columns.named
        """The name of the column for each part of a case that has one."""
        self.words: Counter[tuple[str, str, str, str]] = Counter()
        """How often each word was read: column, word, reading, why."""
        self.readings: dict[tuple[str, str], tuple[Vote | NotApplicable, MeaningSource]] = {}
        """What each word of a column was read as, and why."""
        self.notes = list(table.notes)
        self.by_part: dict[str, list[Any]] = {}
        """The cells of each part, without those that state that their value is missing."""
        for part, column in self.column.items():
            if part in NAMES:
                table.columns[column] = self.names(column, table.columns[column])
            cells = table.columns[column]
            self.by_part[part] = cells if part in NEVER_MISSING else self.without_missing(column, cells)
        for column in columns.parameters:
            table.columns[column] = self.without_missing(column, table.columns[column])
        last = len(table) - 1
        self.place_of_sums = last if last > 0 and plain_word(self.get(last, "query")) in SUMS else None
        policies = frame.policies
        self.unit = share_unit(table, self.column["rate"], percent=policies.percent) if "rate" in self.column else 1.0
        if self.unit != 1:
            self.notes.append(f"{self.column['rate']!r} was read as percentages.")
        self.separator = ""
        if "votes" in self.column:
            column, comma = self.column["votes"], table.decimal_comma
            self.separator = separator_of(
                self.by_part["votes"], column, self.can_read, declared=policies.separator, decimal_comma=comma
            )
            if self.separator:
                self.notes.append(f"Cells of {column!r} were split at {self.separator!r}.")

    def without_missing(self, column: str, cells: list[Any]) -> list[Any]:
        """Return the cells with None for each text that states a missing value; these are counted."""
        words = self.frame.words
        texts = Counter(cell for cell in cells if isinstance(cell, str))
        missing = {text: n for text, n in texts.items() if words.is_missing(text)}
        for text, n in missing.items():
            declared = plain_word(text) in map(plain_word, words.missing_word)
            self.words[column, text, "missing", "declared" if declared else "listed"] += n
        return [None if isinstance(cell, str) and cell in missing else cell for cell in cells] if missing else cells

    def names(self, column: str, cells: list[Any]) -> list[Any]:
        """Return the names in a column. Where all are whole numbers, `7.0` of a column with empty cells is `7`.

        Raises DataError: a spreadsheet program has cut the digits of a long number.
        """
        texts = {cell for cell in cells if isinstance(cell, str)}
        cut: list[str | int] = [text for text in sorted(texts) if CUT_NUMBER.fullmatch(text)]
        if self.table.format == "Excel":
            cut += [cell for cell in cells if isinstance(cell, int) and abs(cell) >= MOST_KEPT]
        if cut:
            self.table.row(cells.index(cut[0])).refuse(
                f"{column!r} is {cut[0]}: a spreadsheet program has cut a long number; save the column as text"
            )
        stated = {text for text in texts if not self.frame.words.is_missing(text)}
        if not all(id_key(text).isdecimal() for text in stated):
            return cells
        return [id_key(cell) if isinstance(cell, str) else cell for cell in cells]

    def can_read(self, part: str) -> bool:
        """Return whether a text can be one rating."""
        scale = self.frame.scale
        if scale is not None:
            number = number_of(part, decimal_comma=self.table.decimal_comma, high=scale.high)
            if number is not None and scale.low <= number <= scale.high:
                return True
        if not part or self.frame.words.is_missing(part):
            return bool(part)
        try:
            return self.frame.words.read(part, self.column["votes"]) is not None
        except ConfigurationError:
            return True  # a boolean is one rating, whatever it means

    def get(self, place: int, part: str) -> Any:
        """Return the cell with a part of a case; None where it is empty, or there is no such column."""
        cells = self.by_part.get(part)
        return None if cells is None else cells[place]

    def name(self, row: Entry, place: int, part: str) -> str | None:
        """Return the name in the cell of a part, or None where it is empty. Raises DataError: it is no name."""
        return None if self.get(place, part) is None else row.name(self.column[part])

    def refuse(self, place: int, part: str, problem: str) -> NoReturn:
        """Raise DataError with the cell of a part and the problem."""
        column = self.column[part]
        self.table.row(place).refuse(f"{column!r} is {cell_text(self.table.columns[column][place])}{problem}")

    def verdict_in(self, place: int, column: str, word: Any, *, name: str | None = None) -> Vote | NotApplicable:
        """Return the verdict that a word of a column states; `name` says it where it is another than the column's."""
        word = structured(word)
        if isinstance(word, list) and len(word) == 1:
            word = word[0]
        shown = word if isinstance(word, str) else cell_text(word)
        reading = self.readings.get((column, shown))
        if reading is None:
            reading = None if isinstance(word, (list, dict)) else self.frame.words.read(word, name or column)
            if reading is None:
                between = ", or the character between ratings with --separator"
                self.table.row(place).refuse(
                    f"{column!r} is {cell_text(word)}, and no option says whether that is safe; name the words with "
                    f"{self.frame.words.options}{between * (column == self.column.get('votes'))}"
                )
            self.readings[column, shown] = reading
        vote, how = reading
        self.words[column, shown, vote, how] += 1
        return vote


def cell_text(cell: Any) -> str:
    """Return a cell as a message shows it."""
    return "empty" if cell is None else shortened_json(cell)


def plain(cell: Any) -> Any:
    """Return a cell as a record may state it: an object of another library as its text, and null for what is empty within."""
    if isinstance(cell, Mapping):
        return {str(name): None if is_empty(part) else plain(part) for name, part in cell.items()}
    if isinstance(cell, (list, tuple)):
        return [None if is_empty(part) else plain(part) for part in cell]
    return cell if cell is None or type(cell) in (str, bool, int, float) else str(cell)


def is_empty(value: Any) -> bool:
    """Return whether a part of an object states nothing: null, no number, or an empty text, list or object."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or value in ([], {}) or (isinstance(value, float) and math.isnan(value))


def share_unit(table: Table, column: str, *, percent: bool) -> float:
    """Return what a number of a column of shares is divided by: 100 where they are percentages, else 1.

    Raises DataError: some are shares and some percentages, with a line of each. ConfigurationError: they are percentages
    without a sign, and no option says so.
    """
    cells, lines = table.columns[column], table.lines
    signed: list[int] = []
    shares: list[int] = []
    large: list[int] = []
    for place, cell in enumerate(cells):
        if isinstance(cell, str) and cell.endswith("%"):
            signed.append(place)
        elif (number := number_of(cell, decimal_comma=table.decimal_comma)) is not None:
            (large if 1 < number <= 100 else shares).append(place)
    nonzero = [place for place in shares if cells[place] not in (0, "0")]
    for some, others in ((signed, shares + large), ([] if percent else large, nonzero)):
        if some and others:
            first, second = sorted((min(some), min(others)))
            raise DataError(
                table.path,
                lines[second],
                f"{column!r} is {cells[second]!r} here and {cells[first]!r} on line {lines[first]}: one is a percentage and one "
                "a share; write all in one form",
            )
    if large and not percent:
        raise ConfigurationError(
            f"{column!r} is {cells[large[0]]!r} on line {lines[large[0]]}; give --percent if the column holds percentages"
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
