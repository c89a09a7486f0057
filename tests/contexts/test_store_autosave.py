import pytest
from tests.contexts.drafts import room
from tests.contexts.wordings import wording
from tests.support.app import NOW

from casewise.contexts.review import Act
from casewise.contexts.store import UnsubmittedText, discard, find_autosave, save


@pytest.fixture
def here(store):
    return room(store, count=1)


def keep(here, text, *, seen):
    with here.store.write() as connection:
        typed = UnsubmittedText({"recipient.type": text}, saved=seen, version=1)
        return save(connection, here.place().id, person_id=here.ada.id, typed=typed, now=NOW)


def kept(here):
    with here.store.read() as connection:
        return find_autosave(connection, here.place().id, person_id=here.ada.id)


def test_one_tab_saves_over_its_own_words_and_another_is_warned_and_overwrites_nothing(here):
    first = keep(here, "Clerk", seen=0)
    assert kept(here).fields == {"recipient.type": "Clerk"}
    assert keep(here, "Clerks", seen=first.saved).newer is None

    assert keep(here, "Teller", seen=0).newer.fields == {"recipient.type": "Clerks"}
    assert kept(here).fields == {"recipient.type": "Clerks"}
    assert keep(here, "Clerks", seen=0).newer is None, "equal words are no conflict"


def test_submitting_forgets_the_draft_of_who_submitted(here):
    keep(here, "Clerk", seen=0)
    here.do(here.place(), here.ben, Act.SUBMIT, wording())
    assert kept(here) is not None

    here.do(here.place(), here.ada, Act.SUBMIT, wording())
    assert kept(here) is None


def test_a_draft_can_be_discarded(here):
    keep(here, "Clerk", seen=0)

    with here.store.write() as connection:
        discard(connection, here.place().id, person_id=here.ada.id)

    assert kept(here) is None
