"""What the recruiter tells of people, on record: once each, and slots of those who left re-open at once."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, select, update

from casewise.database.columns import insert_if_absent
from casewise.database.tables import study as tables
from casewise.studies.recruiters.prolific_hooks import ENDED_EARLY, KEPT, SubmissionEvent
from casewise.studies.running.annotators import person_of
from casewise.studies.running.answers import lapse_and_void
from casewise.studies.running.events import note
from casewise.studies.running.privacy import Vault
from casewise.studies.running.rounds import Round, all_rounds, load_round

__all__ = ["take_told"]

ANNOTATORS, HOOKS = tables.annotators, tables.hooks


def take_told(connection: Connection, told: SubmissionEvent, *, event_id: str, vault: Vault, now: datetime) -> bool:
    """Keep what was told, and act on it; False where it was told before, or is of nobody here.

    Event and action are one transaction: what fails is not remembered, so that the recruiter's next try does it.
    """
    connection.execute(delete(HOOKS).where(HOOKS.c.received_at < now - KEPT))
    if not insert_if_absent(connection, HOOKS, {"event_id": event_id, "received_at": now}):
        return False
    found = whose(connection, told, vault=vault)
    if found is None:
        return False
    study, annotator_id = found
    note(connection, study.id, "recruiter told", at=now, annotator_id=annotator_id, detail={"status": told.status})
    if told.status in ENDED_EARLY:
        still_here = (ANNOTATORS.c.id == annotator_id, ANNOTATORS.c.outcome.is_(None))
        connection.execute(update(ANNOTATORS).where(*still_here).values(lease_until=now - timedelta(seconds=1)))
        lapse_and_void(connection, study, now=now)
    return True


def whose(connection: Connection, told: SubmissionEvent, *, vault: Vault) -> tuple[Round, str] | None:
    """The annotator with this submission, and their round."""
    for listed in all_rounds(connection):
        fingerprint = vault.fingerprint(listed.name, told.person)
        query = select(ANNOTATORS.c.id).where(
            ANNOTATORS.c.study_id == listed.id, ANNOTATORS.c.fingerprint == fingerprint
        )
        for annotator_id in connection.scalars(query):
            person = person_of(connection, annotator_id, vault=vault)
            study = load_round(connection, listed.id)
            if study is not None and person is not None and person.session == told.submission:
                return study, annotator_id
    return None
