"""The web app, backups and the doctor."""

from __future__ import annotations

import os
import signal
import socket
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import parse_qsl

from cyclopts.types import Port, PositiveInt

from casewise import api
from casewise.cli.options import (
    BenchmarkOption,
    DatabaseOption,
    LabelsOption,
    PhaseOption,
    SiteOption,
    WithTextsOption,
    given_options,
    options_group,
)
from casewise.cli.printing import announce, confirm_sending, is_json_output, note, print_json, say
from casewise.deciding.monitor import ServiceOptions
from casewise.errors import ConfigurationError
from casewise.models.client import ClientOptions, RetryPolicy
from casewise.models.load import ModelOptions
from casewise.plugins import install_command
from casewise.settings import from_environment
from casewise.text import count_of

if TYPE_CHECKING:
    from casewise.evaluate.viewing import RunView


def doctor(*, reach: bool = False) -> None:
    """Show what is installed, configured and reachable. Keys are never shown, only whether they are set.

    Parameters
    ----------
    reach
        Also check which servers on this machine, and which providers, answer.
    """
    from casewise.share.checkup import checkup  # loads every client

    report = checkup(os.environ, reach=reach)
    if is_json_output():
        print_json(report)
        return
    for name, version in report["versions"].items():
        print(f"{name:14} {version}")
    print()
    for extra in report["extras"]:
        missing = f"missing {', '.join(extra['missing'])}: {install_command(extra['name'])}"
        print(f"[{extra['name']}]".ljust(15) + (missing if extra["missing"] else "installed"))
    print()
    widest = max((len(endpoint["key"]) for endpoint in report["endpoints"]), default=0)
    for endpoint in report["endpoints"]:
        answers = {None: "", True: "answers", False: "no answer"}[endpoint["reachable"]]
        words = f"{endpoint['key']:{widest}}  {answers:{10 if reach else 0}} {endpoint['address']}"
        print(f"{endpoint['name'] + '/':14} {words}".rstrip())
    print()
    for text in report["data"]:
        print(text)


def backup(
    file: Path, /, *, restore: bool = False, erasures: Path | None = None, database: DatabaseOption = None
) -> None:
    """Write the database of reviews and studies to one file, or read such a file back. People can continue to work.

    Parameters
    ----------
    file
        A new file, .jsonl or .jsonl.gz; with --restore a backup.
    restore
        Read the backup into a new, empty database, SQLite or PostgreSQL. People who were erased since then are erased again.
    erasures
        With --restore: the list of erasures. Default: CASEWISE_ERASURES, or casewise-erasures.jsonl beside the database
        or the backup.
    """
    from casewise import database as databases  # an extra
    from casewise.database import backup as backups
    from casewise.database import staff
    from casewise.database.staff import BACKED_UP

    if restore:
        from casewise.api.studies import restore_backup

        done = restore_backup(file, database, erasures=erasures)
        say(f"{count_of(done.rows, 'row is')} restored to {done.database}", rows=done.rows, database=done.database)
        say(
            f"{count_of(done.erased_again, 'person was')} erased after the backup, and casewise erased them again",
            erased=done.erased_again,
        )
        return
    with databases.open(database) as store:
        count = backups.backup(store, file)
        with store.write() as connection:
            staff.note(connection, BACKED_UP, by=None, subject=None, now=datetime.now(UTC), detail={"rows": count})
    say(f"{count_of(count, 'row is')} in {file}", rows=count, file=str(file))
    note("it holds personal data and password hashes: keep it safe, and keep the secret key apart from it")


WORKER_PATIENCE_S = 60
"""Seconds that a worker may be silent before it is killed and replaced. Two seconds of processor time lie before its first word:
with uvicorn's five seconds a busy machine kills each before it is there, and the next one too."""

KEEP_ALIVE_S = 150
"""Seconds that an idle connection stays open: longer than a proxy keeps its own (Caddy two minutes), or it may send an answer into one that closes."""


@dataclass(frozen=True)
class AppOptions:
    """The web app with the review room and the studies."""

    database: DatabaseOption = None
    site_url: SiteOption = None
    workers: PositiveInt = 1
    """Processes; more than one needs PostgreSQL."""


@dataclass(frozen=True)
class DeciderOptions:
    """A decider over HTTP: /v1/decide, and /v1/moderations as OpenAI's clients ask."""

    without_keys: bool = False
    """Answer requests without a key, also from other machines."""
    fail: Literal["refuse", "answer", "ask"] | None = None
    """The decision when the judge gives no value. Default: as fitted."""
    base_url: str | None = None
    """Address of the model's server; default: as fitted."""


