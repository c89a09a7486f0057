"""The web app, backups and the doctor."""

from __future__ import annotations

import logging.config
import os
from pathlib import Path
from typing import Literal

from cyclopts.types import Port, PositiveInt

from casewise import api
from casewise.cli.options import DatabaseOption, SiteOption
from casewise.cli.printing import announce, as_json, note, print_json, say
from casewise.extras import install_command
from casewise.settings import from_environment

# `casewise backup`, `restore` and `doctor`: the whole database, while it is in use; what is installed and
# reachable.


def doctor(*, reach: bool = False) -> None:
    """What is installed, configured and reachable. Keys are never shown, only whether they are set.

    Parameters
    ----------
    reach
        Also see which servers on this machine, and which providers, answer.
    """
    from casewise.share.checkup import checkup  # loads every client

    found = checkup(os.environ, reach=reach)
    if as_json():
        print_json(found.as_json())
        return
    for name, version in found.versions.items():
        print(f"{name:14} {version}")
    print()
    for extra in found.extras:
        missing = f"missing {', '.join(extra.missing)}: {install_command(extra.name)}"
        print(f"[{extra.name}]".ljust(15) + ("installed" if not extra.missing else missing))
    print()
    widest = max((len(endpoint.key) for endpoint in found.endpoints), default=0)
    for endpoint in found.endpoints:
        answers = "" if endpoint.reachable is None else ("answers" if endpoint.reachable else "no answer")
        print(
            f"{endpoint.name + '/':14} {endpoint.key:{widest}}  {answers:{10 if reach else 0}} {endpoint.address}".rstrip()
        )
    print()
    for text in found.data:
        print(text)


def backup(file: Path, /, *, database: DatabaseOption = None) -> None:
    """Write everything that people have done to one file. People may go on working meanwhile.

    Parameters
    ----------
    file
        A new file, .jsonl or .jsonl.gz.
    """
    count = api.databases.backup(file, database=database)
    say(f"{count:,} rows are in {file}", rows=count, file=str(file))
    note("it holds personal data and password hashes: keep it safe, and keep the secret key apart from it")


def restore(file: Path, /, *, database: DatabaseOption = None) -> None:
    """Put a backup into a new, empty database, SQLite or PostgreSQL, whichever it came from.

    Parameters
    ----------
    file
        A file of `casewise backup`.
    """
    count, where = api.databases.restore(file, database=database)
    say(f"{count:,} rows are restored to {where}", rows=count, database=str(where))


# `casewise serve` and `casewise invite`: the web app, and who may come in.


WORKER_PATIENCE_S = 60
"""As long may a worker be silent before it is killed and replaced. Two seconds of processor time lie before its first word:
with uvicorn's five seconds a busy machine kills each before it is there, and the next one too."""

KEEP_ALIVE_S = 150
"""As long an idle connection stays open: longer than a proxy keeps its own (Caddy two minutes), or it may send an answer into one that closes."""

log = logging.getLogger(__name__)


def serve(
    *,
    database: DatabaseOption = None,
    site_url: SiteOption = None,
    host: str = "127.0.0.1",
    port: Port = 8000,
    workers: PositiveInt = 1,
    log_format: Literal["text", "json"] = "text",
) -> None:
    """Open the review room and the studies in a browser.

    Parameters
    ----------
    host
        The address to listen on.
    port
        The port to listen on.
    workers
        Processes; more than one needs PostgreSQL.
    log_format
        What the server says of itself.
    """
    import uvicorn  # an extra

    from casewise.web.errors import log_config

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
    email: str, /, *, role: tuple[str, ...] = (), database: DatabaseOption = None, site_url: SiteOption = None
) -> None:
    """Print a link with which somebody chooses a password; for people who are known, a new one.

    Parameters
    ----------
    email
        Whom to invite.
    role
        administrator, reviewer, expert or owner; may be repeated.
    """
    link = api.databases.invite(email, roles=role, database=database, site_url=site_url)
    say(link, email=email, link=link)
