"""`casewise serve` and `casewise invite`: the web app, and who may come in."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Annotated

from typer import Argument, Option, Typer

__all__ = ["DatabaseOption", "app", "invite", "serve"]

app = Typer()

DatabaseOption = Annotated[
    str | None,
    Option("--database", help="A file (SQLite) or postgresql://…; else CASEWISE_DATABASE, else casewise.db here."),
]
UrlOption = Annotated[
    str | None, Option("--site-url", help="The address in a browser; https:// where a proxy adds TLS.")
]


@app.command()
def serve(
    database: DatabaseOption = None,
    site_url: UrlOption = None,
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="The port to listen on.")] = 8000,
    workers: Annotated[int, Option(min=1, help="Processes; more than one needs PostgreSQL.")] = 1,
) -> None:
    """Open the review room and the studies in a browser."""
    import uvicorn

    from casewise import database as databases
    from casewise.database.staff import nobody_can_sign_in
    from casewise.errors import ConfigurationError
    from casewise.settings import from_environment

    url = site_url or os.environ.get("CASEWISE_SITE_URL") or f"http://{host}:{port}"
    settings = from_environment(database=database, site_url=url)
    opened = databases.open(settings.database)
    if workers > 1 and opened.is_sqlite:
        raise ConfigurationError("several workers need a database server: --database postgresql://…")
    with opened.read() as connection:
        nobody = nobody_can_sign_in(connection)
    opened.close()
    print(f"casewise is at {settings.site_url}")
    if nobody:
        print("Nobody can sign in yet. Begin with: casewise invite YOU@EXAMPLE.ORG --role administrator")
    os.environ |= {
        "CASEWISE_DATABASE": settings.database,
        "CASEWISE_SITE_URL": settings.site_url,
        "CASEWISE_SECRET_KEY": settings.secret_key,
    }
    uvicorn.run(
        "casewise.web.serving:app",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,
        server_header=False,
    )


@app.command()
def invite(
    email: Annotated[str, Argument(help="Whom to invite.")],
    role: Annotated[
        list[str] | None, Option("--role", help="administrator, reviewer, expert or owner; may be repeated.")
    ] = None,
    database: DatabaseOption = None,
    site_url: UrlOption = None,
) -> None:
    """Print a link with which somebody chooses a password; for people who are known, a new one."""
    from casewise import database as databases
    from casewise.database.staff import invite as make_invitation
    from casewise.database.staff import roles_named
    from casewise.settings import from_environment

    settings = from_environment(database=database, site_url=site_url)
    roles = roles_named(role or [])
    opened = databases.open(settings.database)
    with opened.write() as connection:
        token = make_invitation(connection, email, roles=roles, by=None, now=datetime.now(UTC))
    opened.close()
    print(f"{settings.site_url}/join/{token}")
