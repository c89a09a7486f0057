"""Without what studies no longer keep: what the recruiter told, flags and counts of each annotator, translations.

A new database gets its tables from 0011 as they are now, so whatever is not there is not dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from alembic import op
from sqlalchemy import JSON, Connection, Text, column, func, inspect, select, table

from casewise.database.tables.metadata import RETIRED_COLUMNS, RETIRED_TABLES
from casewise.errors import ConfigurationError

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    connection = op.get_bind()
    refuse_rounds(connection)
    inspector = inspect(connection)
    for name in RETIRED_TABLES:
        if name in inspector.get_table_names() and not holds_work(connection, name):
            op.drop_table(name)
    for name, columns in RETIRED_COLUMNS.items():
        for retired_column in {one["name"] for one in inspector.get_columns(name)} & set(columns):
            op.drop_column(name, retired_column)


def refuse_rounds(connection: Connection) -> None:
    """Refuse a database with a round that works otherwise now; the casewise that opened it can still read it."""
    studies = table(
        "studies", column("name", Text), column("version", Text), column("phase", Text), column("design", JSON)
    )
    for row in connection.execute(select(studies)):
        if used := ", ".join(retired(row.design)):
            raise ConfigurationError(
                f"the {row.phase} round of {row.name} {row.version} uses what is retired ({used}); export it with the casewise "
                "that opened it, and begin a new database"
            )


def retired(design: dict[str, Any]) -> Iterator[str]:
    """Yield the parts of a design that decide what people do, and are gone."""
    if len(design.get("languages", ())) > 1:
        yield "several languages"
    if design["ratings"].get("most_batches", 1) > 1:
        yield "more than one batch a person"
    if design["recruiter"]["kind"] == "form":
        yield "a recruiter with a posted form"
    yield from (
        f"a question of the kind {question['kind']!r}"
        for question in design["questions"]
        if question["kind"] in ("text", "parameter")
    )


def holds_work(connection: Connection, name: str) -> bool:
    """Return True if people wrote something into the table. Translations stay, though nothing reads them."""
    return name == "review_translations" and bool(
        connection.scalar(select(func.count()).select_from(table(name, column("text"))).where(column("text") != ""))
    )
