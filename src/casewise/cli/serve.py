"""`casewise serve` and `casewise invite`: the web app, and who may come in."""

from __future__ import annotations

import logging.config
import os
from typing import Annotated

from typer import Argument, Option

from casewise import api
from casewise.cli.printing import DatabaseOption, UrlOption, announce, note, say
from casewise.errors import ConfigurationError
from casewise.settings import from_environment

__all__ = ["invite", "serve"]

WORKER_PATIENCE_S = 60
"""As long may a worker be silent before it is killed and replaced. Two seconds of processor time lie before its first word:
with uvicorn's five seconds a busy machine kills each before it is there, and the next one too."""

KEEP_ALIVE_S = 150
"""As long an idle connection stays open: longer than a proxy keeps its own (Caddy two minutes), or it may send an answer into one that closes."""

log = logging.getLogger(__name__)


def serve(
    database: DatabaseOption = None,
    site_url: UrlOption = None,
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="The port to listen on.")] = 8000,
    workers: Annotated[int, Option(min=1, help="Processes; more than one needs PostgreSQL.")] = 1,
    log_format: Annotated[str, Option("--log-format", help="What the server says of itself: text or json.")] = "text",
) -> None:
    """Open the review room and the studies in a browser."""
    import uvicorn  # an extra

    from casewise.web.logs import log_config

    if log_format not in ("text", "json"):
        raise ConfigurationError(f"--log-format is {log_format!r}; it is text or json")

    address = site_url or os.environ.get("CASEWISE_SITE_URL") or f"http://{host}:{port}"
    settings = from_environment(database=database, site_url=address)
    logs, begun = uvicorn.config.LOGGING_CONFIG, f"casewise is at {settings.site_url}"
    if log_format == "json":
        logging.config.dictConfig(logs := log_config())
    somebody = api.databases.ready_to_serve(settings, workers=workers)
    if log_format == "json":
        log.info(begun)
    else:
        announce(begun, address=settings.site_url)
    if not somebody:
        tell = log.warning if log_format == "json" else note
        tell("Nobody can sign in yet. Begin with: casewise invite YOU@EXAMPLE.ORG --role administrator")
    os.environ |= {
        "CASEWISE_DATABASE": settings.database,
        "CASEWISE_SITE_URL": settings.site_url,
        "CASEWISE_SECRET_KEY": settings.secret_key,
    }
    uvicorn.run(
        "casewise.web.app:app",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,
        server_header=False,
        log_config=logs,
        timeout_worker_healthcheck=WORKER_PATIENCE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
    )


def invite(
    email: Annotated[str, Argument(help="Whom to invite.")],
    role: Annotated[
        list[str] | None, Option("--role", help="administrator, reviewer, expert or owner; may be repeated.")
    ] = None,
    database: DatabaseOption = None,
    site_url: UrlOption = None,
) -> None:
    """Print a link with which somebody chooses a password; for people who are known, a new one."""
    link = api.databases.invite(email, roles=role or (), database=database, site_url=site_url)
    say(link, email=email, link=link)
