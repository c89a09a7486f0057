"""What the owner sees of a round, its people and items; what is erased; and what an amendment would mean."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.databases import new_database
from tests.support.study import (
    LATER,
    START,
    VAULT,
    answer,
    begun,
    design,
    finished,
    material,
    opened,
    pages_of,
)

from casewise.database.erasures import Erasure, ErasureList
from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.studies.answers import SubmittedAnswer, take_answer, void
from casewise.studies.freeze import StudyItem
from casewise.studies.ledger import Payment, note_payment
from casewise.studies.owner import (
    ASKED_TO_RETURN,
    Amendment,
    ConditionState,
    ItemState,
    amend,
    amendment_of,
    check_rows,
    detail_words,
    forget,
    item_states,
    overview,
    path_of,
    people_states,
    purge,
    replay_erasures,
    round_account,
    standings,
)
from casewise.studies.people import admit, annotator, person_of
from casewise.studies.quality import Dissent
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import StudyPlan, load_round, seconds_to_wait, set_condition, set_state
from casewise.studies.slots import lapse_expired

NO_CHECKS = {"checks_per_batch": 0}
FOUR_ITEMS: dict[str, Any] = {
    "conditions": ["no_context"],
    "ratings": {"per_item": 2, "per_annotator": 4},
    "attention": NO_CHECKS,
}
"""One condition of four items, two ratings each: a batch has all four."""


@pytest.fixture
def lite(tmp_path):
    with new_database(tmp_path / "casewise.db") as database:
        yield database


@pytest.fixture
def four(lite):
    return opened(lite, design(**FOUR_ITEMS))


def seen(store, study):
    with study.read(store) as live:
        return overview(live)


def timed(store, study, who, *times):
    """Answer the next pages in so many seconds each."""
    with study.write(store, START) as live:
        for place, seconds in enumerate(times):
            assert take_answer(live, who, SubmittedAnswer(place + 1, place, "respond", seconds)) == "rated"


# A round, its people and its items.


def test_a_condition_is_counted_by_its_slots_and_its_pages(lite, four):
    finished(lite, four, "ann")
    ben = begun(lite, four, "ben")
    answer(lite, four, ben, "refuse")
    answer(lite, four, ben, "skip")
    state = seen(lite, four)

    assert state.conditions == (
        ConditionState(
            "no_context",
            items=4,
            promised=8,
            valid=5,
            reserved=2,
            open=1,
            surplus=0,
            void=0,
            skipped=1,
            people=2,
            safe=4,
        ),
    )
    assert (state.promised, state.valid, state.missing, state.exact) == (8, 5, 3, False)
    assert state.stages == {"completed": 1, "rating": 1}


def test_what_a_closed_condition_lacks_is_not_missing_and_the_round_is_not_exact(lite):
    study = opened(lite, design(attention=NO_CHECKS))
    with study.write(lite, START) as live:
        set_condition(live, "no_context", closed=True, by="owner")
    state = seen(lite, study)

    assert [condition.closed for condition in state.conditions] == [True, False]
    assert (state.missing, state.promised, state.exact) == (8, 16, False)
    one = replace(state.conditions[0], valid=8)
    assert replace(state, conditions=(one, one)).exact


@pytest.mark.parametrize(
    ("times", "median"), [((), None), ((3.0,), 3.0), ((9.0, 1.0, 2.0), 2.0), ((9.0, 1.0, 2.0, 3.0), 3.0)]
)
def test_the_median_time_is_of_answered_items_that_were_timed(lite, four, times, median):
    timed(lite, four, begun(lite, four, "ann"), *times)
    if times:
        timed(lite, four, begun(lite, four, "untimed"), None)

    assert seen(lite, four).median_seconds == median


def test_people_come_in_the_order_of_arrival_with_what_their_answers_raise(lite, four):
    ann, ben = begun(lite, four, "ann"), begun(lite, four, "ben", now=START + LATER)
    timed(lite, four, ann, 1.0, 9.0, None)
    answer(lite, four, ben, "skip")
    answer(lite, four, ben, "refuse")
    with four.write(lite, START) as live:
        live.set_annotator(ben, feedback="A remark.")
        first, second = people_states(live)

    assert (first.id, first.condition, first.stage, first.status) == (ann, "no_context", "rating", "rating")
    assert (first.rated, first.skipped, first.median_s, first.feedback) == (3, 0, 5.0, None)
    assert (second.id, second.rated, second.skipped, second.feedback) == (ben, 1, 1, "A remark.")
    rated_by_ann = {page.item_id for page in pages_of(lite, ann) if page.state == "rated"}
    (refused,) = {page.item_id for page in pages_of(lite, ben) if page.state == "rated"}
    apart = int(refused in rated_by_ann)
    assert (first.disagreement, second.disagreement) == (Dissent(apart, apart), Dissent(apart, apart))


def test_skips_are_counted_of_each_person_and_flagged_of_all_their_pages(lite):
    study = opened(lite, design(**FOUR_ITEMS | {"attention": {"checks_per_batch": 0, "may_skip": 0.5}}))
    ann = begun(lite, study, "ann")
    for _ in range(3):
        answer(lite, study, ann, "skip")
    with study.read(lite) as live:
        (person,) = people_states(live)

    assert (person.skipped, person.outcome, person.status) == (3, "too_many_skips", "too_many_skips")
    assert [(flag.kind, flag.evidence) for flag in person.flags] == [("many_skips", "skipped 3 of 4 pages")]


@pytest.mark.parametrize(
    ("votes", "split"),
    [({"safe": 2, "unsafe": 2}, 1.0), ({"safe": 3, "unsafe": 1}, 0.5), ({"safe": 0, "unsafe": 4}, 0.0), (None, 0.0)],
)
def test_an_item_is_split_as_far_as_votes_are_not_the_most_frequent(votes, split):
    item = StudyItem("i", "q", "no_context", {})

    assert ItemState(item, valid=4, skipped=0, votes=votes).split == split
    assert ItemState(item, valid=0, skipped=9, votes={"safe": 0, "unsafe": 0}).split == 0.0


def test_votes_of_items_are_known_once_the_round_is_closed_split_items_first(lite, four):
    finished(lite, four, "ann")
    ben = begun(lite, four, "ben")
    answer(lite, four, ben, "refuse")
    answer(lite, four, ben, "skip")
    refused, skipped = (page.item_id for page in pages_of(lite, ben)[:2])
    with four.write(lite, START) as live:
        assert {state.votes for state in item_states(live)} == {None}
        set_state(live, "closed", by="owner")
        states = item_states(live)

    assert states[0].item.item_id == refused
    assert [state.item.item_id for state in states][1:] == sorted({f"i_no_context_{n}" for n in range(4)} - {refused})
    of = {state.item.item_id: state for state in states}
    assert (of[refused].valid, of[refused].votes, of[refused].split) == (2, {"safe": 1, "unsafe": 1}, 1.0)
    assert (of[skipped].valid, of[skipped].skipped, of[skipped].votes) == (1, 1, {"safe": 1, "unsafe": 0})


# One person's way.


def test_a_way_has_every_event_and_every_answer_in_its_order(lite):
    study = opened(lite, design(attention={"checks_per_batch": 1}, conditions=["no_context"]))
    who = begun(lite, study, "ann")
    for minutes in range(4):
        answer(lite, study, who, "skip" if minutes == 3 else "refuse", now=START + timedelta(minutes=minutes))
    with study.read(lite) as live:
        path = path_of(live, who)
        assert path_of(live, "a0") == []
    pages, check = pages_of(lite, who), {check.name: check for check in study.wording.checks}

    assert [step.what for step in path[:3]] == [
        "consented",
        "quiz, attempt 1: all right",
        "assigned: 3 items of no_context",
    ]
    assert [step.what for step in path[3:]] == [*(f"page {n}: Refuse" for n in (1, 2, 3)), "page 4: Skip"]
    assert [step.after_s for step in path] == [0, 0, 0, 0, 60, 120, 180]
    assert [step.seconds for step in path[3:]] == [5.0, 5.0, 5.0, None]
    assert [step.item_id for step in path[3:]] == [page.item_id for page in pages]
    assert [step.text for step in path[3:]] == [
        f"How do I brew tea number {page.item_id[-1]}?" if page.item_id else f"check: {check[page.check_name].name}"
        for page in pages
    ]


@pytest.mark.parametrize(
    ("kind", "detail", "words"),
    [
        ("quiz", {"attempt": 2, "wrong": [0, 3]}, ", attempt 2: wrong at question 1, 4"),
        ("quiz", {"attempt": 1, "wrong": []}, ", attempt 1: all right"),
        ("assigned", {"items": 1, "condition": "no_context"}, ": 1 item of no_context"),
        ("voided", {"why": "asked us to", "reopened": 0, "note": "", "more": None}, " (why asked us to, reopened 0)"),
        ("consented", None, ""),
    ],
)
def test_an_event_is_told_with_what_its_details_add(kind, detail, words):
    event: Any = SimpleNamespace(kind=kind, detail=detail)
    assert detail_words(event) == words


def test_checks_are_told_for_each_who_answered_those_who_failed_most_first_then_the_fastest(lite):
    plan = design(
        conditions=["no_context"], ratings={"per_item": 9, "minimum_seconds": 2.0}, attention={"checks_per_batch": 1}
    )
    study = opened(lite, plan)
    right = {check.name: {"safe": "respond", "unsafe": "refuse"}[check.expected] for check in study.wording.checks}
    ids = {}
    for name, seconds, fails in (
        ("slow", 9.0, False),
        ("fast", 1.0, False),
        ("fails", 3.0, True),
        ("untimed", None, False),
    ):
        who = ids[name] = begun(lite, study, name)
        with study.write(lite, START) as live:
            for place, page in enumerate(pages_of(lite, who)):
                decision = right.get(page.check_name, "respond")
                decision = "skip" if fails and page.check_name else decision
                take_answer(live, who, SubmittedAnswer(page.position, place, decision, seconds))  # type: ignore[arg-type]
    begun(lite, study, "silent")
    with study.read(lite) as live:
        rows = check_rows(live)
    names = {who: name for name, who in ids.items()}

    assert [names[row.person.id] for row in rows] == ["fails", "fast", "slow", "untimed"]
    assert [(row.checks, row.passed, row.skipped) for row in rows] == [(1, 0, 1), (1, 1, 0), (1, 1, 0), (1, 1, 0)]
    assert [(row.timed, row.answers) for row in rows] == [(3, 3), (3, 3), (3, 3), (0, 3)]
    assert [(row.fastest_s, row.too_fast) for row in rows] == [(3.0, 0), (1.0, 3), (9.0, 0), (None, 0)]


# What people are owed at the recruiter.


def test_a_standing_says_what_is_owed_and_who_has_gone_away(lite, four):
    done = finished(lite, four, "done")
    away, here = begun(lite, four, "away"), begun(lite, four, "here", now=START + LATER)
    with four.write(lite, START + LATER) as live:
        lapse_expired(live)
    for now, name in ((START + timedelta(minutes=29), "left reading"), (START + timedelta(minutes=30), "reads")):
        with four.write(lite, now) as live:
            assert admit(live, RecruiterIds(name), vault=VAULT)
    with four.read(lite, START + LATER) as live:
        found = {one.ids.person: one for one in standings(live, vault=VAULT)}

    assert [(one.status, one.due, one.away, one.rated) for one in found.values()] == [
        ("completed", "full", False, 4),
        ("rating", "under way", True, 0),
        ("tutorial", "under way", True, 0),
        ("tutorial", "under way", False, 0),
        ("rating", "under way", False, 0),
    ]
    assert list(found) == ["done", "away", "left reading", "reads", "here"]
    assert [found[name].annotator for name in ("done", "away", "here")] == [done, away, here]


def test_an_account_knows_payments_requests_and_whether_everybody_is_still_known(lite, four):
    ann = finished(lite, four, "ann")
    with four.write(lite, START) as live:
        note_payment(live, Payment(ann, "b", 1.0, "bonus", "confirmed"))
        live.note(ASKED_TO_RETURN, detail={"submission": "a hash"})
        account = round_account(live, vault=VAULT)
        assert (len(account.people), account.all_known, account.asked) == (1, True, frozenset({"a hash"}))
        assert [payment.payment for payment in account.payments[ann]] == ["b"]
        live.set_annotator(ann, sealed=None)
        assert (round_account(live, vault=VAULT).people, round_account(live, vault=VAULT).all_known) == ((), False)


# Erasing.


def row_of(live, who):
    return live.execute(select(tables.annotators).where(tables.annotators.c.id == who)).one()


def events_of(live, who):
    table = tables.events
    return live.execute(select(table.c.kind, table.c.by, table.c.detail).where(table.c.annotator_id == who)).all()


@pytest.fixture
def rated(lite, four):
    """Ann's random id: she rated two items and skipped one, said something of herself, and a check of hers was answered."""
    ann = begun(lite, four, "ann")
    for decision in ("respond", "refuse", "skip"):
        answer(lite, four, ann, decision)
    with four.write(lite, START) as live:
        live.set_annotator(ann, demographics={"age": "25 to 34"}, feedback="hello")
    return ann


