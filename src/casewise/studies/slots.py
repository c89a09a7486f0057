"""Slots in the database: reserved in one transaction, re-opened when a lease runs out, never counted twice.

Order of locks on PostgreSQL, so that no two transactions wait for each other: the study's row, then an annotator's, then slots. Slots
are only ever taken with SKIP LOCKED: what another transaction is taking is not waited for. Studies and annotators are locked
with `key_share` (FOR NO KEY UPDATE), because every event that is added holds a key-share lock on its study's row: two
who both had added one would wait for each other. On SQLite every write has the database to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Row, func, insert, select, update

from casewise.database.tables import study as tables
from casewise.studies.freeze import OpenItem, choose_batch, choose_condition, lay_out
from casewise.studies.rounds import LiveRound, Round, closed_conditions

SLOTS, PAGES, ANNOTATORS, ITEMS = tables.slots, tables.pages, tables.annotators, tables.items


def assign(study: LiveRound, annotator_id: str) -> int:
    """Give an annotator a condition and a batch, once; returns the number of items, 0 when no slot is open."""
    lock_round(study)
    lapse_expired(study)
    rng = annotator_generator(study.round, annotator_id)
    free = study.counts(SLOTS.c.condition, where=[SLOTS.c.holder_id.is_(None)])
    for closed in closed_conditions(study):
        del free[closed]
    condition = choose_condition(free, rng)
    if condition is None:
        return 0
    study.set_annotator(annotator_id, condition=condition)
    open_items, candidates = find_open_items(study, condition)
    chosen = choose_batch(open_items, study.design.ratings.per_annotator, rng=rng)
    reserved = reserve_slots(study, annotator_id, SLOTS.c.id.in_([candidates[item] for item in chosen]))
    if not reserved:
        return 0
    study.set_annotator(annotator_id, stage="rating", lapsed=False, lease_until=lease_end(study))
    query_of = {item.item_id: item.query_id for item in open_items}
    checks = [study.round.wording.checks[index].name for index in rng.permutation(len(study.round.wording.checks))]
    drawn = checks[: study.design.attention.checks_per_batch]
    rows = [
        {
            "annotator_id": annotator_id,
            "position": position,
            "study_id": study.id,
            "condition": condition,
            "kind": page.kind,
            "item_id": page.id if page.kind == "item" else None,
            "query_id": query_of.get(page.id),
            "check_name": page.id if page.kind == "check" else None,
            "slot_id": reserved.get(page.id),
            "state": "waiting",
            "scripted": False,
        }
        for position, page in enumerate(lay_out(sorted(reserved), drawn, rng=rng), start=1)
    ]
    study.execute(insert(PAGES), rows)
    detail = {"condition": condition, "items": len(reserved)}
    study.note("assigned", annotator_id=annotator_id, detail=detail)
    return len(reserved)


def lock_round(study: LiveRound) -> None:
    """Lock the round, so that other transactions that give out places wait until this one ends."""
    study.execute(select(tables.studies.c.id).where(tables.studies.c.id == study.id).with_for_update(key_share=True))


def annotator_generator(study: Round, annotator_id: str) -> np.random.Generator:
    """Return the random generator of one annotator, made from the design's seed and the annotator's random id, so that it can be retraced."""
    return np.random.default_rng([study.design.seed, int(annotator_id[1:], 16)])


def lease_end(study: LiveRound) -> datetime:
    """Return when a lease that is renewed now runs out."""
    return study.now + timedelta(minutes=study.design.ratings.lease_minutes)


def find_open_items(study: LiveRound, condition: str) -> tuple[list[OpenItem], dict[str, int]]:
    """Return the items of a condition with open slots, in a fixed order, and one open slot's id of each."""
    is_open = (SLOTS.c.study_id == study.id, SLOTS.c.condition == condition, SLOTS.c.holder_id.is_(None))
    counts = (
        select(SLOTS.c.item_id, func.count().label("slots"), func.min(SLOTS.c.id).label("first"))
        .where(*is_open)
        .group_by(SLOTS.c.item_id)
        .subquery()
    )
    query = (
        select(counts.c.item_id, ITEMS.c.query_id, counts.c.slots, counts.c.first)
        .join(ITEMS, (ITEMS.c.item_id == counts.c.item_id) & (ITEMS.c.study_id == study.id))
        .order_by(counts.c.item_id)
    )
    rows = study.execute(query).all()
    return [OpenItem(row.item_id, row.query_id, row.slots) for row in rows], {row.item_id: row.first for row in rows}


