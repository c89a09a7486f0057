"""Rate limits kept in the database, so that they hold for all workers and across restarts: one token bucket a key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from casewise.database.columns import insert_if_absent
from casewise.database.tables import staff

__all__ = ["Limit", "forget_limit", "take"]


@dataclass(frozen=True)
class Limit:
    """`burst` actions at once, and one more each `per_s / burst` seconds."""

    burst: int
    per_s: float
    """Seconds in which an empty bucket fills again."""


def take(connection: Connection, key: str, limit: Limit, *, now: datetime) -> bool:
    """Whether one more action under `key` is allowed now; if so, it is counted. Call it in a write.

    `key` is at most 100 characters and no personal datum: hash addresses with a key first.
    """
    table = staff.rate_limits
    insert_if_absent(connection, table, {"key": key, "tokens": float(limit.burst), "updated_at": now})
    row = connection.execute(select(table).where(table.c.key == key).with_for_update()).one()
    elapsed_s = max(0.0, (now - row.updated_at).total_seconds())
    tokens: float = min(float(limit.burst), row.tokens + elapsed_s * limit.burst / limit.per_s)
    allowed = tokens >= 1
    connection.execute(
        update(table).where(table.c.key == key).values(tokens=tokens - 1 if allowed else tokens, updated_at=now)
    )
    return allowed


def forget_limit(connection: Connection, key: str) -> None:
    """Fill the bucket of `key` again."""
    connection.execute(delete(staff.rate_limits).where(staff.rate_limits.c.key == key))