def test_until_the_date_all_that_is_known_of_a_person_is_deleted_and_they_may_come_anew(lite, four, rated):
    other = begun(lite, four, "ben")
    last_day = START.replace(year=2027, month=1, day=1)
    with four.write(lite, last_day) as live:
        erasure = forget(live, "ann", vault=VAULT, by="owner")
        row = row_of(live, rated)
        assert (erasure.study_id, erasure.annotator_id, erasure.ratings, erasure.at) == (
            four.id,
            rated,
            "withdrawn",
            last_day.isoformat(),
        )
        assert (row.sealed, row.fingerprint, row.demographics, row.feedback) == (None,) * 4
        assert (row.stage, row.outcome, row.withdrawn_at, row.lease_until) == ("done", "withdrawn", last_day, None)
        assert events_of(live, rated) == [("forgotten", "owner", {"ratings": "withdrawn"})]
        assert [kind for kind, _, _ in events_of(live, other)] == ["consented", "quiz", "assigned"]
        again = admit(live, RecruiterIds("ann"), vault=VAULT)
        assert again is not None
        assert again.id != rated

    assert [(page.state, page.slot_id) for page in pages_of(lite, rated)] == [
        *[("withdrawn", None)] * 2,
        ("skipped", None),
        ("dropped", None),
    ]
    cleared = {(p.verdict, p.seconds, p.sight, p.own, p.answered_at, p.step, p.scripted) for p in pages_of(lite, rated)}
    assert cleared == {(None,) * 6 + (False,)}
    assert {page.state for page in pages_of(lite, other)} == {"waiting"}


