"""The view: a server on this machine that shows runs item by item."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, cached_property, lru_cache
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

import polars as pl
from fastapi import Depends, FastAPI, Request
from jinja2 import Environment
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from casewise.ask.layouts import ShownItem
from casewise.errors import CasewiseError, ConfigurationError
from casewise.evaluate.judged_runs import RECORDED
from casewise.evaluate.viewing import (
    AGREEMENT,
    CELLS,
    LABELS,
    OUTCOMES,
    ItemFilter,
    RunView,
    SelectedItems,
    ViewedTable,
    select_items,
    shown_series,
)
from casewise.notation import number, spoken
from casewise.records import FULL, Item, as_text, scale_of
from casewise.reports.robustness import texts_of
from casewise.runs.texts import read_made_texts
from casewise.stats.words import Piece, difference
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import cannot_write, first_problem, write_text
from casewise.storage.run_folder import ITEM_NOTES, ItemNote
from casewise.storage.wording import LabelWords, noun_of
from casewise.text import Form, render, shortest_names, synthetic_notes
from casewise.transforms.catalogue import parse_arm, show
from casewise.transforms.texts import MadeTexts
from casewise.web import pages
from casewise.web.security import BodyLimit, HeadRequests, SecurityHeaders, SentForm

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
        elif scope["type"] != "websocket":
            await self._app(scope, receive, send)

    def refusal(self, headers: Headers, method: str) -> str | None:
        """Return why a request is not answered; None where it is."""
        if headers.getlist("host") != [host := headers.get("host", "")] or host.lower() not in self._hosts:
            return "This page answers on this machine only, under its own address."
        origin = headers.get("origin")
        if origin is None:
            return None if method in ("GET", "HEAD") else "The request does not state which page sent it."
        return None if origin.lower() == f"http://{host.lower()}" else "Requests from other sites are refused."


# Where pages of the view lead: to addresses of a server, or to files of a folder.


@dataclass(frozen=True)
class Links:
    """Addresses of other pages, on the server or in a folder; None where there is no such page."""

    lists: dict[ItemFilter, str] | None = None
    """The lists that a folder has, each with the beginning of its files' names; None on the server."""
    written: frozenset[int] = frozenset()
    """The places of the items that have a page in the folder."""

    @property
    def live(self) -> bool:
        """Return whether a server answers, so that filters and notes work."""
        return self.lists is None

    def items(self, query: ItemFilter, **changes: Any) -> str | None:
        """Return the list of a query."""
        query = replace(query, **({"page": 1} | changes))
        if self.lists is None:
            return f"/?{urlencode(words)}" if (words := query.words()) else "/"
        name = self.lists.get(replace(query, page=1))
        return None if name is None else f"{name}.html" if query.page == 1 else f"{name}-{query.page}.html"

    def item(self, place: int, query: ItemFilter) -> str | None:
        """Return an item in the list of a query."""
        if self.lists is not None:
            return f"item-{place + 1:06d}.html" if place in self.written else None
        return f"/item/{place + 1}{in_list(query)}"

    def note(self, place: int, query: ItemFilter) -> str:
        """Return the address that takes a note on an item, on the server."""
        return f"/item/{place + 1}/note{in_list(query)}"

    def static(self, name: str) -> str:
        """Return a file that pages need."""
        return f"/static/{name}" if self.live else f"static/{name}"


def in_list(query: ItemFilter) -> str:
    words = urlencode(replace(query, page=1).words())
    return f"?{words}" if words else ""


# What stands on the pages of the view, from the table and what of it is wanted.


ROWS = 50
"""Items a page."""

COLUMNS = 6
"""Series that stand beside each other at most."""

MARKS = {"right": "✓", "wrong": "✗"}

UNFILTERED = frozenset(("sort", "down", "page", "first", "second", "cell"))
"""Words of an address that leave no item out, or stand beside a list that shows what they leave out."""

BANDS = {"all": "everybody", "90": "90 % or more", "75": "75 % or more", "split": "less than 75 %"}

CELL_WORDS = (
    "both right",
    "only the first right",
    "only the second right",
    "both wrong",
    "no label or no verdict",
    "their verdicts differ",
)


