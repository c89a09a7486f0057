"""The receipt of an import: how each column and word was read, and what became of every row."""

from __future__ import annotations

from collections.abc import Iterator

from casewise.records.base import Record
from casewise.storage.words import FALSE, TRUE, plain_word
from casewise.text import count_of


class ColumnRead(Record):
    """A column and the role that it was read in."""

    column: str
    role: str
    declared: bool
    """False where its name said it."""


class WordRead(Record):
    """A word of a column and the verdict it was read as."""

    column: str
    word: str
    read_as: str
    """safe, unsafe, unsure, missing or not applicable."""
    how: str
    """declared, listed, or by the column's name."""
    n: int
    """Cells with it."""


class MergedRows(Record):
    """Rows that were merged or dropped for one reason."""

    reason: str
    n: int
    first_line: int | None = None
    first: str = ""
    """The first of them."""


class Receipt(Record):
    """The record of an import. Rows = kept + merged + dropped."""

    file: str
    format: str
    n_rows: int
    n_kept: int
    columns: tuple[ColumnRead, ...] = ()
    words: tuple[WordRead, ...] = ()
    merged: tuple[MergedRows, ...] = ()
    dropped: tuple[MergedRows, ...] = ()
    notes: tuple[str, ...] = ()
    """The encoding, separators and units that were read."""

    def known_words(self, column: str) -> dict[str, str]:
        """Return the verdicts of declared words, for a table with a verdict in `column`.

        True and false, yes and no, 1 and 0 answer the question of their own column, and are known in that one only.
        """
        declared = [
            word for word in self.words if word.how == "declared" and word.read_as in ("safe", "unsafe", "unsure")
        ]
        return {
            plain_word(word.word): word.read_as
            for word in declared
            if word.column == column or plain_word(word.word) not in (*TRUE, *FALSE)
        }

    def own_words(self) -> dict[str, str]:
        """Return the file's own word for a verdict if it has exactly one and casewise's differs."""
        of_labels = {read.column for read in self.columns if read.role in ("label", "vote")}
        words: dict[str, set[str]] = {}
        for word in self.words:
            if word.column in of_labels and word.read_as in ("safe", "unsafe"):
                words.setdefault(word.read_as, set()).add(word.word)
        single = {verdict: next(iter(of_verdict)) for verdict, of_verdict in words.items() if len(of_verdict) == 1}
        return {verdict: own for verdict, own in single.items() if plain_word(own) != verdict}

    def sentences(self) -> Iterator[str]:
        """Yield the receipt in words, a line each."""
        yield f"{self.file} was read as {self.format}: {count_of(self.n_rows, 'row')}, {self.n_kept:,} kept."
        for column in self.columns:
            yield f"Column {column.column!r}: {column.role}{'' if column.declared else ' (by its name)'}."
        for word in self.words:
            how = "" if word.how == "listed" else f" ({word.how})"
            yield f"{word.word!r} in {word.column!r}: {word.read_as}{how}, {count_of(word.n, 'cell')}."
        for verb, parts in (("merged", self.merged), ("dropped", self.dropped)):
            for part in parts:
                line = "" if part.first_line is None else f" on line {part.first_line}"
                first = f"; the first is{line} {part.first}" if part.first else f"; the first is{line}" if line else ""
                yield f"{count_of(part.n, 'row')} {verb}: {part.reason}{first}."
        yield from self.notes
