"""What `casewise serve` does by itself each minute: once, however many workers there are."""

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
from casewise.settings import Settings
from casewise.studies.monitor import Alert, Monitor, add_tally, alerts, keep_alerts, keep_up, monitor, raised_before
from casewise.studies.rounds import Round, all_rounds, load_round
from casewise.web.errors import send_mail

EVERY_S = 60.0
TALLIES_EVERY_S = 5.0
ONCE = Limit(burst=1, per_s=EVERY_S - 5)
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
def each_minute(database: Database, settings: Settings, tallies: Tallies, rounds: dict[str, Round]) -> Iterator[None]:
    """Keep all rounds up in a thread while the block runs; `rounds`, which are kept in memory, are read anew."""
    stop = threading.Event()

    def keep_up() -> None:
        rounds.clear()  # one may have been amended
        keep_all_up(database, settings, now=datetime.now(UTC))

    def repeat(every_s: float, work: Callable[[], None]) -> None:
        while not stop.wait(every_s):
            try:
                work()
            except Exception:  # the next time tries again; the pages must go on
                log.exception("upkeep failed")

    kept = ((EVERY_S, keep_up), (TALLIES_EVERY_S, partial(tallies.write, database)))
    threads = [threading.Thread(target=repeat, args=each, daemon=True, name="casewise upkeep") for each in kept]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=10)
        tallies.write(database)


def keep_all_up(database: Database, settings: Settings, *, now: datetime) -> bool:
    """Keep up each round and write alerts; whether this process did, for one does so in a minute."""
    with database.write() as connection:
        if not take(connection, "upkeep", ONCE, now=now):
            return False
    with suppress(RunConflict), only_one(database, "keeping rounds up"):
        with database.read() as connection:
            listed = all_rounds(connection)
        for one in listed:
            with database.write() as connection:
                study = load_round(connection, one.id)
                assert study is not None
                keep_up(connection, study, now=now)
            if one.state == "open" and one.phase in {"main", "pilot"}:
                write_alerts(database, settings, study, now=now)
        return True
    return False


def write_alerts(database: Database, settings: Settings, study: Round, *, now: datetime) -> tuple[Alert, ...]:
    """Tell the owner what began to hold since the last time; put on record once it is told."""
    with database.read() as connection:
        seen = monitor(connection, study, now=now)
        found, before = alerts(seen, study, now=now), raised_before(connection, study.id)
    begun = tuple(alert for alert in found if alert.kind not in before)
    if begun and settings.mail is not None:
        try:
            send_mail(
                settings.mail,
                to=study.design.alerts.email or study.design.contact.email,
                subject=f"{study.name} {study.version}: {', '.join(alert.kind for alert in begun)}",
                text=letter(begun, seen, study, site_url=settings.site_url),
            )
        except OSError:
            log.exception("an alert could not be sent; it is tried again in a minute")
            return ()
    if found or before:
        with database.write() as connection:
            keep_alerts(connection, study, found, now=now)
    return begun


def letter(begun: tuple[Alert, ...], seen: Monitor, study: Round, *, site_url: str) -> str:
    reasons = "\n".join(f"- {alert.kind}: {alert.said}" for alert in begun)
    return (
        f"The {study.phase} round of {study.name} {study.version} needs a look:\n\n{reasons}\n\n"
        f"{seen.overview.valid:,} of {seen.overview.promised:,} ratings are there, "
        f"{seen.valid_last_hour:,} of them from the last hour.\n\n{site_url}/studies/{study.id}\n\n"
        "Each of these is told once, and again only after it was over. Nothing was paused.\n"
    )
