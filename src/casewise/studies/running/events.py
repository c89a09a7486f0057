"""The event log of a study. Rows are only added; the database refuses anything else. No personal text goes in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from casewise.database.tables import study as tables

__all__ = ["note", "read_events"]

ACTORS = ("system", "annotator", "owner")


def note(
    connection: Connection,
    study_id: str,
    kind: str,
    *,
    at: datetime,
    by: str = "system",
    annotator_id: str | None = None,
    detail: dict[str, Any] | None = None,
) -> None:
    """Add an event. `by` is `system`, `annotator`, `owner` or a staff id."""
    connection.execute(
        insert(tables.events).values(
            study_id=study_id, at=at, by=by, kind=kind, annotator_id=annotator_id, detail=detail
        )
    )


def read_events(connection: Connection, study_id: str) -> list[dict[str, Any]]:
    """All events of a round, in their order, as JSON values that do not say when anybody worked.

    `after_s` are the seconds since the same annotator's first event; none where an event is of no annotator. Who of the
    staff it was is not told.
    """
    table = tables.events
    rows = connection.execute(select(table).where(table.c.study_id == study_id).order_by(table.c.id)).all()
    began: dict[str, datetime] = {}
    return [
        {
            "order": order,
            "after_s": None
            if (who := row.annotator_id) is None
            else round((row.at - began.setdefault(who, row.at)).total_seconds()),
            "by": row.by if row.by in ACTORS else "owner",
            "kind": row.kind,
            "annotator_id": who,
            "detail": row.detail,
        }
        for order, row in enumerate(rows, start=1)
    ]
