"""What every test stands on: an isolated home, no inherited settings, and the real data where they are."""

from __future__ import annotations

import gc
import itertools
import math
import os
import sys
from collections.abc import Generator, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import hypothesis
import pytest
from tests.support.data import SHARED

REQUIRED = tuple(name for name in os.environ.get("CASEWISE_TEST_REQUIRE", "").split(",") if name)
"""Markers whose tests may not be skipped here; read once at import, before tests isolate the environment."""

hypothesis.settings.register_profile(
    "any machine, however busy",
    deadline=None,
    derandomize="CI" in os.environ,  # new examples are looked for where somebody can look at what they break
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("any machine, however busy")

NUMBERS = itertools.count(1)

pytest_plugins = [
    "tests.support.postgres",
    "tests.support.databases",
    "tests.support.browser",
    "tests.support.app",
    "tests.support.prolific",
    "tests.support.packages",
]


gc.set_threshold(50_000)
"""As `casewise` itself sets it: at Python's 700, looks for cycles were a quarter of what collecting all tests takes."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as processors: with one each, a quarter of their time goes by in waiting for a server or a disk."""
    return math.ceil(1.5 * (os.cpu_count() or 1))


def pytest_collection_finish() -> None:
    """What was loaded and collected stays, and is not looked through again."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where a part is required, a test of it that is skipped has failed."""
    report = yield
    if report.skipped and any(item.get_closest_marker(name) for name in REQUIRED):
        report.outcome, report.longrepr = "failed", f"required here, but skipped: {report.longrepr}"
    return report


@pytest.fixture(autouse=True, scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What fixtures of a whole file stand on: a home, and none of the machine's keys or settings."""
    folder = tmp_path_factory.mktemp("homes")
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, folder)
        yield folder


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch, homes: Path) -> None:
    """A home, a cache and a working folder of the test's own."""
    home = homes / str(next(NUMBERS))
    home.mkdir()
    isolate(monkeypatch, home)


def isolate(patch: pytest.MonkeyPatch, home: Path) -> None:
    for name in list(os.environ):
        if name.startswith("CASEWISE_") or name.endswith(("_API_KEY", "_PROXY", "_proxy")):
            patch.delenv(name)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        patch.setenv(name, str(home))
    patch.setenv("COLUMNS", "100")
    patch.setattr("casewise.plugins.entry_points", entry_points_of_tests)
    patch.chdir(home)


def entry_points_of_tests(*, group: str) -> list[EntryPoint]:
    """The entry points that tests install; those of packages beside casewise in this environment would change what it prints."""
    points = entry_points(group=group)
    return [
        point for point in points if point.dist and not Path(str(point.dist.locate_file(""))).is_relative_to(sys.prefix)
    ]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data and reference values, where this checkout has one beside it."""
    if not SHARED.is_dir():
        pytest.skip("needs the developers' ../shared folder, which is not part of the project")
    return SHARED
