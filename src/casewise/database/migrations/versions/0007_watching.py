"""What watching a round needs: arrivals counted, flags kept, and what each annotator's answers come to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from casewise.database.columns import UtcTime

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "study_tallies",
        sa.Column("study_id", sa.String(32), sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("kind", sa.String(20), primary_key=True),
        sa.Column("count", sa.Integer, nullable=False),
    )
    op.create_table(
        "study_flags",
        sa.Column("annotator_id", sa.String(32), sa.ForeignKey("study_annotators.id"), primary_key=True),
        sa.Column("kind", sa.String(20), primary_key=True),
        sa.Column("study_id", sa.String(32), sa.ForeignKey("studies.id"), nullable=False),
        sa.Column("value", sa.Float, nullable=False),
        sa.Column("threshold", sa.Float, nullable=False),
        sa.Column("evidence", sa.Text, nullable=False),
    )
    op.create_index("ix_study_flags_study_id_kind", "study_flags", ["study_id", "kind"])
    for name in ("rated", "skipped"):
        op.add_column("study_annotators", sa.Column(name, sa.Integer))
    op.add_column("study_annotators", sa.Column("median_s", sa.Float))
    op.add_column("study_annotators", sa.Column("assessed_at", UtcTime))
