"""Files of public benchmarks: fetched once after their terms are accepted, checked, and kept in the user's cache."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from casewise.errors import ChecksumMismatch, ConfigurationError, DataError
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import sha256
from casewise.storage.files import cache_folder, cannot_write, read_text, replacing, write_text
from casewise.storage.loaders.loader import Loader, SourceFile


def title_of(loader: Loader, file: SourceFile) -> str:
    """Return the name of a file among all that are fetched: the first of a benchmark has its name."""
    return loader.name if file == loader.files[0] else f"{loader.name}-{Path(file.name).stem}"


def place(loader: Loader, file: SourceFile) -> Path:
    """Return the path at which the file is kept once it is fetched."""
    stem = title_of(loader, file).replace(":", "-")
    return cache_folder() / f"{stem}-{(file.sha256 or 'unpinned')[:12]}{Path(file.name).suffix}"


def recorded(path: Path) -> Path:
    """Return the path of the recorded checksum of an unpinned file."""
    return path.with_name(f"{path.name}.sha256")


def is_fetched(loader: Loader) -> bool:
    """True if all files of the loader's benchmark are in the cache."""
    return all(place(loader, file).is_file() for file in loader.files)


def fetched(loader: Loader) -> dict[str, Path]:
    """Its files by name. Raises DataError: one was not fetched yet, or is damaged; the message says what to do."""
    return {file.name: fetched_file(loader, file) for file in loader.files}


def fetched_file(loader: Loader, file: SourceFile) -> Path:
    """One file of a benchmark, as `fetched` gives all."""
    path = place(loader, file)
    if not path.is_file():
        title, option = (f"a part of {loader.name}", " --prompts") if file in loader.extra else (loader.name, "")
        raise DataError(path, None, f"{title} is not here yet; run: {loader.command}{option}")
    pinned, actual = file.sha256 or checksum_of_first_fetch(path), sha256(path)
    if actual != pinned:
        problem = f"sha256 is {actual}, not {pinned} of the pinned release; fetch it again, or give a copy of that one"
        raise ChecksumMismatch(path, None, problem)
    return path


def checksum_of_first_fetch(path: Path) -> str:
    return read_text(recorded(path)).strip() if recorded(path).is_file() else sha256(path)


@dataclass(frozen=True)
class Fetched:
    """Files of a public benchmark that are here now."""

    files: dict[str, Path]
    """By title: the benchmark's own name for its first file."""
    checksums: dict[str, str]
    """The SHA-256 of each file that is not pinned, by the file's name."""
    benchmark: Benchmark | None = field(repr=False)
    """None where only extra files were taken."""


def fetch(
    loader: Loader,
    *,
    accept_terms: bool,
    copies: Sequence[Path] = (),
    extra: bool = False,
    progress: bool = True,
) -> Fetched:
    """Download the files of a benchmark into the cache, or take copies of them, once they are checked and read.

    `copies`: the user's own copies, of every file: found by their names, else in the order of `loader.files`.
    `extra`: fetch the extra files as well; with `copies`, these are copies of the extra files.

    Raises ConfigurationError: the terms are not accepted, a copy is missing, or a download failed. DataError: a file cannot be
    read, or is in another shape. ChecksumMismatch: it is not the pinned file. Nothing is kept then.
    """
    if not accept_terms:
        again = shlex.join(
            (*loader.command.split(), *(["--prompts"] if extra else []), *(f"--from={copy}" for copy in copies))
        )
        raise ConfigurationError(f"{conditions(loader)}\n\nTo accept: {again} --accept-terms")
    if extra and not loader.extra:
        raise ConfigurationError(f"{loader.name} has no prompts to fetch; leave --prompts out")
    sources = (loader.extra if copies else (*loader.files, *loader.extra)) if extra else loader.files
    matched_copies = matched(loader, sources, copies) if copies else {}
    with downloads() as folder:
        paths = {
            file: matched_copies.get(file) or download(loader, file, folder, progress=progress) for file in sources
        }
        for file, path in paths.items():
            check_new(loader, file, path)
        benchmark = None
        if set(loader.files) <= set(paths):
            benchmark = loader.load({file.name: path for file, path in paths.items()})
        cached = {file: keep(loader, file, path) for file, path in paths.items()}
    return Fetched(
        {title_of(loader, file): path for file, path in cached.items()},
        {file.name: sha256(path) for file, path in cached.items() if file.sha256 is None},
        benchmark,
    )


