"""Forms can only be sent from our own pages: each carries a token made from a cookie of the same browser.

Every browser gets a random, signed `casewise_browser` cookie with its first page. The token is a keyed hash of that
and of the session, so a page of somebody else, who can read neither, cannot make one.
"""

from __future__ import annotations

import hmac
import secrets

from fastapi import HTTPException, Request

from casewise.web.security.cookies import read_cookie
from casewise.web.security.forms import sent_form

__all__ = [
    "BROWSER_COOKIE",
    "CSRF_FIELD",
    "CSRF_HEADER",
    "HOOKS_PATH",
    "SESSION_COOKIE",
    "browser_id",
    "check_csrf",
    "csrf_token",
]

BROWSER_COOKIE = "casewise_browser"
SESSION_COOKIE = "casewise_session"
CSRF_FIELD = "csrf"
CSRF_HEADER = "X-CSRF-Token"
HOOKS_PATH = "/prolific/hooks"
"""Where no browser sends anything: what comes there is signed itself."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def browser_id(request: Request) -> str:
    """What tells this browser from others: from its cookie, or new for this request's response to set."""
    known = getattr(request.state, "browser", None) or read_cookie(request, BROWSER_COOKIE)
    request.state.browser = known or secrets.token_urlsafe(16)
    return str(request.state.browser)


def csrf_token(request: Request) -> str:
    """The token that a form on this page carries."""
    session = read_cookie(request, SESSION_COOKIE) or ""
    token: str = request.app.state.signing.mac(f"{browser_id(request)}\0{session}", use="csrf")
    return token


async def check_csrf(request: Request) -> None:
    """Refuse what changes something and does not come from one of our own pages. `check_request` asks for it."""
    if request.method in SAFE_METHODS or request.url.path == HOOKS_PATH:
        return
    sent = request.headers.get(CSRF_HEADER)
    if sent is None and "form" in request.headers.get("content-type", ""):
        sent = (await sent_form(request)).get(CSRF_FIELD, "")
    known = read_cookie(request, BROWSER_COOKIE) is not None
    if not known or not hmac.compare_digest((sent or "").encode(), csrf_token(request).encode()):
        raise HTTPException(
            403, "This form is out of date, or cookies are off. Go back, reload the page and send it again."
        )
