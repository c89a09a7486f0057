"""What stands on the pages of the room, from the table and what of it is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from casewise.contexts.reviewing.difference import Piece, difference
from casewise.errors import CasewiseError
from casewise.evaluation.viewing.choosing import AGREEMENT, CELLS, WITHIN, Chosen, ItemsWanted, columns_shown
from casewise.evaluation.viewing.table import LABELS, OUTCOMES, ViewedTable
from casewise.records import SCALES, Item
from casewise.reporting.document import number, short_name
from casewise.reporting.robustness.exhibits import LaidOpen
from casewise.runs.made_texts import made_in
from casewise.showing import MadeTexts, arm_named, show
from casewise.storage.runs.item_notes import ItemNote
from casewise.web.viewing.links import Links

__all__ = ["COLUMNS", "ROWS", "Room", "item_values", "items_values"]

ROWS = 50
"""Items a page."""

COLUMNS = 6
"""Series that stand beside each other at most."""

MARKS = {"right": "✓", "wrong": "✗"}

BANDS = {"all": "everybody", "90": "90 % or more", "75": "75 % or more", "split": "less than 75 %"}

CELL_WORDS = ("both right", "only the first right", "only the second right", "both wrong", "no label or no verdict")


@dataclass(frozen=True)
class Room:
    """What every page needs to know."""

    table: ViewedTable
    notes: dict[str, ItemNote]
    links: Links
    under_way: bool = False
    withheld: bool = False
    """Whether texts stay out, as a gated benchmark wants it."""
    unquoted: bool = False
    """Whether what chatbots wrote stays out."""
    rows: int = ROWS

    @property
    def values(self) -> dict[str, Any]:
        """For every page."""
        benchmark = self.table.benchmark
        return {
            "links": self.links,
            "title": benchmark.title,
            "notices": self.table.notices,
            "under_way": self.under_way,
            "version": self.table.version,
            "n_judgements": self.table.n_judgements,
            "withheld": self.withheld,
            "names": self.names,
        }

    @property
    def names(self) -> list[str]:
        """Of the series."""
        return [short_name(one.name) for one in self.table.series]

    def text(self, text: str) -> str:
        """A text, or that it is withheld."""
        return "withheld" if self.withheld else text


def items_values(room: Room, wanted: ItemsWanted, chosen: Chosen) -> dict[str, Any]:
    """The page of a list."""
    shown = columns_shown(room.table, wanted)
    pages = max(1, -(-len(chosen.places) // room.rows))
    page = min(max(1, wanted.page), pages)
    places = chosen.places[(page - 1) * room.rows : page * room.rows]
    return room.values | {
        "wanted": replace(wanted, page=1),
        "rows": list(rows_of(room, places, shown[:COLUMNS])),
        "columns": shown[:COLUMNS],
        "n_more_columns": len(shown[COLUMNS:]),
        "n": len(chosen.places),
        "n_items": len(room.table.items),
        "page": page,
        "pages": pages,
        "choices": choices(room) if room.links.live else {},
        "chips": list(chips(room, wanted)),
        "quick": list(quick(room, wanted)),
        "cells": None if chosen.cells is None else cells(room, wanted, chosen),
    }


def choices(room: Room) -> dict[str, list[tuple[str, str]]]:
    """What each filter can be: the word in the address, and what a reader is told."""
    table = room.table
    series = [(str(place), name) for place, name in enumerate(room.names)]
    tags = sorted({tag for note in room.notes.values() for tag in note.tags})
    plain = {
        "within": WITHIN,
        "category": table.categories,
        "condition": table.conditions,
        "label": LABELS,
        "verdict": ("safe", "unsafe"),
        "outcome": OUTCOMES,
        "reason": table.reasons(),
        "arm": table.arms,
        "attack": table.attacks,
        "tag": tags,
    }
    of = {name: [(word, word.replace("_", " ")) for word in words] for name, words in plain.items()}
    return of | {"people": [(band, BANDS[band]) for band in AGREEMENT], "series": series}


FILTERS = {
    "q": "mentions",
    "within": "in the",
    "outcome": "judge",
    "people": "people agree",
    "label": "people say",
    "category": "",
    "condition": "",
    "series": "of",
    "verdict": "verdict",
    "reason": "unscored",
    "arm": "shown",
    "attack": "under",
    "tag": "tagged",
}
"""The filters in the order of their words on a page."""


def chips(room: Room, wanted: ItemsWanted) -> Iterator[tuple[str, str | None]]:
    """What is filtered by, in words, each with the list without it."""
    for name, words in FILTERS.items():
        value = getattr(wanted, name)
        if value in ("", None) or (name == "within" and value == "all"):
            continue
        said = room.names[value] if name == "series" else BANDS[value] if name == "people" else str(value)
        without = {name: None if name == "series" else "all" if name == "within" else ""}
        yield f"{words} {said}".strip().replace("_", " "), room.links.items(wanted, **without)


def quick(room: Room, wanted: ItemsWanted) -> Iterator[tuple[str, str]]:
    """Lists that many want, of the series that are looked at now."""
    looked = replace(ItemsWanted(), series=wanted.series, first=wanted.first, second=wanted.second)
    for words, changes in (
        ("a judge is wrong", {"outcome": "wrong"}),
        ("wrong where people are sure", {"outcome": "wrong", "people": "90"}),
        ("unscored", {"outcome": "unscored"}),
        ("most judges wrong first", {"sort": "wrong", "down": True}),
    ):
        if (to := room.links.items(looked, **changes)) is not None:
            yield words, to


def cells(room: Room, wanted: ItemsWanted, chosen: Chosen) -> list[dict[str, Any]]:
    """The four cells of two series, the rest, and where they differ: each with its count and where it leads."""
    assert chosen.cells is not None
    counted = [*zip(CELLS, CELL_WORDS, chosen.cells.counts.values(), strict=True)]
    counted.append(("differ", "their verdicts differ", chosen.cells.differ))
    return [
        {"cell": cell, "words": words, "n": n, "to": room.links.items(wanted, cell=cell), "here": wanted.cell == cell}
        for cell, words, n in counted
    ]


def rows_of(room: Room, places: pl.Series, shown: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    benchmark = room.table.benchmark
    for row in room.table.items[places].iter_rows(named=True):
        note = room.notes.get(row["item_id"])
        yield {
            "place": row["place"],
            "query": room.text(benchmark.query[row["query_id"]].text),
            "category": row["category"],
            "condition": row["condition"].replace("_", " "),
            "people": people(row),
            "series": [said(row, place) for place in shown],
            "tags": () if note is None else (*note.tags, *(["note"] if note.text and not note.tags else [])),
        }


def people(row: dict[str, Any]) -> dict[str, Any]:
    return {"safe": row["n_safe"], "total": row["n_votes"], "label": row["label"]}


def said(row: dict[str, Any], place: int) -> dict[str, str]:
    """One series on one item: its verdict in words with its value, and whether it is right."""
    outcome, value, verdict = row[f"outcome_{place}"], row[f"value_{place}"], row[f"verdict_{place}"]
    if outcome == "unscored":
        return {"words": f"unscored: {row[f'reason_{place}'] or 'no reason given'}", "mark": "", "outcome": outcome}
    if outcome == "not asked":
        return {"words": "not asked", "mark": "", "outcome": outcome}
    return {"words": in_words(verdict, value), "mark": MARKS.get(outcome, ""), "outcome": outcome}


def in_words(verdict: int | None, value: float) -> str:
    """A verdict, and its value where that says more."""
    exact = "" if verdict is not None and value in (0.0, 1.0) else number(value, digits=2)
    return " ".join(filter(None, ({1: "safe", 0: "unsafe", None: ""}[verdict], exact)))


def item_values(room: Room, wanted: ItemsWanted, place: int, *, near: pl.Series) -> dict[str, Any]:
    """The page of an item. `near`: the places of the list that it was reached from."""
    table, item = room.table, room.table.benchmark.items[place]
    row = table.items.row(place, named=True)
    at = near.index_of(place)
    before, after = (
        None if at is None or not 0 <= at + step < len(near) else room.links.item(near[at + step], wanted)
        for step in (-1, 1)
    )
    twin = twin_place(room, item)
    return room.values | {
        "wanted": wanted,
        "place": place,
        "item": item,
        "at": at,
        "n": len(near),
        "before": before,
        "after": after,
        "back": room.links.items(wanted, page=1 if at is None else at // room.rows + 1),
        "category": row["category"],
        "condition": row["condition"].replace("_", " "),
        "intended": {True: "safe", False: "unsafe", None: "not stated"}[row["intended_safe"]],
        "people": people(row),
        "query": room.text(table.benchmark.query[item.query_id].text),
        "groups": [] if room.withheld else list(context_groups(room, item)),
        "twin": None if twin is None else room.links.item(twin, wanted),
        "has_twin": table.benchmark.twin_of(item) is not None,
        "series": [(name, said(row, at)) for at, name in enumerate(room.names)],
        "history": list(history(room, item)),
        "arms": [] if room.withheld else list(as_shown(room, item)),
        "note": room.notes.get(item.id),
    }


def twin_place(room: Room, item: Item) -> int | None:
    others = [one.id for one in room.table.benchmark.pairs.get(item.pair_id or "", ()) if one.id != item.id]
    if len(others) != 1:
        return None
    return int(room.table.items["item_id"].index_of(others[0]) or 0)


@dataclass(frozen=True)
class Stated:
    """A labelled text with what another says otherwise marked, or beside it where they have little in common."""

    name: str
    pieces: list[Piece]
    other: str | None = None


Laid = tuple[str, list[Stated]]

IN_COMMON = 0.5
"""Share of the letters that two texts must share for marks between their words to be readable."""


def context_groups(room: Room, item: Item) -> Iterator[Laid]:
    """The context, group by group, with what its twin says otherwise marked."""
    benchmark = room.table.benchmark
    twin = benchmark.twin_of(item)
    query = benchmark.query[item.query_id]
    own = LaidOpen(show(arm_named("full"), query, benchmark.context_of(item)))
    yield from against(own, None if twin is None else LaidOpen(show(arm_named("full"), query, twin)))


def against(shown: LaidOpen, other: LaidOpen | None) -> Iterator[Laid]:
    before = {} if other is None else {(group, name): text for group, texts in other.said for name, text in texts}
    for group, texts in shown.said:
        yield (
            group,
            [stated(name, text, None if other is None else before.get((group, name), "")) for name, text in texts],
        )


def stated(name: str, text: str, other: str | None) -> Stated:
    if other is None:
        return Stated(name, [Piece("same", text)])
    pieces = difference(other, text)
    shared = sum(len(piece.text) for piece in pieces if piece.kind == "same" and not piece.text.isspace())
    if other and shared < IN_COMMON * max(len(text), len(other)):
        return Stated(name, [Piece("same", text)], other)
    return Stated(name, pieces)


def as_shown(room: Room, item: Item) -> Iterator[dict[str, Any]]:
    """The item as each arm but the whole shows it, with what that changes marked."""
    benchmark = room.table.benchmark
    query, context, twin = benchmark.query[item.query_id], benchmark.context_of(item), benchmark.twin_of(item)
    whole = LaidOpen(show(arm_named("full"), query, context))
    made = MadeTexts({key: one for judged in room.table.judged for key, one in made_in(judged.run.path).items()})
    for arm in room.table.arms:
        try:
            named = arm_named(arm)
            if named.shows_all:
                continue
            shown = show(named, query, context, twin=twin, made=made)
        except CasewiseError as error:  # a file of one's own that has moved or changed since the run
            yield {"arm": arm, "problem": str(error)}
            continue
        seen = LaidOpen(shown)
        said = {"query": difference(whole.query, seen.query), "groups": list(against(seen, whole))}
        yield {"arm": arm, "problem": shown.problem, **said}


def history(room: Room, item: Item) -> Iterator[dict[str, Any]]:
    """Every judgement of the item, attempts that were made again included, with its reply."""
    for judged in room.table.judged:
        rows = judged.every.filter(pl.col("item_id") == item.id)
        hidden = room.withheld or (room.unquoted and judged.run.behaviour is not None)
        order = [pl.col(name).cast(pl.String) for name in ("arm", "elicitation")]
        for row in rows.sort(*order, "repeat", "attempt").iter_rows(named=True):
            value, limit = row["value"], SCALES[row["elicitation"]].threshold
            verdict = None if value is None or limit is None else int(value > limit)
            yield {
                "judge": judged.judge.removeprefix("recorded:"),
                "asked": f"{row['elicitation']}, {row['arm']}",
                "repeat": row["repeat"] + 1,
                "attempt": row["attempt"] + 1,
                "said": f"unscored: {row['unscored_reason']}" if value is None else in_words(verdict, value),
                "read_as": row["read_as"] or "",
                "reply": None if hidden else row.get("raw_reply"),
                "hidden": hidden,
            }
