"""Public benchmarks by name: found, fetched once after their terms are accepted, checked, and kept in the user's cache.

Other packages bring further ones (entry-point group `casewise.benchmarks`).
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from casewise.errors import ChecksumMismatch, ConfigurationError, DataError, did_you_mean
from casewise.plugins import find_part, part_names
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import sha256, write_benchmark
from casewise.storage.files import cache_folder, cannot_write, read_text, replacing, write_text
from casewise.storage.loaders.loader import Loader, SourceFile
from casewise.storage.loaders.public import CASEBENCH, PREFIX, judgebench


def loader_names() -> tuple[str, ...]:
    """Return every name that a benchmark is known by; those of other packages come last."""
    return part_names("benchmarks")


def find_loader(name: str) -> Loader | None:
    """Return the loader called `name`, or None.

    Raises ConfigurationError: another package brings it, and it cannot be loaded.
    """
    loader = find_part("benchmarks", name, Loader)
    if loader is None and name.startswith(PREFIX) and len(name) > len(PREFIX) and "/" not in name:
        return judgebench(name)
    return loader


def loader_named(name: str) -> Loader:
    """Return the loader called `name`. Raises ConfigurationError: there is none."""
    loader = find_loader(name)
    if loader is None:
        raise ConfigurationError(
            f"no public benchmark is called {name!r}{did_you_mean(name, loader_names())}; casewise data list shows all"
        )
    return loader


LISTED = ("title", "size", "judged", "labels_by", "licence", "metrics", "source")
"""The fields of a loader in the list of public benchmarks."""


def public_benchmarks() -> pl.DataFrame:
    """Return every public benchmark that casewise, or a package beside it, has a loader for: a row each.

    The columns are `name`, `title`, `size`, `judged`, `labels_by` (null if the benchmark's file states it), `licence`,
    `metrics` (those that a name has to choose from), `source`, `fetched`, and `pinned`: the checksum of every file is known before it is fetched.
    """
    rows: list[dict[str, Any]] = []
    for name in loader_names():
        try:
            loader = loader_named(name)
        except ConfigurationError as error:  # of another package: the others are listed all the same
            facts = (str(error), "cannot be loaded, see casewise show plugins", "–", "–", "–", (), "–", False, False)
        else:
            pinned = all(file.sha256 for file in loader.files)
            facts = (*(getattr(loader, fact) for fact in LISTED), loader.is_fetched, pinned)
        row: dict[str, Any] = {"name": name} | dict(zip((*LISTED, "fetched", "pinned"), facts, strict=True))
        rows.append(row | {"metrics": ", ".join(row["metrics"]) or None})
    return pl.DataFrame(rows)


# A benchmark's files: where each is kept, and whether it is the pinned one, or the one that was fetched first.


def checksum_file(path: Path) -> Path:
    """Return the path of the recorded checksum of an unpinned file."""
    return path.with_name(f"{path.name}.sha256")


def expected_checksum(loader: Loader, file: SourceFile) -> str | None:
    """Return the pinned checksum of a file, else the one that its first fetch recorded, if any."""
    first = checksum_file(loader.cache_path(file))
    return file.sha256 or (read_text(first).strip() if first.is_file() else None)


def fetched_file(loader: Loader, file: SourceFile) -> Path:
    """Return one file of a benchmark. Raises DataError: it was not fetched yet, or is damaged; the message says what to do."""
    path = loader.cache_path(file)
    if not path.is_file():
        option = loader.option_of(file)
        title, more = (f"a part of {loader.name}", f" --{option}") if option else (loader.name, "")
        raise DataError(path, None, f"{title} is not here yet; run: {loader.command}{more}")
    actual = sha256(path)
    if actual != (pinned := expected_checksum(loader, file) or actual):
        problem = f"sha256 is {actual}, not {pinned} of the pinned release; fetch it again, or give a copy of that one"
        raise ChecksumMismatch(path, None, problem)
    return path


def load_fetched(loader: Loader) -> Benchmark:
    """Return a benchmark from its fetched files, under its name. Raises DataError: they are not here, or in another shape."""
    benchmark = loader.load({file.name: fetched_file(loader, file) for file in loader.files})
    return replace(benchmark, about=benchmark.about.model_copy(update={"name": loader.name}))


@dataclass(frozen=True)
class FetchedFiles:
    """Files of a public benchmark that are here now."""

    files: dict[str, Path]
    """Files by title: the benchmark's own name for its first file."""
    checksums: dict[str, str]
    """The SHA-256 of each file that is not pinned, by the file's name."""
    benchmark: Benchmark | None = field(repr=False)
    """None where only extra files were taken."""


def fetch(
    name: str = CASEBENCH.name,
    *,
    accept_terms: bool | Callable[[str], bool] = False,
    prompts: bool = False,
    outputs: bool = False,
    copies: str | Path | Sequence[str | Path] = (),
    target: str | Path | None = None,
    progress: bool = False,
) -> FetchedFiles:
    """Fetch the files of a public benchmark from their publisher, once its terms are accepted, and read them.

    Parameters
    ----------
    accept_terms
        True if you have read the terms and accept them, or a function that asks a user who reads them.
    prompts
        For CASE-Bench: also fetch the paper's prompts.
    outputs
        For CASE-Bench: also fetch the answers of the judges that its authors published.
    copies
        Copies of the files (of the prompts or outputs, where these are wanted) to take instead of downloading them: found
        by their names, else in the order of the loader's files. A folder stands for all files that are kept in one.
    target
        A new folder to write the benchmark to.

    Raises
    ------
    ConfigurationError
        There is nothing of that name, the terms are not accepted, a copy is missing, or a download failed.
    DataError
        What came is not the pinned file, byte for byte, or cannot be loaded. Nothing is kept then.
    """
    loader = loader_named(name)
    options = [option for option, wanted in (("prompts", prompts), ("outputs", outputs)) if wanted]
    paths = [Path(path) for path in ([copies] if isinstance(copies, (str, Path)) else copies)]
    if not (accept_terms if isinstance(accept_terms, bool) else accept_terms(conditions(loader))):
        flags = (*(f"--{option}" for option in options), *(f"--from={path}" for path in paths))
        again = shlex.join((*loader.command.split(), *flags))
        raise ConfigurationError(f"{conditions(loader)}\n\nTo accept: {again} --accept-terms")
    if unknown := [option for option in options if option not in loader.extra]:
        raise ConfigurationError(f"{loader.name} has no {unknown[0]} to fetch; leave --{unknown[0]} out")
    more = tuple(file for option in options for file in loader.extra[option])
    sources = more if more and paths else (*loader.files, *more)
    given = match_copies(loader, sources, paths) if paths else {}
    with downloads() as folder:
        new = {file: given.get(file) or download(loader, file, folder, progress=progress) for file in sources}
        for file, path in new.items():
            check_copy(loader, file, path)
        benchmark = None
        if set(loader.files) <= set(new):
            benchmark = loader.load({file.name: path for file, path in new.items()})
        cached = {file: keep_file(loader, file, path) for file, path in new.items()}
    if target is not None and benchmark is not None:
        write_benchmark(benchmark, Path(target))
    return FetchedFiles(
        {loader.title_of(file): loader.display_path(file) for file in cached},
        {file.name: sha256(path) for file, path in cached.items() if file.sha256 is None},
        benchmark,
    )


@contextmanager
def downloads() -> Iterator[Path]:
    """Yield a folder for downloads that is gone afterwards."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
            yield Path(folder)
    except OSError as error:
        raise cannot_write(cache_folder(), error) from error


def conditions(loader: Loader) -> str:
    """Return the text shown before a fetch: the benchmark, its source, licence, terms and unpinned files."""
    text = f"{loader.title}\nFrom: {loader.source}\nLicence: {loader.licence}\n{loader.terms}"
    if unpinned := [file.name for file in loader.files if file.sha256 is None]:
        text += (
            f"\nNot pinned: {', '.join(unpinned)}. casewise knows no checksum of the publisher's file. It shows the checksum "
            "of the first copy that you fetch, and accepts no other afterwards."
        )
    return text


def match_copies(loader: Loader, files: Sequence[SourceFile], copies: Sequence[Path]) -> dict[SourceFile, Path]:
    """Return the copy of each file: in a folder that is given, else matched by name if all names are there, else by order."""
    if len(copies) == 1 and copies[0].is_dir():
        return {file: copies[0].joinpath(*PurePosixPath(file.name).parts[1:] or (file.name,)) for file in files}
    if len(copies) != len(files):
        raise ConfigurationError(
            f"{loader.name} has {len(files)} file{'s' * (len(files) != 1)} and --from names {len(copies)}; give --from for each "
            f"of: {', '.join(file.name for file in files)}"
        )
    by_name = {copy.name: copy for copy in copies}
    if all(file.name in by_name for file in files):
        return {file: by_name[file.name] for file in files}
    return dict(zip(files, copies, strict=True))


def check_copy(loader: Loader, file: SourceFile, path: Path) -> None:
    """Check a copy or a download against the pinned checksum, or that of the first fetch."""
    if not path.is_file():
        raise DataError(path, None, "no such file")
    actual, expected = sha256(path), expected_checksum(loader, file)
    if expected in (None, actual):
        return
    if file.sha256 is not None:
        release = f"{file.name} of {file.url}" if file.url else file.name
        problem = f"is not the pinned release of {release}: sha256 is {actual}, not {expected}"
    else:
        remove = checksum_file(loader.cache_path(file))
        problem = f"sha256 is {actual}, and the first copy of {file.name} had {expected}; to take the new one, remove {remove}"
    raise ChecksumMismatch(path, None, problem)


def keep_file(loader: Loader, file: SourceFile, path: Path) -> Path:
    """Keep a file that was checked, and record the checksum of one that is not pinned."""
    target = loader.cache_path(file)
    if path != target:
        with replacing(target) as written:
            written.write(path.read_bytes())
        if file.sha256 is None:
            write_text(checksum_file(target), f"{sha256(target)}\n")
    return target


def download(loader: Loader, file: SourceFile, folder: Path, *, progress: bool) -> Path:
    """Return the file in `folder`, downloaded, or where it is kept if it is here and whole."""
    try:
        return fetched_file(loader, file)
    except DataError:
        pass  # it is not here, or was damaged since
    option = loader.option_of(file)
    files = loader.extra[option] if option else loader.files
    flags = [f"--{option}"] if option else []
    if "/" in file.name:  # one of many in a folder
        flags += ["--from FOLDER"]
        where = f"\n  {PurePosixPath(file.url or '').parents[1]} and the folders beside it".replace(":/", "://", 1)
    else:
        flags += [f"--from {PurePosixPath(source.url or source.name).name}" for source in files]
        where = "".join(f"\n  {source.url}" for source in files)
    by_hand = " ".join((loader.command, *flags))
    if file.url is None:
        raise ConfigurationError(f"{loader.name} is not offered for download; give a copy: {by_hand}")
    import pooch

    pooch.get_logger().setLevel("WARNING")  # it advises to pin the checksum, which is not the user's to do
    downloader: Any = pooch.HTTPDownloader(progressbar=progress, timeout=60)
    try:
        return Path(
            pooch.retrieve(
                file.url, known_hash=None, fname=file.name.replace("/", "-"), path=folder, downloader=downloader
            )
        )
    except OSError as error:
        if (response := getattr(error, "response", None)) is not None:
            response.close()  # pooch leaves it open
        raise ConfigurationError(
            f"cannot download {file.name} of {loader.name} ({type(error).__name__}); check the connection, or download it "
            f"yourself:{where}\nand give the copies: {by_hand}"
        ) from error
