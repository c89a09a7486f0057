"""Who is asking, and whether they may: `require(Role.REVIEWER)` is a dependency of each route behind the sign-in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, HTTPException, Request

from casewise.database import Database
from casewise.database.staff import Person, Role, session_person
from casewise.web.security.cookies import read_cookie
from casewise.web.security.csrf import SESSION_COOKIE

__all__ = ["Now", "Owner", "SignInFirst", "Worker", "current_person", "database_of", "now", "require", "utc_now"]


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
    found: Database = request.app.state.database
    return found


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
"""Who works on contexts and translations."""
Owner = Annotated[Person, Depends(require(Role.OWNER))]
"""It stands before the round in each route: who may not look is not told whether there is one."""
