"""Without what studies no longer keep: what the recruiter told, flags and counts of each annotator.

A new database gets its tables from 0011 as they are now, so whatever is not there is not dropped.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import inspect

revision = "0012"
down_revision = "0011"

TABLES = ("study_hooks", "study_flags")
COLUMNS = {"study_annotators": ("rated", "skipped", "median_s", "assessed_at")}


def upgrade() -> None:
    there = inspect(op.get_bind())
    for table in TABLES:
        op.drop_table(table, if_exists=True)
    for table, columns in COLUMNS.items():
        for column in {one["name"] for one in there.get_columns(table)} & set(columns):
            op.drop_column(table, column)
