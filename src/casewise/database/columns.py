"""What means the same on SQLite and PostgreSQL and is spelt apart: moments, and adding a row that may be there already."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, DateTime, Dialect, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeDecorator

__all__ = ["UtcTime", "insert_if_absent"]


class UtcTime(TypeDecorator[datetime]):
    """A moment, kept in UTC. A naive datetime is an error: nobody knows which moment it means."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the interface
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def insert_if_absent(connection: Connection, table: Table, values: dict[str, Any]) -> bool:
    """Add the row unless its key is there already; whether it was added."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    # The row count of an INSERT is not to be had from every driver; what it returns is.
    added = insert(table).values(values).on_conflict_do_nothing().returning(*table.primary_key.columns)
    return connection.execute(added).first() is not None
