"""Pages made from templates, who asks for them, what goes wrong as a page or as JSON, and the server's log."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import jinja2
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from casewise.database import Database
from casewise.database.staff import Person, Role, session_person
from casewise.errors import CasewiseError
from casewise.notation import hyphened, spoken
from casewise.studies.language import ENGLISH, Translator
from casewise.web.security import (
    BROWSER_COOKIE,
    SESSION_COOKIE,
    add_headers,
    browser_id,
    check_csrf,
    csrf_token,
    read_cookie,
    refuse_nul,
    set_cookie,
)

# Who is asking, and whether they may: `require(Role.REVIEWER)` is a dependency of each route behind the sign-in.


class Redirection(Exception):
    """Raised where the person belongs on another page; answered with a redirect to it.

    A script is answered with `status` instead, where there is one.
    """

    def __init__(self, address: str, status: int | None = None) -> None:
        super().__init__(address)
        self.address, self.status = address, status


async def now(request: Request) -> datetime:
    """Return the time, in UTC, by the app's clock, which tests may replace. (A plain function would be run in a thread.)"""
    clock: Callable[[], datetime] = request.app.state.clock
    return clock()


Now = Annotated[datetime, Depends(now)]


def database_of(request: Request) -> Database:
    """Return the app's database."""
    database: Database = request.app.state.database
    return database


def current_person(request: Request, at: Now) -> Person | None:
    """Return the person who is signed in, or None."""
    token = read_cookie(request, SESSION_COOKIE)
    person = None
    if token is not None:
        with database_of(request).read() as connection:
            person = session_person(connection, token, now=at)
    request.state.person = person
    return person


Visitor = Annotated[Person | None, Depends(current_person)]
"""The person who is signed in, or None."""


def require(*roles: Role) -> Callable[..., Person]:
    """Return a dependency that gives the person signed in, who has one of `roles` (any, if none is named)."""

    def person_with_role(request: Request, person: Visitor) -> Person:
        if person is None:
            path = request.url.path if request.method == "GET" else "/"
            raise Redirection(f"/sign-in?next={quote(path, safe='/')}", 401)
        if roles and not person.has(*roles):
            raise HTTPException(403, f"This page is for people with the role {' or '.join(roles)}.")
        return person

    return person_with_role


Worker = Annotated[Person, Depends(require(Role.REVIEWER, Role.EXPERT))]
"""A person who works on contexts."""
Owner = Annotated[Person, Depends(require(Role.OWNER))]
"""A study's owner. Each route checks it before the round, so that other people are not told whether the round exists."""


# How a page is made: a Jinja template, escaped everywhere, with the form token and who is signed in.


NAVIGATION: tuple[tuple[str, str, frozenset[Role]], ...] = (
    ("/review", "Review", frozenset({Role.REVIEWER, Role.EXPERT, Role.ADMINISTRATOR})),
    ("/people", "People", frozenset({Role.ADMINISTRATOR})),
    ("/studies", "Studies", frozenset({Role.OWNER})),
)
"""Address, label, and the roles that see it."""


STATIC = Path(__file__).parent / "static"


@cache
def static_link(name: str) -> str:
    """Return a link to a static file that changes with the file, so that browsers may keep it for ever."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def templates() -> jinja2.Environment:
    """Return the template environment: everything is escaped, and a name that is not given is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("casewise.web", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"static": static_link, "t": ENGLISH, "lang": ENGLISH.language}
    environment.filters |= {"spoken": spoken, "hyphened": hyphened}
    return environment


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return the page that `template` makes of `values`."""
    person: Person | None = getattr(request.state, "person", None)
    navigation = [(address, label) for address, label, roles in NAVIGATION if person and person.has(*roles)]
    body = request.app.state.templates.get_template(template).render(
        values, csrf=csrf_token(request), person=person, navigation=navigation, path=request.url.path
    )
    response = HTMLResponse(body, status)
    if read_cookie(request, BROWSER_COOKIE) is None:
        set_cookie(request, response, BROWSER_COOKIE, browser_id(request))
    return response


def redirect(to: str) -> RedirectResponse:
    """Send the browser on with GET, so that reloading sends no form twice."""
    return RedirectResponse(to, 303)


# What goes wrong becomes a page that says so, in the app's own words.


RETRY_AFTER_S = 20
log = logging.getLogger(__name__)
OTHER_TITLE = "That did not work"
TITLES = {
    403: "No access",
    404: "Page not found",
    409: "Changed by another person",
    413: "Request too large",
    429: "Too many attempts",
    500: "Our mistake",
    503: "Please try again in a moment",
}
MESSAGES = {
    404: "The address is wrong, or the page was removed.",
    405: "This address does not accept this kind of request.",
    503: "The database cannot be reached at the moment. Your earlier answers are saved. What you just sent is not saved yet.",
}


def install_errors(app: FastAPI) -> None:
    """Install handlers by which `app` answers errors with pages, or with JSON where a script asks for it."""

    @app.exception_handler(Redirection)
    def redirection(request: Request, error: Redirection) -> Response:
        if error.status is not None and wants_json(request):
            return problem(request, error.status, "You are not signed in.")
        return redirect(error.address)

    @app.exception_handler(StarletteHTTPException)
    def http_error(request: Request, error: HTTPException) -> Response:
        return problem(request, error.status_code, MESSAGES.get(error.status_code, str(error.detail)))

    @app.exception_handler(RequestValidationError)
    def not_valid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        detail = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        return problem(request, 422, detail if wants_json(request) else MESSAGES[404])

    @app.exception_handler(CasewiseError)
    def casewise_error(request: Request, error: CasewiseError) -> Response:
        return problem(request, 400, str(error))

    @app.exception_handler(OperationalError)
    @app.exception_handler(InterfaceError)
    @app.exception_handler(PoolTimeout)
    def database_unavailable(request: Request, error: Exception) -> Response:
        log.error("the database is not available: %s", getattr(error, "orig", error))
        response = problem(request, 503, MESSAGES[503])
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
        return response

    @app.exception_handler(Exception)
    def unexpected_error(request: Request, _error: Exception) -> Response:
        message = "The server made an error. Nothing was changed, and the server's log has the details."
        response = problem(request, 500, message)
        # Starlette answers this one outside of all middleware.
        add_headers(response.headers, request.scope, behind_tls=request.app.state.settings.behind_tls)
        return response


def wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


def problem(request: Request, status: int, message: str) -> Response:
    """Return a page, or a JSON object, that says what went wrong."""
    if wants_json(request):
        return JSONResponse({"problem": message}, status)
    values: dict[str, Any] = {"title": TITLES.get(status, OTHER_TITLE), "message": message}
    if request.url.path.startswith("/study/"):
        translators: dict[str, Translator] = request.app.state.translators  # by round, where one of its pages was shown
        t = translators.get(request.url.path.removeprefix("/study/").partition("/")[0], ENGLISH)
        if status == 403:  # no page of theirs asks for a role: a form was out of date
            values["title"] = OTHER_TITLE
        values |= {"t": t, "lang": t.language}
    return render(request, "problem.html", status=status, **values)


# What every request goes through before anything is done for it.


async def check_request(request: Request) -> None:
    """Refuse a request that no page of ours sends. A dependency of the whole app; a route past FastAPI's asks for it itself."""
    await refuse_nul(request)
    await check_csrf(request)
