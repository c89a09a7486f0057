"""Ratings and traits that stand in tables of their own, joined to the cases."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError
from casewise.records import RatingScale
from casewise.storage.files import shortened_json
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.roles import TRAIT, CaseColumns, find_columns, listed
from casewise.storage.intake.table import Table
from casewise.storage.words import VerdictWords, plain_name
from casewise.text import count_of

RATING = "rating"
"""The column that a wide table's cells become."""

PERSON = (
    "annotator",
    "annotator_id",
    "participant",
    "participant_id",
    "worker",
    "worker_id",
    "rater",
    "rater_id",
    "prolific_pid",
    "id",
)
"""Usual names of the column with the person in a table of people."""


@dataclass(frozen=True)
class RatingTable:
    """The place of ratings, and of traits of the people, that are not in the file of cases."""

    ratings: Path | None = None
    """A second file with the ratings: one row for each rating, with the case's id and the annotator. With --wide: one row
    for each person."""
    wide: str | None = None
    """Pattern of the columns of cases in a table with one row for each person. In Rating_*, * is the case's id, or the query
    if there is one file. Empty cells are no ratings; with --unsure-word '' they are unsure votes."""
    people: Path | None = None
    """A file with one row for each annotator, such as Prolific's demographics: every other column is a trait."""

    def joined(
        self, cases: Table, columns: CaseColumns, *, scale: RatingScale | None, words: VerdictWords
    ) -> tuple[Table, CaseColumns]:
        """Return the cases, and a row for each rating with what its case says; and what the columns of these are.

        Raises ConfigurationError: a column is not there. DataError: a rating is of no case, or two cases have one id.
        """
        if self.ratings is not None:
            cases, columns = self.with_ratings(cases, columns, scale=scale)
        elif self.wide is not None:
            query = columns.query or "query"
            cases, columns = self.melted(cases, replace(columns, query=query), query, scale=scale)
        if self.people is not None:
            cases, columns = self.with_people(cases, columns, scale=scale, words=words)
        return cases, columns

    def with_ratings(
        self, cases: Table, columns: CaseColumns, *, scale: RatingScale | None
    ) -> tuple[Table, CaseColumns]:
        assert self.ratings is not None
        without_ratings = replace(columns, annotator="", trait=(), label="", vote="", value="", raters=None)
        if not (key := find_columns(cases.names, without_ratings, scale=scale is not None, has_ratings=False).id):
            raise ConfigurationError(f"ratings need the case's id; name its column with --id; {listed(cases.names)}")
        ratings = read_any_table(self.ratings)
        if self.wide is not None:
            ratings, columns = self.melted(ratings, columns, key, scale=scale)
        rating_key = (
            key
            if key in ratings.names
            else next(
                (name for name in ratings.names if plain_name(name) in ("id", "item_id", "case_id", "instance_id")),
                None,
            )
        )
        if rating_key is None:
            raise ConfigurationError(
                f"{self.ratings.name} has no column {key!r} with the case's id; {listed(ratings.names)}"
            )
        of_ratings = {name: cells for name, cells in ratings.columns.items() if name != rating_key}
        for name in [name for name in of_ratings if name in cases.columns]:
            if name == "text":  # an annotation tool repeats the text that it showed
                del of_ratings[name]
                continue
            raise ConfigurationError(f"both files have a column {name!r}; name it otherwise in one of them")
        place_of = places_by_name(cases, key)
        places = []
        for place, cell in enumerate(ratings.columns[rating_key]):
            if (found := place_of.get(str(cell))) is None:
                examples = f"; {cases.path.name} has {', '.join(list(place_of)[:3])}, …"
                ratings.row(place).refuse(
                    f"{rating_key!r} is {shortened_json(cell)}, and no case has this id{examples}"
                )
            places.append(found)
        n = len(cases)
        joint: dict[str, list[Any]] = {
            name: cells + [cells[place] for place in places] for name, cells in cases.columns.items()
        }
        joint |= {name: [None] * n + cells for name, cells in of_ratings.items()}
        table = replace(
            ratings,
            path=ratings.path,
            columns=joint,
            lines=[*cases.lines, *ratings.lines],
            format=f"{cases.format} with ratings in {ratings.format}",
            notes=[*cases.notes, *ratings.notes],
            rejected=[*cases.rejected, *ratings.rejected],
            left_out={**cases.left_out, **ratings.left_out},
        )
        return table, replace(columns, id=key)

    def melted(
        self, table: Table, columns: CaseColumns, key: str, *, scale: RatingScale | None
    ) -> tuple[Table, CaseColumns]:
        """Return a row for each cell of a case's column, with the row's other cells; and what the columns of these are."""
        if self.wide is None or self.wide.count("*") != 1:
            raise ConfigurationError(f"--wide is {self.wide!r}; write * once for the case's id, as in 'Rating_*'")
        pattern = re.compile("(.+)".join(map(re.escape, self.wide.split("*"))), re.DOTALL)
        ids = {name: match[1] for name in table.names if (match := pattern.fullmatch(name))}
        if not ids:
            raise ConfigurationError(f"no column is called like {self.wide!r}; {listed(table.names)}")
        if not columns.annotator:
            raise ConfigurationError(
                f"each row is one person; name the column that identifies the person with --annotator; {listed(table.names)}"
            )
        n = len(table)
        melted: dict[str, list[Any]] = {
            name: [cell for cell in cells for _ in ids] for name, cells in table.columns.items() if name not in ids
        }
        melted[key] = list(ids.values()) * n
        melted[RATING] = [table.columns[name][place] for place in range(n) for name in ids]
        long_table = replace(table, columns=melted, lines=[line for line in table.lines for _ in ids])
        long_table.notes.append(
            f"{count_of(n, 'row')} of people with {count_of(len(ids), 'case')} each became {count_of(n * len(ids), 'row')}."
        )
        return long_table, replace(columns, value=RATING) if scale else replace(columns, vote=RATING)

    def with_people(
        self, table: Table, columns: CaseColumns, *, scale: RatingScale | None, words: VerdictWords
    ) -> tuple[Table, CaseColumns]:
        """Return the table with the traits of each row's annotator.

        Raises ConfigurationError: nothing says who rated, or who a row of people is. DataError: a person stands twice.
        """
        assert self.people is not None
        annotator = find_columns(table.names, columns, scale=scale is not None).annotator
        if not annotator:
            raise ConfigurationError(
                f"--people needs the annotator of each rating; name it with --annotator; {listed(table.names)}"
            )
        people = read_any_table(self.people).whole()
        key = (
            annotator
            if annotator in people.names
            else next((name for wanted in PERSON for name in people.names if plain_name(name) == wanted), None)
        )
        if key is None:
            raise ConfigurationError(
                f"{self.people.name} has no column {annotator!r} with the annotator; {listed(people.names)}"
            )
        place_of = places_by_name(people, key)
        places = [place_of.get(str(cell)) for cell in table.columns[annotator]]
        for name, cells in people.columns.items():
            if name == key:
                continue
            traits = [None if cell is None or words.is_missing(cell) else cell for cell in cells]
            table.columns[f"{TRAIT}{name}"] = [None if place is None else traits[place] for place in places]
        known = {str(cell) for cell in table.columns[annotator] if cell is not None}
        table.notes.append(
            f"{len(known & set(place_of)):,} of {count_of(len(known), 'annotator has')} traits in {self.people.name}; "
            f"{len(set(place_of) - known):,} of its rows belong to no annotator of these ratings."
        )
        return table, replace(columns, annotator=annotator)


def places_by_name(table: Table, key: str) -> dict[str, int]:
    """Return the place of each row by the name in a column. Raises DataError: a name stands twice."""
    place_of: dict[str, int] = {}
    for place, row in enumerate(table.rows):
        if (earlier := place_of.setdefault(row.name(key), place)) != place:
            row.refuse(f"{key!r} is {row.name(key)!r}, as on line {table.lines[earlier]}; each stands once")
    return place_of
