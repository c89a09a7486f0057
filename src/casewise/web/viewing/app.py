"""The room as a server on this machine: reads runs, and writes nothing but notes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from casewise.errors import CasewiseError
from casewise.evaluation.viewing.choosing import Chosen, ItemsWanted, choose
from casewise.evaluation.viewing.table import ViewedTable
from casewise.evaluation.viewing.viewed import Viewed
from casewise.storage.files.strict_json import what_is_wrong
from casewise.storage.runs.item_notes import ITEM_NOTES, ItemNote
from casewise.web.frame import pages
from casewise.web.security.headers import SecurityHeaders
from casewise.web.security.plain_requests import BodyLimit, HeadAsGet
from casewise.web.viewing.links import Served
from casewise.web.viewing.loopback import LoopbackOnly
from casewise.web.viewing.pages import Room, item_values, items_values

__all__ = ["STATIC", "ViewingRoom", "create_view", "rendered"]

STATIC = Path(__file__).parent.parent / "static"


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
    known = {"person": None, "static": values["links"].static, "start": ItemsWanted(), "heading": "Items beside judges"}
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
