"""Walking through a study's pages oneself, in a database that is deleted afterwards."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from casewise import database as databases
from casewise.settings import Settings
from casewise.studies.running.plan import open_plan, read_plan
from casewise.web.local import free_port, serving

__all__ = ["previewing"]


@contextmanager
def previewing(study: str | Path, *, port: int = 0) -> Iterator[str]:
    """The address at which a study can be looked at, for as long as this context is open.

    Parameters
    ----------
    study
        The study's TOML file.
    port
        Where the app listens; 0 takes a free port.
    """
    plan, port = read_plan(Path(study)), port or free_port()
    with tempfile.TemporaryDirectory(prefix="casewise-preview-") as folder:
        settings = Settings(
            database=str(Path(folder) / "study.db"),
            secret_key=secrets.token_urlsafe(48),
            site_url=f"http://127.0.0.1:{port}",
        )
        with databases.open(settings.database) as store, store.write() as connection:
            study_id = open_plan(connection, plan, phase="preview", now=datetime.now(UTC))
        with serving(settings, port=port):
            yield f"{settings.site_url}/study/{study_id}"
