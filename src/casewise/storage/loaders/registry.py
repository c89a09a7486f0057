"""Public benchmarks by name: those of casewise, and those of other packages (entry-point group `casewise.benchmarks`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from casewise.errors import ConfigurationError, did_you_mean
from casewise.plugins import plugin, plugin_names
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import write_benchmark
from casewise.storage.files import brief
from casewise.storage.loaders import fetching
from casewise.storage.loaders.casebench import CASEBENCH
from casewise.storage.loaders.confaide import CONFAIDE
from casewise.storage.loaders.dices import DICES_350, DICES_990
from casewise.storage.loaders.fetching import Fetched, fetched, is_fetched
from casewise.storage.loaders.judgebench import PREFIX, judgebench, judgebench_sets
from casewise.storage.loaders.loader import Loader
from casewise.storage.loaders.opensafeintent import OPENSAFEINTENT
from casewise.storage.loaders.pluriharms import PLURIHARMS
from casewise.storage.loaders.privacylens import PRIVACYLENS
from casewise.storage.loaders.safepyramid import SAFEPYRAMID
from casewise.storage.loaders.xstest import XSTEST

OWN = (
    CASEBENCH,
    DICES_350,
    DICES_990,
    PLURIHARMS,
    PRIVACYLENS,
    CONFAIDE,
    OPENSAFEINTENT,
    SAFEPYRAMID,
    XSTEST,
)


@cache
def own() -> Mapping[str, Loader]:
    """The loaders of casewise itself, by name."""
    sets = (judgebench(f"{PREFIX}{name}") for name in judgebench_sets())
    return {loader.name: loader for loader in (*OWN, *sets)}


def loader_names() -> tuple[str, ...]:
    """Every name that a benchmark is known by; those of other packages come last."""
    return (*own(), *(name for name in plugin_names("benchmarks") if name not in own()))


def find_loader(name: str) -> Loader | None:
    """The loader called `name`, or None. Raises ConfigurationError: another package brings it, and it cannot be loaded."""
    if name in own():
        return own()[name]
    if name.startswith(PREFIX) and len(name) > len(PREFIX) and "/" not in name:
        return judgebench(name)
    part = plugin("benchmarks", name)
    if part is None or isinstance(part, Loader):
        return part
    raise ConfigurationError(f"the benchmark {name!r} of another package is {brief(part)}, not a Loader")


def loader_named(name: str) -> Loader:
    """The loader called `name`. Raises ConfigurationError: there is none."""
    loader = find_loader(name)
    if loader is None:
        raise ConfigurationError(
            f"no public benchmark is called {name!r}{did_you_mean(name, loader_names())}; casewise data list shows all"
        )
    return loader


def load_fetched(loader: Loader) -> Benchmark:
    """A benchmark from its fetched files, under its name. Raises DataError: they are not here, or in another shape."""
    benchmark = loader.load(fetched(loader))
    return replace(benchmark, about=benchmark.about.model_copy(update={"name": loader.name}))


@dataclass(frozen=True)
class PublicBenchmark:
    """A public benchmark that casewise knows by name, and whether its files are here."""

    name: str
    title: str
    size: str
    judged: str
    labels_by: str | None
    """The source of the labels; None if the benchmark's file states it."""
    licence: str
    source: str
    fetched: bool
    pinned: bool
    """True if the checksum of every file is known before it is fetched."""


def public_benchmarks() -> list[PublicBenchmark]:
    """Return every public benchmark that casewise, or a package beside it, has a loader for."""
    return [public_benchmark(name) for name in loader_names()]


def public_benchmark(name: str) -> PublicBenchmark:
    try:
        loader = loader_named(name)
    except ConfigurationError as error:  # of another package: the others are listed all the same
        problem = (str(error), "cannot be loaded, see casewise show plugins", "–", "–", "–", "–")
        return PublicBenchmark(name, *problem, fetched=False, pinned=False)
    facts = (loader.title, loader.size, loader.judged, loader.labels_by, loader.licence, loader.source)
    pinned = all(file.sha256 for file in loader.files)
    return PublicBenchmark(loader.name, *facts, fetched=is_fetched(loader), pinned=pinned)


def fetch(
    name: str = CASEBENCH.name,
    *,
    accept_terms: bool | Callable[[str], bool] = False,
    prompts: bool = False,
    copies: str | Path | Sequence[str | Path] = (),
    target: str | Path | None = None,
    progress: bool = False,
) -> Fetched:
    """Fetch the files of a public benchmark from their publisher, once its terms are accepted, and read them.

    Parameters
    ----------
    accept_terms
        That you have read the terms and accept them, or what asks somebody who is shown them.
    prompts
        Of CASE-Bench: fetch the paper's prompts as well.
    copies
        Copies of the files (of the prompts, where these are wanted) to take instead of downloading them.
    target
        A new folder to write the benchmark to.

    Raises
    ------
    ConfigurationError
        There is nothing of that name, the terms are not accepted, or a download failed.
    DataError
        What came is not the pinned file, byte for byte, or cannot be loaded.
    """
    loader = loader_named(name)
    accepted = accept_terms if isinstance(accept_terms, bool) else accept_terms(fetching.conditions(loader))
    paths = [copies] if isinstance(copies, (str, Path)) else copies
    fetched = fetching.fetch(
        loader,
        accept_terms=accepted,
        copies=[Path(path) for path in paths],
        extra=prompts,
        progress=progress,
    )
    if target is not None and fetched.benchmark is not None:
        write_benchmark(fetched.benchmark, Path(target))
    return fetched
