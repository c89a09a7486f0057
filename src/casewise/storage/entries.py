"""Files of other people read strictly: every value is checked for its type, and an error names the place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from casewise.errors import DataError, did_you_mean
from casewise.storage.files import brief, parse, read_text, rows

T = TypeVar("T")


class Entry:
    """One object of a file: a row of a table or an object in JSON, with the place where it stands."""

    __slots__ = ("line", "path", "values", "where")

    def __init__(self, path: Path, line: int | None, values: Any, where: str = "") -> None:
        self.path, self.line, self.where = path, line, where
        if not isinstance(values, Mapping):
            self.refuse(f"is {brief(values)}, not an object with keys")
        self.values: Mapping[str, Any] = values

    def refuse(self, problem: str) -> NoReturn:
        """Raise a DataError that names the file, the line and the object."""
        raise DataError(self.path, self.line, f"{self.where}{': ' if self.where else ''}{problem}")

    def value(self, key: str) -> Any:
        """The value of `key`; the entry is refused without one."""
        value = self.values.get(key)
        if value is None or value == "":
            state = "is empty" if key in self.values else f"is not there{did_you_mean(key, map(str, self.values))}"
            self.refuse(f"{key!r} {state}; it has {', '.join(map(str, self.values)) or 'nothing'}")
        return value

    def has(self, key: str) -> bool:
        """Whether `key` has a value."""
        return self.values.get(key) not in (None, "")

    def text(self, key: str) -> str:
        """A text with at least one character that is no space."""
        text = self.value(key)
        if not isinstance(text, str) or not text.strip() or "\0" in text:
            self.refuse(f"{key!r} is {brief(text)}, not a text")
        return text

    def name(self, key: str) -> str:
        """What calls something by a text or a whole number."""
        name = self.value(key)
        if isinstance(name, bool) or not isinstance(name, (str, int)) or not str(name).strip():
            self.refuse(f"{key!r} is {brief(name)}, not a name or a whole number")
        return str(name)

    def number(self, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        """A number from `low` to `high`."""
        return self.number_in(self.value(key), key, low, high)

    def number_in(self, value: Any, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        """`found`, which stands under `key`, as a number from `low` to `high`."""
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number) or not low <= number <= high:
            span = f" from {low:g} to {high:g}" if math.isfinite(low) else ""
            self.refuse(f"{key!r} is {brief(value)}, not a number{span}")
        return number

    def word(self, key: str, words: Mapping[str, T]) -> T:
        """What the word under `key` stands for."""
        return self.word_in(self.value(key), key, words)

    def word_in(self, word: Any, key: str, words: Mapping[str, T]) -> T:
        """What `found`, which stands under `key`, stands for."""
        if not isinstance(word, str) or word not in words:
            self.refuse(f"{key!r} is {brief(word)}, not one of {', '.join(words)}")
        return words[word]

    def list(self, key: str) -> list[Any]:
        """A list, perhaps an empty one."""
        values = self.values.get(key)
        if not isinstance(values, list):
            self.value(key)
            self.refuse(f"{key!r} is {brief(values)}, not a list")
        return values

    def entry(self, key: str) -> Entry:
        """The object under `key`."""
        return Entry(self.path, self.line, self.value(key), f"{self.where}{', ' if self.where else ''}{key}")

    def entries(self, key: str) -> Iterator[Entry]:
        """The objects of the list under `key`, counted from 1."""
        for number, value in enumerate(self.list(key), 1):
            yield Entry(self.path, self.line, value, f"{self.where}{', ' if self.where else ''}{key} {number}")


def json_entries(path: Path) -> Iterator[Entry]:
    """The objects of a JSON array, with the lines that they begin on. Raises DataError: there are none."""
    number = 0
    for number, line, value in rows(read_text(path), path=path):
        yield Entry(path, line, value, f"entry {number}")
    if not number:
        raise DataError(path, None, "the list is empty")


def json_entry(path: Path) -> Entry:
    """The object that a JSON file holds."""
    return Entry(path, None, parse(read_text(path), path=path))


def text_lines(path: Path) -> list[str]:
    """The lines of a text file; the last may lack its line break. Raises DataError: one is blank."""
    lines = [line.removesuffix("\r") for line in read_text(path).removesuffix("\n").split("\n")]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise DataError(path, number, "is blank; each line holds one item")
    return lines


def once(entry: Entry, key: str, seen: set[str]) -> str:
    """The name under `key`, which no earlier entry has."""
    name = entry.name(key)
    if name in seen:
        entry.refuse(f"{key!r} is {name!r} a second time; each stands once")
    seen.add(name)
    return name


def text_or_json(value: Any) -> str:
    """`value` as one cell of a table."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
