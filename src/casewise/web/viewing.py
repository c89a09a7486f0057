"""The view: a server on this machine that shows runs item by item."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qs, urlencode

import polars as pl
from fastapi import Request
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from casewise.contexts.difference import Piece, difference
from casewise.errors import CasewiseError, ConfigurationError
from casewise.evaluate.viewing import (
    AGREEMENT,
    CELLS,
    LABELS,
    OUTCOMES,
    WITHIN,
    Chosen,
    ItemsWanted,
    Viewed,
    ViewedTable,
    choose,
    columns_shown,
)
from casewise.notation import number
from casewise.records import Item, as_text, scale_of
from casewise.reports.document import short_name
from casewise.reports.robustness import LaidOpen
from casewise.runs.texts import made_in
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import cannot_write, what_is_wrong, write_text
from casewise.storage.run_folder import ITEM_NOTES, ItemNote
from casewise.storage.wording import LabelWords
from casewise.transforms.catalogue import arm_named, show
from casewise.transforms.texts import MadeTexts
from casewise.web import pages
from casewise.web.security import BodyLimit, HeadAsGet, SecurityHeaders

# Who may ask: this machine's browser, on a page of ours. Another site's page, or a name that leads here, may not.


HOSTS = ("127.0.0.1", "localhost", "[::1]")


class LoopbackOnly:
    """Refuses what did not ask for this address by its own name, and what another page sent here.

    A page of another site can have its own name lead to 127.0.0.1 (DNS rebinding): its requests come with that name as their
    host. It can link here, but a form of its that writes something names its origin.
    """

    def __init__(self, app: ASGIApp, *, port: int) -> None:
        self._app = app
        self._hosts = {f"{host}:{port}" for host in HOSTS} | ({*HOSTS} if port == 80 else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self.refusal(Headers(scope=scope), scope["method"])):
            await PlainTextResponse(refusal, 403)(scope, receive, send)
            return
        if scope["type"] == "websocket":
            return
        await self._app(scope, receive, send)

    def refusal(self, headers: Headers, method: str) -> str | None:
        """Why a request is not answered; None where it is."""
        if headers.getlist("host") != [host := headers.get("host", "")] or host.lower() not in self._hosts:
            return "This page answers on this machine only, under its own address."
        origin = headers.get("origin")
        if origin is None:
            return None if method in ("GET", "HEAD") else "The request does not state which page sent it."
        return None if origin.lower() == f"http://{host.lower()}" else "Requests from other sites are refused."


# Where pages of the room lead: to addresses of a server, or to files of a folder.


class Links(Protocol):
    """How a page names others; None where there is no such page."""

    @property
    def live(self) -> bool:
        """Whether a server answers, so that filters and notes work."""

    def items(self, wanted: ItemsWanted, **changes: Any) -> str | None: ...

    def item(self, place: int, wanted: ItemsWanted) -> str | None: ...

    def static(self, name: str) -> str: ...


@dataclass(frozen=True)
class Served:
    """Addresses of the server."""

    live: bool = True

    def items(self, wanted: ItemsWanted, **changes: Any) -> str | None:
        """The list that is wanted."""
        words = replace(wanted, **({"page": 1} | changes)).words()
        return f"/?{urlencode(words)}" if words else "/"

    def item(self, place: int, wanted: ItemsWanted) -> str | None:
        """An item in the list that is wanted."""
        words = replace(wanted, page=1).words()
        return f"/item/{place + 1}{'?' if words else ''}{urlencode(words)}"

    def static(self, name: str) -> str:
        """A file that pages need."""
        return f"/static/{name}"


def file_of_item(place: int) -> str:
    """The file of an item's page."""
    return f"item-{place + 1:06d}.html"


@dataclass(frozen=True)
class ListFiles:
    """Files of a folder."""

    lists: dict[ItemsWanted, str]
    """The lists that there are, each with the beginning of its files' names."""
    written: frozenset[int] = field(default_factory=frozenset)
    """The places of the items that have a page."""
    live: bool = False

    def items(self, wanted: ItemsWanted, **changes: Any) -> str | None:
        """The file of a list, where there is one."""
        asked = replace(wanted, **changes)
        name = self.lists.get(replace(asked, page=1))
        page = asked.page if "page" in changes else 1
        return None if name is None else f"{name}.html" if page == 1 else f"{name}-{page}.html"

    def item(self, place: int, wanted: ItemsWanted) -> str | None:
        """The file of an item."""
        del wanted
        return file_of_item(place) if place in self.written else None

    def static(self, name: str) -> str:
        """A file that pages need."""
        return f"static/{name}"


