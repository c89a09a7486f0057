"""Objects of other people's files read strictly: JSON and lines of text; an error names the place."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from casewise.errors import DataError, did_you_mean
from casewise.storage.files import numbered_lines, parse, read_text, rows, shortened_json

T = TypeVar("T")


MOST_LISTED = 30
"""Keys that a message lists."""


MOST_EXACT = 2**53
"""The smallest number that is no more exact as a floating-point number."""


class Entry:
    """One object of a file, such as a row or a JSON object, with its place for error messages."""

    __slots__ = ("line", "path", "values", "where")

    def __init__(self, path: Path, line: int | None, values: Any, where: str = "") -> None:
        self.path, self.line, self.where = path, line, where
        if not isinstance(values, Mapping):
            self.refuse(f"is {shortened_json(values)}, not an object with keys")
        self.values: Mapping[str, Any] = values

    def refuse(self, problem: str, error: type[DataError] = DataError) -> NoReturn:
        """Raise an error that names the file, the line and the object."""
        raise error(self.path, self.line, f"{self.where}{': ' if self.where else ''}{problem}")

    def value(self, key: str) -> Any:
        """Return the value of `key`. Refuse an entry without it."""
        value = self.values.get(key)
        if value is None or value == "":
            keys = [str(name) for name in self.values]
            state = "is empty" if key in self.values else f"is not there{did_you_mean(key, keys)}"
            more = f" and {len(keys) - MOST_LISTED:,} more" if len(keys) > MOST_LISTED else ""
            self.refuse(f"{key!r} {state}; it has {', '.join(keys[:MOST_LISTED]) or 'nothing'}{more}")
        return value

    def has(self, key: str) -> bool:
        """Return True if `key` has a value."""
        return self.values.get(key) not in (None, "")

    def text(self, key: str) -> str:
        """Return a text that is not blank."""
        text = self.value(key)
        if not isinstance(text, str) or not text.strip() or "\0" in text:
            self.refuse(f"{key!r} is {shortened_json(text)}, not a text")
        return text

    def name(self, key: str) -> str:
        """Return the name under `key`: a text, a number or a date, as text."""
        name = self.value(key)
        if isinstance(name, bool) or not isinstance(name, (str, int, float, date, Decimal)) or not str(name).strip():
            self.refuse(f"{key!r} is {shortened_json(name)}, not a name or a number")
        if isinstance(name, float) and abs(name) >= MOST_EXACT:
            self.refuse(f"{key!r} is {name:.0f}, a number whose last digits are lost; save the column as text")
        return name_text(name)

    def number(self, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a number from `low` to `high`; a decimal comma is one."""
        return self.number_in(self.value(key), key, low, high)

    def number_in(self, value: Any, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        """Return `value`, which stands under `key`, as a number from `low` to `high`."""
        number = number_of(value)
        if number is None or not low <= number <= high:
            span = f" from {low:g} to {high:g}" if math.isfinite(low) and math.isfinite(high) else ""
            self.refuse(f"{key!r} is {shortened_json(value)}, not a number{span}")
        return number

    def whole_in(self, value: Any, key: str, low: int, high: int) -> int:
        """Return `value`, which stands under `key`, as a whole number from `low` to `high`."""
        if (number := self.number_in(value, key, low, high)) != int(number):
            self.refuse(f"{key!r} is {shortened_json(value)}, not a whole number")
        return int(number)

    def word(self, key: str, words: Mapping[str, T]) -> T:
        """Return the value that the word under `key` stands for."""
        return self.word_in(self.value(key), key, words)

    def word_in(self, word: Any, key: str, words: Mapping[str, T]) -> T:
        """Return the value that `word`, found under `key`, stands for."""
        if not isinstance(word, str) or word not in words:
            self.refuse(f"{key!r} is {shortened_json(word)}, not one of {', '.join(words)}")
        return words[word]

    def list(self, key: str) -> list[Any]:
        """Return a list, which may be empty."""
        values = self.values.get(key)
        if not isinstance(values, list):
            self.value(key)
            self.refuse(f"{key!r} is {shortened_json(values)}, not a list")
        return values

    def entry(self, key: str) -> Entry:
        """Return the object under `key`."""
        return Entry(self.path, self.line, self.value(key), f"{self.where}{', ' if self.where else ''}{key}")

    def entries(self, key: str) -> Iterator[Entry]:
        """Yield the objects of the list under `key`, counted from 1."""
        for number, value in enumerate(self.list(key), 1):
            yield Entry(self.path, self.line, value, f"{self.where}{', ' if self.where else ''}{key} {number}")


def json_entries(path: Path) -> list[Entry]:
    """Return the objects of a JSON array or of JSON Lines, with the lines that they begin on. Raises DataError: there are none."""
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        entries = [Entry(path, number, parse(line, path=path, line=number)) for number, line in numbered_lines(path)]
    else:
        elements = enumerate(rows(read_text(path), path=path), 1)
        entries = [Entry(path, line, value, f"row {number}") for number, (line, value) in elements]
    if not entries:
        raise DataError(path, None, "holds no rows")
    return entries


def json_entry(path: Path) -> Entry:
    """Return the object that a JSON file holds."""
    return Entry(path, None, parse(read_text(path), path=path))


def text_lines(path: Path) -> list[Entry]:
    """Return the lines of a text file, each under the key `line`; the last may lack its line break. Raises DataError: one is
    blank.
    """
    lines = [line.removesuffix("\r") for line in read_text(path).removesuffix("\n").split("\n")]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise DataError(path, number, "is blank; each line holds one item")
    return [Entry(path, number, {"line": line}) for number, line in enumerate(lines, 1)]


def once(entry: Entry, key: str, names: set[str]) -> str:
    """Return the name under `key`, which no earlier entry has."""
    name = entry.name(key)
    if name in names:
        entry.refuse(f"{key!r} is {name!r} a second time; each stands once")
    names.add(name)
    return name


def name_text(cell: object) -> str:
    """Return a name as text; a whole number has no decimals."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def id_key(cell: object) -> str:
    """Return a name as names are compared: `7.0`, as programs write the 7 of a column with empty cells, is `7`."""
    name = name_text(cell)
    return name[:-2] if name.endswith(".0") and name[:-2].isdecimal() else name


def text_or_json(value: Any) -> str:
    """Return `value` as one cell of a table."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


AMBIGUOUS = re.compile(r"[+-]?\d{1,3},\d{3}")
"""A number that is a thousand times as large where the comma separates thousands."""

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")

OF_SO_MANY = re.compile(r"(?P<number>\S+?)\s*/\s*(?P<high>\d+(?:\.\d+)?)")
"""A rating with the end of its scale: 7/10."""


def number_of(cell: Any, *, decimal_comma: bool = False, high: float | None = None) -> float | None:
    """Return a cell as a number, or None if it is not a number or is ambiguous.

    Parameters
    ----------
    decimal_comma
        Whether numbers of the file have a decimal comma, so that 1,234 is less than two.
    high
        The end of the scale, so that 7/10 is a 7 on a scale to 10.
    """
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, str):
        text = cell.strip().replace("\u00a0", "").replace("\u2212", "-")
        if high is not None and (match_of := OF_SO_MANY.fullmatch(text)):
            if float(match_of["high"]) != high:
                return None
            text = match_of["number"]
        if DECIMAL_COMMA.fullmatch(text):
            if AMBIGUOUS.fullmatch(text) and not decimal_comma:
                return None
            text = text.replace(",", ".")
        if "_" in text:
            return None
        cell = text
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
