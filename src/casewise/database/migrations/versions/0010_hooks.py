"""What the recruiter has told already."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from casewise.database.columns import UtcTime

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "study_hooks",
        sa.Column("event_id", sa.String(100), primary_key=True),
        sa.Column("received_at", UtcTime, nullable=False),
    )