def reserve_slots(
    study: LiveRound, annotator_id: str, *where: ColumnElement[bool], most: int | None = None
) -> dict[str, int]:
    """Reserve the slots that fulfil all conditions and are still open, at most so many; return item ids with slot ids."""
    query = select(SLOTS.c.id, SLOTS.c.item_id).where(SLOTS.c.holder_id.is_(None), *where).order_by(SLOTS.c.id)
    rows = study.execute(query.limit(most).with_for_update(skip_locked=True))
    reserved = {row.item_id: row.id for row in rows}
    if reserved:
        study.execute(update(SLOTS).where(SLOTS.c.id.in_(reserved.values())).values(holder_id=annotator_id))
    return reserved


def reserve_slot(study: LiveRound, page: Row[Any]) -> int | None:
    """Reserve one open slot of the page's item for its annotator; None when there is none."""
    same_item = (SLOTS.c[name] == getattr(page, name) for name in ("study_id", "condition", "item_id"))
    return reserve_slots(study, page.annotator_id, *same_item, most=1).get(page.item_id)


def release(study: LiveRound, annotator_id: str, *, states: Mapping[str, str]) -> int:
    """Change the annotator's pages from each state to another, and re-open the slots that no page holds any more.

    Returns the number of slots that were re-opened.
    """
    for before, after in states.items():
        forget_answer = dict.fromkeys(("verdict", "seconds", "sight", "own")) if after == "withdrawn" else {}
        study.execute(
            update(PAGES)
            .where(PAGES.c.annotator_id == annotator_id, PAGES.c.kind == "item", PAGES.c.state == before)
            .values(state=after, slot_id=None, **forget_answer)
        )
    still_held = (
        select(PAGES.c.slot_id)
        .where(PAGES.c.annotator_id == annotator_id, PAGES.c.slot_id.is_not(None))
        .scalar_subquery()
    )
    return study.execute(
        update(SLOTS).where(SLOTS.c.holder_id == annotator_id, SLOTS.c.id.not_in(still_held)).values(holder_id=None)
    ).rowcount


def lease_has_ended(study: LiveRound) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions under which an annotator still holds slots although the lease has ended."""
    rating = (ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.stage == "rating")
    return (*rating, ANNOTATORS.c.lapsed.is_(False), ANNOTATORS.c.lease_until < study.now)


def lapse_expired(study: LiveRound) -> int:
    """Re-open what those hold whose lease ran out; returns how many people that were."""
    query = select(ANNOTATORS.c.id).where(*lease_has_ended(study)).order_by(ANNOTATORS.c.id)
    expired = study.scalars(query.with_for_update(skip_locked=True, key_share=True)).all()
    for annotator_id in expired:  # pages without an answer lose their slots, until the annotator is back
        reopened = release(study, annotator_id, states={"waiting": "lapsed"})
        study.set_annotator(annotator_id, lapsed=True)
        study.note("lapsed", annotator_id=annotator_id, detail={"reopened": reopened})
    return len(expired)


def resume(study: LiveRound, annotator_id: str) -> int:
    """Reserve again the part of a returning annotator's batch that is still open; return how many items that are."""
    own_page = PAGES.c.annotator_id == annotator_id
    again = 0
    for page in study.execute(select(PAGES).where(own_page, PAGES.c.state == "lapsed").order_by(PAGES.c.item_id)).all():
        if (slot_id := reserve_slot(study, page)) is not None:
            again += 1
            position = update(PAGES).where(own_page, PAGES.c.position == page.position)
            study.execute(position.values(state="waiting", slot_id=slot_id))
    study.set_annotator(annotator_id, lapsed=False, lease_until=lease_end(study))
    if not again and not study.count(own_page, PAGES.c.kind == "item", PAGES.c.answered_at.is_not(None)):
        # attention checks check nothing where others took every item
        checks = update(PAGES).where(own_page, PAGES.c.kind == "check", PAGES.c.state == "waiting")
        study.execute(checks.values(state="dropped"))
    study.note("resumed", annotator_id=annotator_id, detail={"items": again})
    return again
