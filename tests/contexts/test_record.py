"""Random histories of a whole draft, compared with what its release says of them."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from tests.contexts.drafts import CATEGORIES, room
from tests.contexts.wordings import OTHER, wording
from tests.support.app import NOW, add_person
from tests.support.databases import new_database

from casewise import database
from casewise.contexts.record import EVENTS, read_lines, read_record, record_from_lines
from casewise.contexts.release import ReleaseOptions, release
from casewise.contexts.review import NEED_WORDING, QUERY_ACTS, Act, NotAllowed, Phase, ReviewAction, possible_acts
from casewise.contexts.statistics import review_statistics
from casewise.contexts.store import ROLE_OF, act_on_query
from casewise.database.staff import Role
from casewise.storage.load import load

WORDS = [wording(recipient__type=name) for name in ("Cashier", "Clerk", "Guard")]
UNSAFE = [wording(**OTHER | {"recipient__type": name}) for name in ("Cashier", "Clerk", "Guard")]


def take_random_step(here, people, place, rng):
    """Have somebody do something that their roles and the state allow; true where it was done."""
    acts = [
        (by, act)
        for by in people
        for act in possible_acts(place.state, by.id)
        if by.has(*ROLE_OF[act]) and (act not in QUERY_ACTS | {Act.RESTART, Act.GIVE_UP} or rng.random() < 0.15)
    ]
    if not acts:
        return
    by, act = acts[rng.integers(len(acts))]
    words = (WORDS if place.intended_safe else UNSAFE)[rng.integers(3)] if act in NEED_WORDING else None
    reason = f"reason {rng.integers(1000)}" if rng.random() < 0.5 or act != Act.SUBMIT else None
    with contextlib.suppress(NotAllowed):
        if act in QUERY_ACTS:
            with here.store.write() as connection:
                action = ReviewAction(by=by.id, act=act, reason=reason)
                act_on_query(connection, place.id, action, seen=place.state.version, now=NOW)
        else:
            here.do(place, by, act, words, reason)


def finish(here, place, administrator, expert):
    """Bring a context to approval from wherever it stands; a query that was withdrawn stays so."""
    place = here.find(place)
    if place.state.phase in {Phase.WITHDRAWN, Phase.APPROVED}:
        return
    words = (WORDS if place.intended_safe else UNSAFE)[0]
    if place.state.phase in {Phase.MISSING, Phase.BEYOND_REPAIR}:
        here.do(place, here.ada, Act.REWRITE, words)
    elif place.state.phase != Phase.GENERATED:
        here.do(place, administrator, Act.RESTART, reason="to finish")
    replace(here, cleo=expert).approve(place, words)  # the first expert may have given it up, and is involved then


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=() if seed < 1 else pytest.mark.slow) for seed in range(6)])
def test_a_release_says_of_a_random_history_what_the_database_holds(tmp_path, seed):
    rng, url = np.random.default_rng(seed), str(tmp_path / "x.db")
    store = new_database(tmp_path / "x.db")
    here = room(store, count=3, unsafe=UNSAFE[1])
    dora = add_person(store, "Dora", Role.ADMINISTRATOR)
    eve = add_person(store, "Eve", Role.EXPERT)
    people = [here.ada, here.ben, here.cleo, dora]
    for number in range(160):
        if number % 40 == 39:  # the server starts anew
            here.store.close()
            here.store = database.open(url)
        places = here.places()
        take_random_step(here, people, places[rng.integers(len(places))], rng)
    for place in here.places():
        finish(here, place, dora, eve)
    if all(place.state.phase == Phase.WITHDRAWN for place in here.places()):
        pytest.skip("every query was withdrawn")

    with here.store.write() as connection:
        folder = release(connection, here.draft, tmp_path / "out", options=ReleaseOptions(version="1.0.0"), now=NOW)
        record = read_record(connection, here.draft)

    lines, benchmark = read_lines(folder / EVENTS), load(folder)
    released = record_from_lines(lines)
    # every step of the database is a line, in its order, with its reason; and no person is named
    for context in record.contexts:
        told = [
            line for line in lines if (line.query_id, line.intended_safe) == (context.query_id, context.intended_safe)
        ]
        held = [(step.event.act, step.event.reason, step.event.to_phase) for step in context.steps]
        assert [(line.act, line.reason, line.to_phase) for line in told] == held
        texts = [(context.id_of(step.before.wording), context.id_of(step.after.wording)) for step in context.steps]
        assert [(line.before_id, line.after_id) for line in told] == texts
    text = (folder / EVENTS).read_text()
    assert not [one for one in people if one.id in text or one.email in text]
    # the file alone leads to the states that the database holds
    standing = {context.key: context.state for context in record.standing}
    assert {context.key: context.state.wording for context in released.contexts} == {
        key: state.wording for key, state in standing.items()
    }
    assert {context.state.phase for context in released.contexts} == {Phase.APPROVED}
    # and to the same numbers, authors and revisions
    ours, theirs = review_statistics(record), review_statistics(released)
    assert (ours.authors, ours.changed, ours.agreed_at_once) == (theirs.authors, theirs.changed, theirs.agreed_at_once)
    shown = {context.id_of(context.state.wording) for context in record.standing}
    assert {item.context_id for item in benchmark.items} == shown
    submitted = [
        (context.id_of(step.before.wording), context.id_of(step.event.wording))
        for context in record.standing
        for step in context.steps
        if step.event.act in {Act.SUBMIT, Act.OFFER, Act.REWRITE}
        and step.before.wording not in (None, step.event.wording)
        and not step.taken_back
    ]
    assert sorted((one.before_id, one.after_id) for one in benchmark.revisions) == sorted(submitted)
    # what was withdrawn is in no file but for its steps
    assert {query.id for query in benchmark.queries} == {context.query_id for context in record.standing}
    assert all(line.wording is None for line in lines if line.query_id in record.withdrawn)
    here.store.close()


def test_the_steps_of_one_context_keep_their_order_whatever_the_clock_said(tmp_path):
    store = new_database(tmp_path / "x.db")
    here = room(store, count=1, unsafe=UNSAFE[0])
    with store.read() as connection:
        record = read_record(connection, here.draft)
    first = record.contexts[0]
    assert [line.seq for line in record.lines() if line.intended_safe] == [step.event.seq for step in first.steps]
    assert CATEGORIES[0] == here.place().query.category
    store.close()