def test_answers_to_checks_are_withdrawn_too(lite):
    study = opened(lite, design(attention={"checks_per_batch": 2}))
    who = begun(lite, study, "ann")
    while answer(lite, study, who, "respond"):
        pass
    with study.write(lite, START) as live:
        forget(live, who, vault=VAULT, by="owner")

    assert {(page.kind, page.state, page.verdict) for page in pages_of(lite, who)} == {
        ("item", "withdrawn", None),
        ("check", "withdrawn", None),
    }


def test_after_the_date_the_ratings_stay_and_the_person_is_kept_out(lite, four, rated):
    with four.write(lite, START.replace(year=2027, month=1, day=2)) as live:
        assert forget(live, rated, vault=VAULT, by="owner").ratings == "kept"
        row = row_of(live, rated)
        assert (row.sealed, row.fingerprint, row.demographics, row.feedback) == (None,) * 4
        assert (row.stage, row.withdrawn_at) == ("rating", None)
        assert person_of(live, rated, vault=VAULT) is None
        assert live.scalars(select(tables.keys.c.annotator_id)).all() == []
        assert events_of(live, rated)[-1] == ("forgotten", "owner", {"ratings": "kept"})

    assert [page.state for page in pages_of(lite, rated)] == ["rated", "rated", "skipped", "waiting"]


