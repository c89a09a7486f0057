"""Cookies, CSRF tokens, forms, headers and passwords."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from functools import cache, lru_cache
from typing import Annotated

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from fastapi import Depends, HTTPException, Request
from itsdangerous import BadSignature, URLSafeSerializer
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The app's cookies: signed, HttpOnly, SameSite, and Secure where browsers come over TLS; and what signs them.
#
# Each use of the secret key has a salt of its own, so that one signature never passes for another.


READ = "casewise.cookies"


class Signing:
    """Signs and checks short texts with the app's secret key."""

    def __init__(self, secret_key: str) -> None:
        self._key = secret_key
        self._serializer = lru_cache(maxsize=64)(lambda use: URLSafeSerializer(secret_key, salt=use))
        self._unsigned = lru_cache(maxsize=4096)(self._checked)  # a browser sends its cookies with every page

    def sign(self, value: str, *, use: str) -> str:
        """Return `value` with a signature that holds for `use` alone."""
        return str(self._serializer(use).dumps(value))

    def unsign(self, signed: str | None, *, use: str) -> str | None:
        """Return what was signed for `use`; None when nothing was."""
        return None if signed is None else self._unsigned(signed, use)

    def _checked(self, signed: str, use: str) -> str | None:
        try:
            value = self._serializer(use).loads(signed)
        except BadSignature:
            return None
        return value if isinstance(value, str) else None

    def mac(self, value: str, *, use: str) -> str:
        """Return a keyed hash: for form tokens, and for what must be recognised but not kept."""
        return hmac.new(self._key.encode(), f"{use}\0{value}".encode(), hashlib.sha256).hexdigest()


def read_cookie(request: Request, name: str) -> str | None:
    """Return what the cookie `name` says, if we signed it. A signature is checked once a request."""
    read: dict[str, str | None] = request.scope.setdefault(READ, {})
    if name not in read:
        read[name] = request.app.state.signing.unsign(request.cookies.get(name), use=f"cookie:{name}")
    return read[name]


def set_cookie(request: Request, response: Response, name: str, value: str, *, lasts_s: int | None = None) -> None:
    """Give the browser a signed cookie; without `lasts_s` it goes when the browser is closed."""
    response.set_cookie(
        name,
        request.app.state.signing.sign(value, use=f"cookie:{name}"),
        max_age=lasts_s,
        httponly=True,
        samesite="lax",
        secure=request.app.state.settings.behind_tls,
    )


# What a form says that was sent.


READ_FORM = "casewise.form"


async def sent_form(request: Request) -> dict[str, str]:
    """Return the texts of the form that was sent, the last of each name; files are ignored. It is read once a request."""
    form: dict[str, str] | None = request.scope.get(READ_FORM)
    if form is None:
        async with request.form() as sent:  # and closes its files
            form = {name: value for name, value in sent.multi_items() if isinstance(value, str)}
        request.scope[READ_FORM] = form
    return form


SentForm = Annotated[dict[str, str], Depends(sent_form)]


# Forms can only be sent from our own pages: each carries a token made from a cookie of the same browser.
#
# Every browser gets a random, signed `casewise_browser` cookie with its first page. The token is a keyed hash of that
# and of the session, so a page of another site, which can read neither, cannot make one.


BROWSER_COOKIE = "casewise_browser"
SESSION_COOKIE = "casewise_session"
CSRF_FIELD = "csrf"
CSRF_HEADER = "X-CSRF-Token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def browser_id(request: Request) -> str:
    """Return what tells this browser from others: from its cookie, or new for this request's response to set."""
    browser = getattr(request.state, "browser", None) or read_cookie(request, BROWSER_COOKIE)
    request.state.browser = browser or secrets.token_urlsafe(16)
    return str(request.state.browser)


def csrf_token(request: Request) -> str:
    """Return the token that a form on this page carries."""
    session = read_cookie(request, SESSION_COOKIE) or ""
    token: str = request.app.state.signing.mac(f"{browser_id(request)}\0{session}", use="csrf")
    return token


async def check_csrf(request: Request) -> None:
    """Refuse a changing request that does not come from one of our own pages. `check_request` asks for it."""
    if request.method in SAFE_METHODS:
        return
    sent = request.headers.get(CSRF_HEADER)
    if sent is None and "form" in request.headers.get("content-type", ""):
        sent = (await sent_form(request)).get(CSRF_FIELD, "")
    has_cookie = read_cookie(request, BROWSER_COOKIE) is not None
    if not has_cookie or not hmac.compare_digest((sent or "").encode(), csrf_token(request).encode()):
        raise HTTPException(
            403, "This form is out of date, or cookies are off. Go back, reload the page and send it again."
        )


# Headers on every answer: only our own files are loaded, framing is refused, and nothing is cached or leaked.


CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
"""No inline script or style, no other host."""

