"""Signing in and out, accepting an invitation, and the administrator's page about people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.datastructures import FormData
from starlette.responses import JSONResponse, Response

from casewise.database.engine import RateLimit, forget_limit, take
from casewise.database.staff import (
    SESSION_LASTS,
    Invitation,
    Person,
    Role,
    end_session,
    everyone,
    find_by_email,
    find_person,
    invite,
    join,
    note,
    open_invitation,
    password_hash_of,
    set_active,
    set_roles,
    start_session,
)
from casewise.errors import ConfigurationError
from casewise.web.pages import NAVIGATION, Now, Visitor, database_of, redirect, render, require
from casewise.web.security import (
    SESSION_COOKIE,
    SentForm,
    browser_id,
    hash_password,
    password_fits,
    password_problem,
    read_cookie,
    set_cookie,
)

router = APIRouter()

PER_EMAIL = RateLimit(burst=8, per_s=900)
"""Rate limit of one e-mail address, from one internet address or one known browser."""
PER_ADDRESS = RateLimit(burst=40, per_s=900)
FROM_EVERYWHERE = RateLimit(burst=100, per_s=900)
"""Rate limit of one e-mail address, from all browsers in which no one signed in as it before."""
KNOWN_COOKIE = "casewise_known"
KNOWN_LASTS_S = 60 * 60 * 24 * 365

Administrator = Annotated[Person, Depends(require(Role.ADMINISTRATOR))]
SignedIn = Annotated[Person, Depends(require())]


@router.get("/health")
def health(request: Request) -> Response:
    """Answer a monitoring program: whether the server answers, and its database takes and gives back what is written."""
    problem = database_of(request).problem(now=datetime.now(UTC))
    return JSONResponse({"database": problem or "answers"}, 503 if problem else 200)


@router.get("/")
def home(request: Request, person: SignedIn) -> Response:
    """Return the first page that this person's roles have."""
    for address, _label, roles in NAVIGATION:
        if person.has(*roles):
            return redirect(address)
    return render(request, "staff/nothing.html")


@router.get("/sign-in")
def sign_in_page(request: Request, person: Visitor) -> Response:
    target = request.query_params.get("next", "/")
    return redirect(own_page(target)) if person else render(request, "staff/sign_in.html", wanted=target, problem=None)


@router.post("/sign-in")
def sign_in(request: Request, form: SentForm, at: Now) -> Response:
    """Check a password, as often as the limits in the database allow."""
    email, target = form.get("email", "").strip().lower(), form.get("next", "/")
    if not may_try(request, email, now=at):
        problem = "Too many attempts. Wait a few minutes, or ask an administrator for a new link."
        return render(request, "staff/sign_in.html", status=429, wanted=target, problem=problem)
    with database_of(request).read() as connection:
        person = find_by_email(connection, email)
        stored = password_hash_of(connection, person.id) if person else None
    fits = password_fits(form.get("password", ""), stored)  # takes as long for an unknown address
    if person is None or not fits or not person.active:
        problem = "The e-mail address or the password is wrong."
        return render(request, "staff/sign_in.html", status=400, wanted=target, problem=problem)
    return signed_in(request, person, to=own_page(target), now=at)


def may_try(request: Request, email: str, *, now: datetime) -> bool:
    host = request.client.host if request.client else "unknown"
    mac = request.app.state.signing.mac
    # A browser in which this person signed in before has attempts that others cannot use up.
    known_browser = read_cookie(request, KNOWN_COOKIE) == mac(email, use="known browser")
    key = f"{email}\0{browser_id(request)}" if known_browser else f"{email}\0{host}"
    with database_of(request).write() as connection:
        allowed = take(connection, mac(key, use="limit:email"), PER_EMAIL, now=now)
        if known_browser:
            return allowed
        by_address = take(connection, mac(host, use="limit:address"), PER_ADDRESS, now=now)
        from_everywhere = take(connection, mac(email, use="limit:everywhere"), FROM_EVERYWHERE, now=now)
    return allowed and by_address and from_everywhere


def signed_in(request: Request, person: Person, *, to: str, now: datetime) -> Response:
    with database_of(request).write() as connection:
        token = start_session(connection, person, now=now)
        host = request.client.host if request.client else "unknown"
        for mine in (browser_id(request), host):
            key = request.app.state.signing.mac(f"{person.email}\0{mine}", use="limit:email")
            forget_limit(connection, key)
        note(connection, "signed in", by=person.id, subject=person.id, now=now)
    response = redirect(to)
    set_cookie(request, response, SESSION_COOKIE, token, lasts_s=int(SESSION_LASTS.total_seconds()))
    browser_mac = request.app.state.signing.mac(person.email, use="known browser")
    set_cookie(request, response, KNOWN_COOKIE, browser_mac, lasts_s=KNOWN_LASTS_S)
    return response