@contextmanager
def downloads() -> Iterator[Path]:
    """A folder for downloads that is gone afterwards."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
            yield Path(folder)
    except OSError as error:
        raise cannot_write(cache_folder(), error) from error


def conditions(loader: Loader) -> str:
    """Return the text shown before a fetch: the benchmark, its source, licence, terms and unpinned files."""
    lines = [f"{loader.title}\nFrom: {loader.source}\nLicence: {loader.licence}\n{loader.terms}"]
    if unpinned := [file.name for file in loader.files if file.sha256 is None]:
        lines.append(
            f"Not pinned: {', '.join(unpinned)}. casewise knows no checksum of the publisher's file. It shows the checksum of "
            "the first copy that you fetch, and accepts no other afterwards."
        )
    return "\n".join(lines)


def matched(loader: Loader, files: Sequence[SourceFile], copies: Sequence[Path]) -> dict[SourceFile, Path]:
    """Return the copy of each file, matched by name if all names are there, else by order."""
    if len(copies) != len(files):
        raise ConfigurationError(
            f"{loader.name} has {len(files)} file{'s' * (len(files) != 1)} and --from names {len(copies)}; give --from for each "
            f"of: {', '.join(file.name for file in files)}"
        )
    by_name = {copy.name: copy for copy in copies}
    if all(file.name in by_name for file in files):
        return {file: by_name[file.name] for file in files}
    return dict(zip(files, copies, strict=True))


def check_new(loader: Loader, file: SourceFile, path: Path) -> None:
    """Check a copy or a download against the pinned checksum, or that of the first fetch."""
    if not path.is_file():
        raise DataError(path, None, "no such file")
    target, actual = place(loader, file), sha256(path)
    if file.sha256 is not None and actual != file.sha256:
        release = f"{file.name} of {file.url}" if file.url else file.name
        problem = f"is not the pinned release of {release}: sha256 is {actual}, not {file.sha256}"
        raise ChecksumMismatch(path, None, problem)
    if file.sha256 is None and recorded(target).is_file() and actual != (first := checksum_of_first_fetch(target)):
        problem = f"sha256 is {actual}, and the first copy of {file.name} had {first}; to take the new one, remove {recorded(target)}"
        raise ChecksumMismatch(path, None, problem)


def keep(loader: Loader, file: SourceFile, path: Path) -> Path:
    """Keep a file that was checked, and record the checksum of one that is not pinned."""
    target = place(loader, file)
    if path != target:
        with replacing(target) as written:
            written.write(path.read_bytes())
        if file.sha256 is None:
            write_text(recorded(target), f"{sha256(target)}\n")
    return target


def download(loader: Loader, file: SourceFile, folder: Path, *, progress: bool) -> Path:
    """The file in `folder`, downloaded, or where it is kept if it is here and whole."""
    try:
        return fetched_file(loader, file)
    except DataError:
        pass  # it is not here, or was damaged since
    if file.url is None:
        raise ConfigurationError(
            f"{loader.name} is not offered for download; give a copy: {by_hand(loader, loader.files)}"
        )
    import pooch

    pooch.get_logger().setLevel("WARNING")  # it advises to pin the checksum, which is not the user's to do
    downloader: Any = pooch.HTTPDownloader(progressbar=progress, timeout=60)
    try:
        return Path(pooch.retrieve(file.url, known_hash=None, fname=file.name, path=folder, downloader=downloader))
    except OSError as error:
        if (response := getattr(error, "response", None)) is not None:
            response.close()  # pooch leaves it open
        files = loader.extra if file in loader.extra else loader.files
        addresses = "".join(f"\n  {file.url}" for file in files)
        raise ConfigurationError(
            f"cannot download {file.name} of {loader.name} ({type(error).__name__}); check the connection, or download it "
            f"yourself:{addresses}\nand give the copies: {by_hand(loader, files)}"
        ) from error


def by_hand(loader: Loader, files: Sequence[SourceFile]) -> str:
    """Return the command that takes copies of these files, which are all of its files or all of its extra ones."""
    prompts = " --prompts" if files == loader.extra else ""
    return f"{loader.command}{prompts} " + " ".join(
        f"--from {PurePosixPath(file.url or file.name).name}" for file in files
    )
