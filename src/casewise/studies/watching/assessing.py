"""What an annotator's answers come to, kept with them: counts, the median time, and flags.

It is worked out when somebody ends or lapses, and each minute for those who rate, so that a page of two thousand people
reads it and works out nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from statistics import median
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from casewise.database.tables import study as tables
from casewise.studies.running.answers import answers_of
from casewise.studies.running.quality import LIKENESS, Skips, flags
from casewise.studies.running.rounds import Round

__all__ = ["assess", "assess_current"]

ANNOTATORS, PAGES, FLAGS = tables.annotators, tables.pages, tables.flags


def assess(connection: Connection, study: Round, annotator_id: str, *, now: datetime) -> None:
    """Work out anew what one annotator's answers come to. Flags that everybody's answers raise stay."""
    answers = answers_of(connection, study, annotator_id)
    states = select(PAGES.c.state, func.count()).where(PAGES.c.annotator_id == annotator_id).group_by(PAGES.c.state)
    counts: dict[str, int] = {row[0]: row[1] for row in connection.execute(states)}
    skips = Skips(counts.get("skipped", 0), sum(counts.values()))
    times = [answer.seconds for answer in answers if answer.seconds is not None and not answer.is_check]
    found = flags(answers, study.design, skips=skips)
    connection.execute(
        update(ANNOTATORS)
        .where(ANNOTATORS.c.id == annotator_id)
        .values(
            rated=sum(not answer.is_check for answer in answers),
            skipped=skips.skipped,
            median_s=median(times) if times else None,
            assessed_at=now,
        )
    )
    mine = (FLAGS.c.annotator_id == annotator_id, FLAGS.c.kind.not_in(LIKENESS))
    connection.execute(delete(FLAGS).where(*mine))
    rows: list[dict[str, Any]] = [
        {"annotator_id": annotator_id, "study_id": study.id, **asdict(flag)} for flag in found
    ]
    if rows:
        connection.execute(insert(FLAGS), rows)


def assess_current(connection: Connection, study: Round, *, now: datetime) -> int:
    """Assess those who rate now, and who changed since they were assessed; how many that were."""
    changed = select(PAGES.c.annotator_id).where(
        PAGES.c.annotator_id == ANNOTATORS.c.id, PAGES.c.answered_at > ANNOTATORS.c.assessed_at
    )
    query = select(ANNOTATORS.c.id).where(
        ANNOTATORS.c.study_id == study.id,
        ANNOTATORS.c.condition.is_not(None),
        ANNOTATORS.c.assessed_at.is_(None)
        | (ANNOTATORS.c.finished_at > ANNOTATORS.c.assessed_at)
        | ((ANNOTATORS.c.stage == "rating") & changed.exists()),
    )
    found: Sequence[str] = connection.scalars(query.order_by(ANNOTATORS.c.id)).all()
    for annotator_id in found:
        assess(connection, study, annotator_id, now=now)
    return len(found)
