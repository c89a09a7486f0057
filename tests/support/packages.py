"""Packages that bring parts to casewise, made and installed for one test."""

import sys
from collections.abc import Callable, Iterator
from functools import _lru_cache_wrapper
from pathlib import Path

import pytest

Install = Callable[..., None]


def forget() -> None:
    """Empty every cache of casewise: a new process would know what is installed now."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "casewise":
            for value in vars(module).values():
                if isinstance(value, _lru_cache_wrapper):
                    value.cache_clear()


def write_metadata(site: Path, name: str, points: str) -> None:
    metadata = site / f"{name.replace('-', '_')}-0.3.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.3\n")
    (metadata / "entry_points.txt").write_text(points)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package: its name, its entry points, and its modules by name."""
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(site)

    def installed(name: str, points: str, **modules: str) -> None:
        write_metadata(site, name, points)
        for module, code in modules.items():
            (site / f"{module}.py").write_text(code)
        forget()

    yield installed
    forget()