def test_nobody_of_another_round_is_forgotten(lite, four, rated):
    pilot = opened(lite, phase="pilot")
    for name in ("zoe", rated):
        with (
            pytest.raises(StudyError, match=rf"no person in tea 1 \(pilot\) has the id '{name}'"),
            pilot.write(lite) as live,
        ):
            forget(live, name, vault=VAULT, by="owner")


def test_an_erasure_is_on_the_list_before_anything_is_deleted(lite, four, rated, tmp_path):
    erasures = ErasureList(tmp_path / "list.jsonl", b"key")
    with four.write(lite, START) as live:
        erasure = forget(live, rated, vault=VAULT, by="owner", erasures=erasures)

    assert erasures.read() == [erasure]
    assert (erasure.number, erasure.annotator_id, erasure.ratings) == (1, rated, "withdrawn")


@pytest.mark.parametrize("ratings", ["withdrawn", "kept"])
def test_who_came_back_with_a_backup_is_erased_again_and_no_person_twice(lite, four, rated, ratings):
    listed = [Erasure(n, four.id, who, START.isoformat(), ratings) for n, who in enumerate(("gone", rated), start=1)]
    with lite.write() as connection:
        assert replay_erasures(connection, listed, now=START + LATER) == 1
        assert replay_erasures(connection, listed, now=START + LATER) == 0
        row = row_of(four.at(connection), rated)
        assert (row.sealed, row.fingerprint) == (None, None)
        assert row.withdrawn_at == (START + LATER if ratings == "withdrawn" else None)
        assert events_of(four.at(connection), rated)[-1] == ("forgotten", "system", {"ratings": ratings})


