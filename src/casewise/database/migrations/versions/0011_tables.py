"""All tables, as a database without any gets them: as they are now.

Whoever changes the tables adds a migration that brings a database of before to the same tables. After a release this one
writes out what they were then, so that a database goes the same way whatever it begins with.
"""

from __future__ import annotations

from alembic import op

from casewise.database.engine import make_append_only
from casewise.database.tables import metadata

revision = "0011"
down_revision = None


def upgrade() -> None:
    connection = op.get_bind()
    metadata.create_all(connection)
    for table in ("staff_events", "review_events", "study_events"):
        make_append_only(connection, table)
