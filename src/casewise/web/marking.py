"""A page on this machine on which a person marks a sample of stored replies; the marks are kept in the sample's own file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

from casewise.errors import DataError
from casewise.judges.reread import mark_words, marked_value, read_sample, write_rows
from casewise.web import pages
from casewise.web.security import BodyLimit, HeadRequests, SecurityHeaders, SentForm
from casewise.web.viewing import LoopbackOnly


def create_marking(file: Path, *, port: int, done: Callable[[], None]) -> FastAPI:
    """Return the page as an ASGI app that answers on loopback at `port`.

    `done`: called when the person wants the readers to be measured.
    """
    app = FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        middleware=[
            Middleware(SecurityHeaders, behind_tls=False),
            Middleware(LoopbackOnly, port=port),
            Middleware(HeadRequests),
            Middleware(BodyLimit),
        ],
    )
    app.mount("/static", StaticFiles(directory=pages.STATIC))

    def page(*, problem: str = "", ended: bool = False, status: int = 200) -> HTMLResponse:
        rows = [row | {"words": mark_words(row["elicitation"])} for row in read_sample(file)]
        marked = sum(bool(row["verdict"]) for row in rows)
        values = {"rows": rows, "marked": marked, "file": str(file), "problem": problem, "ended": ended}
        return HTMLResponse(pages.templates().get_template("marking.html").render(values), status)

    @app.get("/")
    def sample() -> HTMLResponse:
        return page()

    @app.post("/")
    def save(form: SentForm) -> HTMLResponse:
        rows = read_sample(file)
        try:
            for row in rows:
                row["verdict"] = form.get(row["id"], row["verdict"]).strip().lower()
                if row["verdict"]:
                    marked_value(file, int(row["line"]), row["elicitation"], row["verdict"])
        except DataError as error:
            return page(problem=str(error), status=422)
        write_rows(file, rows)
        if "measure" in form:
            done()
        return page(ended="measure" in form)

    return app