@pytest.mark.parametrize(
    "known", [{"sealed": "x"}, {"fingerprint": "x"}, {"demographics": {"age": "old"}}, {"feedback": "hello"}]
)
def test_whatever_is_still_known_of_an_erased_person_is_erased_again(lite, four, rated, known):
    listed = [Erasure(1, four.id, rated, START.isoformat(), "kept")]
    with four.write(lite, START) as live:
        replay_erasures(live.connection, listed, now=START)
        live.set_annotator(rated, **known)
        assert replay_erasures(live.connection, listed, now=START) == 1


def test_a_withdrawal_that_left_the_ratings_is_done_again(lite, four, rated):
    with four.write(lite, START) as live:
        replay_erasures(live.connection, [Erasure(1, four.id, rated, "", "kept")], now=START)
        assert replay_erasures(live.connection, [Erasure(2, four.id, rated, "", "withdrawn")], now=START) == 1


def test_ids_and_hashes_go_after_the_last_day_that_was_promised(lite, four, rated):
    finished(lite, four, "ben")
    last_day, returners = START.replace(year=2027, month=2, day=1), START.replace(year=2027, month=11, day=1)
    with four.write(lite, last_day) as live:
        assert purge(live) == 0
        assert person_of(live, rated, vault=VAULT) is not None
        assert live.events("ids deleted") == []
    with four.write(lite, last_day + timedelta(days=1)) as live:
        assert (purge(live), purge(live)) == (2, 0)
        assert [event.detail for event in live.events("ids deleted")] == [{"people": 2}]
        assert (row_of(live, rated).sealed, row_of(live, rated).fingerprint) == (None, None)
        assert live.scalars(select(tables.keys.c.annotator_id)).all() == []
    for now, left in ((returners, 2), (returners + timedelta(days=1), 0)):
        with four.write(lite, now) as live:
            purge(live)
            assert len(live.execute(select(tables.fingerprints)).all()) == left


