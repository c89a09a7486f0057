"""The pinned release of CASE-Bench: fetched once, after its terms are accepted, and checked byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from casewise.errors import ChecksumMismatch, ConfigurationError, DataError
from casewise.storage.benchmarks.manifest import sha256
from casewise.storage.files.atomic import cannot_write, replacing

__all__ = ["CASEBENCH", "PROMPTS", "Pinned", "cache_folder", "fetch", "fetched", "take"]


class Pinned(NamedTuple):
    """A file at one commit of a public repository."""

    name: str
    repository: str
    commit: str
    path: str
    sha256: str
    terms: str
    command: str = "casewise data fetch casebench"
    """How a user fetches it."""

    @property
    def url(self) -> str:
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.path}"

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.sha256[:12]}{Path(self.path).suffix}"


CASEBENCH = Pinned(
    name="casebench",
    repository="BriansIDP/CASEBench",
    commit="135f221e0e3e4cdc9a7d17288fa6b54c8aa45d0a",
    path="data/CASEBench_data.json",
    sha256="49bc10879c5350061eb1239b4f14f1a756683ca39e7e2abfc85fba70f9faac0c",
    terms=(
        "CASE-Bench (Sun et al., 2025) builds on the queries of SORRY-Bench, whose owners grant access on request and "
        "for research. The texts are harmful by design, and its safe contexts can serve as jailbreak templates. Accept "
        "only if you have the right to use both, will use them to evaluate or improve safety, and will not pass them on."
    ),
)


PROMPTS = Pinned(
    name="casebench-prompts",
    repository=CASEBENCH.repository,
    commit=CASEBENCH.commit,
    path="scripts/template.py",
    sha256="1b83b0e36a5e0f43c2443983069f58548b76f313d0a1d7624cf1e12ce3353dfe",
    terms=CASEBENCH.terms,
    command="casewise data fetch casebench --prompts",
)
"""The wording that the paper's judges were asked in. It is read, never run: see `casewise.judging.asking.prompts`."""


def cache_folder() -> Path:
    """Where fetched files are kept, for this user."""
    return Path(platformdirs.user_cache_dir("casewise"))


def fetched(pinned: Pinned = CASEBENCH) -> Path:
    """The fetched file. Raises DataError: it was not fetched yet, or is damaged; the message says what to do."""
    path = cache_folder() / pinned.file_name
    if not path.is_file():
        raise DataError(path, None, f"{pinned.name} is not here yet; run: {pinned.command}")
    return check(path, pinned)


def fetch(pinned: Pinned = CASEBENCH, *, accept_terms: bool, progress: bool = True) -> Path:
    """Download the pinned file into the cache and check it.

    Raises ConfigurationError: the terms are not accepted, or the download failed. ChecksumMismatch: what came is not
    the pinned release.
    """
    if not accept_terms:
        raise ConfigurationError(f"{pinned.terms}\n\nTo accept: {pinned.command} --accept-terms")
    import pooch

    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    downloader: Any = pooch.HTTPDownloader(progressbar=progress, timeout=60)
    try:
        pooch.retrieve(
            pinned.url,
            known_hash=f"sha256:{pinned.sha256}",
            fname=pinned.file_name,
            path=folder,
            downloader=downloader,
        )
    except ValueError as error:
        raise ChecksumMismatch(
            folder / pinned.file_name, None, f"the download is not the pinned release: {error}"
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"cannot download {pinned.name} ({type(error).__name__}); check the connection, "
            f"or give a copy: {pinned.command} --from FILE"
        ) from error
    return folder / pinned.file_name


def take(copy: Path, pinned: Pinned = CASEBENCH, *, accept_terms: bool) -> Path:
    """Put a copy of the pinned file that the user has into the cache.

    Raises ConfigurationError: the terms are not accepted, or the cache cannot be written. DataError: `copy` cannot be
    read, or is not the pinned release.
    """
    if not accept_terms:
        raise ConfigurationError(f"{pinned.terms}\n\nTo accept, add --accept-terms")
    if not copy.is_file():
        raise DataError(copy, None, "no such file")
    check(copy, pinned)
    target = cache_folder() / pinned.file_name
    with replacing(target) as file:
        file.write(copy.read_bytes())
    return target


def check(path: Path, pinned: Pinned) -> Path:
    found = sha256(path)
    if found != pinned.sha256:
        raise ChecksumMismatch(
            path,
            None,
            f"sha256 is {found}, not {pinned.sha256} of the pinned release; fetch it again, or load the file by its path",
        )
    return path
