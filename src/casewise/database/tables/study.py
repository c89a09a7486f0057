"""Studies: what is rated, the promised slots, the people who rate, and every page they saw.

What must never happen is refused here, and not only in code:

- an item has as many rows in `slots` as ratings were promised, and a counted rating needs a slot of its own
  (`pages.slot_id` is unique; `pages_counted_needs_slot`): never one rating more than promised;
- a slot that a page holds is held by that page's annotator and is of that page's item (`pages_slot` points at all
  three columns at once);
- a page is of its annotator's condition (`pages_condition`), which cannot change while there are pages: no annotator sees
  two conditions;
- no annotator is given one item, or one query, twice (`pages` is unique in both);
- no person takes part twice (`fingerprints`).
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from casewise.database.tables.metadata import UtcTime, metadata

studies = Table(
    "studies",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(60), nullable=False),
    Column("version", String(40), nullable=False),
    Column("phase", String(10), nullable=False),
    Column("state", String(10), nullable=False),
    Column("design", JSON, nullable=False),
    Column("wording", JSON, nullable=False),
    Column("categories", JSON, nullable=False),
    Column("benchmark", JSON, nullable=False),
    Column("frozen", JSON),
    Column("created_at", UtcTime, nullable=False),
    UniqueConstraint("name", "version", "phase"),
    CheckConstraint("phase IN ('pilot', 'main', 'rehearsal', 'preview')", name="phase"),
    CheckConstraint("state IN ('open', 'paused', 'closed')", name="state"),
)
"""One round: a pilot, the main study, or one that never counts. The id is in the link that annotators follow."""

items = Table(
    "study_items",
    metadata,
    Column("study_id", String(32), ForeignKey("studies.id"), primary_key=True),
    Column("item_id", String(40), primary_key=True),
    Column("condition", String(100), nullable=False),
    Column("query_id", String(40), nullable=False),
    Column("shown", JSON, nullable=False),
    UniqueConstraint("study_id", "item_id", "condition"),
)
"""The items as they are shown; the intended label is not here."""

annotators = Table(
    "study_annotators",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("study_id", String(32), ForeignKey("studies.id"), nullable=False),
    Column("stage", String(12), nullable=False),
    Column("outcome", String(20)),
    Column("condition", String(100)),
    Column("fingerprint", String(64)),
    Column("sealed", Text),
    Column("step", Integer, nullable=False),
    Column("quiz_attempts", Integer, nullable=False),
    Column("lease_until", UtcTime),
    Column("lapsed", Boolean, nullable=False),
    Column("consented_at", UtcTime, nullable=False),
    Column("finished_at", UtcTime),
    Column("voided_at", UtcTime),
    Column("withdrawn_at", UtcTime),
    Column("demographics", JSON),
    Column("feedback", Text),
    UniqueConstraint("id", "condition"),
    UniqueConstraint("study_id", "fingerprint"),
    Index("ix_study_annotators_study_id_stage", "study_id", "stage"),
    CheckConstraint("stage IN ('tutorial', 'quiz', 'rating', 'done')", name="stage"),
)
"""A person who consented, under a random id.

`step`: how many of their steps have taken effect. Each form carries the step that it was shown at, and counts only at that.
"""

keys = Table(
    "study_keys",
    metadata,
    Column("annotator_id", String(32), ForeignKey("study_annotators.id"), primary_key=True),
    Column("wrapped", Text, nullable=False),
)
"""The key under which one annotator's recruiter ids are sealed. Forgetting deletes the row."""

fingerprints = Table(
    "study_fingerprints",
    metadata,
    Column("study_name", String(60), primary_key=True),
    Column("fingerprint", String(64), primary_key=True),
    Column("study_id", String(32), ForeignKey("studies.id"), nullable=False),
    Column("expires_on", Date, nullable=False),
)
"""Keyed hashes of those who took part in any round of this name."""