# What stands on the pages of the room, from the table and what of it is wanted.


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
            "labels": self.labels,
        }

    @cached_property
    def labels(self) -> LabelWords:
        """The words that follow from where labels come from."""
        return LabelWords.of(self.table.benchmark)

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
    "label": "label",
    "category": "",
    "condition": "",
    "series": "of",
    "verdict": "verdict",
    "reason": "unscored",
    "arm": "shown",
    "attack": "under",
    "tag": "tagged",
    "differ": "judges differ",
}
"""The filters in the order of their words on a page."""


def chips(room: Room, wanted: ItemsWanted) -> Iterator[tuple[str, str | None]]:
    """What is filtered by, in words, each with the list without it."""
    for name, words in FILTERS.items():
        value = getattr(wanted, name)
        if value in ("", None, False) or (name == "within" and value == "all"):
            continue
        said = (
            ""
            if value is True
            else room.names[value]
            if name == "series"
            else BANDS[value]
            if name == "people"
            else str(value)
        )
        without = {name: getattr(ItemsWanted(), name)}
        yield f"{words} {said}".strip().replace("_", " "), room.links.items(wanted, **without)


def several_judges(table: ViewedTable) -> bool:
    return len({one.judge for one in table.series}) > 1


def quick(room: Room, wanted: ItemsWanted) -> Iterator[tuple[str, str]]:
    """Lists that many want, of the series that are looked at now."""
    looked = replace(ItemsWanted(), series=wanted.series, first=wanted.first, second=wanted.second)
    lists: tuple[tuple[str, dict[str, Any]], ...] = (
        ("a judge is wrong", {"outcome": "wrong"}),
        *([("wrong where people are sure", {"outcome": "wrong", "people": "90"})] if room.labels.rated else []),
        ("unscored", {"outcome": "unscored"}),
        *([("judges differ", {"differ": True, "series": None})] if several_judges(room.table) else []),
        ("most judges wrong first", {"sort": "wrong", "down": True}),
    )
    for words, changes in lists:
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
            "own_id": benchmark.items[row["place"]].source_id or "",
            "context": "" if room.withheld else short_context(benchmark, benchmark.items[row["place"]]),
            "category": row["category"],
            "condition": row["condition"].replace("_", " "),
            "people": people(row),
            "series": [said(row, place) for place in shown],
            "tags": () if note is None else (*note.tags, *(["note"] if note.text and not note.tags else [])),
        }


CONTEXT_SHOWN = 320
"""Characters of a context that a list shows."""


def short_context(benchmark: Benchmark, item: Item) -> str:
    """What an item's context states otherwise than its twin's, which has the same query, who asks first; all of it without a twin."""
    own = benchmark.written_of(item)
    if own is None:
        return "no context"
    twin = benchmark.twin_of(item)
    other = {} if twin is None else twin.texts()
    differs = [name for name, text in own.texts.items() if other.get(name) != text] or [*own.texts]
    who_first = sorted(differs, key=lambda name: not name.startswith("recipient."))
    said = " · ".join(own.texts[name] for name in who_first)
    return said if len(said) <= CONTEXT_SHOWN else f"{said[: CONTEXT_SHOWN - 1]}…"


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
    row, query = table.items.row(place, named=True), table.benchmark.query[item.query_id]
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
        "query": room.text(query.text),
        "judged": query.judged,
        "groups": [] if room.withheld else list(context_groups(room, item)),
        "twin": None if twin is None else room.links.item(twin, wanted),
        "has_twin": table.benchmark.twin_of(item) is not None,
        "series": [(name, said(row, at)) for at, name in enumerate(room.names)],
        "history": list(history(room, item)),
        "arms": [] if room.withheld else list(as_shown(room, item)),
        "note": room.notes.get(item.id),
        "own_id": item.source_id or "",
        "own": [] if room.withheld else [(name, as_text(said)) for name, said in (item.columns or {}).items()],
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
            value, limit = row["value"], scale_of(row["elicitation"]).threshold
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


# The room as a server on this machine: reads runs, and writes nothing but notes.


STATIC = Path(__file__).parent / "static"


KEPT = 32
"""Lists that are kept, so that the next page or item need not look for them again."""