@dataclass(frozen=True)
class ViewOptions:
    """Runs: items beside judges, searched and filtered, two judges side by side, notes."""

    benchmark: BenchmarkOption = None
    labels: LabelsOption = "votes"
    out: Path | None = None
    """Write static pages to this new folder instead. --with-texts includes what chatbots wrote."""
    only: str = ""
    """With --out: only these items, as in the address of a filtered list behind its question mark."""
    with_texts: WithTextsOption = False


def serve(
    what: tuple[Path, ...] = (),
    /,
    *,
    host: str = "127.0.0.1",
    port: Port | None = None,
    app: Annotated[AppOptions, options_group("For the web app")] = AppOptions(),
    service: Annotated[ServiceOptions, options_group("For a decider")] = ServiceOptions(),
    decider: Annotated[DeciderOptions, options_group("For a decider")] = DeciderOptions(),
    view: Annotated[ViewOptions, options_group("For runs")] = ViewOptions(),
) -> None:
    """Open the web app, runs or a study in a browser, or serve a decider over HTTP.

    Without an argument it opens the web app, with reviews and studies. With study.toml it shows every page of the study, in
    a database that it deletes when you stop.

    Parameters
    ----------
    what
        Nothing for the web app; decider.json; one or more run folders over the same benchmark; or study.toml.
    host
        The address to listen on; runs and studies listen on 127.0.0.1 only.
    port
        The port to listen on. Default: 8000; 8108 for a decider, 8109 for runs, any free one for a study.
    """
    kind = kind_of(what)
    for name, options in (("app", app), ("decider", service), ("decider", decider), ("runs", view)):
        if kind != name and (given := given_options(options)):
            raise ConfigurationError(f"{given[0]} does not apply to {NAMED[kind]}")
    if kind in ("runs", "study") and host != "127.0.0.1":
        raise ConfigurationError(f"{NAMED[kind]} listens on 127.0.0.1 only; leave --host out")
    if kind == "app":
        serve_app(app, host, free_port(host, 8000 if port is None else port))
    elif kind == "decider":
        serve_decider(what[0], service, decider, host, free_port(host, 8108 if port is None else port))
    elif kind == "runs":
        serve_runs(what, view, 8109 if port is None else port)
    else:
        preview(what[0], port or 0)


NAMED = {"app": "the web app", "decider": "a decider", "runs": "runs", "study": "a study"}


def kind_of(what: tuple[Path, ...]) -> str:
    """Return the kind of thing to serve.

    Raises ConfigurationError: one thing at a time is served, but for runs.
    """
    if not what:
        return "app"
    kinds = {{".toml": "study", ".json": "decider"}.get(path.suffix, "runs") for path in what}
    if len(kinds) > 1 or (len(what) > 1 and kinds != {"runs"}):
        raise ConfigurationError("casewise serve opens one thing at a time: the web app, a decider, a study, or runs")
    return kinds.pop()


def free_port(host: str, port: int) -> int:
    """Return `port` if it is free.

    Raises ConfigurationError: another program uses it, or the address is not this machine's.
    """
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trying:
        trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trying.bind((host, port))
        except OSError as error:
            raise ConfigurationError(
                f"cannot listen on {host}:{port}: {error.strerror}; choose another port with --port"
            ) from error
    return port


def serve_app(options: AppOptions, host: str, port: int) -> None:
    """Serve the review room and the studies."""
    import uvicorn  # an extra

    from casewise import database as databases
    from casewise.database import staff
    from casewise.web.connections import HeaderTimeout

    address = options.site_url or os.environ.get("CASEWISE_SITE_URL") or f"http://{host}:{port}"
    settings = from_environment(database=options.database, site_url=address)
    with databases.open(settings.database) as store:
        if options.workers > 1 and store.is_sqlite:
            raise ConfigurationError("several workers need a database server: --database postgresql://…")
        with store.read() as connection:
            is_new = staff.has_no_active_people(connection)
    announce(f"casewise is at {settings.site_url}", address=settings.site_url)
    if is_new:
        note("There is no account yet. Create the first one: casewise invite YOU@EXAMPLE.ORG --role administrator")
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
        workers=options.workers,
        access_log=False,
        server_header=False,
        http=HeaderTimeout,
        timeout_worker_healthcheck=WORKER_PATIENCE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
    )


