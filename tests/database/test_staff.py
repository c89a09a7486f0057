"""Staff: invitations, people, roles, owners of studies, sessions, and the log of all that."""

import hashlib
from datetime import timedelta

import pytest
from sqlalchemy import select
from tests.support.app import NOW
from tests.support.databases import new_database

from casewise.database.staff import (
    BACKED_UP,
    Invitation,
    Person,
    Role,
    end_session,
    everyone,
    find_by_email,
    find_person,
    has_no_active_people,
    invite,
    join,
    last_backup,
    may_see_study,
    note,
    open_invitation,
    password_hash_of,
    roles_named,
    session_person,
    set_active,
    set_roles,
    set_study_owner,
    start_session,
    study_owners,
    token_hash,
)
from casewise.database.tables import staff
from casewise.errors import ConfigurationError

MOMENT = timedelta(seconds=1)
REVIEWER, OWNER = frozenset({Role.REVIEWER}), frozenset({Role.OWNER})


@pytest.fixture
def connection(tmp_path):
    with new_database(tmp_path / "casewise.db") as database, database.write() as opened:
        yield opened


def invited(connection, email="Ada@Uni.edu ", roles=REVIEWER):
    return invite(connection, email, roles=roles, by="root", now=NOW)


def joined(connection, name="Ada", roles=REVIEWER):
    token = invited(connection, f"{name}@uni.edu", roles)
    person = join(connection, token, name=name, password_hash=f"hash of {name}", now=NOW)
    assert person is not None
    return person


def events(connection):
    columns = (staff.events.c[name] for name in ("by", "kind", "subject", "detail"))
    return [tuple(row) for row in connection.execute(select(*columns).order_by(staff.events.c.id))]


# Invitations.


def test_an_invitation_is_open_for_a_week_and_only_the_hash_of_its_token_is_kept(connection):
    token, week = invited(connection), timedelta(days=7)

    assert open_invitation(connection, token, now=NOW + week - MOMENT) == Invitation("ada@uni.edu", REVIEWER)
    assert open_invitation(connection, token, now=NOW + week) is None
    assert open_invitation(connection, "another", now=NOW) is None
    assert token_hash(token) == hashlib.sha256(token.encode()).hexdigest()
    assert connection.scalars(select(staff.invitations.c.token_hash)).all() == [token_hash(token)]
    assert events(connection) == [("root", "invited", "ada@uni.edu", {"roles": ["reviewer"]})]


@pytest.mark.parametrize("email", ["ada", "@", "@uni.edu", "ada@", "ada b@uni.edu"])
def test_what_is_no_address_is_not_invited(connection, email):
    with pytest.raises(ConfigurationError, match=f"'{email}' is not an e-mail address"):
        invited(connection, email)


def test_a_new_person_needs_a_role_and_a_known_one_may_choose_a_new_password(connection):
    with pytest.raises(
        ConfigurationError, match=r"ben@uni.edu: give at least one role \(administrator, reviewer, expert, owner\)"
    ):
        invited(connection, "ben@uni.edu", frozenset())
    ada = joined(connection)
    session = start_session(connection, ada, now=NOW)
    again = join(connection, invited(connection, ada.email, frozenset()), name="Ada L.", password_hash="new", now=NOW)

    assert again == Person(ada.id, "ada@uni.edu", "Ada L.", REVIEWER, active=True)
    assert password_hash_of(connection, ada.id) == "new"
    assert session_person(connection, session, now=NOW) is None, "a new password ends the sessions"
    assert [kind for _, kind, _, _ in events(connection)] == ["invited", "joined", "invited", "password renewed"]


def test_an_invitation_is_used_once(connection):
    token = invited(connection)
    person = join(connection, token, name="Ada", password_hash="hash", now=NOW)

    assert person is not None
    assert (person.email, person.name, person.roles, person.active) == ("ada@uni.edu", "Ada", REVIEWER, True)
    assert join(connection, token, name="Eve", password_hash="hash", now=NOW) is None
    assert join(connection, "another", name="Eve", password_hash="hash", now=NOW) is None
    assert [one.name for one in everyone(connection)] == ["Ada"]
    assert events(connection)[-1] == (person.id, "joined", person.id, None)


# People and their roles.


def test_a_person_is_found_by_id_or_by_address_in_whatever_case(connection):
    ada = joined(connection)

    assert find_person(connection, ada.id) == find_by_email(connection, " ADA@uni.edu") == ada
    assert find_person(connection, "nobody") is find_by_email(connection, "nobody@uni.edu") is None
    assert password_hash_of(connection, ada.id) == "hash of Ada"


def test_everyone_is_listed_by_name_in_whatever_case(connection):
    for name in ("carla", "Ben", "ada"):
        joined(connection, name)

    assert [person.name for person in everyone(connection)] == ["ada", "Ben", "carla"]


