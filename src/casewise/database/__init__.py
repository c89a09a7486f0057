"""One database for review and study: SQLite or PostgreSQL, one linear history of migrations."""

from casewise.database.engine import (
    Database,
    open,  # noqa: A004 - read as `database.open(url)`
)

__all__ = ["Database", "open"]
