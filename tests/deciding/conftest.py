"""A decider of the demo, fitted once for all tests of the room."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.deciders import decider_file


@pytest.fixture(scope="session")
def decider_folder(homes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a run, its judge and its decider: to read, not to change."""
    folder = tmp_path_factory.mktemp("decider")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        decider_file(folder)
        yield folder


@pytest.fixture
def path(decider_folder: Path, tmp_path: Path) -> Path:
    """A copy of the decider's file."""
    return Path(shutil.copy(decider_folder / "decider.json", tmp_path))
