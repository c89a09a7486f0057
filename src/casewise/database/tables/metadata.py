"""Parts that all tables share: times in UTC and names of constraints."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, DateTime, Dialect, MetaData, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeDecorator


class UtcTime(TypeDecorator[datetime]):
    """A moment, kept in UTC. A naive datetime is an error, because its moment is ambiguous."""

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
    """Add the row unless its key is there already; return whether it was added."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    # The row count of an INSERT is not to be had from every driver; what it returns is.
    added = insert(table).values(values).on_conflict_do_nothing().returning(*table.primary_key.columns)
    return connection.execute(added).first() is not None


NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
"""Constraints have the same names everywhere, so that migrations can speak of them."""

metadata = MetaData(naming_convention=NAMING)
