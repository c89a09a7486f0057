"""Public benchmarks by name: those of casewise, and those of other packages (entry-point group `casewise.benchmarks`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from casewise.errors import ConfigurationError, did_you_mean
from casewise.plugins import plugin, plugin_names
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import brief
from casewise.storage.loaders.casebench import CASEBENCH
from casewise.storage.loaders.confaide import CONFAIDE
from casewise.storage.loaders.dices import DICES_350, DICES_990
from casewise.storage.loaders.fetching import fetched
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
