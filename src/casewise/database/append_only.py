"""Tables to which rows are only ever added: the database itself refuses to change or delete one."""

from __future__ import annotations

from sqlalchemy import Connection

__all__ = ["let_withdrawn_go", "make_append_only"]

FUNCTION = """
CREATE OR REPLACE FUNCTION casewise_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'rows of % are only added', TG_TABLE_NAME; END $$
"""

WITHDRAWN = "EXISTS (SELECT 1 FROM study_annotators a WHERE a.id = OLD.annotator_id AND a.withdrawn_at IS NOT NULL)"

EVENTS_KEPT = f"""
CREATE OR REPLACE FUNCTION casewise_events_kept() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
  IF {WITHDRAWN} THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'rows of study_events are only added';
END $$
"""


def make_append_only(connection: Connection, table: str) -> None:
    """Have triggers refuse UPDATE and DELETE (and TRUNCATE, on PostgreSQL) on `table`. Called by migrations."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(FUNCTION.replace("%", "%%"))
        connection.exec_driver_sql(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION casewise_append_only()"
        )
        connection.exec_driver_sql(
            f"CREATE TRIGGER {table}_never_emptied BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION casewise_append_only()"
        )
        return
    for change in ("UPDATE", "DELETE"):
        connection.exec_driver_sql(
            f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, 'rows of {table} are only added'); END"
        )


def let_withdrawn_go(connection: Connection) -> None:
    """Have the events of a study's annotator who withdrew be deletable; of nobody else, and none may be changed."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(EVENTS_KEPT)
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