def own_page(target: str) -> str:
    """Return `target` if it is a page of this app: a link must not lead elsewhere through our sign-in."""
    parts = urlsplit(target)
    harmless = target.startswith("/") and not target.startswith(("//", "/\\")) and "\\" not in target
    return target if harmless and not parts.netloc and target.isprintable() else "/"


@router.post("/sign-out")
def sign_out(request: Request, at: Now) -> Response:
    token = read_cookie(request, SESSION_COOKIE)
    if token is not None:
        with database_of(request).write() as connection:
            end_session(connection, token, now=at)
    response = redirect("/sign-in")
    response.delete_cookie(SESSION_COOKIE)
    return response


@router.get("/join/{token}")
def join_page(request: Request, token: str, at: Now) -> Response:
    invitation = invitation_of(request, token, at)
    with database_of(request).read() as connection:
        person = find_by_email(connection, invitation.email)
    return join_form(request, token, invitation, name=person.name if person else "")


@router.post("/join/{token}")
def join_now(request: Request, token: str, form: SentForm, at: Now) -> Response:
    """Use an invitation link: choose a name and a password, and be signed in."""
    name, password = form.get("name", "").strip()[:200], form.get("password", "")
    invitation = invitation_of(request, token, at)
    problem = password_problem(password, invitation.email) or (None if name else "Tell us your name.")
    if problem is None and password != form.get("again", ""):
        problem = "The two passwords differ."
    if problem is not None:
        return join_form(request, token, invitation, name=name, problem=problem)
    hashed = hash_password(password)
    with database_of(request).write() as connection:
        person = join(connection, token, name=name, password_hash=hashed, now=at)
    if person is None:
        raise HTTPException(410, "This link was just used. Sign in with the password that was chosen.")
    return signed_in(request, person, to="/", now=at)


def invitation_of(request: Request, token: str, at: datetime) -> Invitation:
    with database_of(request).read() as connection:
        invitation = open_invitation(connection, token, now=at)
    if invitation is None:
        raise HTTPException(410, "This link was used already or has run out. Ask an administrator for a new one.")
    return invitation


def join_form(
    request: Request, token: str, invitation: Invitation, *, name: str, problem: str | None = None
) -> Response:
    values = {"token": token, "invitation": invitation, "name": name, "problem": problem}
    return render(request, "staff/join.html", status=400 if problem else 200, **values)


@router.get("/people")
def people_page(request: Request, _person: Administrator) -> Response:
    return people_response(request)


def people_response(request: Request, *, status: int = 200, **values: object) -> Response:
    """Return the page; after an invitation with its `link`, or with its `problem` and what was typed."""
    with database_of(request).read() as connection:
        people = everyone(connection)
    values = {"link": None, "problem": None, "email": "", "chosen": ()} | values
    return render(request, "staff/people.html", status=status, people=people, roles=list(Role), **values)


@router.post("/people/invite")
async def invite_person(request: Request, administrator: Administrator, at: Now) -> Response:
    """Make an invitation link, or a link to a new password for a person who is known."""
    form = await request.form()
    email, roles = str(form.get("email", "")), roles_in(form)
    try:
        with database_of(request).write() as connection:
            token = invite(connection, email, roles=roles, by=administrator.id, now=at)
    except ConfigurationError as error:
        return people_response(request, status=400, problem=str(error), email=email, chosen=roles)
    return people_response(request, link=f"{request.app.state.settings.site_url}/join/{token}")


def roles_in(form: FormData) -> frozenset[Role]:
    return frozenset(Role(str(role)) for role in form.getlist("role") if role in set(Role))


@router.post("/people/{person_id}")
async def change_person(request: Request, person_id: str, administrator: Administrator, at: Now) -> Response:
    """Give a person other roles, let them in or shut them out. Administrators cannot shut out or demote themselves."""
    form = await request.form()
    roles = roles_in(form)
    active = form.get("active") == "yes"
    if person_id == administrator.id and not (active and Role.ADMINISTRATOR in roles):
        raise HTTPException(400, "You cannot remove your own access; ask another administrator.")
    with database_of(request).write() as connection:
        person = find_person(connection, person_id)
        if person is None:
            raise HTTPException(404)
        if roles != person.roles:
            set_roles(connection, person_id, roles, by=administrator.id, now=at)
        if active != person.active:
            set_active(connection, person_id, active=active, by=administrator.id, now=at)
    return redirect("/people")
