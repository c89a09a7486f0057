"""The app: its routes, in the order of their areas, and what all of them go through."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import Depends, FastAPI
from starlette.staticfiles import StaticFiles

from casewise import database
from casewise.settings import Settings, from_environment
from casewise.web import errors, staff
from casewise.web.frame import pages
from casewise.web.frame.identity import utc_now
from casewise.web.review import context as review_context
from casewise.web.review import rooms as review
from casewise.web.review import translations
from casewise.web.security.checks import check_request
from casewise.web.security.cookies import Signing
from casewise.web.security.headers import SecurityHeaders
from casewise.web.security.plain_requests import BodyLimit, HeadAsGet
from casewise.web.study.routes import install as install_study
from casewise.web.upkeep import Tallies, each_minute

__all__ = ["app", "create_app"]

AREAS = (staff.router, translations.router, review.router, review_context.router)
"""One router per area."""

STATIC = Path(__file__).parent / "static"


def create_app(settings: Settings) -> FastAPI:
    """The web app over the database that `settings` name, which is opened and brought up to date.

    Raises ConfigurationError: the database cannot be opened.
    """
    app = FastAPI(
        title="casewise",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[Depends(check_request)],
        lifespan=closing,
        redirect_slashes=False,  # it would lead to whatever host a request names
    )
    app.state.settings = settings
    app.state.database = database.open(settings.database)
    app.state.clock = utc_now
    app.state.tallies = Tallies()
    app.state.signing = Signing(settings.secret_key)
    app.state.templates = pages.templates(STATIC)
    for router in AREAS:
        app.include_router(router)
    install_study(app)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(BodyLimit)
    app.add_middleware(HeadAsGet)
    app.add_middleware(SecurityHeaders, behind_tls=settings.behind_tls)
    errors.install(app)
    return app


@asynccontextmanager
async def closing(app: FastAPI) -> AsyncIterator[None]:
    with each_minute(app.state.database, app.state.settings, app.state.tallies, app.state.rounds):
        yield
    app.state.database.close()


def app() -> FastAPI:
    """Make the app; uvicorn calls this in each worker."""
    return create_app(from_environment())