def test_who_has_one_of_several_roles_has_them(connection):
    ada = joined(connection)

    assert ada.has(Role.OWNER, Role.REVIEWER)
    assert not ada.has(Role.OWNER, Role.EXPERT)
    assert not ada.has()


def test_roles_are_had_by_name_and_another_name_lists_them():
    assert roles_named(["owner", "expert"]) == {Role.OWNER, Role.EXPERT}
    with pytest.raises(
        ConfigurationError, match="no role is called 'king'; there are: administrator, reviewer, expert, owner"
    ):
        roles_named(["owner", "king"])


def test_roles_are_replaced_for_one_person_and_noted(connection):
    ada, ben = joined(connection), joined(connection, "Ben")
    set_roles(connection, ada.id, frozenset({Role.OWNER, Role.EXPERT}), by="root", now=NOW)

    assert [person.roles for person in everyone(connection)] == [{Role.OWNER, Role.EXPERT}, ben.roles]
    assert events(connection)[-1] == ("root", "roles changed", ada.id, {"roles": ["expert", "owner"]})


def test_who_is_shut_out_has_no_session_any_more_and_may_be_let_in_again(connection):
    ada, ben = joined(connection), joined(connection, "Ben")
    sessions = [start_session(connection, person, now=NOW) for person in (ada, ben)]
    assert not has_no_active_people(connection)
    set_active(connection, ada.id, active=False, by="root", now=NOW)

    assert [person.active for person in everyone(connection)] == [False, True]
    assert [session_person(connection, session, now=NOW) for session in sessions] == [None, ben]
    set_active(connection, ben.id, active=False, by="root", now=NOW)
    assert has_no_active_people(connection)
    set_active(connection, ada.id, active=True, by="root", now=NOW)
    assert session_person(connection, sessions[0], now=NOW) is None, "the session has ended for good"
    assert [kind for _, kind, _, _ in events(connection)][-3:] == ["shut out", "shut out", "let in"]


# Sessions.


def test_a_session_lasts_twelve_hours_and_ends_when_it_is_ended(connection):
    ada = joined(connection)
    first, second = (start_session(connection, ada, now=NOW) for _ in range(2))
    half_a_day = timedelta(hours=12)

    assert session_person(connection, first, now=NOW + half_a_day - MOMENT) == ada
    assert session_person(connection, first, now=NOW + half_a_day) is None
    end_session(connection, first, now=NOW)
    end_session(connection, first, now=NOW + MOMENT)
    assert [session_person(connection, session, now=NOW) for session in (first, second, "x")] == [None, ada, None]
    ended = select(staff.sessions.c.revoked_at).where(staff.sessions.c.token_hash == token_hash(first))
    assert connection.scalars(ended).one() == NOW, "the first end is the one that is kept"


def test_a_session_of_a_person_without_access_is_none(connection):
    ada = joined(connection)
    session = start_session(connection, ada, now=NOW)
    connection.execute(staff.people.update().values(active=False))

    assert session_person(connection, session, now=NOW) is None


# Owners of studies, and backups.


def test_owners_see_the_studies_they_belong_to_and_without_any_those_of_no_owner(connection):
    olga, otto = joined(connection, "Olga", OWNER), joined(connection, "Otto", OWNER)
    assert may_see_study(connection, olga.id, "tea")
    for _ in range(2):
        set_study_owner(connection, "tea", "OLGA@uni.edu", belongs=True)

    assert study_owners(connection, "tea") == ["olga@uni.edu"]
    sees = {
        person.name: [may_see_study(connection, person.id, name) for name in ("tea", "ale")] for person in (olga, otto)
    }
    assert sees == {"Olga": [True, False], "Otto": [False, True]}
    set_study_owner(connection, "tea", "otto@uni.edu", belongs=True)
    assert study_owners(connection, "tea") == ["olga@uni.edu", "otto@uni.edu"]
    set_study_owner(connection, "tea", "olga@uni.edu", belongs=False)
    assert study_owners(connection, "tea") == ["otto@uni.edu"]


def test_only_an_owner_can_belong_to_a_study(connection):
    joined(connection)
    for email in ("ada@uni.edu", "nobody@uni.edu"):
        with pytest.raises(
            ConfigurationError, match=f"{email}: no owner has this address; casewise invite {email} --role owner"
        ):
            set_study_owner(connection, "tea", email, belongs=True)


def test_the_last_backup_is_the_newest_that_was_noted(connection):
    assert last_backup(connection) is None
    for at in (NOW + MOMENT, NOW):
        note(connection, BACKED_UP, by=None, subject=None, now=at)
    note(connection, "signed in", by=None, subject=None, now=NOW + 2 * MOMENT)

    assert last_backup(connection) == NOW + MOMENT
