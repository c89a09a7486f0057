"""The work that `casewise serve` does by itself each minute: once, however many workers there are."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from casewise.database import Database
from casewise.database.engine import Limit, only_one, take
from casewise.errors import RunConflict
from casewise.studies.monitor import keep_up
from casewise.studies.rounds import READ_ANEW_S, Round, all_rounds, load_round

ONCE = Limit(burst=1, per_s=READ_ANEW_S - 5)
"""Somewhat less than the period, or a worker that wakes a moment early would leave a minute out."""

log = logging.getLogger(__name__)


@contextmanager
def each_minute(database: Database, rounds: dict[str, Round]) -> Iterator[None]:
    """Keep all rounds up in a thread while the block runs; `rounds`, which are kept in memory, are read anew."""
    stop = threading.Event()

    def repeat() -> None:
        while not stop.wait(READ_ANEW_S):
            try:
                rounds.clear()  # one may have been amended
                keep_all_up(database, now=datetime.now(UTC))
            except Exception:  # the next time tries again; the pages must go on
                log.exception("upkeep failed")

    thread = threading.Thread(target=repeat, daemon=True, name="casewise upkeep")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=10)


def keep_all_up(database: Database, *, now: datetime) -> bool:
    """Keep up each round; whether this process did, for one does so in a minute."""
    with database.write() as connection:
        if not take(connection, "upkeep", ONCE, now=now):
            return False
    with suppress(RunConflict), only_one(database, "keeping rounds up"):
        with database.read() as connection:
            listed = all_rounds(connection)
        for listed_round in listed:
            with database.write() as connection:
                study = load_round(connection, listed_round.id)
                assert study is not None
                keep_up(study.at(connection, now))
        return True
    return False
