"""The baseline: all tables, as a new database gets them.

A change of the tables after the first release is a migration of its own, and this one then writes out the tables of that
release, so that every database goes the same way. `tests/contract/study.sql` is a database of this baseline.
"""

from __future__ import annotations

from alembic import op

from casewise.database.engine import make_append_only
from casewise.database.tables import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    connection = op.get_bind()
    metadata.create_all(connection)
    for table in ("staff_events", "review_events", "draft_events", "study_events"):
        make_append_only(connection, table)
