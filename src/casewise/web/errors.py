"""What goes wrong as a page or as JSON, the server's log, and what every request goes through."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import JSONResponse, Response

from casewise.errors import CasewiseError
from casewise.studies.design import ENGLISH, Speech
from casewise.web.pages import Elsewhere, SignInFirst, redirect, render
from casewise.web.security import add_headers, check_csrf, refuse_nul


def spoken_before(request: Request) -> Speech:
    """For a page that says what went wrong: as the round's pages are, where one of them was shown."""
    spoken: dict[str, Speech] = request.app.state.spoken
    return spoken.get(request.url.path.removeprefix("/study/").partition("/")[0], ENGLISH)


# What goes wrong becomes a page that says so, in the app's own words.


TITLES = {
    400: "That did not work",
    401: "Sign in first",
    403: "No access",
    404: "There is nothing here",
    405: "That did not work",
    409: "Changed by somebody else",
    413: "Request too large",
    422: "That did not work",
    429: "Too many attempts",
    500: "Our mistake",
}
SAYINGS = {
    404: "The address is wrong, or the page was removed.",
    405: "This address does not accept this kind of request.",
}


def install(app: FastAPI) -> None:
    """Have `app` answer errors with pages, or with JSON where a script asks for it."""

    @app.exception_handler(SignInFirst)
    def sign_in(request: Request, error: SignInFirst) -> Response:
        return problem(request, 401, "You are not signed in.") if wants_json(request) else redirect(error.sign_in)

    @app.exception_handler(Elsewhere)
    def belongs_elsewhere(_request: Request, error: Elsewhere) -> Response:
        return redirect(error.address)

    @app.exception_handler(StarletteHTTPException)
    def http_error(request: Request, error: HTTPException) -> Response:
        return problem(request, error.status_code, SAYINGS.get(error.status_code, str(error.detail)))

    @app.exception_handler(RequestValidationError)
    def not_valid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        detail = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        return problem(request, 422, detail if wants_json(request) else SAYINGS[404])

    @app.exception_handler(CasewiseError)
    def said_no(request: Request, error: CasewiseError) -> Response:
        return problem(request, 400, str(error))

    @app.exception_handler(Exception)
    def our_mistake(request: Request, _error: Exception) -> Response:
        response = problem(request, 500, "Something is broken here; it is in the server's log. Nothing was changed.")
        # Starlette answers this one outside of all middleware.
        add_headers(response.headers, request.scope, behind_tls=request.app.state.settings.behind_tls)
        return response


def wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


def problem(request: Request, status: int, message: str) -> Response:
    """A page, or a JSON object, that says what went wrong."""
    if wants_json(request):
        return JSONResponse({"problem": message}, status)
    values: dict[str, Any] = {"title": TITLES.get(status, "That did not work"), "message": message}
    if request.url.path.startswith("/study/"):
        t = spoken_before(request)
        if status == 403:  # no page of theirs asks for a role: a form was out of date
            values["title"] = TITLES[400]
        values |= {"t": t, "lang": t.language}
    return render(request, "problem.html", status=status, **values)


# What the server says of itself, as text or as one JSON object a line.


class JsonLines(logging.Formatter):
    """A record as one line of JSON: when, how grave, whose, what, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def log_config() -> dict[str, Any]:
    """All that is logged as JSON lines to the standard error, warnings included; requests are the proxy's to log."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "casewise.web.errors.JsonLines"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {"uvicorn": {"level": "INFO"}, "httpx": {"level": "WARNING"}, "alembic": {"level": "WARNING"}},
    }


# What every request goes through before anything is done for it.


async def check_request(request: Request) -> None:
    """Refuse what no page of ours sends. A dependency of the whole app; a route past FastAPI's asks for it itself."""
    await refuse_nul(request)
    await check_csrf(request)
