"""The event log of a study. Rows are only added; the database refuses anything else. No personal text goes in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from casewise.database.tables import study as tables
from casewise.errors import StudyError

__all__ = ["amendments", "made_at_recruiter", "none_made", "note", "note_at_recruiter", "read_events"]

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


AT_RECRUITER = "at recruiter"
"""An event of no annotator: something is made there for the round."""


def note_at_recruiter(
    connection: Connection, study_id: str, what: str, state: str, made: str = "", *, at: datetime
) -> None:
    """Put on record that `what` is begun there, refused, or made with the id `made`."""
    note(connection, study_id, AT_RECRUITER, at=at, by="owner", detail={"what": what, "state": state, "id": made})


def made_at_recruiter(connection: Connection, study_id: str, what: str) -> str | None:
    """The id of `what` was made there last; empty where it was begun and nothing said of what became of it, None for none."""
    table = tables.events
    found: list[str] = []
    query = select(table.c.detail).where(table.c.study_id == study_id, table.c.kind == AT_RECRUITER)
    for said in connection.scalars(query.order_by(table.c.id)):
        if said["what"] == what:
            if said["state"] != "begun":
                found.pop()
            if said["state"] != "refused":
                found.append(said["id"])
    return found[-1] if found else None


def none_made(connection: Connection, study_id: str, what: str, *, again: bool) -> None:
    """Nothing, unless `what` was made there before, or begun.

    Raises StudyError: it was, and not `again`.
    """
    before = made_at_recruiter(connection, study_id, what)
    if before is None or again:
        return
    if before:
        raise StudyError(f"this round has the {what} {before} at the recruiter already; for another, say --again")
    raise StudyError(
        f"a {what} was begun for this round, and the recruiter did not say what became of it: look there, and say --again "
        "if there is none"
    )


def amendments(connection: Connection, study_id: str) -> list[tuple[datetime, dict[str, Any]]]:
    """When a round was changed while it ran, with `why` and the `changes`, a sentence each."""
    table = tables.events
    query = select(table.c.at, table.c.detail).where(table.c.study_id == study_id, table.c.kind == "amended")
    return [(row.at, row.detail) for row in connection.execute(query.order_by(table.c.id))]


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