# Amending.


def planned(study, **changes):
    """A plan of the round as it was opened, but for what is changed."""
    plan = design(**{**FOUR_ITEMS, **changes})
    nothing: Any = None
    return StudyPlan(Path(), plan, study.wording, nothing, material(plan), None)


MORE = {"ratings": {"per_item": 5, "per_annotator": 4}}


@pytest.fixture
def paused(lite, four):
    """Ann rated all, and the round is paused."""
    finished(lite, four, "ann")
    with four.write(lite, START) as live:
        set_state(live, "paused", by="owner")
    return four


def test_an_amendment_is_told_with_what_it_needs_and_costs_and_then_made(lite, paused):
    with paused.write(lite, START) as live:
        amendment = amendment_of(live, planned(paused, **MORE))
        assert amendment == Amendment((2, 5), (8, 20), (1, 4), amendment.cost, "USD")
        assert amendment.cost == pytest.approx((3.5 + 0.5, 4 * 3.5 + 2 * 0.5))
        assert amendment.change == "ratings.per_item was 2 and is 5"
        amend(live, amendment, reason="wide intervals", by="olga")
        (event,) = live.events("amended")
        numbers = live.scalars(select(tables.slots.c.number).where(tables.slots.c.item_id == "i_no_context_0")).all()
        after = load_round(live.connection, paused.id)

    assert (event.by, event.detail) == ("olga", {"why": "wide intervals", "changes": [amendment.change]})
    assert sorted(numbers) == [1, 2, 3, 4, 5]
    assert after is not None
    assert after.design == design(**{**FOUR_ITEMS, **MORE})
    with paused.read(lite, START) as live:
        assert seconds_to_wait(live) == 65


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {**MORE, "seed": 7, "quiz": {"attempts": 2}},
            "seed, quiz cannot change while people rate; only ratings.per_item can. Undo",
        ),
        ({"ratings": {"per_item": 2, "per_annotator": 4}}, "can only be raised: 2 were promised, and study.toml has 2"),
        ({"ratings": {"per_item": 1, "per_annotator": 4}}, "can only be raised: 2 were promised, and study.toml has 1"),
    ],
)
def test_only_more_ratings_are_an_amendment(lite, paused, changes, says):
    with pytest.raises(StudyError, match=says), paused.read(lite, START) as live:
        amendment_of(live, planned(paused, **changes))


def test_other_items_other_texts_and_a_round_that_goes_on_are_no_amendment(lite, paused):
    plan = planned(paused, **MORE, benchmark="moved elsewhere")
    fewer = replace(plan, material=replace(plan.material, items=plan.material.items[1:]))
    other = replace(plan, wording=replace(plan.wording, help="Call us."))
    with paused.write(lite, START) as live:
        for wrong, says in ((fewer, "the items differ from those being rated"), (other, "the texts differ")):
            with pytest.raises(StudyError, match=says):
                amendment_of(live, wrong)
        assert amendment_of(live, plan).per_item == (2, 5), "the benchmark may lie elsewhere by now"
        set_state(live, "open", by="owner")
        with pytest.raises(StudyError, match="pause the round first"):
            amendment_of(live, plan)


def test_what_is_void_is_to_be_rated_again(lite, four):
    ann = finished(lite, four, "ann")
    with four.write(lite, START) as live:
        void(live, ann, reason="asked us to", by="owner")
        state = annotator(live, ann)
        counts = overview(live)

    assert state is not None
    assert (state.stage, state.outcome) == ("done", "completed")
    (condition,) = counts.conditions
    assert (condition.void, condition.valid, condition.safe, condition.open, counts.missing) == (4, 0, 0, 8, 8)
