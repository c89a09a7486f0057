"""The ratings in a row: one vote, a list of votes, a vote in each rater's column, counts, or a share of a number of votes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from casewise.errors import ConfigurationError
from casewise.records import Vote
from casewise.storage.columns import RATING_COLUMNS, RatingColumns
from casewise.storage.entries import name_text, number_of
from casewise.storage.intake.cells import CaseCells, cell_text, parts
from casewise.storage.intake.table import structured
from casewise.storage.words import plain_word
from casewise.text import count_of

MOST_VOTES = 100_000
"""Most votes on one case; a larger count is a slip."""

RowRating = tuple[str | int, Vote | None, float | None]
"""A rating of a row: the annotator or the position, the vote, the value."""


class RowWithoutVerdict(Exception):
    """The reason why a row without a verdict by its nature is left out."""


@dataclass
class RatingLists:
    """Ratings in lists, which become columns."""

    item: list[int] = field(default_factory=list)
    annotator: list[int | None] = field(default_factory=list)
    position: list[int | None] = field(default_factory=list)
    verdict: list[Vote | None] = field(default_factory=list)
    value: list[float | None] = field(default_factory=list)
    items: dict[str, int] = field(default_factory=dict)
    annotators: dict[str, int] = field(default_factory=dict)

    def add(self, item_id: str, annotator_key: str | int, vote: Vote | None, value: float | None) -> None:
        """Add the rating of an annotator, or the one at a position."""
        self.item.append(self.items.setdefault(item_id, len(self.items)))
        if isinstance(annotator_key, int):
            self.annotator.append(None)
            self.position.append(annotator_key)
        else:
            self.annotator.append(self.annotators.setdefault(annotator_key, len(self.annotators)))
            self.position.append(None)
        self.verdict.append(vote)
        self.value.append(value)

    def columns(self) -> RatingColumns:
        """Return the ratings in columns."""
        lists = {name: getattr(self, name) for name in ("item", "annotator", "position", "verdict", "value")}
        schema = pl.Schema(RATING_COLUMNS)
        table = pl.DataFrame(lists, schema={name: schema[name] for name in lists}).with_columns(
            seconds=pl.lit(None, pl.Float64), at=pl.lit(None, pl.String)
        )
        return RatingColumns(table.select(*RATING_COLUMNS), items=tuple(self.items), annotators=tuple(self.annotators))


class RatingReader:
    """A reader of the ratings in rows, by the parts of a case that a file has."""

    def __init__(self, cells: CaseCells, raters: Mapping[str, str]) -> None:
        self.cells, self.table, self.column = cells, cells.table, cells.column
        self.words, self.scale = cells.frame.words, cells.frame.scale
        self.raters = raters
        """Columns of one person's votes each, with the person."""
        self.n_blank = 0
        """Rows that name an annotator and hold no rating."""

    def ratings(self, place: int, annotator_key: str | None) -> list[RowRating]:
        """Return the ratings that a row holds. Raises DataError: they cannot be read. RowWithoutVerdict: it has none by its nature."""
        if place == self.cells.place_of_sums:
            problem = ", as the sums below a table are called; remove that row, or give --skip-bad"
            self.cells.refuse(place, "query", problem)
        if self.raters:
            return self.ratings_in_columns(place)
        if "votes" in self.column:
            return self.listed_ratings(place)
        if "annotator" not in self.column:
            if "n_safe" in self.column:
                return self.ratings_of_counts(place, *self.counts(place))
            if {"rate", "n_votes"} <= self.column.keys():
                return self.ratings_of_share(place)
        vote = self.single_vote(place, named=annotator_key is not None or "annotator" not in self.column)
        value = self.on_scale(place, "value")
        if vote is None and value is None:
            self.n_blank += annotator_key is not None
            return []
        if annotator_key is None and "annotator" in self.column:
            self.cells.refuse(place, "annotator", "; say who gave this rating")
        return [(0 if annotator_key is None else annotator_key, vote, value)]

    def ratings_in_columns(self, place: int) -> list[RowRating]:
        """Return the ratings of the people who have a column each."""
        ratings: list[RowRating] = []
        for column, person in self.raters.items():
            cell = self.empty_as_unsure(self.table.columns[column][place])
            if not self.words.is_missing(cell):
                ratings.append((person, *self.vote_or_value(place, column, cell)))
        return ratings

    def listed_ratings(self, place: int) -> list[RowRating]:
        """Return the ratings in a list, of the people in the list beside it if there is one."""
        cell = structured(self.cells.get(place, "votes"))
        if cell is None:
            return []
        words = self.split(cell)
        people: list[Any] = []
        if (names := structured(self.cells.get(place, "annotator"))) is not None:
            people = self.split(names)
            if len(people) != len(words):
                problem = f"; it names {count_of(len(people), 'person')} for {count_of(len(words), 'vote')}"
                self.cells.refuse(place, "annotator", problem)
            if len(set(map(name_text, people))) != len(people):
                self.cells.refuse(place, "annotator", "; it names a person twice")
        ratings: list[RowRating] = []
        for position, word in enumerate(map(self.empty_as_unsure, words)):
            if self.words.is_missing(word) or (word == "" and "" not in self.words.unsure_word):
                continue
            vote, value = self.vote_or_value(place, self.column["votes"], word)
            ratings.append((name_text(people[position]) if people else position, vote, value))
        return ratings

    def split(self, cell: Any) -> list[Any]:
        """Return the parts of a cell with a list, or with a text of several."""
        return cell if isinstance(cell, list) else list(parts(str(cell), self.cells.separator))

    def vote_or_value(self, place: int, column: str, word: Any) -> tuple[Vote | None, float | None]:
        """Return a cell as a number on the scale if there is one and the word is no vote, else as a vote."""
        if self.scale is not None and plain_word(word) not in self.words.declared:
            number = number_of(word, decimal_comma=self.table.decimal_comma, high=self.scale.high)
            if number is not None:
                return None, self.within_scale(place, column, word, number)
        return self.vote_in(place, column, word), None

    def single_vote(self, place: int, *, named: bool) -> Vote | None:
        """Return the vote of a row's one person; with an empty unsure word, an empty cell of a `named` person is one."""
        for part in ("vote", "label"):
            if (word := self.cells.get(place, part)) is not None:
                return self.vote_in(place, self.column[part], word)
        column = next((self.column[part] for part in ("vote", "label", "value") if part in self.column), None)
        if not named or column is None or self.empty_as_unsure(self.table.columns[column][place]) != "":
            return None
        return self.vote_in(place, column, "")

    def empty_as_unsure(self, cell: Any) -> Any:
        """Return a cell; an empty one as the empty word, where that is declared as unsure."""
        return "" if cell in (None, "") and "" in self.words.unsure_word else cell

    def vote_in(self, place: int, column: str, word: Any) -> Vote:
        """Return the vote that a word of a column states. Raises RowWithoutVerdict: the case has none by its nature."""
        vote = self.cells.verdict_in(place, column, word)
        if vote == "not applicable":
            raise RowWithoutVerdict(f"{column!r} is not applicable")
        return vote

    def on_scale(self, place: int, part: str) -> float | None:
        """Return the number on the scale in the cell of a part, or None where it is empty."""
        cell = self.cells.get(place, part)
        if cell is None:
            return None
        high = self.scale.high if self.scale else None
        number = number_of(cell, decimal_comma=self.table.decimal_comma, high=high)
        return self.within_scale(place, self.column[part], cell, number)

    def within_scale(self, place: int, column: str, cell: Any, number: float | None) -> float:
        """Return a number that lies on the scale. Raises DataError: it does not. ConfigurationError: there is no scale."""
        scale = self.scale
        if scale is None:
            raise ConfigurationError(
                f"{column!r} holds ratings on a scale; say which with --scale-low and --scale-high"
            )
        if number is None or not scale.low <= number <= scale.high:
            self.table.row(place).refuse(
                f"{column!r} is {cell_text(cell)}, not a number from {scale.low:g} to {scale.high:g}"
            )
        return number

    def share(self, place: int) -> float | None:
        """Return the share of safe votes that a row states."""
        cell, unit = self.cells.get(place, "rate"), self.cells.unit
        if cell is None:
            return None
        text = cell.removesuffix("%").strip() if isinstance(cell, str) else cell
        number = number_of(text, decimal_comma=self.table.decimal_comma)
        if number is None or not 0 <= number <= unit:
            self.cells.refuse(place, "rate", f", not a number from 0 to {unit:g}")
        return number / unit

    def count(self, place: int, part: str) -> int:
        """Return the number of votes in the cell of a part."""
        cell = self.cells.get(place, part)
        if cell is None:
            self.table.row(place).refuse(f"{self.column[part]!r} is empty; give a number of votes")
        number = number_of(cell, decimal_comma=self.table.decimal_comma)
        if number is None or not 0 <= number <= MOST_VOTES:
            self.cells.refuse(place, part, f", not a number from 0 to {MOST_VOTES}")
        if number != int(number):
            self.cells.refuse(place, part, ", not a whole number")
        return int(number)

    def counts(self, place: int) -> tuple[int, int]:
        """Return the numbers of safe and of unsafe votes."""
        safe = self.count(place, "n_safe")
        unsafe = self.count(place, "n_unsafe") if "n_unsafe" in self.column else self.count(place, "n_votes") - safe
        if unsafe < 0:
            self.table.row(place).refuse(f"{safe} of {count_of(safe + unsafe, 'vote')} cannot be safe")
        return safe, unsafe

    def ratings_of_counts(self, place: int, safe: int, unsafe: int) -> list[RowRating]:
        """Return a rating for each of so many votes, with the unsure ones that the row counts."""
        unsure = self.count(place, "n_unsure") if "n_unsure" in self.column else 0
        counts: dict[Vote, int] = {"safe": safe, "unsafe": unsafe, "unsure": unsure}
        votes = (vote for vote, n in counts.items() for _ in range(n))
        return [(position, vote, None) for position, vote in enumerate(votes)]

    def ratings_of_share(self, place: int) -> list[RowRating]:
        """Return the votes that a share of a number of votes is. Raises DataError: it is no whole number, or could be several."""
        share = self.share(place)
        if share is None:
            return []
        n = self.count(place, "n_votes")
        text = str(self.cells.get(place, "rate")).removesuffix("%").strip().replace(",", ".")
        digits = len(text.partition(".")[2])
        rounding = 0.5 * 10**-digits / self.cells.unit * n + 1e-9
        safe = round(share * n)
        if abs(share * n - safe) > 1e-9:  # a rounded share
            fitting = range(math.ceil(share * n - rounding), math.floor(share * n + rounding) + 1)
            if len(fitting) != 1:
                reason = f"could be {fitting[0]} to {fitting[-1]} of them" if fitting else "is no whole number of them"
                problem = (
                    f" of {count_of(n, 'vote')}, which {reason}; --n-votes '' takes shares without numbers of votes"
                )
                self.cells.refuse(place, "rate", problem)
            safe = fitting[0]
        return self.ratings_of_counts(place, safe, n - safe)