slots = Table(
    "study_slots",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("study_id", String(32), nullable=False),
    Column("condition", String(100), nullable=False),
    Column("item_id", String(40), nullable=False),
    Column("number", Integer, nullable=False),
    Column("holder_id", String(32), ForeignKey("study_annotators.id")),
    UniqueConstraint("study_id", "item_id", "number"),
    UniqueConstraint("id", "item_id", "holder_id"),
    ForeignKeyConstraint(
        ["study_id", "item_id", "condition"], ["study_items.study_id", "study_items.item_id", "study_items.condition"]
    ),
    Index("ix_study_slots_holder_id_item_id", "holder_id", "item_id"),
    Index(
        "ix_study_slots_open",
        "study_id",
        "condition",
        "item_id",
        sqlite_where=text("holder_id IS NULL"),
        postgresql_where=text("holder_id IS NULL"),
    ),
)
"""One promised rating. It is open while no annotator holds it."""

pages = Table(
    "study_pages",
    metadata,
    Column("annotator_id", String(32), ForeignKey("study_annotators.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("study_id", String(32), nullable=False),
    Column("condition", String(100), nullable=False),
    Column("kind", String(5), nullable=False),
    Column("item_id", String(40)),
    Column("query_id", String(40)),
    Column("check_name", String(100)),
    Column("slot_id", Integer, unique=True),
    Column("state", String(10), nullable=False),
    Column("verdict", String(6)),
    Column("seconds", Float),
    Column("scripted", Boolean, nullable=False),
    Column("sight", JSON(none_as_null=True)),
    Column("own", JSON(none_as_null=True)),
    Column("answered_at", UtcTime),
    Column("step", Integer),
    UniqueConstraint("annotator_id", "item_id"),
    UniqueConstraint("annotator_id", "query_id"),
    ForeignKeyConstraint(
        ["annotator_id", "condition"], ["study_annotators.id", "study_annotators.condition"], name="pages_condition"
    ),
    ForeignKeyConstraint(
        ["study_id", "item_id", "condition"], ["study_items.study_id", "study_items.item_id", "study_items.condition"]
    ),
    ForeignKeyConstraint(
        ["slot_id", "item_id", "annotator_id"],
        ["study_slots.id", "study_slots.item_id", "study_slots.holder_id"],
        name="pages_slot",
    ),
    Index("ix_study_pages_study_id_item_id", "study_id", "item_id"),
    CheckConstraint("(kind = 'item') = (item_id IS NOT NULL)", name="kind"),
    CheckConstraint(
        "(slot_id IS NOT NULL) = (kind = 'item' AND state IN ('waiting', 'rated'))", name="counted_needs_slot"
    ),
    CheckConstraint("(verdict IS NOT NULL) = (state IN ('rated', 'surplus', 'void'))", name="verdict"),
    CheckConstraint("verdict IN ('safe', 'unsafe', 'ask')", name="verdict_is_one"),
)
"""One page of an annotator's batch, and the answer to it.

`sight`: what the page's script saw of the reading, as `casewise.studies.rounds.read_sight` reads it; none without a script.
`step`: the annotator's step that answered the page; steps count up, so that the order of answers needs no clock.
`own`: answers to the owner's own questions, as `casewise.studies.answers.read_own_answers` reads them.

`state`: waiting · rated · skipped · lapsed (the lease ran out before an answer) · surplus (answered after that, when no
slot was left) · void (an answer left out) · dropped (never answered) · withdrawn (the answer was deleted).
"""

tallies = Table(
    "study_tallies",
    metadata,
    Column("study_id", String(32), ForeignKey("studies.id"), primary_key=True),
    Column("kind", String(20), primary_key=True),
    Column("count", Integer, nullable=False),
)
"""Numbers of people who arrived and who were not let in, and nothing about a person."""

events = Table(
    "study_events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("study_id", String(32), ForeignKey("studies.id"), nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("by", String(40), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("annotator_id", String(32)),
    Column("detail", JSON),
    Index("ix_study_events_study_id_annotator_id", "study_id", "annotator_id"),
)
"""Every decision, without personal text. Only ever added to."""
