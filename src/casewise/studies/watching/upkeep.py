"""What a round needs done while nobody looks: leases that end, dates of deletion, flags."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select, update

from casewise.database.columns import insert_if_absent
from casewise.database.tables import study as tables
from casewise.studies.running.answers import lapse_and_void
from casewise.studies.running.owner import purge
from casewise.studies.running.rounds import Round
from casewise.studies.watching.assessing import assess_current

__all__ = ["add_tally", "keep_up"]

TALLIES = tables.tallies


def keep_up(connection: Connection, study: Round, *, now: datetime) -> None:
    """Re-open what expired leases hold, delete what is due, and bring flags up to date."""
    lapse_and_void(connection, study, now=now)
    purge(connection, study, now=now)
    assess_current(connection, study, now=now)


def add_tally(connection: Connection, study_id: str, kind: str, count: int) -> None:
    """Count `count` more of a kind."""
    known = select(tables.studies.c.id).where(tables.studies.c.id == study_id)
    if connection.execute(known).first() is None:
        return
    if insert_if_absent(connection, TALLIES, {"study_id": study_id, "kind": kind, "count": count}):
        return
    connection.execute(
        update(TALLIES)
        .where(TALLIES.c.study_id == study_id, TALLIES.c.kind == kind)
        .values(count=TALLIES.c.count + count)
    )
