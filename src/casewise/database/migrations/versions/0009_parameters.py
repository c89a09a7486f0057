"""The parameters that the contexts of a draft state, where they are not the paper's."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("drafts", sa.Column("parameters", sa.JSON))
