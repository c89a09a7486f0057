"""What of a table is wanted, in words that stand in an address, and the items that are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, Self

import polars as pl

from casewise.errors import ConfigurationError
from casewise.evaluation.viewing.table import LABELS, OUTCOMES, ViewedTable

__all__ = ["AGREEMENT", "CELLS", "SORTS", "WITHIN", "Cells", "Chosen", "ItemsWanted", "choose", "columns_shown"]

WITHIN = ("all", "query", "context", "reply")
"""Where a search looks."""

AGREEMENT = {"all": (1.0, 1.01), "90": (0.9, 1.01), "75": (0.75, 1.01), "split": (0.5, 0.75)}
"""Of the share of people on the larger side, from and to below."""

CELLS = ("both-right", "only-first", "only-second", "both-wrong", "rest")
"""Of two series side by side; the rest has no label, or no verdict in one of them."""

SORTS = ("place", "category", "people", "agreement", "wrong", "value")


@dataclass(frozen=True)
class ItemsWanted:
    """Which items, in which order. Every field stands in the address under its name, where it is not as it is here."""

    q: str = ""
    within: str = "all"
    category: str = ""
    condition: str = ""
    label: str = ""
    people: str = ""
    series: int | None = None
    """The series that `verdict`, `outcome`, `reason` and the order by value are about; without it, any of those shown."""
    verdict: str = ""
    outcome: str = ""
    reason: str = ""
    arm: str = ""
    attack: str = ""
    tag: str = ""
    first: int | None = None
    second: int | None = None
    """Two series side by side."""
    cell: str = ""
    sort: str = ""
    down: bool = False
    page: int = 1

    @classmethod
    def of(cls, words: Mapping[str, str]) -> Self:
        """What an address asks for; unknown names are passed over, as are empty ones.

        Raises ConfigurationError: a value is none that its name can have.
        """
        known = {field.name: field.type for field in fields(cls)}
        given = {name: word for name, word in words.items() if name in known and word != ""}
        return cls(**{name: read(name, word, str(known[name])) for name, word in given.items()})

    def words(self) -> dict[str, str]:
        """It, as it stands in an address."""
        plain = type(self)()
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: "yes" if value is True else str(value)
            for name, value in said.items()
            if value is not None and value != getattr(plain, name)
        }

    @property
    def beside(self) -> tuple[int, int] | None:
        """The two series side by side, if any."""
        return None if self.first is None or self.second is None else (self.first, self.second)


ALLOWED: dict[str, tuple[str, ...]] = {
    "within": WITHIN,
    "label": LABELS,
    "people": tuple(AGREEMENT),
    "verdict": ("safe", "unsafe"),
    "outcome": OUTCOMES,
    "cell": (*CELLS, "differ"),
    "sort": SORTS,
}


def read(name: str, word: str, kind: str) -> Any:
    if kind == "bool":
        return word == "yes"
    if kind.startswith("int"):
        if not (word.isascii() and word.isdecimal() and len(word) < 10):
            raise ConfigurationError(f"{name} is {word!r}, which is no number from 0")
        return int(word)
    if name in ALLOWED and word not in ALLOWED[name]:
        raise ConfigurationError(f"{name} is {word!r}; it can be {', '.join(ALLOWED[name])}")
    return word


@dataclass(frozen=True)
class Cells:
    """How many items two series both get right, one alone, neither; the rest has no label or no verdict."""

    counts: dict[str, int]
    differ: int
    """On how many both have a verdict and it is not the same."""


@dataclass(frozen=True)
class Chosen:
    """The items that are wanted, as places in the benchmark, in the order that is wanted."""

    places: pl.Series
    cells: Cells | None


def columns_shown(table: ViewedTable, wanted: ItemsWanted) -> tuple[int, ...]:
    """The places of the series that stand in the table: the two side by side, or those of the arm and the attack.

    Raises ConfigurationError: there is no such series.
    """
    for place in (wanted.series, wanted.first, wanted.second):
        if place is not None and place >= len(table.series):
            raise ConfigurationError(f"there is no series {place}: they are counted from 0 to {len(table.series) - 1}")
    if wanted.beside is not None:
        return wanted.beside
    found = table.of(arm=wanted.arm, attack=wanted.attack)
    return found if wanted.series is None else (wanted.series, *(one for one in found if one != wanted.series))


def choose(table: ViewedTable, wanted: ItemsWanted, *, tagged: Mapping[str, tuple[str, ...]]) -> Chosen:
    """The items that are wanted.

    `tagged`: the tags of items that have some.

    Raises ConfigurationError: there is no such series.
    """
    shown = columns_shown(table, wanted)
    keep = [*of_item(wanted), *of_series(shown, wanted)]
    if wanted.tag:
        keep.append(pl.col("item_id").is_in([item for item, tags in tagged.items() if wanted.tag in tags]))
    found = table.items.filter(keep) if keep else table.items
    if wanted.q:
        found = found.filter(mentions(table, wanted.q.lower(), wanted.within))
    cells = None
    if wanted.beside is not None:
        cells = cells_of(found, wanted.beside)
        if wanted.cell:
            found = found.filter(in_cell(wanted.cell, wanted.beside))
    return Chosen(in_order(found, wanted, shown)["place"], cells)


def of_item(wanted: ItemsWanted) -> Iterator[pl.Expr]:
    for name in ("category", "condition", "label"):
        if value := getattr(wanted, name):
            yield pl.col(name) == value
    if wanted.people:
        low, high = AGREEMENT[wanted.people]
        yield pl.col("agreement").is_between(low, high, closed="left")


def of_series(shown: tuple[int, ...], wanted: ItemsWanted) -> Iterator[pl.Expr]:
    """What is asked of the series named, or of any of those shown, of one and the same."""
    of = shown if wanted.series is None else (wanted.series,)
    asked = [list(asked_of(place, wanted)) for place in of]
    if asked and asked[0]:
        yield pl.any_horizontal([pl.all_horizontal(one) for one in asked])
    elif wanted.verdict or wanted.outcome or wanted.reason:
        yield pl.lit(value=False)


def asked_of(place: int, wanted: ItemsWanted) -> Iterator[pl.Expr]:
    if wanted.verdict:
        yield pl.col(f"verdict_{place}").fill_null(-1) == int(wanted.verdict == "safe")
    if wanted.outcome:
        yield pl.col(f"outcome_{place}") == wanted.outcome
    if wanted.reason:
        yield pl.col(f"reason_{place}").fill_null("") == wanted.reason


def mentions(table: ViewedTable, text: str, within: str) -> pl.Expr:
    """Whether the query, the context or a reply of an item has `text` in it."""
    has = pl.col("text").str.contains(text, literal=True)
    hits: list[pl.Expr] = []
    if within in ("all", "query"):
        hits.append(pl.col("query_id").is_in(table.queries.filter(has)["query_id"].implode()))
    if within in ("all", "context"):
        hits.append(pl.col("place").is_in(table.contexts.filter(has)["place"].implode()))
    if within in ("all", "reply"):
        hits.append(pl.col("item_id").is_in(table.replies.filter(has)["item_id"].implode()))
    return reduce(lambda one, other: one | other, hits)


def in_cell(cell: str, of: tuple[int, int]) -> pl.Expr:
    if cell == "differ":
        return pl.col(f"verdict_{of[0]}") != pl.col(f"verdict_{of[1]}")
    ones = [pl.col(f"outcome_{place}") for place in of]
    decided = pl.all_horizontal([one.is_in(["right", "wrong"]) for one in ones])
    if cell == "rest":
        return ~decided
    right = (cell in ("both-right", "only-first"), cell in ("both-right", "only-second"))
    return pl.all_horizontal([one == ("right" if yes else "wrong") for one, yes in zip(ones, right, strict=True)])


def cells_of(found: pl.DataFrame, of: tuple[int, int]) -> Cells:
    counted = found.select(**{cell.replace("-", "_"): in_cell(cell, of).sum() for cell in (*CELLS, "differ")}).row(0)
    return Cells(dict(zip(CELLS, counted, strict=False)), counted[-1])


def in_order(found: pl.DataFrame, wanted: ItemsWanted, shown: tuple[int, ...]) -> pl.DataFrame:
    """`found`, sorted. Two series side by side begin with the items on which people are surest."""
    sort, down = wanted.sort, wanted.down
    if not sort and wanted.beside is not None:
        sort, down = "agreement", True
    if sort in ("", "place"):
        return found.reverse() if down else found
    if sort == "wrong":
        of = [(pl.col(f"outcome_{place}") == "wrong").cast(pl.Int32) for place in shown]
        by = pl.sum_horizontal(of) if of else pl.lit(0)
    elif sort == "value":
        of_series = shown[:1] if wanted.series is None else (wanted.series,)
        by = pl.col(f"value_{of_series[0]}") if of_series else pl.lit(0)
    else:
        by = pl.col({"people": "rate"}.get(sort, sort))
    return found.sort(by, descending=down, nulls_last=True, maintain_order=True)
