"""What goes wrong becomes a page that says so, in the app's own words."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import JSONResponse, Response

from casewise.errors import CasewiseError
from casewise.web.frame.identity import SignInFirst
from casewise.web.frame.pages import Elsewhere, redirect, render
from casewise.web.security.headers import add_headers
from casewise.web.study.language import spoken_before

__all__ = ["install"]

TITLES = {
    400: "That did not work",
    401: "Sign in first",
    403: "Not for you",
    404: "There is nothing here",
    405: "That did not work",
    409: "Somebody was faster",
    413: "Too much at once",
    422: "That did not work",
    429: "Too many attempts",
    500: "Our mistake",
}
SAYINGS = {404: "The address is wrong, or what was here is gone.", 405: "This address takes no such request."}


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
        said = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        return problem(request, 422, said if wants_json(request) else SAYINGS[404])

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
        values |= {"t": t, "lang": t.language, "direction": t.direction}
    return render(request, "problem.html", status=status, **values)
