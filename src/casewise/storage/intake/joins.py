"""Tables of other shapes than a row a case: several cases in a row, and ratings and traits in tables of their own."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from casewise.errors import ConfigurationError
from casewise.records import RatingScale
from casewise.storage.entries import id_key, name_text
from casewise.storage.files import shortened_json
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.roles import OPTIONS, TRAIT, CaseColumns, check_there, find_columns, listed
from casewise.storage.intake.table import Table
from casewise.storage.words import VerdictWords, plain_name
from casewise.text import count_of

RATING = "rating"
"""The column that a wide table's cells become."""

PERSON = (*OPTIONS["annotator"], "prolific_pid", "id")
"""Usual names of the column with the person in a table of people."""

CASE_IDS = ("case_id", "item_id", "instance_id", "id")
"""Usual names of the column with the case's id in a table of ratings, where `id` may be that of the rating."""

JUDGE = "judge"
"""The part of a case that is a judge's verdict."""

PART = re.compile(rf",\s*(?=(?:{'|'.join((*OPTIONS, 'reply', JUDGE))}|[a-z]\w*\.[a-z]\w*)=)")
"""The comma before a further part of a case; other commas belong to a column's name."""

STATED = ("label", "vote", "intended")
"""Parts that --case may give as a word instead of a column."""


class SplitRows(NamedTuple):
    """A table with a row for each case."""

    table: Table
    columns: CaseColumns
    judge: str | None = None
    """The column with a judge's verdicts, where the cases name it."""


def split_rows(table: Table, columns: CaseColumns, words: VerdictWords = VerdictWords()) -> SplitRows:
    """Return a row for each case of a table in which a row holds several cases in columns of their own.

    The cases of a row are a pair. Each has the row's id with the name of its first column behind it. A stated word is that of
    the file, where `words` declares one.

    Raises ConfigurationError: a case is not written PART=COLUMN, the cases state different parts, or a column is not there.
    """
    if not columns.case:
        return SplitRows(table, columns)
    cases = [dict(part.partition("=")[::2] for part in PART.split(text)) for text in columns.case]
    for text, case in zip(columns.case, cases, strict=True):
        if case.keys() != cases[0].keys() or not all(
            (part in OPTIONS or part in ("reply", JUDGE) or "." in part) and column for part, column in case.items()
        ):
            raise ConfigurationError(
                f"--case is {text!r}; write PART=COLUMN,PART=COLUMN with the same parts for each case, such as context=safe_context,label=label_a"
            )
    own = {word: next(iter(given), word) for word, given in (("safe", words.safe_word), ("unsafe", words.unsafe_word))}
    in_file = [
        {part: column for part, column in case.items() if not (part in STATED and column in own)} for case in cases
    ]
    for case, columns_of_case in zip(cases, in_file, strict=True):
        for part, column in case.items():
            if part not in columns_of_case and column in table.columns:
                raise ConfigurationError(
                    f"{column!r} in --case may be the word or the column of that name; rename the column"
                )
    used = dict.fromkeys(column for case in in_file for column in case.values())
    for column in used:
        check_there(column, table.names)
    key = row_id_column(table, columns.id, used)
    rows = [(place, number) for place in range(len(table)) for number in range(len(cases))]
    there = [
        (place, number)
        for place, number in rows
        if any(table.columns[column][place] is not None for column in in_file[number].values())
    ]
    split = {name: [cells[place] for place, _ in there] for name, cells in table.columns.items() if name not in used}
    roles = {part: " | ".join(case[part] for case in cases) for part in cases[0]}
    for part, name in roles.items():
        split[name] = [
            table.columns[case[part]][place] if part in (case := in_file[number]) else own[cases[number][part]]
            for place, number in there
        ]
    if key and "id" not in roles:
        split[key] = [
            None
            if (cell := table.columns[key][place]) is None
            else f"{name_text(cell)}/{next(iter(in_file[number].values()))}"
            for place, number in there
        ]
    if (
        not {"query", "pair"} & roles.keys()
        and columns.pair is None
        and not {*map(plain_name, split)} & {*OPTIONS["pair"]}
    ):
        roles["pair"] = "the row"
        split["the row"] = [f"row {place + 1}" for place, _ in there]
    left_out = {"the row has no such case": len(rows) - len(there)} if len(there) < len(rows) else {}
    lines = [table.lines[place] for place, _ in there]
    table = replace(table, columns=split, lines=lines, left_out=table.left_out | left_out)
    table.notes.append(f"A row holds {count_of(len(cases), 'case')}; they became {count_of(len(rows), 'row')}.")
    judge = roles.pop(JUDGE, None)
    parameters = {name: part for part, name in roles.items() if "." in part}
    stated: dict[str, Any] = {part: name for part, name in roles.items() if "." not in part}
    return SplitRows(table, replace(columns, case=(), parameters={**columns.parameters, **parameters}, **stated), judge)