FIXED_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
A_YEAR_S = 31_536_000


class SecurityHeaders:
    """Adds the headers to every answer that does not set them itself."""

    def __init__(self, app: ASGIApp, *, behind_tls: bool) -> None:
        self._app = app
        self._behind_tls = behind_tls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                add_headers(MutableHeaders(scope=message), scope, behind_tls=self._behind_tls)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def add_headers(headers: MutableHeaders, scope: Scope, *, behind_tls: bool) -> None:
    """Add to `headers` what the answer to the request in `scope` does not set itself."""
    for name, value in FIXED_HEADERS.items():
        headers.setdefault(name, value)
    named_by_content = scope["path"].startswith("/static/") and scope.get("query_string", b"").startswith(b"v=")
    headers.setdefault("Cache-Control", f"public, max-age={A_YEAR_S}, immutable" if named_by_content else "no-store")
    if behind_tls:
        headers.setdefault("Strict-Transport-Security", f"max-age={A_YEAR_S}; includeSubDomains")


# Passwords: long enough, and kept as argon2id hashes.


SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1000

LEET = str.maketrans("0134@5$7!", "oieaassti")
"""The characters that stand for letters."""
COMMON_WORDS = """
password passwort passwd qwertyuiop qwertzuiop qwerty qwertz asdfghjkl asdfgh zxcvbnm yxcvbnm iqaz qazwsx
letmein welcome willkommen iloveyou administrator admin monkey dragon football baseball sunshine princess master
superman batman shadow secret trustno whatever computer internet changeme default access hello abcdefghijkl
abcdef casewise summer winter spring autumn michael jordan charlie login guest test
"""
COMMON = tuple(COMMON_WORDS.split())
"""Words that lists of leaked passwords begin with, each before those it holds."""


def password_problem(password: str, email: str) -> str | None:
    """Return why `password` cannot be chosen by the person who signs in with `email`, or None."""
    if len(password) < SHORTEST_PASSWORD:
        return f"Choose a password of at least {SHORTEST_PASSWORD} characters; a few unrelated words are good."
    if len(password) > LONGEST_PASSWORD:
        return f"Choose a password of at most {LONGEST_PASSWORD} characters."
    if len(set(password)) < SHORTEST_PASSWORD // 2:
        return "Choose a password with more different characters."
    if password.strip().casefold() in {email.casefold(), email.partition("@")[0].casefold()}:
        return "Choose a password that is not your e-mail address; a few unrelated words are good."
    folded = password.casefold()
    for text in (folded, folded.translate(LEET)):
        letters = "".join(letter for letter in text if letter.isalpha())
        for word in COMMON:
            letters = letters.replace(word, "")
        if len(letters) < 4:  # nothing else is left of it but figures and signs
            return "This password is easy to guess; a few unrelated words are good."
    return None


def hash_password(password: str) -> str:
    """Return an argon2id hash, with its own salt."""
    return PasswordHasher().hash(password)


def password_fits(password: str, stored: str | None) -> bool:
    """Return whether `password` is the one that was stored. Takes as long where nothing is stored, and is then False."""
    try:
        PasswordHasher().verify(stored or placeholder_hash(), password)
    except (Argon2Error, InvalidHashError):
        return False
    return stored is not None


@cache
def placeholder_hash() -> str:
    return hash_password("a password of no account")


# What no request of ours holds (NUL bytes, more than any page sends), and answers to what browsers do not ask:
# HEAD.


NUL = (b"\0", b"%00", b"\\u0000")
"""The null character as itself, in an address or a form, and in JSON. PostgreSQL keeps no text with one."""


async def refuse_nul(request: Request) -> None:
    """Refuse a request with a NUL in its address or its body. `check_request` asks for it."""
    address = request.scope.get("raw_path", b"") + request.scope.get("query_string", b"")
    body = b"" if request.method in {"GET", "HEAD", "OPTIONS"} else await request.body()
    if "\0" in request.url.path or any(nul in address or nul in body for nul in NUL):
        raise HTTPException(400, "This request contains a character that is not allowed.")


class HeadRequests:
    """Answers HEAD as GET is answered, without the body: for those who only ask whether a page is there."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, send_head)


LONGEST_BODY = 1_000_000
"""Bytes. A page with every field of a context full sends a third of that."""


PATIENCE_S = 30.0
"""Seconds to wait for the next piece of a request, so that a silent connection holds nothing."""


class BodyLimit:
    """Stops reading a request that gets too long, whether or not it says so beforehand, or that stops in the middle."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        received, more = 0, True

        async def limited() -> Message:
            nonlocal received, more
            try:
                async with asyncio.timeout(PATIENCE_S if more else None):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "This request is incomplete.") from None
            more = message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > LONGEST_BODY:
                raise HTTPException(413, "This request is too large.")
            return message

        await self._app(scope, limited, send)