@cache
def templates() -> Environment:
    return pages.templates()


@dataclass(frozen=True)
class ViewState:
    """The state that every page needs."""

    table: ViewedTable
    notes: dict[str, ItemNote]
    links: Links
    withheld: bool = False
    """True if texts stay out, as they do for a gated benchmark unless its owner says otherwise."""
    unquoted: bool = False
    """True if chatbots' replies stay out."""
    rows: int = ROWS

    def rendered(self, name: str, **values: Any) -> str:
        """Return a page, made of a template with what every page needs and `values`."""
        usual = {
            "links": self.links,
            "static": self.links.static,
            "table": self.table,
            "withheld": self.withheld,
            "names": self.names,
            "labels": self.labels,
            "noun": noun_of(self.table.benchmark),
            "synthetic": synthetic_notes(self.table.benchmark.about.synthetic),
            "person": None,
            "start": ItemFilter(),
            "heading": "Items and judges",
        }
        return templates().get_template(f"viewing/{name}.html").render(usual | values)

    @cached_property
    def labels(self) -> LabelWords:
        """The words that follow from where labels come from."""
        return LabelWords.for_benchmark(self.table.benchmark)

    @cached_property
    def names(self) -> list[str]:
        """Return the names of the series."""
        return names_of(self.table)

    def text(self, text: str) -> str:
        """Return a text, or that it is withheld."""
        return "withheld" if self.withheld else text


def names_of(table: ViewedTable) -> list[str]:
    """Return the names of the series, each as short as it is unique."""
    names = [series.name for series in table.series]
    form = Form(names=shortest_names(names))
    return [render(name, form) for name in names]