def row_id_column(table: Table, stated: str | None, used: Collection[str]) -> str:
    """Return the column with the id of a row; empty where there is none. Raises ConfigurationError: it is a part of a case."""
    usual = (name for usual in OPTIONS["id"] for name in table.names if plain_name(name) == usual and name not in used)
    key = next(usual, "") if stated is None else stated
    if key:
        check_there(key, table.names)
    if key in used:
        raise ConfigurationError(
            f"{key!r} is a part of a case in --case and no id of the row; name another column with --id, or none with --id ''"
        )
    return key


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
            cases, columns = self.with_people(cases, columns, words=words)
        return cases, columns

    def with_ratings(
        self, cases: Table, columns: CaseColumns, *, scale: RatingScale | None
    ) -> tuple[Table, CaseColumns]:
        assert self.ratings is not None
        without_ratings = replace(columns, annotator="", trait=(), label="", vote="", value="", raters=None)
        if not (key := find_columns(cases.names, without_ratings, has_ratings=False).id):
            raise ConfigurationError(f"ratings need the case's id; name its column with --id; {listed(cases.names)}")
        ratings = read_any_table(self.ratings)
        if self.wide is not None:
            ratings, columns = self.melted(ratings, columns, key, scale=scale)
        rating_key = key_column(ratings, key, CASE_IDS, "the case's id")
        # An annotation tool repeats the text that it showed.
        repeated = {rating_key} | ({"text"} & cases.columns.keys())
        of_ratings = {name: cells for name, cells in ratings.columns.items() if name not in repeated}
        if shared := [name for name in of_ratings if name in cases.columns]:
            raise ConfigurationError(f"both files have a column {shared[0]!r}; name it otherwise in one of them")
        place_of = places_by_name(cases, key)
        places = []
        for place, cell in enumerate(ratings.columns[rating_key]):
            if (case := place_of.get(id_key(cell))) is None:
                ids = f"{cases.path.name} has {', '.join(list(place_of)[:3])}, …"
                ratings.row(place).refuse(f"{rating_key!r} is {shortened_json(cell)}, and no case has this id; {ids}")
            places.append(case)
        n = len(cases)
        joint: dict[str, list[Any]] = {
            name: cells + [cells[place] for place in places] for name, cells in cases.columns.items()
        }
        joint |= {name: [None] * n + cells for name, cells in of_ratings.items()}
        table = replace(
            ratings,
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
        for name in (key, RATING):
            if name in table.columns:
                raise ConfigurationError(
                    f"{table.path.name} has a column {name!r}, and --wide makes another of that name; rename it in the file"
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

    def with_people(self, table: Table, columns: CaseColumns, *, words: VerdictWords) -> tuple[Table, CaseColumns]:
        """Return the table with the traits of each row's annotator.

        Raises ConfigurationError: nothing says who rated, or who a row of people is. DataError: a person stands twice.
        """
        assert self.people is not None
        stated = find_columns(table.names, columns, has_ratings=False)
        annotator = stated.annotator
        if stated.votes:
            raise ConfigurationError(
                f"--people needs a row for each rating, and {stated.votes!r} holds several ratings"
            )
        if not annotator:
            raise ConfigurationError(
                f"--people needs the annotator of each rating; name it with --annotator; {listed(table.names)}"
            )
        people = read_any_table(self.people).whole()
        key = key_column(people, annotator, PERSON, "the annotator")
        place_of = places_by_name(people, key)
        names = [id_key(cell) for cell in table.columns[annotator]]
        places = [place_of.get(name) for name in names]
        for name, cells in people.columns.items():
            if name == key:
                continue
            if f"{TRAIT}{name}" in table.columns:
                raise ConfigurationError(f"both files state the trait {name!r}; name it otherwise in one of them")
            traits = [None if cell is None or words.is_missing(cell) else cell for cell in cells]
            table.columns[f"{TRAIT}{name}"] = [None if place is None else traits[place] for place in places]
        known = {name for name, cell in zip(names, table.columns[annotator], strict=True) if cell is not None}
        table.notes.append(
            f"{len(known & set(place_of)):,} of {count_of(len(known), 'annotator has')} traits in {self.people.name}; "
            f"{len(set(place_of) - known):,} of its rows belong to no annotator of these ratings."
        )
        return table, replace(columns, annotator=annotator)


def key_column(table: Table, key: str, usual: Sequence[str], content: str) -> str:
    """Return the column called `key`, or else the first with a usual name. Raises ConfigurationError: there is none."""
    if key in table.names:
        return key
    named = [name for wanted in usual for name in table.names if plain_name(name) == wanted]
    if not named:
        raise ConfigurationError(f"{table.path.name} has no column {key!r} with {content}; {listed(table.names)}")
    return named[0]


def places_by_name(table: Table, key: str) -> dict[str, int]:
    """Return the place of each row by the name in a column. Raises DataError: a name stands twice."""
    place_of: dict[str, int] = {}
    for place, row in enumerate(table.rows):
        if (earlier := place_of.setdefault(id_key(row.name(key)), place)) != place:
            row.refuse(f"{key!r} is {row.name(key)!r}, as on line {table.lines[earlier]}; each stands once")
    return place_of
