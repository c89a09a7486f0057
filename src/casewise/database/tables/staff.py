"""People who work here: administrators, reviewers, experts and study owners. Never annotators."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, Float, ForeignKey, Index, Integer, String, Table

from casewise.database.tables.metadata import UtcTime, metadata

people = Table(
    "people",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("email", String(320), nullable=False, unique=True),
    Column("name", String(200), nullable=False),
    Column("password_hash", String(200), nullable=False),
    Column("active", Boolean, nullable=False),
    Column("joined_at", UtcTime, nullable=False),
)

person_roles = Table(
    "person_roles",
    metadata,
    Column("person_id", String(32), ForeignKey("people.id"), primary_key=True),
    Column("role", String(20), primary_key=True),
)

invitations = Table(
    "invitations",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("email", String(320), nullable=False),
    Column("roles", JSON, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("used_at", UtcTime),
)

sessions = Table(
    "sessions",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("person_id", String(32), ForeignKey("people.id"), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("revoked_at", UtcTime),
    Index("ix_sessions_person_id", "person_id"),
)

study_owners = Table(
    "study_owners",
    metadata,
    Column("study_name", String(60), primary_key=True),
    Column("person_id", String(32), ForeignKey("people.id"), primary_key=True),
)
"""The owners who belong to a study, in all its rounds and versions."""

rate_limits = Table(
    "rate_limits",
    metadata,
    Column("key", String(100), primary_key=True),
    Column("tokens", Float, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
)

events = Table(
    "staff_events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", UtcTime, nullable=False),
    Column("by", String(32)),
    Column("kind", String(40), nullable=False),
    Column("subject", String(320)),
    Column("detail", JSON),
)
"""Events: who was invited, let in, given a role or shut out, by whom. Rows are only added."""