def list_values(state: ViewState, query: ItemFilter, chosen: SelectedItems) -> dict[str, Any]:
    """Return the page of a list."""
    series = shown_series(state.table, query)
    pages = max(1, -(-len(chosen.places) // state.rows))
    page = min(max(1, query.page), pages)
    places = chosen.places[(page - 1) * state.rows : page * state.rows]
    cells = None
    if chosen.cells is not None:
        cells = [
            {"words": words, "n": n, "to": state.links.items(query, cell=cell), "here": query.cell == cell}
            for (cell, n), words in zip(chosen.cells.items(), CELL_WORDS, strict=True)
        ]
    return {
        "wanted": replace(query, page=1),
        "rows": list(rows_of(state, places, series[:COLUMNS])),
        "columns": series[:COLUMNS],
        "n_more_columns": len(series[COLUMNS:]),
        "n": len(chosen.places),
        "n_items": len(state.table.items),
        "page": page,
        "pages": pages,
        "choices": choices(state) if state.links.live else {},
        "filtered": bool(query.words().keys() - UNFILTERED),
        "quick": list(common_lists(state, query)),
        "cells": cells,
        "several_judges": several_judges(state.table),
    }


def choices(state: ViewState) -> dict[str, list[tuple[str, str]]]:
    """Return what each filter can be: the word in the address, and what a reader is told."""
    table = state.table
    series = [(str(place), name) for place, name in enumerate(state.names)]
    tags = sorted({tag for note in state.notes.values() for tag in note.tags})
    plain = {
        "category": table.categories,
        "condition": table.conditions,
        "label": LABELS,
        "verdict": ("safe", "unsafe"),
        "outcome": OUTCOMES,
        "reason": sorted({reason for series in table.series for reason in series.reasons}),
        "arm": table.arms,
        "attack": table.attacks,
        "tag": tags,
    }
    choices = {name: [(word, spoken(word)) for word in words] for name, words in plain.items()}
    return choices | {"people": [(band, BANDS[band]) for band in AGREEMENT], "series": series}


def several_judges(table: ViewedTable) -> bool:
    return len({series.judge for series in table.series}) > 1


def common_lists(state: ViewState, query: ItemFilter) -> Iterator[tuple[str, str]]:
    """Yield links to the most used lists of the series that are looked at now."""
    same_series = replace(ItemFilter(), series=query.series, first=query.first, second=query.second)
    lists: tuple[tuple[str, dict[str, Any]], ...] = (
        ("a judge is wrong", {"outcome": "wrong"}),
        *([("wrong where people are sure", {"outcome": "wrong", "people": "90"})] if state.labels.rated else []),
        ("unscored", {"outcome": "unscored"}),
        *([("judges differ", {"differ": True, "series": None})] if several_judges(state.table) else []),
        ("most judges wrong first", {"sort": "wrong", "down": True}),
    )
    for words, changes in lists:
        if (address := state.links.items(same_series, **changes)) is not None:
            yield words, address


def rows_of(state: ViewState, places: pl.Series, series: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    benchmark = state.table.benchmark
    for row in state.table.items[places].iter_rows(named=True):
        note, item = state.notes.get(row["item_id"]), benchmark.items[row["place"]]
        yield {
            "place": row["place"],
            "query": state.text(benchmark.query[row["query_id"]].text),
            "own_id": item.source_id or "",
            "context": "" if state.withheld else short_context(benchmark, item),
            "category": row["category"],
            "condition": spoken(row["condition"]),
            "people": votes(row),
            "series": [verdict_shown(row, place) for place in series],
            "tags": () if note is None else (*note.tags, *(["note"] if note.text and not note.tags else [])),
        }


CONTEXT_SHOWN = 320
"""Characters of a context that a list shows."""


def short_context(benchmark: Benchmark, item: Item) -> str:
    """Return the statements of an item's context that differ from its twin's, the recipient's first; all without a
    twin."""
    own_text = benchmark.written_of(item)
    if own_text is None:
        return "no context"
    twin = benchmark.twin_of(item)
    twin_texts = {} if twin is None else twin.texts()
    differs = [name for name, text in own_text.texts.items() if twin_texts.get(name) != text] or [*own_text.texts]
    recipient_first = sorted(differs, key=lambda name: not name.startswith("recipient."))
    text = " · ".join(own_text.texts[name] for name in recipient_first)
    return text if len(text) <= CONTEXT_SHOWN else f"{text[: CONTEXT_SHOWN - 1]}…"


def votes(row: dict[str, Any]) -> dict[str, Any]:
    return {"safe": row["n_safe"], "total": row["n_votes"], "label": row["label"]}


def verdict_shown(row: dict[str, Any], place: int) -> dict[str, str]:
    """Return one series on one item: its verdict in words with its value, and whether it is right."""
    outcome, value, verdict = row[f"outcome_{place}"], row[f"value_{place}"], row[f"verdict_{place}"]
    if outcome == "unscored":
        words = f"unscored: {row[f'reason_{place}'] or 'no reason given'}"
    else:
        words = outcome if outcome == "not asked" else in_words(verdict, value)
    return {"words": words, "mark": MARKS.get(outcome, ""), "outcome": outcome}


def in_words(verdict: int | None, value: float) -> str:
    """Return a verdict, and its value where that says more."""
    exact = "" if verdict is not None and value in (0.0, 1.0) else number(value, digits=2)
    return " ".join(filter(None, ({1: "safe", 0: "unsafe", None: ""}[verdict], exact)))


def item_values(state: ViewState, query: ItemFilter, place: int, *, near: pl.Series) -> dict[str, Any]:
    """Return the page of an item. `near`: the places of the list that it was reached from."""
    table, benchmark = state.table, state.table.benchmark
    item, row, at = benchmark.items[place], table.items.row(place, named=True), near.index_of(place)
    before, after = (
        None if at is None or not 0 <= at + step < len(near) else state.links.item(near[at + step], query)
        for step in (-1, 1)
    )
    paired_ids = [paired.id for paired in benchmark.pairs.get(item.pair_id or "", ()) if paired.id != item.id]
    twin = int(table.items["item_id"].index_of(paired_ids[0]) or 0) if len(paired_ids) == 1 else None
    stated, twin_context = benchmark.query[item.query_id], benchmark.twin_of(item)
    own_context = show(FULL, stated, benchmark.context_of(item))
    twin_shown = None if twin_context is None else show(FULL, stated, twin_context)
    return {
        "wanted": query,
        "place": place,
        "item": item,
        "at": at,
        "n": len(near),
        "before": before,
        "after": after,
        "back": state.links.items(query, page=1 if at is None else at // state.rows + 1),
        "category": row["category"],
        "condition": spoken(row["condition"]),
        "intended": {True: "safe", False: "unsafe", None: "not stated"}[row["intended_safe"]],
        "people": votes(row),
        "query": state.text(stated.text),
        "judged": stated.judged,
        "groups": [] if state.withheld else with_marks(own_context, twin_shown),
        "twin": None if twin is None else state.links.item(twin, query),
        "has_twin": twin_context is not None,
        "series": [(name, verdict_shown(row, number)) for number, name in enumerate(state.names)],
        "history": list(history(state, item)),
        "arms": [] if state.withheld else list(as_shown(state, item)),
        "note": state.notes.get(item.id),
        "own_id": item.source_id or "",
        "own": [] if state.withheld else [(name, as_text(value)) for name, value in (item.columns or {}).items()],
    }


@dataclass(frozen=True)
class ComparedText:
    """A labelled text with what another says otherwise marked, or beside it where they have little in common."""

    name: str
    pieces: list[Piece]
    other: str | None = None


IN_COMMON = 0.5
"""Share of the letters that two texts must share for marks between their words to be readable."""


def with_marks(shown: ShownItem, original: ShownItem | None) -> list[tuple[str, list[ComparedText]]]:
    """Return the statements, group by group, with the differences from the original marked where there is one."""
    texts_before = (
        {(group, name): text for group, texts in texts_of(original) for name, text in texts} if original else {}
    )

    def stated(group: str, name: str, text: str) -> ComparedText:
        if original is None:
            return ComparedText(name, [Piece("same", text)])
        before = texts_before.get((group, name), "")
        pieces = difference(before, text)
        shared = sum(len(piece.text) for piece in pieces if piece.kind == "same" and not piece.text.isspace())
        if before and shared < IN_COMMON * max(len(text), len(before)):
            return ComparedText(name, [Piece("same", text)], before)
        return ComparedText(name, pieces)

    return [(group, [stated(group, name, text) for name, text in texts]) for group, texts in texts_of(shown)]


def as_shown(state: ViewState, item: Item) -> Iterator[dict[str, Any]]:
    """Yield the item as each arm but the whole shows it, with what that changes marked."""
    benchmark = state.table.benchmark
    query, context, twin = benchmark.query[item.query_id], benchmark.context_of(item), benchmark.twin_of(item)
    whole = show(FULL, query, context)
    texts = MadeTexts(
        {key: text for judged in state.table.judged for key, text in read_made_texts(judged.run.path).items()}
    )
    for name in state.table.arms:
        try:
            arm = parse_arm(name)
            if arm.shows_all:
                continue
            shown = show(arm, query, context, twin=twin, made=texts)
        except CasewiseError as error:  # a file of one's own that has moved or changed since the run
            yield {"arm": name, "problem": str(error)}
            continue
        groups, marked_query = with_marks(shown, whole), difference(whole.query, shown.query)
        yield {"arm": name, "problem": shown.problem, "query": marked_query, "groups": groups}


def history(state: ViewState, item: Item) -> Iterator[dict[str, Any]]:
    """Yield every judgement of the item, attempts that were made again included, with its reply."""
    for judged in state.table.judged:
        rows = judged.every.filter(pl.col("item_id") == item.id)
        hidden = state.withheld or (state.unquoted and judged.run.behaviour is not None)
        order = [pl.col(name).cast(pl.String) for name in ("arm", "elicitation")]
        for row in rows.sort(*order, "repeat", "attempt").iter_rows(named=True):
            value, limit = row["value"], scale_of(row["elicitation"]).threshold
            verdict = None if value is None or limit is None else int(value > limit)
            yield {
                "judge": judged.judge.removeprefix(RECORDED),
                "asked": f"{row['elicitation']}, {row['arm']}",
                "repeat": row["repeat"] + 1,
                "attempt": row["attempt"] + 1,
                "said": f"unscored: {row['unscored_reason']}" if value is None else in_words(verdict, value),
                "read_as": row["read_as"] or "",
                "reply": None if hidden else row.get("raw_reply"),
                "hidden": hidden,
            }


# The view as a server on this machine: reads runs, and writes nothing but notes.


LISTS_CACHED = 32
"""Lists in memory, so that the next page or item need not look for them again."""


def place_of(request: Request, number: int) -> int:
    if not 1 <= number <= len(request.app.state.viewed.table.items):
        raise HTTPException(404, "There is no such item.")
    return number - 1


Place = Annotated[int, Depends(place_of)]
"""The place of the item whose number the address has."""


def create_view(viewed: RunView, *, port: int) -> FastAPI:
    """Return the view as an ASGI app that answers on loopback at `port`."""
    app = FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # it would lead to whatever host a request names
        middleware=[
            Middleware(SecurityHeaders, behind_tls=False),
            Middleware(LoopbackOnly, port=port),
            Middleware(HeadRequests),
            Middleware(BodyLimit),
        ],
    )
    app.state.viewed = viewed
    app.mount("/static", StaticFiles(directory=pages.STATIC))
    Thread(target=lambda table: table.contexts, args=(viewed.table,), daemon=True).start()  # for the first search

    @lru_cache(LISTS_CACHED)
    def cached_list(query: ItemFilter, tags: tuple[tuple[str, tuple[str, ...]], ...]) -> SelectedItems:
        return select_items(viewed.table, query, tagged=dict(tags))

    def requested_list(request: Request) -> tuple[ViewState, ItemFilter, SelectedItems]:
        state = ViewState(viewed.table, viewed.notes, Links())
        query = ItemFilter.from_query(dict(request.query_params))
        tags = tuple(sorted((item, note.tags) for item, note in viewed.notes.items())) if query.tag else ()
        return state, query, cached_list(replace(query, page=1), tags)

    @app.get("/")
    def items(request: Request) -> HTMLResponse:
        state, query, chosen = requested_list(request)
        return HTMLResponse(state.rendered("items", **list_values(state, query, chosen)))

    @app.get("/item/{number:int}")
    def item(request: Request, place: Place) -> HTMLResponse:
        state, query, chosen = requested_list(request)
        values = item_values(state, query, place, near=chosen.places)
        note_to = state.links.note(place, query)
        notes_file = str(viewed.paths[0] / ITEM_NOTES)
        return HTMLResponse(state.rendered("item", **values, note_to=note_to, notes_file=notes_file))

    @app.post("/item/{number:int}/note")
    def note(request: Request, place: Place, form: SentForm) -> RedirectResponse:
        tags = filter(None, (tag.strip() for tag in form.get("tags", "").split(",")))
        try:
            note = ItemNote(
                item_id=viewed.table.benchmark.items[place].id,
                text=form.get("text", "").replace("\r\n", "\n"),
                tags=tuple(dict.fromkeys(tags)),
                at=datetime.now(UTC),
            )
        except ValidationError as error:
            raise HTTPException(422, first_problem(error)) from error
        viewed.note(note)
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/item/{place + 1}{query}#notes", 303)

    def problem(request: Request, error: Exception) -> HTMLResponse:
        status, message = (error.status_code, error.detail) if isinstance(error, HTTPException) else (400, str(error))
        values = {"person": None, "title": "That did not work", "message": message, "path": request.url.path}
        page = templates().get_template("problem.html").render(values, static=Links().static)
        return HTMLResponse(page, status)

    app.add_exception_handler(HTTPException, problem)
    app.add_exception_handler(CasewiseError, problem)
    return app


# The view as a folder of pages that open from disk: lists instead of filters, and a page an item.


ROWS_COPIED = 200
"""Items a page of a list."""

PAIRED = 4
"""Series of which each two get their four cells."""

FILES = ("casewise.css", "viewing.css", "viewing.js", "icon.svg")


class WrittenView(NamedTuple):
    """The first page of a copy, and the numbers of items and lists that were written."""

    path: Path
    n_items: int
    n_lists: int


def write_view(
    viewed: RunView, folder: Path, *, only: ItemFilter = ItemFilter(), withheld: bool = True, quoted: bool = False
) -> WrittenView:
    """Write the view to `folder`, which is new or empty, and return where to begin.

    `only`: the items that are wanted: no others are written.
    `withheld`: leave queries, contexts, replies and notes out.
    `quoted`: write what chatbots wrote, where there are any; only its owner may then look into the folder (0700).

    Raises ConfigurationError: something is there already, it cannot be written, or there is no such series.
    """
    if folder.exists() and (folder.is_file() or any(folder.iterdir())):
        raise ConfigurationError(f"{folder} exists, and nothing is overwritten; choose another place")
    table = viewed.table
    tagged = {item: note.tags for item, note in viewed.notes.items()}
    base = replace(only, page=1)
    every = [(listed, select_items(table, listed.query, tagged=tagged)) for listed in lists_of(table, base)]
    lists = [(listed, chosen) for listed, chosen in every if listed.query == base or len(chosen.places)]
    places = every[0][1].places
    links = Links({listed.query: listed.name for listed, _ in lists}, frozenset(places))
    notes = {} if withheld else viewed.notes
    state = ViewState(table, notes, links, withheld=withheld, unquoted=not quoted, rows=ROWS_COPIED)
    # the cells of two side by side are reached from the page of the two
    navigation: dict[str, list[tuple[str, str]]] = {}
    for listed, _ in lists:
        if listed.under:
            navigation.setdefault(listed.under, []).append((listed.title, f"{listed.name}.html"))
    usual: dict[str, Any] = {"start": base, "lists": navigation, "notes_file": "", "note_to": ""}
    try:
        (folder / "static").mkdir(parents=True)
        if quoted and table.of_replies:
            folder.chmod(0o700)
        for name in FILES:
            shutil.copyfile(pages.STATIC / name, folder / "static" / name)
    except OSError as error:
        raise cannot_write(folder, error) from error
    for listed, chosen in lists:
        for page in range(1, max(1, -(-len(chosen.places) // ROWS_COPIED)) + 1):
            values = list_values(state, replace(listed.query, page=page), chosen) | {"heading": listed.title} | usual
            write_text(folder / str(links.items(listed.query, page=page)), state.rendered("items", **values))
    for place in places:
        values = item_values(state, base, place, near=places) | usual
        write_text(folder / str(links.item(place, base)), state.rendered("item", **values))
    if notes:
        item_ids = set(table.items["item_id"][places])
        lines = (note.line() for item, note in notes.items() if item in item_ids)
        write_text(folder / ITEM_NOTES, "".join(f"{line}\n" for line in lines))
    return WrittenView(folder / "index.html", len(places), len(lists))


class ItemList(NamedTuple):
    """A list that a folder has: the beginning of its files' names, what it is called, where it stands, what is in it."""

    name: str
    title: str
    under: str
    query: ItemFilter


def lists_of(table: ViewedTable, base: ItemFilter) -> Iterator[ItemList]:
    names = names_of(table)
    yield ItemList("index", "All items" if base == ItemFilter() else "Selected items", "Lists", base)
    for place, series in enumerate(table.series[:COLUMNS]):
        for outcome in ("wrong", "unscored") if series.reasons else ("wrong",):
            query = replace(base, series=place, outcome=outcome)
            yield ItemList(f"series-{place}-{outcome}", f"{names[place]}: {outcome}", "Lists", query)
    if several_judges(table):
        yield ItemList("differ", "Judges differ", "Lists", replace(base, differ=True))
    for second in range(min(PAIRED, len(names))):
        for first in range(second):
            name, title = f"beside-{first}-{second}", f"{names[first]} compared with {names[second]}"
            side_by_side = replace(base, first=first, second=second)
            yield ItemList(name, title, "Two side by side", side_by_side)
            for cell in CELLS:
                yield ItemList(
                    f"{name}-{cell}", f"{title}: {' '.join(cell.split('-'))}", "", replace(side_by_side, cell=cell)
                )
    for place, category in enumerate([] if base.category else table.categories):
        yield ItemList(f"category-{place}", category, "Categories", replace(base, category=category))