def serve_decider(file: Path, options: ServiceOptions, decider: DeciderOptions, host: str, port: int) -> None:
    """Serve a decider over HTTP."""
    import uvicorn  # an extra

    from casewise.web import deciding
    from casewise.web.connections import GracefulServer

    if options.keys is None and not decider.without_keys and host not in ("127.0.0.1", "::1", "localhost"):
        raise ConfigurationError(
            f"{host} accepts requests from other machines; give --keys FILE, or --without-keys to answer requests without a key"
        )
    # The service ends a call at its limit. A limit of the client at the same moment would hide that end, and the call would
    # be tried again.
    limits = {"timeout_s": 10 * options.timeout, "longest_outage_s": 0.0}
    client = ClientOptions(concurrency=256, retry=RetryPolicy(retries=1), **limits)
    loaded = api.deciding.Decider.load(file, model=ModelOptions(base_url=decider.base_url, client=client))
    confirm_sending("requests", loaded.judge.sends_to)
    loaded = loaded.with_failure_decision(decider.fail) if decider.fail else loaded
    service = deciding.create_service(loaded, options)
    address = f"http://{host}:{port}"
    asked_at = f"{address}/v1/decide"
    shadow = " in shadow mode: every request passes" if options.shadow else ""
    announce(
        f"the decider of {loaded.file.judge.name} answers POST {asked_at}{shadow}",
        err=True,
        address=address,
        decide=asked_at,
        judge=loaded.file.judge.name,
        decider=loaded.hash,
        shadow=options.shadow,
    )
    config = uvicorn.Config(
        service,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(options.timeout) + 5,
    )
    GracefulServer(config).run()


def serve_runs(runs: tuple[Path, ...], options: ViewOptions, port: int) -> None:
    """Serve runs in a browser, or write them as pages on disk."""
    if options.out is None and (options.only or options.with_texts):
        raise ConfigurationError("--only and --with-texts work only with --out")
    viewed = api.view(*runs, benchmark=options.benchmark, labels=options.labels)
    if options.out is not None:
        write_copy(viewed, options.out, only=options.only, with_texts=options.with_texts)
        return
    import uvicorn  # an extra

    from casewise.web.viewing import create_view

    address = f"http://127.0.0.1:{port}"
    table = viewed.table
    free_port("127.0.0.1", port)
    announce(
        f"{count_of(len(table.items), 'item is')} at {address} (Ctrl-C ends it)",
        err=True,
        address=address,
        n_items=len(table.items),
        series=[series.name for series in table.series],
    )
    uvicorn.run(
        create_view(viewed, port=port),
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
    )


def write_copy(viewed: RunView, out: Path, *, only: str, with_texts: bool) -> None:
    from casewise.evaluate.viewing import ItemFilter  # and all that is looked at
    from casewise.web.viewing import write_view

    table = viewed.table
    withheld = not with_texts and table.benchmark.restricted
    items = ItemFilter.from_query(dict(parse_qsl(only.removeprefix("?"), keep_blank_values=True)))
    written = write_view(viewed, out, only=items, withheld=withheld, quoted=with_texts)
    if withheld:
        note("the benchmark is gated: queries, contexts, replies and notes are withheld; --with-texts writes them")
    elif table.of_replies and not with_texts:
        note("chatbots' replies are withheld; --with-texts writes them, for your own reading only")
    note(f"{count_of(written.n_items, 'item')} and {count_of(written.n_lists, 'list')}; begin at:")
    say(str(written.path), **{**written._asdict(), "path": str(written.path)}, texts_withheld=withheld)


def preview(study: Path, port: int) -> None:
    """Serve every page of a study as a preview for its owner."""
    from casewise.web.app import previewing  # an extra

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell has what it starts with & ignore the first
        signal.signal(number, lambda *_: stop.set())
    with previewing(study, port=port) as address:
        announce(f"Look at {address} (stop with Ctrl+C; nothing is kept)", address=address)
        stop.wait()
        say("Nothing was kept.")


def invite(
    whom: str,
    /,
    *,
    role: tuple[str, ...] = (),
    people: PositiveInt = 1,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
    site_url: SiteOption = None,
) -> None:
    """Print a link to choose a password, or links to a study, one for each person.

    A person who has an account gets a new link.

    Parameters
    ----------
    whom
        The e-mail address of a colleague, or the TOML file of a study that people are invited to.
    role
        For an e-mail address: administrator, reviewer, expert or owner; may be repeated.
    people
        For a study: number of links.
    """
    if whom.endswith(".toml"):
        links = api.Study(whom, phase, database, site_url).invite(people)
        say("\n".join(links), links=links)
        return
    from casewise import database as databases  # an extra
    from casewise.database import staff

    settings, roles = from_environment(database=database, site_url=site_url), staff.roles_named(role)
    with databases.open(settings.database) as store, store.write() as connection:
        token = staff.invite(connection, whom, roles=roles, by=None, now=datetime.now(UTC))
    link = f"{settings.site_url}/join/{token}"
    say(link, email=whom, link=link)
