"""What must never happen in a study is refused by the database itself: on SQLite and on PostgreSQL."""

import pytest
from sqlalchemy import insert, update
from sqlalchemy.exc import DBAPIError
from tests.support.study import begun, opened, pages_of

from casewise.database.tables import study as tables


@pytest.mark.parametrize(
    "change",
    [
        lambda page: update(tables.pages).where(tables.pages.c.slot_id == page.slot_id).values(slot_id=None),
        lambda page: update(tables.slots).where(tables.slots.c.id == page.slot_id).values(holder_id=None),
        lambda page: update(tables.pages).where(tables.pages.c.slot_id == page.slot_id).values(state="surplus"),
        lambda page: update(tables.pages).where(tables.pages.c.slot_id == page.slot_id).values(condition="other"),
        lambda page: (
            update(tables.annotators).where(tables.annotators.c.id == page.annotator_id).values(condition="other")
        ),
        lambda page: insert(tables.slots).values(
            study_id=page.study_id, item_id=page.item_id, condition=page.condition, number=1
        ),
        lambda page: insert(tables.pages).values(
            **{**page._mapping, "position": 99, "slot_id": None, "state": "lapsed"}
        ),
        lambda page: update(tables.events).values(kind="nothing happened"),
        lambda page: tables.events.delete(),
    ],
    ids=[
        "a rating without a slot",
        "a slot taken from its page",
        "a surplus rating that counts",
        "a page of another condition",
        "an annotator of another condition",
        "one promised rating twice",
        "one item twice",
        "a changed event",
        "a deleted event",
    ],
)
def test_the_database_itself_refuses(store, change):
    study = opened(store)
    who = begun(store, study, "alice")
    page = next(page for page in pages_of(store, who) if page.kind == "item")

    with pytest.raises(DBAPIError), store.write() as connection:
        connection.execute(change(page))
