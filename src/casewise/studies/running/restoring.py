"""Taking back that somebody was left out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from casewise.database.tables import study as tables
from casewise.studies.running.events import note
from casewise.studies.running.rounds import Round
from casewise.studies.running.slots import take_slot

__all__ = ["restore"]

ANNOTATORS, PAGES = tables.annotators, tables.pages


def restore(connection: Connection, study: Round, annotator_id: str, *, why: str, by: str, now: datetime) -> int:
    """Have somebody's ratings count again where their items still have room; how many do.

    Whose place somebody else has taken meanwhile stays apart as surplus: an item never gets more than it was promised.
    Restoring somebody who is not left out changes nothing. Who ended by failing checks has stopped, or completed, and is
    paid as that.
    """
    who = connection.execute(
        select(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id).with_for_update(key_share=True)
    ).first()
    if who is None or who.voided_at is None:
        return 0
    query = select(PAGES).where(PAGES.c.annotator_id == annotator_id, PAGES.c.kind == "item", PAGES.c.state == "void")
    counted = surplus = 0
    for page in connection.execute(query.order_by(PAGES.c.item_id)).all():
        slot_id = take_slot(connection, page)
        counted, surplus = counted + (slot_id is not None), surplus + (slot_id is None)
        connection.execute(
            update(PAGES)
            .where(PAGES.c.annotator_id == annotator_id, PAGES.c.position == page.position)
            .values(state="surplus" if slot_id is None else "rated", slot_id=slot_id)
        )
    values: dict[str, Any] = {"voided_at": None}
    if who.outcome == "failed_checks":
        dropped = select(PAGES.c.position).where(PAGES.c.annotator_id == annotator_id, PAGES.c.state == "dropped")
        values["outcome"] = "completed" if connection.execute(dropped).first() is None else "stopped"
    connection.execute(update(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id).values(**values))
    detail = {"why": why, "counted": counted, "surplus": surplus}
    note(connection, study.id, "restored", at=now, by=by, annotator_id=annotator_id, detail=detail)
    return counted