class ViewingRoom:
    """Runs that are looked at, and the lists that were asked for last."""

    def __init__(self, viewed: Viewed) -> None:
        self.viewed = viewed
        self.templates = pages.templates(STATIC)
        self._chosen = lru_cache(KEPT)(self._choose)
        self._table = viewed.now()
        Thread(target=lambda table: table.contexts, args=(self._table,), daemon=True).start()  # for the first search

    def now(self) -> tuple[Room, ViewedTable]:
        """What there is to look at now."""
        self._table = self.viewed.now()
        room = Room(self._table, self.viewed.notes, Served(), under_way=self.viewed.under_way)
        return room, self._table

    def chosen(self, table: ViewedTable, wanted: ItemsWanted) -> Chosen:
        """The items that are wanted."""
        tags = tuple(sorted((item, note.tags) for item, note in self.viewed.notes.items())) if wanted.tag else ()
        return self._chosen(ItemsWanted.of(wanted.words() | {"page": "1"}), table.version, tags)

    def _choose(self, wanted: ItemsWanted, _version: int, tags: tuple[tuple[str, tuple[str, ...]], ...]) -> Chosen:
        return choose(self._table, wanted, tagged=dict(tags))

    def items(self, words: dict[str, str]) -> str:
        """The page of a list."""
        room, table = self.now()
        wanted = ItemsWanted.of(words)
        return rendered(self.templates, "viewing/items.html", **items_values(room, wanted, self.chosen(table, wanted)))

    def item(self, place: int, words: dict[str, str]) -> str:
        """The page of an item."""
        room, table = self.now()
        wanted = ItemsWanted.of(words)
        near = self.chosen(table, wanted).places
        note_to = f"{room.links.item(place, wanted)}".replace(f"/item/{place + 1}", f"/item/{place + 1}/note")
        values = item_values(room, wanted, place, near=near)
        notes_file = str(self.viewed.paths[0] / ITEM_NOTES)
        return rendered(self.templates, "viewing/item.html", **values, note_to=note_to, notes_file=notes_file)

    def keep(self, place: int, form: dict[str, list[str]]) -> None:
        """Keep a note on an item.

        Raises HTTPException: 422: it is too long, or a tag has a character that tags have not.
        """
        tags = tuple(filter(None, (tag.strip() for tag in form.get("tags", [""])[0].split(","))))
        text = form.get("text", [""])[0].replace("\r\n", "\n")
        try:
            note = ItemNote(
                item_id=self._table.benchmark.items[place].id,
                text=text,
                tags=tuple(dict.fromkeys(tags)),
                at=datetime.now(UTC),
            )
        except ValidationError as error:
            raise HTTPException(422, what_is_wrong(error)) from error
        self.viewed.note(note)


def rendered(templates: Any, name: str, **values: Any) -> str:
    """A page of the room."""
    known = {"person": None, "static": values["links"].static, "start": ItemsWanted(), "heading": "Items and judges"}
    return str(templates.get_template(name).render(known | values))


def create_view(viewed: Viewed, *, port: int) -> Starlette:
    """The room as an ASGI app that answers on loopback at `port`."""
    room = ViewingRoom(viewed)
    app = Starlette(
        routes=[
            Route("/", page(lambda request: room.items(dict(request.query_params)))),
            Route(
                "/item/{number:int}",
                page(lambda request: room.item(place_of(request, room), dict(request.query_params))),
            ),
            Route("/item/{number:int}/note", noting(room), methods=["POST"]),
            Route("/item_notes.jsonl", notes_of(room)),
            Route("/state", state_of(room)),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[
            Middleware(SecurityHeaders, behind_tls=False),
            Middleware(LoopbackOnly, port=port),
            Middleware(HeadAsGet),
            Middleware(BodyLimit),
        ],
        exception_handlers={HTTPException: problem(room), CasewiseError: problem(room)},
    )
    app.router.redirect_slashes = False  # it would lead to whatever host a request names
    return app


def page(made: Callable[[Request], str]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(made, request))

    return answer


def place_of(request: Request, room: ViewingRoom) -> int:
    place = int(request.path_params["number"]) - 1
    if not 0 <= place < len(room.viewed.now().items):
        raise HTTPException(404, "There is no such item.")
    return place


def noting(room: ViewingRoom) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        place = place_of(request, room)
        body = (await request.body()).decode("utf-8", "replace")
        form = parse_qs(body, keep_blank_values=True, max_num_fields=10)
        await run_in_threadpool(room.keep, place, form)
        to = request.url.path.removesuffix("/note")
        return RedirectResponse(f"{to}?{request.url.query}#notes" if request.url.query else f"{to}#notes", 303)

    return answer


def notes_of(room: ViewingRoom) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_request: Request) -> Response:
        lines = "".join(f"{note.line()}\n" for note in room.viewed.notes.values())
        named = {"Content-Disposition": f'attachment; filename="{ITEM_NOTES}"'}
        return PlainTextResponse(lines, media_type="application/x-ndjson", headers=named)

    return answer


def state_of(room: ViewingRoom) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_request: Request) -> Response:
        table = await run_in_threadpool(room.viewed.now)
        return JSONResponse({"version": table.version, "under_way": room.viewed.under_way})

    return answer


def problem(room: ViewingRoom) -> Callable[[Request, Exception], Response]:
    def answer(request: Request, error: Exception) -> Response:
        status, message = (error.status_code, error.detail) if isinstance(error, HTTPException) else (400, str(error))
        made = room.templates.get_template("problem.html").render(
            person=None, title="That did not work", message=message, path=request.url.path, static=Served().static
        )
        return HTMLResponse(made, status)

    return answer


