"""The web app: its routes, and a server in a thread of this process."""

from __future__ import annotations

import logging
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import uvicorn
from fastapi import Depends, FastAPI
from starlette.staticfiles import StaticFiles

from casewise import database as databases
from casewise.api.studies import erasures_of
from casewise.database import Database
from casewise.database.engine import RateLimit, expire_limits, job_lock, take
from casewise.errors import ConfigurationError, RunConflict
from casewise.settings import Settings, from_environment
from casewise.studies.monitor import maintain_round
from casewise.studies.owner import replay_erasures
from casewise.studies.people import Vault
from casewise.studies.rounds import READ_ANEW_S, all_rounds, load_round, open_plan, read_plan
from casewise.web import review, staff, study, study_owner
from casewise.web.connections import HeaderTimeout
from casewise.web.pages import STATIC, check_request, install_errors, templates
from casewise.web.security import BodyLimit, HeadRequests, SecurityHeaders, Signing


def create_app(settings: Settings) -> FastAPI:
    """Return the web app over the database that `settings` name, which is opened and brought up to date.

    Raises ConfigurationError: the database cannot be opened.
    """
    app = FastAPI(
        title="casewise",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[Depends(check_request)],
        lifespan=maintenance,
        redirect_slashes=False,  # it would lead to whatever host a request names
    )
    app.state.settings = settings
    app.state.database = databases.open(settings.database)
    app.state.erasures = erasures_of(settings, app.state.database)
    app.state.erasures.create()
    with app.state.database.write() as connection:  # an erasure may have been begun when the server was killed
        replay_erasures(connection, app.state.erasures.read(), now=datetime.now(UTC))
    app.state.clock = partial(datetime.now, UTC)
    app.state.signing = Signing(settings.secret_key)
    app.state.templates = templates()
    app.state.rounds, app.state.translators = {}, {}
    app.state.vault = Vault(settings.secret_key)
    app.router.routes.append(study.ANSWER_ROUTE)
    for router in (
        staff.router,
        review.router,
        review.context_router,
        study.arrival_router,
        study.rating_router,
        study_owner.router,
        study_owner.people_router,
    ):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(BodyLimit)
    app.add_middleware(HeadRequests)
    app.add_middleware(SecurityHeaders, behind_tls=settings.behind_tls)
    install_errors(app)
    return app


def app() -> FastAPI:
    """Make the app; uvicorn calls this in each worker."""
    return create_app(from_environment())


# The work that a server does by itself each minute: once, however many workers there are.


MAINTENANCE_LIMIT = RateLimit(burst=1, per_s=READ_ANEW_S - 5)
"""Limit of one maintenance in a period; somewhat shorter than it, because a worker may wake a moment early."""
log = logging.getLogger(__name__)


@asynccontextmanager
async def maintenance(app: FastAPI) -> AsyncIterator[None]:
    """Maintain all rounds in a thread while the app runs, and close its database at the end."""
    stop = threading.Event()

    def repeat() -> None:
        while not stop.wait(READ_ANEW_S):
            try:
                app.state.rounds.clear()  # one may have been amended
                maintain_rounds(app.state.database, now=datetime.now(UTC))
            except Exception:  # the next time tries again; the pages must go on
                log.exception("upkeep failed")

    thread = threading.Thread(target=repeat, daemon=True, name="casewise upkeep")
    thread.start()
    yield
    stop.set()
    thread.join(timeout=10)
    app.state.database.close()


def maintain_rounds(database: Database, *, now: datetime) -> bool:
    """Maintain each round; return whether this process did, for one does so in a minute."""
    with database.write() as connection:
        if not take(connection, "upkeep", MAINTENANCE_LIMIT, now=now):
            return False
        expire_limits(connection, now=now)
    database.empty_log()
    with suppress(RunConflict), job_lock(database, "keeping rounds up"):
        with database.read() as connection:
            listed = all_rounds(connection)
        for listed_round in listed:
            with database.write() as connection:
                loaded = load_round(connection, listed_round.id)
                assert loaded is not None
                maintain_round(loaded.at(connection, now))
        return True
    return False


# The app in a thread of this process, for as long as a command needs it: small rehearsals, and walking through a
# study.


PATIENCE_S = 30


def free_port() -> int:
    """Return a free port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(settings: Settings, *, port: int) -> Iterator[None]:
    """Serve the app on loopback at `port` while the block runs."""
    config = uvicorn.Config(
        create_app(settings), host="127.0.0.1", port=port, log_level="warning", access_log=False, http=HeaderTimeout
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise ConfigurationError(f"the app does not start on port {port}; is something else listening there?")
        time.sleep(0.02)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def previewing(study: str | Path, *, port: int = 0) -> Iterator[str]:
    """Yield the address at which a study can be looked at, for as long as this context is open.

    `study`: the study's TOML file.
    `port`: where the app listens; 0 takes a free port.
    """
    plan, port = read_plan(Path(study)), port or free_port()
    with tempfile.TemporaryDirectory(prefix="casewise-preview-") as folder:
        settings = Settings(
            database=str(Path(folder) / "study.db"),
            secret_key=secrets.token_urlsafe(48),
            site_url=f"http://127.0.0.1:{port}",
        )
        with databases.open(settings.database) as store, store.write() as connection:
            opened = open_plan(connection, plan, phase="preview", now=datetime.now(UTC))
        with serving(settings, port=port):
            yield f"{settings.site_url}/study/{opened.id}"
