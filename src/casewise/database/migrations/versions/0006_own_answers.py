"""Answers to the owner's own questions, with the decision on the page."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("study_pages", sa.Column("own", sa.JSON))
