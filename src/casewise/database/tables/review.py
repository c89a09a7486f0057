"""Drafts of benchmarks: their queries, their contexts on the way to approval, and every step of that way."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from casewise.database.tables.metadata import UtcTime, metadata

drafts = Table(
    "drafts",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("taxonomy", JSON, nullable=False),
    Column("parameters", JSON(none_as_null=True)),
    Column("vary", JSON(none_as_null=True)),
    Column("created_at", UtcTime, nullable=False),
)

draft_events = Table(
    "draft_events",
    metadata,
    Column("draft_id", String(32), ForeignKey("drafts.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", UtcTime, nullable=False),
    Column("act", String(20), nullable=False),
    Column("detail", JSON, nullable=False),
)
"""Steps of a draft as a whole: queries selected or added, with their source and seed, and releases. Only ever added to."""

queries = Table(
    "draft_queries",
    metadata,
    Column("draft_id", String(32), ForeignKey("drafts.id"), primary_key=True),
    Column("query_id", String(40), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("category", String(200), nullable=False),
    Column("query", JSON, nullable=False),
)

contexts = Table(
    "draft_contexts",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("draft_id", String(32), ForeignKey("drafts.id"), nullable=False),
    Column("query_id", String(40), nullable=False),
    Column("intended_safe", Boolean, nullable=False),
    Column("position", Integer, nullable=False),
    Column("category", String(200), nullable=False),
    Column("phase", String(20), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("first_reviewer", String(32)),
    Column("second_reviewer", String(32)),
    Column("confirmed_by", String(32)),
    Column("expert", String(32)),
    Column("state", JSON, nullable=False),
    Column("findings", JSON, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    UniqueConstraint("draft_id", "query_id", "intended_safe"),
    Index("ix_draft_contexts_draft_id_phase_position", "draft_id", "phase", "position"),
    Index("ix_draft_contexts_draft_id_position", "draft_id", "position"),
    Index("ix_draft_contexts_draft_id_category_position", "draft_id", "category", "position"),
)
"""One row for each query and intent. `state` is what the events add up to, kept so that a queue need not add them."""

events = Table(
    "review_events",
    metadata,
    Column("context_id", String(32), ForeignKey("draft_contexts.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", UtcTime, nullable=False),
    Column("by", String(200), nullable=False),
    Column("act", String(20), nullable=False),
    Column("from_phase", String(20)),
    Column("to_phase", String(20), nullable=False),
    Column("wording", JSON),
    Column("reason", Text),
    Column("detail", JSON),
)
"""Every step, numbered within its context: the key is what lets exactly one of two people act. Only ever added to."""

autosaves = Table(
    "review_autosaves",
    metadata,
    Column("context_id", String(32), ForeignKey("draft_contexts.id"), primary_key=True),
    Column("person_id", String(32), ForeignKey("people.id"), primary_key=True),
    Column("saved", Integer, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("fields", JSON, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
)
"""Text that a person has typed and not yet submitted. `saved` counts the saves, so that two tabs notice each other."""

passes = Table(
    "review_passes",
    metadata,
    Column("person_id", String(32), ForeignKey("people.id"), primary_key=True),
    Column("category", String(200), primary_key=True),
)
"""Categories that a reviewer would rather not read. No reason is asked for."""

warnings_read = Table(
    "review_warnings_read",
    metadata,
    Column("person_id", String(32), ForeignKey("people.id"), primary_key=True),
    Column("draft_id", String(32), ForeignKey("drafts.id"), primary_key=True),
    Column("at", UtcTime, nullable=False),
)
