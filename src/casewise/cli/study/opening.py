"""The database and the round that a command is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from casewise.errors import StudyError

if TYPE_CHECKING:
    from casewise.database import Database
    from casewise.settings import Settings
    from casewise.studies.running.rounds import Round

__all__ = ["connected", "opened", "the_round"]


@contextmanager
def opened(database: str | None, site_url: str | None = None) -> Iterator[tuple[Settings, Database]]:
    from casewise.settings import from_environment

    settings = from_environment(database=database, site_url=site_url)
    with connected(settings) as store:
        yield settings, store


@contextmanager
def connected(settings: Settings) -> Iterator[Database]:
    from casewise import database as databases

    store = databases.open(settings.database)
    try:
        yield store
    finally:
        store.close()


def the_round(store: Database, study: Path, phase: str) -> Round:
    from typing import get_args

    from casewise.studies.design.design import read_design
    from casewise.studies.running.rounds import Phase, find_round

    if phase not in get_args(Phase):
        raise StudyError(f"--phase is {phase!r}; it can be {', '.join(get_args(Phase))}")
    name = read_design(study).name
    with store.read() as connection:
        found = find_round(connection, name, phase=phase)  # type: ignore[arg-type]  # checked above
    if found is None:
        command = {"pilot": "pilot", "rehearsal": "rehearse"}.get(phase, "open")
        raise StudyError(
            f"{name} has no {phase} round in this database; begin one with: casewise study {command} {study}"
        )
    return found
