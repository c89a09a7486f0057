"""Writes `study.sql`, the study database that the first release promises to open: python -m tests.contract.study_database.

Run it only while nothing is released: afterwards a change of the tables is a migration, and this file stays as it is.
"""

import sqlite3
import tempfile
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from tests.contexts.drafts import room
from tests.support.study import LATER, SECRET, START, answer, begun, opened

from casewise import database
from casewise.studies.answers import finish_batch, undo
from casewise.studies.people import Vault

PINNED = Path(__file__).parent / "study.sql"
VAULT = Vault(SECRET)


def made(path: Path) -> None:
    """Make the database: drafts under review, and a round of tea that ann finished and ben is in."""
    with database.open(str(path)) as store:
        room(store)
        study = opened(store)
        ann, ben = begun(store, study, "ann"), begun(store, study, "ben", now=START + timedelta(minutes=1))
        answer(store, study, ann)
        with study.write(store, START + timedelta(minutes=2)) as live:
            undo(live, ann)
        while answer(store, study, ann, now=START + timedelta(minutes=3)):
            pass
        with study.write(store, START + LATER / 2) as live:
            finish_batch(live, ann)
        answer(store, study, ben, "refuse", now=START + timedelta(minutes=4))


def pinned_database(path: Path) -> None:
    """Put the pinned database at `path`."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(PINNED.read_text(encoding="utf-8"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made(Path(folder) / "study.db")
        with closing(sqlite3.connect(Path(folder) / "study.db")) as connection:
            PINNED.write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")
