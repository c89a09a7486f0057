"""Pages made from templates, and who asks for them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import jinja2
from fastapi import Depends, HTTPException, Request
from starlette.responses import HTMLResponse, RedirectResponse

from casewise.database import Database
from casewise.database.staff import Person, Role, session_person
from casewise.studies.design import ENGLISH
from casewise.web.security import BROWSER_COOKIE, SESSION_COOKIE, browser_id, csrf_token, read_cookie, set_cookie

# Who is asking, and whether they may: `require(Role.REVIEWER)` is a dependency of each route behind the sign-in.


class SignInFirst(Exception):
    """Nobody is signed in; answered with a redirect to the sign-in page, or 401 where no page is asked for."""

    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.sign_in = f"/sign-in?next={quote(wanted, safe='/')}"


async def now(request: Request) -> datetime:
    """The time, in UTC, by the app's clock, which tests may replace. (A plain function would be run in a thread.)"""
    clock: Callable[[], datetime] = request.app.state.clock
    return clock()


Now = Annotated[datetime, Depends(now)]


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def database_of(request: Request) -> Database:
    """The app's database."""
    database: Database = request.app.state.database
    return database


def current_person(request: Request, at: Now) -> Person | None:
    """Who is signed in, if anybody."""
    token = read_cookie(request, SESSION_COOKIE)
    person = None
    if token is not None:
        with database_of(request).read() as connection:
            person = session_person(connection, token, now=at)
    request.state.person = person
    return person


def require(*roles: Role) -> Callable[..., Person]:
    """A dependency that gives the person signed in, who has one of `roles` (any, if none is named)."""

    def person_with_role(request: Request, person: Annotated[Person | None, Depends(current_person)]) -> Person:
        if person is None:
            raise SignInFirst(request.url.path if request.method == "GET" else "/")
        if roles and not person.has(*roles):
            raise HTTPException(403, f"This page is for people with the role {' or '.join(roles)}.")
        return person

    return person_with_role


Worker = Annotated[Person, Depends(require(Role.REVIEWER, Role.EXPERT))]
"""Who works on contexts."""
Owner = Annotated[Person, Depends(require(Role.OWNER))]
"""It stands before the round in each route: who may not look is not told whether there is one."""


# How a page is made: a Jinja template, escaped everywhere, with the form token and who is signed in.


NAVIGATION: list[tuple[str, str, frozenset[Role]]] = [
    ("/review", "Review", frozenset({Role.REVIEWER, Role.EXPERT, Role.ADMINISTRATOR})),
    ("/people", "People", frozenset({Role.ADMINISTRATOR})),
]
"""Address, label, and the roles that see it."""


class Elsewhere(Exception):
    """Whoever asks belongs on another page; answered with a redirect to it."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address


def templates(static: Path) -> jinja2.Environment:
    """The template environment; `static` is the folder whose files pages link to by a hash of their content."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("casewise.web", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["static"] = StaticLinks(static)
    environment.globals |= {"t": ENGLISH, "lang": ENGLISH.language}
    return environment


class StaticLinks:
    """Links to static files that change with the file, so that browsers may keep them for ever."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._links: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        if name not in self._links:
            digest = hashlib.sha256((self._folder / name).read_bytes()).hexdigest()[:12]
            self._links[name] = f"/static/{name}?v={digest}"
        return self._links[name]


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """The page that `template` makes of `values`."""
    person: Person | None = getattr(request.state, "person", None)
    body = request.app.state.templates.get_template(template).render(
        values, csrf=csrf_token(request), person=person, navigation=navigation_of(person), path=request.url.path
    )
    response = HTMLResponse(body, status)
    if read_cookie(request, BROWSER_COOKIE) is None:
        set_cookie(request, response, BROWSER_COOKIE, browser_id(request))
    return response


def navigation_of(person: Person | None) -> list[tuple[str, str]]:
    if person is None:
        return []
    return [(address, label) for address, label, roles in NAVIGATION if person.has(*roles)]


def redirect(to: str) -> RedirectResponse:
    """Send the browser on with GET, so that reloading sends no form twice."""
    return RedirectResponse(to, 303)
