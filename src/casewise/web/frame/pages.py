"""How a page is made: a Jinja template, escaped everywhere, with the form token and who is signed in."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from casewise.database.staff import Person, Role
from casewise.studies.design.languages import ENGLISH
from casewise.web.security.cookies import read_cookie, set_cookie
from casewise.web.security.csrf import BROWSER_COOKIE, browser_id, csrf_token

__all__ = ["NAVIGATION", "Elsewhere", "redirect", "render", "templates"]


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
    environment.globals |= {"t": ENGLISH, "lang": ENGLISH.language, "direction": ENGLISH.direction}
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