# The room as a folder of pages that open from disk: lists instead of filters, and a page an item.


ROWS_COPIED = 200
"""Items a page of a list."""

PAIRED = 4
"""Series of which each two get their four cells."""

FILES = ("casewise.css", "viewing.css", "viewing.js", "icon.svg")


@dataclass(frozen=True)
class Copied:
    """What was written."""

    path: Path
    n_items: int
    n_lists: int


def write_view(
    viewed: Viewed, folder: Path, *, only: ItemsWanted = ItemsWanted(), withheld: bool = True, quoted: bool = False
) -> Copied:
    """Write the room to `folder`, which is new or empty, and return where to begin.

    `only`: the items that are wanted: no others are written.
    `withheld`: leave queries, contexts, replies and notes out.
    `quoted`: write what chatbots wrote, where there are any; only its owner may then look into the folder (0700).

    Raises ConfigurationError: something is there already, it cannot be written, or there is no such series.
    """
    if folder.exists() and (folder.is_file() or any(folder.iterdir())):
        raise ConfigurationError(f"{folder} exists, and nothing is overwritten; choose another place")
    table, templates = viewed.now(), pages.templates(STATIC)
    tagged = {item: note.tags for item, note in viewed.notes.items()}
    base = replace(only, page=1)
    found = [(one, choose(table, one.wanted, tagged=tagged)) for one in lists_of(table, base)]
    kept = [(one, chosen) for one, chosen in found if one.wanted == base or len(chosen.places)]
    places = found[0][1].places
    links = ListFiles({one.wanted: one.name for one, _ in kept}, frozenset(places))
    room = Room(
        table, {} if withheld else viewed.notes, links, withheld=withheld, unquoted=not quoted, rows=ROWS_COPIED
    )
    nav = navigation(one for one, _ in kept)
    known: dict[str, Any] = {"start": base, "lists": nav, "notes_file": "", "note_to": ""}
    try:
        (folder / "static").mkdir(parents=True)
        if quoted and table.of_replies:
            folder.chmod(0o700)
        for name in FILES:
            shutil.copyfile(STATIC / name, folder / "static" / name)
    except OSError as error:
        raise cannot_write(folder, error) from error
    for one, chosen in kept:
        for page in range(1, max(1, -(-len(chosen.places) // ROWS_COPIED)) + 1):
            values = items_values(room, replace(one.wanted, page=page), chosen) | {"heading": one.title}
            write_text(
                folder / str(links.items(one.wanted, page=page)),
                rendered(templates, "viewing/items.html", **(values | known)),
            )
    for place in places:
        values = item_values(room, base, place, near=places)
        write_text(folder / file_of_item(place), rendered(templates, "viewing/item.html", **(values | known)))
    if room.notes:
        here = set(table.items["item_id"][places])
        notes = (note.line() for item, note in room.notes.items() if item in here)
        write_text(folder / ITEM_NOTES, "".join(f"{line}\n" for line in notes))
    return Copied(folder / "index.html", len(places), len(kept))


class OneList(NamedTuple):
    """A list that a folder has: the beginning of its files' names, what it is called, where it stands, what is in it."""

    name: str
    title: str
    under: str
    wanted: ItemsWanted


def lists_of(table: ViewedTable, base: ItemsWanted) -> Iterator[OneList]:
    names = [short_name(one.name) for one in table.series]
    yield OneList("index", "All items" if base == ItemsWanted() else "Selected items", "Lists", base)
    for place, one in enumerate(table.series[:COLUMNS]):
        for outcome in ("wrong", "unscored") if one.reasons else ("wrong",):
            wanted = replace(base, series=place, outcome=outcome)
            yield OneList(f"series-{place}-{outcome}", f"{names[place]}: {outcome}", "Lists", wanted)
    if several_judges(table):
        yield OneList("differ", "Judges differ", "Lists", replace(base, differ=True))
    for second in range(min(PAIRED, len(names))):
        for first in range(second):
            name, title = f"beside-{first}-{second}", f"{names[first]} compared with {names[second]}"
            beside = replace(base, first=first, second=second)
            yield OneList(name, title, "Two side by side", beside)
            for cell in (*CELLS, "differ"):
                yield OneList(f"{name}-{cell}", f"{title}: {cell.replace('-', ' ')}", "", replace(beside, cell=cell))
    for place, category in enumerate([] if base.category else table.categories):
        yield OneList(f"category-{place}", category, "Categories", replace(base, category=category))


def navigation(lists: Iterable[OneList]) -> dict[str, list[tuple[str, str]]]:
    """What a page leads to; the cells of two side by side are reached from the page of the two."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one in lists:
        if one.under:
            found.setdefault(one.under, []).append((one.title, f"{one.name}.html"))
    return found
