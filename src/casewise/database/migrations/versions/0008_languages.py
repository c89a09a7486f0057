"""A study's texts in several languages, and the language in which each page was answered."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("studies", sa.Column("translated", sa.JSON))
    op.add_column("study_pages", sa.Column("language", sa.String(3)))
