"""The settings that the web app and the command line take from the environment.

Only `from_environment` reads them, and only when it is called: nothing happens at import time.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from casewise.errors import ConfigurationError
from casewise.text import count_of

DEFAULT_DATABASE = "casewise.db"
DEFAULT_SITE_URL = "http://127.0.0.1:8000"
SHORTEST_KEY = 32


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The database, the key that signs cookies, and the address under which people reach the app."""

    database: str = DEFAULT_DATABASE
    """A path (SQLite) or an URL: `sqlite:///…`, `postgresql://…`."""
    secret_key: str = field(repr=False)
    """Signs cookies, links and form tokens. A person who knows it can act as any other."""
    erasures: str = ""
    """The file of the list of erasures; empty for the one beside the database."""
    site_url: str = DEFAULT_SITE_URL
    """The address in a browser; `https` makes cookies Secure and sends HSTS."""

    def __post_init__(self) -> None:
        if len(self.secret_key) < SHORTEST_KEY:
            raise ConfigurationError(
                f"the secret key has {count_of(len(self.secret_key), 'character')}; it needs at least {SHORTEST_KEY} random ones"
            )
        if urlsplit(self.site_url).scheme not in {"http", "https"}:
            raise ConfigurationError(f"the site url is {self.site_url!r}; it starts with http:// or https://")

    @property
    def behind_tls(self) -> bool:
        """True if browsers reach the app over TLS."""
        return urlsplit(self.site_url).scheme == "https"


def from_environment(
    environment: Mapping[str, str] | None = None, *, database: str | None = None, site_url: str | None = None
) -> Settings:
    """Return the settings in `CASEWISE_DATABASE`, `CASEWISE_SITE_URL`, `CASEWISE_SECRET_KEY` or `CASEWISE_SECRET_KEY_FILE`, and
    `CASEWISE_ERASURES`.

    What is given as an argument goes before the environment. Where no key is given, one is made once and kept beside an
    SQLite database, in a file that only its owner may read. Raises ConfigurationError: a value is wrong, a key file
    cannot be read, or the database is no file and no key is given.
    """
    environment = os.environ if environment is None else environment
    database = database_named(database, environment)
    site_url = site_url or environment.get("CASEWISE_SITE_URL") or DEFAULT_SITE_URL
    key = environment.get("CASEWISE_SECRET_KEY") or kept_key(key_file(environment, database))
    return Settings(
        database=database,
        secret_key=key,
        erasures=environment.get("CASEWISE_ERASURES", ""),
        site_url=site_url.rstrip("/"),
    )


def database_named(database: str | None = None, environment: Mapping[str, str] | None = None) -> str:
    """Return the database that is named, else that of `CASEWISE_DATABASE`, else `casewise.db` here."""
    environment = os.environ if environment is None else environment
    return database or environment.get("CASEWISE_DATABASE") or DEFAULT_DATABASE


def outputs_folder(environment: Mapping[str, str] | None = None) -> Path | None:
    """Return the folder of the release's output files of judges, which `CASEWISE_OUTPUTS` names; None without one.

    Raises ConfigurationError: there is no such folder.
    """
    named = (os.environ if environment is None else environment).get("CASEWISE_OUTPUTS")
    if named and not Path(named).is_dir():
        raise ConfigurationError(f"CASEWISE_OUTPUTS is {named!r}; there is no such folder")
    return Path(named) if named else None


def key_file(environment: Mapping[str, str], database: str) -> Path:
    if named := environment.get("CASEWISE_SECRET_KEY_FILE"):
        return Path(named)
    if "://" in database and not database.startswith("sqlite"):
        raise ConfigurationError(
            "a database server needs a key that all workers share: "
            "set CASEWISE_SECRET_KEY or CASEWISE_SECRET_KEY_FILE to a random text of 32 characters or more"
        )
    return Path(database.removeprefix("sqlite:///")).with_suffix(".key")


def kept_key(path: Path) -> str:
    """Return the key in `path`, which is made with mode 0600 where there is none yet.

    Raises ConfigurationError: the file cannot be read or written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return read_key(path)
    except OSError as error:
        raise ConfigurationError(f"{path}: no key can be kept here: {error}") from error
    key = secrets.token_urlsafe(48)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(key + "\n")
    return key


def read_key(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: the key cannot be read: {error}") from error
