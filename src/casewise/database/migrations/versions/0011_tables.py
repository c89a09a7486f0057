"""All tables, as a database without any gets them.

Nothing older was ever released. Whoever changes the tables after a release writes out here what they were, and adds a
migration: a database then goes the same way whatever it begins with.
"""

from __future__ import annotations

from alembic import op

from casewise.database.engine import let_withdrawn_go, make_append_only
from casewise.database.tables import metadata

revision = "0011"
down_revision = None


def upgrade() -> None:
    connection = op.get_bind()
    metadata.create_all(connection)
    for table in ("staff_events", "review_events", "study_events"):
        make_append_only(connection, table)
    let_withdrawn_go(connection)
