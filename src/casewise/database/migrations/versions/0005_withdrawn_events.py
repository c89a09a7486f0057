"""The events of somebody who withdrew may be deleted; of nobody else, and none may be changed."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"

WITHDRAWN = "EXISTS (SELECT 1 FROM study_annotators a WHERE a.id = OLD.annotator_id AND a.withdrawn_at IS NOT NULL)"

FUNCTION = f"""
CREATE OR REPLACE FUNCTION casewise_events_kept() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
  IF {WITHDRAWN} THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'rows of study_events are only added';
END $$
"""


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(FUNCTION)
        connection.exec_driver_sql("DROP TRIGGER study_events_append_only ON study_events")
        connection.exec_driver_sql(
            "CREATE TRIGGER study_events_append_only BEFORE UPDATE ON study_events "
            "FOR EACH ROW EXECUTE FUNCTION casewise_append_only()"
        )
        connection.exec_driver_sql(
            "CREATE TRIGGER study_events_kept BEFORE DELETE ON study_events "
            "FOR EACH ROW EXECUTE FUNCTION casewise_events_kept()"
        )
        return
    connection.exec_driver_sql("DROP TRIGGER study_events_no_delete")
    connection.exec_driver_sql(
        f"CREATE TRIGGER study_events_no_delete BEFORE DELETE ON study_events WHEN NOT {WITHDRAWN} "
        "BEGIN SELECT RAISE(ABORT, 'rows of study_events are only added'); END"
    )
