"""The work that `casewise serve` does by itself each minute: once, however many workers there are."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial

from casewise.database import Database
from casewise.database.engine import Limit, only_one, take
from casewise.errors import RunConflict
from casewise.studies.monitor import add_tally, keep_up
from casewise.studies.rounds import READ_ANEW_S, Round, all_rounds, load_round

TALLIES_EVERY_S = 5.0
ONCE = Limit(burst=1, per_s=READ_ANEW_S - 5)
"""Somewhat less than the period, or a worker that wakes a moment early would leave a minute out."""

log = logging.getLogger(__name__)


class Tallies:
    """Arrivals counted in memory, so that opening the first page writes nothing; written every few seconds, and at the end.

    A process that is killed loses those of the last seconds.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._turn = threading.Lock()

    def count(self, study_id: str, kind: str) -> None:
        """One more."""
        with self._turn:
            self._counts[study_id, kind] += 1

    def write(self, database: Database) -> None:
        """Put the counts into the database, and begin anew; what could not be written is kept for the next time."""
        with self._turn:
            counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            with database.write() as connection:
                for (study_id, kind), many in counts.items():
                    add_tally(connection, study_id, kind, many)
        except Exception:
            with self._turn:
                self._counts += counts
            raise


@contextmanager
def each_minute(database: Database, tallies: Tallies, rounds: dict[str, Round]) -> Iterator[None]:
    """Keep all rounds up in a thread while the block runs; `rounds`, which are kept in memory, are read anew."""
    stop = threading.Event()

    def keep_up() -> None:
        rounds.clear()  # one may have been amended
        keep_all_up(database, now=datetime.now(UTC))

    def repeat(every_s: float, work: Callable[[], None]) -> None:
        while not stop.wait(every_s):
            try:
                work()
            except Exception:  # the next time tries again; the pages must go on
                log.exception("upkeep failed")

    jobs = ((READ_ANEW_S, keep_up), (TALLIES_EVERY_S, partial(tallies.write, database)))
    threads = [threading.Thread(target=repeat, args=job, daemon=True, name="casewise upkeep") for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=10)
        tallies.write(database)


def keep_all_up(database: Database, *, now: datetime) -> bool:
    """Keep up each round; whether this process did, for one does so in a minute."""
    with database.write() as connection:
        if not take(connection, "upkeep", ONCE, now=now):
            return False
    with suppress(RunConflict), only_one(database, "keeping rounds up"):
        with database.read() as connection:
            listed = all_rounds(connection)
        for listed_database in listed:
            with database.write() as connection:
                study = load_round(connection, listed_database.id)
                assert study is not None
                keep_up(study.at(connection, now))
        return True
    return False
