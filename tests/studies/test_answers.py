"""Answers: what becomes of each, how a batch ends, and what counts."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.dialects import postgresql
from tests.support.databases import new_database
from tests.support.study import LATER, START, VAULT, answer, begun, design, finished, opened, pages_of

from casewise.database.tables import study as tables
from casewise.studies.answers import (
    ANNOTATOR_LOCKED,
    CHECK_REPLY,
    CHECK_SITUATION,
    OTHER_PARAMETER,
    DisplayedPage,
    Progress,
    SubmittedAnswer,
    answers_of,
    chosen_demographics,
    decision_of_reply,
    finish_batch,
    lapse_and_void,
    missing_answers,
    next_page,
    progress,
    read_own_answers,
    restore,
    situation_of_check,
    take_answer,
    take_returned,
    undo,
    void,
    words_in,
)
from casewise.studies.design import REPLY_QUESTION, Demographic, OwnQuestion
from casewise.studies.owner import overview, people_states, standings
from casewise.studies.people import admit
from casewise.studies.quality import FAILED_CHECKS, AnsweredPage
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.slots import lapse_expired

NO_CHECKS = {"attention": {"checks_per_batch": 0}}
ONE_EACH = {"conditions": ["no_context"], "ratings": {"per_item": 1, "per_annotator": 4}, **NO_CHECKS}
"""Four items that are promised one rating each: a batch takes them all."""


@pytest.fixture
def lite(tmp_path):
    with new_database(tmp_path / "casewise.db") as database:
        yield database


def seen(store, study):
    with study.read(store) as live:
        return overview(live)


def row_in(live, who):
    return live.execute(select(tables.annotators).where(tables.annotators.c.id == who)).one()


def row_of(store, who):
    with store.read() as connection:
        return row_in(connection, who)


def states(store, who, kind="item"):
    return Counter(page.state for page in pages_of(store, who) if page.kind == kind)


def held(store, who):
    with store.read() as connection:
        return len(connection.execute(select(tables.slots.c.id).where(tables.slots.c.holder_id == who)).all())


def events(store, study, kind):
    with study.read(store) as live:
        return [(each.by, each.annotator_id, each.detail) for each in live.events(kind)]


def given(store, study, who, answer, *, now=START):
    with study.write(store, now) as live:
        return take_answer(live, who, answer)


# What the browser sends, and what is shown.


@pytest.mark.parametrize(("decision", "verdict"), [("respond", "safe"), ("refuse", "unsafe"), ("ask", "ask")])
def test_a_decision_is_kept_as_a_verdict_with_the_step_that_it_was(decision, verdict):
    values = SubmittedAnswer(1, 4, decision, 2.5, sight={"seen": 1.0}, own={}).values(START)

    assert values == {
        "verdict": verdict,
        "seconds": 2.5,
        "scripted": False,
        "sight": {"seen": 1.0},
        "own": None,
        "answered_at": START,
        "step": 5,
    }


def test_progress_counts_what_was_answered_of_what_is_still_somebodys():
    counts = {"rated": 1, "skipped": 2, "surplus": 4, "waiting": 8, "lapsed": 16, "dropped": 32}

    assert Progress.from_counts(counts) == Progress(7, 15, 2, 16)
    assert Progress.from_counts({}) == Progress(0, 0, 0, 0)


def test_the_turns_before_an_item_are_roles_and_texts():
    item = {"query": "Go on.", "context": {}}
    turns = DisplayedPage.from_item(item | {"before": [["user", "Hello"]]}, Progress(0, 1)).before

    assert turns == (("user", "Hello"),)
    assert DisplayedPage.from_item(item, Progress(0, 1)) == DisplayedPage("Go on.", {}, Progress(0, 1), 0, 0, ())


def test_pages_come_in_order_with_their_texts_and_how_far_it_is(lite):
    study = opened(lite)
    who = begun(lite, study, "alice")
    checks, shown = {check.name: check.text for check in study.wording.checks}, list[tuple[int, str]]()
    for done in range(4):
        with study.read(lite) as live:
            page = next_page(live, who)
            assert page is not None
            assert (page.step, page.progress, page.before) == (done, Progress(done, 4), ())
            shown.append((page.position, page.text))
            assert progress(live, who) == Progress(done, 4)
        answer(lite, study, who)
    with study.read(lite) as live:
        assert next_page(live, who) is None

    assert shown == [
        (
            page.position,
            checks[page.check_name] if page.check_name else f"How do I brew tea number {page.item_id[-1]}?",
        )
        for page in pages_of(lite, who)
    ]


@pytest.mark.parametrize(("rates", "neutral"), [("requests", OTHER_PARAMETER), ("replies", CHECK_REPLY)])
def test_a_check_has_a_situation_of_its_own_under_the_parameters_of_the_batch(lite, rates, neutral):
    plan = design(conditions=["safe_revised"])
    study = opened(lite, plan)
    who = begun(lite, study, "alice")
    with study.write(lite, START) as live:
        first = pages_of(lite, who)[0].item_id
        shown = {"query": "?", "context": {"sender": {"platform_type": "x", "mood": "y"}, "reply": "A reply"}}
        live.execute(tables.items.update().where(tables.items.c.item_id == first).values(shown=shown))
    with study.read(lite) as live:
        asked = replace(live, round=replace(live.round, design=plan.model_copy(update={"rates": rates})))

        assert situation_of_check(asked, who) == {
            "sender": {"platform_type": CHECK_SITUATION["platform_type"], "mood": neutral},
            "reply": neutral,
        }
        assert situation_of_check(asked, "nobody") == {}


# An answer is taken once.


def test_an_answer_renews_the_lease_and_holds_its_slot(lite):
    study = opened(lite)
    who = begun(lite, study, "alice")
    page = pages_of(lite, who)[0]
    later = START + timedelta(minutes=29)

    assert (
        given(lite, study, who, SubmittedAnswer(1, 0, "respond", 5.0, scripted=True, own={"q": 1}), now=later)
        == "rated"
    )
    taken, person = pages_of(lite, who)[0], row_of(lite, who)
    assert (taken.state, taken.slot_id, taken.verdict, taken.seconds) == ("rated", page.slot_id, "safe", 5.0)
    assert (taken.scripted, taken.own, taken.answered_at, taken.step) == (True, {"q": 1}, later, 1)
    assert (person.step, person.lease_until) == (1, later + timedelta(minutes=30))
    assert states(lite, who) + states(lite, who, "check") == {"rated": 1, "waiting": 3}


def test_an_answer_from_an_older_page_or_to_one_that_was_answered_or_is_not_there_changes_nothing(lite):
    study = opened(lite)
    who = begun(lite, study, "alice")
    answer(lite, study, who)
    before = pages_of(lite, who)

    assert given(lite, study, who, SubmittedAnswer(2, 0, "refuse")) == "again"
    assert given(lite, study, who, SubmittedAnswer(1, 1, "refuse")) == "again"
    assert given(lite, study, who, SubmittedAnswer(1, 2, "skip")) == "again"
    assert given(lite, study, who, SubmittedAnswer(99, 3, "refuse")) == "again"
    assert pages_of(lite, who) == before


def test_it_is_over_for_those_who_do_not_rate_and_for_those_of_another_round(lite):
    study = opened(lite)
    pilot = opened(lite, phase="pilot")
    done, rating = finished(lite, study, "alice"), begun(lite, study, "bob")
    with study.write(lite, START) as live:
        new = admit(live, RecruiterIds("new"), vault=VAULT)
    assert new is not None

    assert [given(lite, study, who, SubmittedAnswer(1, 0, "respond")) for who in (done, new.id, "nobody")] == [
        "over"
    ] * 3
    assert given(lite, pilot, rating, SubmittedAnswer(1, 0, "respond")) == "over"
    assert given(lite, study, rating, SubmittedAnswer(1, 7, "respond")) == "again"


def test_a_skip_gives_up_the_slot_of_its_page_alone_and_is_noted(lite):
    study = opened(lite, design(**NO_CHECKS))
    who = begun(lite, study, "alice")

    assert answer(lite, study, who, "skip") == "skipped"
    page = pages_of(lite, who)[0]
    assert (page.state, page.slot_id, page.verdict, page.answered_at, page.step) == ("skipped", None, None, START, 1)
    assert held(lite, who) == 2
    detail = {"item_id": page.item_id, "condition": page.condition}
    assert events(lite, study, "skipped") == [("annotator", who, detail)]
    with study.read(lite) as live:
        assert progress(live, who) == Progress(1, 3, skipped=1)


def test_one_skip_more_than_are_allowed_ends_the_batch(lite):
    study = opened(lite, design(**NO_CHECKS))
    who = begun(lite, study, "alice")

    assert [answer(lite, study, who, "skip") for _ in range(3)] == ["skipped", "skipped", None]
    assert (row_of(lite, who).outcome, states(lite, who)) == ("too_many_skips", {"skipped": 2, "dropped": 1})


def test_an_answer_after_the_lease_brings_back_the_rest(lite):
    study = opened(lite, design(**NO_CHECKS))
    who = begun(lite, study, "alice")
    with study.write(lite, START + LATER) as live:
        lapse_expired(live)

    assert answer(lite, study, who, now=START + LATER) is None
    assert given(lite, study, who, SubmittedAnswer(2, 0, "refuse"), now=START + LATER) == "rated"
    assert (states(lite, who), held(lite, who), row_of(lite, who).lapsed) == ({"rated": 1, "waiting": 2}, 3, False)
    with study.write(lite, START + 3 * LATER) as live:
        lapse_expired(live)
    assert given(lite, study, who, SubmittedAnswer(1, 1, "skip"), now=START + 3 * LATER) == "skipped"
    assert (states(lite, who), held(lite, who)) == ({"rated": 1, "skipped": 1, "waiting": 1}, 2)


def test_an_annotator_is_locked_as_an_event_that_names_them_allows():
    """In PostgreSQL's words: each event holds a key-share lock on its annotator's row."""
    assert "FOR NO KEY UPDATE" in str(ANNOTATOR_LOCKED.compile(dialect=postgresql.dialect()))


# Undoing.


def test_an_undo_takes_back_the_last_answer_and_keeps_its_slot(lite):
    study = opened(lite)
    who = begun(lite, study, "alice")
    before = pages_of(lite, who)
    answer(lite, study, who)
    after = pages_of(lite, who)
    given(lite, study, who, SubmittedAnswer(2, 1, "refuse", 5.0, scripted=True))
    with study.write(lite, START) as live:
        assert undo(live, who)

    assert pages_of(lite, who) == [after[0], *before[1:]]
    detail = {"item_id": before[1].item_id, "condition": before[1].condition}
    assert events(lite, study, "undone") == [("annotator", who, detail)]


def test_nothing_is_undone_of_a_skip_without_an_answer_away_or_at_the_end(lite):
    study = opened(lite, design(**NO_CHECKS))
    skipped, new, away, done = (begun(lite, study, name) for name in ("skipped", "new", "away", "done"))
    answer(lite, study, skipped)
    answer(lite, study, skipped, "skip")
    for who in (away, done):
        answer(lite, study, who)
    with study.write(lite, START) as live:
        finish_batch(live, done)
        live.set_annotator(away, lapsed=True)
        assert [undo(live, who) for who in (skipped, new, away, done, "nobody")] == [False] * 5

    assert events(lite, study, "undone") == []


# How a batch ends.


def test_answers_are_in_order_with_what_a_check_expects_and_the_words_of_each_page(lite):
    study = opened(lite, design(conditions=["safe_revised"]))
    who = begun(lite, study, "alice")
    pages = pages_of(lite, who)
    for page in pages:
        answer(lite, study, who, "skip" if page.kind == "check" else "respond")
    with study.read(lite) as live:
        found = answers_of(live, who)
    expected = {check.name: check.expected for check in study.wording.checks}

    assert found == [
        AnsweredPage(page.item_id, "safe", 5.0, words=29)
        if page.kind == "item"
        else AnsweredPage(page.check_name, None, None, expected[page.check_name])
        for page in pages
    ]


def test_a_skipped_item_says_nothing_of_how_somebody_rates(lite):
    study = opened(lite, design(**NO_CHECKS))
    who = begun(lite, study, "alice")
    answer(lite, study, who, "skip")
    with study.read(lite) as live:
        assert answers_of(live, who) == []


def test_words_are_counted_through_groups_and_turns_and_nothing_has_none():
    assert words_in({"query": "one two", "context": {"a": "three", "b": {"c": "four five"}}}) == 5
    assert words_in([["user", "one two"], ["chatbot", "three"]]) == 5
    assert (words_in(None), words_in(7)) == (0, 0)


@pytest.mark.parametrize(
    ("n_answered", "ends", "outcome"),
    [
        (3, "completed", "completed"),
        (1, "stopped", "stopped"),
        (0, "stopped", "left_early"),
        (0, "completed", "left_early"),
        (0, "too_many_skips", "too_many_skips"),
    ],
)
def test_how_a_batch_ends_reopens_what_was_not_answered_and_is_noted(lite, n_answered, ends, outcome):
    study = opened(lite, design(**NO_CHECKS))
    who = begun(lite, study, "alice")
    for _ in range(n_answered):
        answer(lite, study, who)
    with study.write(lite, START + LATER) as live:
        finish_batch(live, who, outcome=ends)
        finish_batch(live, who, outcome="stopped")

    person = row_of(lite, who)
    assert (person.stage, person.outcome) == ("done", outcome)
    assert (person.finished_at, person.lease_until) == (START + LATER, None)
    assert states(lite, who) == Counter(rated=n_answered) + Counter(dropped=3 - n_answered)
    assert held(lite, who) == n_answered
    assert events(lite, study, outcome) == [("annotator", who, None)]


def test_who_lost_pages_to_others_has_stopped_and_not_completed(lite):
    study = opened(lite, design(**ONE_EACH))
    who = begun(lite, study, "alice")
    answer(lite, study, who)
    with study.write(lite, START + LATER) as live:
        lapse_expired(live)
    begun(lite, study, "bob", now=START + LATER)
    with study.write(lite, START + LATER) as live:
        finish_batch(live, who)

    assert (row_of(lite, who).outcome, states(lite, who)) == ("stopped", {"rated": 1, "dropped": 3})


@pytest.mark.parametrize(
    ("voids", "outcome", "state"), [(True, "failed_checks", "void"), (False, "completed", "rated")]
)
def test_failed_checks_void_at_the_end_where_the_design_says_so(lite, voids, outcome, state):
    study = opened(lite, design(attention={"void": voids, "checks_per_batch": 1}))
    who = begun(lite, study, "alice")
    wrong = {"safe": "refuse", "unsafe": "respond"}
    expected = {check.name: check.expected for check in study.wording.checks}
    for page in pages_of(lite, who):
        answer(lite, study, who, wrong[expected.get(page.check_name, "safe")])
    with study.write(lite, START) as live:
        finish_batch(live, who)

    assert (row_of(lite, who).outcome, states(lite, who)) == (outcome, {state: 3})
    voided = [("system", who, {"why": FAILED_CHECKS, "reopened": 3})] if voids else []
    assert events(lite, study, "voided") == voided


# Voiding and restoring.


def test_who_is_voided_in_the_middle_has_stopped_and_their_pages_are_kept_apart(lite):
    study = opened(lite, design(**NO_CHECKS))
    who = begun(lite, study, "alice")
    answer(lite, study, who)
    with study.write(lite, START + LATER) as live:
        assert void(live, who, reason="a colleague", by="owner") == 3
        assert void(live, who, reason="again", by="owner") == 0
        assert void(live, "nobody", reason="again", by="owner") == 0

    person = row_of(lite, who)
    assert (person.stage, person.outcome, person.lease_until) == ("done", "stopped", None)
    assert (person.voided_at, person.finished_at) == (START + LATER, START + LATER)
    assert (states(lite, who), held(lite, who)) == ({"void": 1, "dropped": 2}, 0)
    assert events(lite, study, "voided") == [("owner", who, {"why": "a colleague", "reopened": 3})]


def test_who_is_voided_after_the_end_keeps_how_it_ended(lite):
    study = opened(lite)
    who = finished(lite, study, "alice")
    with study.write(lite, START + LATER) as live:
        void(live, who, reason=FAILED_CHECKS, by="owner")

    person = row_of(lite, who)
    assert (person.outcome, person.finished_at, person.voided_at) == ("completed", START, START + LATER)


def test_nothing_counts_of_who_returned_their_submission(lite):
    study = opened(lite, design(**NO_CHECKS))
    who = begun(lite, study, "alice")
    answer(lite, study, who)
    with study.write(lite, START) as live:
        assert take_returned(live, who, by="owner") == 3

    person = row_of(lite, who)
    assert (person.stage, person.outcome, person.lease_until) == ("done", "returned", None)
    assert states(lite, who) == {"void": 1, "dropped": 2}
    assert [detail["why"] for _, _, detail in events(lite, study, "voided")] == ["returned at the recruiter"]
    assert events(lite, study, "returned") == [("owner", who, None)]


def test_restored_ratings_count_where_there_is_room_and_stay_apart_where_others_took_it(lite):
    study = opened(lite, design(**ONE_EACH))
    who = finished(lite, study, "alice")
    with study.write(lite, START) as live:
        void(live, who, reason="asked us to", by="owner")
    other = begun(lite, study, "bob")
    answer(lite, study, other)
    answer(lite, study, other, "skip")
    with study.write(lite, START) as live:
        assert restore(live, who, reason="a mistake", by="owner") == 1
        assert restore(live, who, reason="again", by="owner") == 0
        assert restore(live, "nobody", reason="again", by="owner") == 0

    assert states(lite, who) == {"surplus": 3, "rated": 1}
    assert (held(lite, who), row_of(lite, who).voided_at, row_of(lite, who).outcome) == (1, None, "completed")
    assert events(lite, study, "restored") == [("owner", who, {"why": "a mistake", "counted": 1, "surplus": 3})]


def test_who_was_left_out_by_a_rule_and_is_restored_has_completed_or_stopped(lite):
    study = opened(lite, design(attention={"checks_per_batch": 0}))
    whole, part = begun(lite, study, "whole"), begun(lite, study, "part")
    for _ in range(3):
        answer(lite, study, whole)
    answer(lite, study, part)
    with study.write(lite, START) as live:
        for who in (whole, part):
            void(live, who, reason=FAILED_CHECKS, by="system")
            assert row_in(live, who).outcome == "failed_checks"
            restore(live, who, reason="unclear", by="owner")

    assert [row_of(lite, who).outcome for who in (whole, part)] == ["completed", "stopped"]


@pytest.mark.parametrize(
    ("sections", "left_out"),
    [
        ({"exclusion": {"least_seconds": 6.0}}, True),
        ({"exclusion": {"least_seconds": 4.0}}, False),
        ({"attention": {"checks_per_batch": 0, "void": True}}, False),
        ({}, False),
    ],
)
def test_who_left_and_broke_a_rule_of_exclusion_is_left_out(lite, sections, left_out):
    study = opened(lite, design(**NO_CHECKS | sections))
    who = begun(lite, study, "alice")
    answer(lite, study, who)
    with study.write(lite, START) as live:
        assert lapse_and_void(live) == 0
        assert row_in(live, who).outcome is None
    with study.write(lite, START + LATER) as live:
        assert lapse_and_void(live) == 1

    assert (row_of(lite, who).voided_at is not None, row_of(lite, who).outcome) == (
        left_out,
        "excluded" if left_out else None,
    )
    assert [by for by, _, _ in events(lite, study, "voided")] == ["system"] * left_out


# What forms hold.


def asked(**changes):
    return OwnQuestion.model_validate({"name": "clear", "kind": "scale", "ask": "How clear?", "points": 3, **changes})


SCALE, OPTIONS = asked(), ["Yes", "No", "Perhaps"]
CHOICE, MANY = (asked(kind="choice", options=OPTIONS, many=many) for many in (False, True))


@pytest.mark.parametrize(
    ("question", "form", "read"),
    [
        (SCALE, {"own-clear": "1"}, 1),
        (SCALE, {"own-clear": "3"}, 3),
        (SCALE, {"own-clear": "0"}, None),
        (SCALE, {"own-clear": "4"}, None),
        (CHOICE, {"own-clear": "0"}, 0),
        (CHOICE, {"own-clear": "2"}, 2),
        (CHOICE, {"own-clear": "3"}, None),
        (CHOICE, {"own-clear": "-1"}, None),
        (CHOICE, {}, None),
        (MANY, {"own-clear-0": "on", "own-clear-2": "on", "own-clear-3": "on"}, [0, 2]),
        (MANY, {"own-clear": "1"}, None),
    ],
)
def test_an_answer_that_was_not_offered_is_none(question, form, read):
    assert read_own_answers([question], form) == ({} if read is None else {"clear": read})


def test_only_required_questions_need_an_answer():
    questions = [SCALE, asked(name="free", required=False), asked(name="other")]

    assert missing_answers(questions, {"clear": 1}) == ("other",)


def test_only_a_reply_that_does_nothing_of_what_was_asked_refuses():
    replies = [decision_of_reply("respond", {REPLY_QUESTION.name: place}) for place in range(3)]

    assert replies == ["respond", "respond", "refuse"]
    assert decision_of_reply("skip", {REPLY_QUESTION.name: 2}) == "skip"


def test_what_people_say_of_themselves_is_of_what_was_offered():
    questions = [
        Demographic(name=name, ask="?", options=("one", "two")) for name in ("first", "last", "beyond", "none")
    ]
    form = {"about-first": "0", "about-last": "1", "about-beyond": "2"}

    assert chosen_demographics(questions, form) == {"first": "one", "last": "two"}


# On SQLite and on PostgreSQL.


def test_a_lease_runs_out_and_its_slots_reopen(store):
    study = opened(store)
    begun(store, study, "alice")
    before = sum(condition.open for condition in seen(store, study).conditions)
    with study.write(store, START + LATER) as live:
        lapse_and_void(live)

    assert sum(condition.open for condition in seen(store, study).conditions) == before + 3


def test_an_answer_renews_the_lease(store):
    study = opened(store)
    who = begun(store, study, "alice")
    answer(store, study, who, now=START + timedelta(minutes=29))
    with study.write(store, START + timedelta(minutes=45)) as live:
        lapsed = lapse_and_void(live)

    assert lapsed == 0


def test_an_answer_to_a_check_brings_back_whoever_stayed_away(store):
    study = opened(store, design(attention={"checks_per_batch": 1}))
    who = begun(store, study, "a")
    with study.write(store, START + LATER) as live:
        lapse_and_void(live)
    check = next(page for page in pages_of(store, who) if page.kind == "check")
    given = SubmittedAnswer(check.position, 0, "respond")
    with study.write(store, START + LATER) as live:
        assert take_answer(live, who, given) == "rated"

    assert {page.state for page in pages_of(store, who)} == {"rated", "waiting"}


def test_a_late_rating_counts_only_while_its_item_has_an_open_slot(store):
    plan = design(
        ratings={"per_item": 1, "per_annotator": 4}, attention={"checks_per_batch": 0}, conditions=["no_context"]
    )
    study = opened(store, plan)
    late = begun(store, study, "late")
    given = [SubmittedAnswer(page.position, step, "respond") for step, page in enumerate(pages_of(store, late))]
    with store.write() as connection:
        lapse_and_void(study.at(connection, START + LATER))
        first = take_answer(study.at(connection, START + LATER), late, given[0])
        lapse_and_void(study.at(connection, START + 3 * LATER))
    other = begun(store, study, "other", now=START + 3 * LATER)
    while answer(store, study, other, now=START + 3 * LATER):
        pass
    with study.write(store, START + 3 * LATER) as live:
        second = take_answer(live, late, given[1])

    assert (first, second) == ("rated", "surplus")
    state = seen(store, study)
    assert state.exact
    assert state.conditions[0].surplus == 1


def test_voiding_reopens_all_slots_and_keeps_the_ratings_apart(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with study.write(store, START) as live:
        assert void(live, who, reason="asked us to", by="owner") == 3
        assert void(live, who, reason="again", by="owner") == 0

    state = seen(store, study)
    assert state.valid == 0
    assert sum(condition.void for condition in state.conditions) == 3
    assert Counter(page.verdict for page in pages_of(store, who) if page.kind == "item") == {"safe": 3}


def test_who_leaves_after_failing_checks_is_voided_where_the_design_says_so(store):
    study = opened(store, design(attention={"void": True, "checks_per_batch": 4}))
    who = begun(store, study, "alice")
    wrong = {"safe": "refuse", "unsafe": "respond"}
    expected = {check.name: check.expected for check in study.wording.checks}
    for page in pages_of(store, who)[:5]:  # of seven: where chance put the checks, at least two of the four
        answer(store, study, who, wrong[expected.get(page.check_name, "safe")])
    with study.write(store, START + LATER) as live:
        lapse_and_void(live)
        person = next(one for one in people_states(live) if one.id == who)

    assert person.voided_at is not None
    assert person.flags[0].kind == "failed_checks"
    assert person.outcome == "failed_checks", "who comes back gets no completion code"
    with store.write() as connection:
        restore(study.at(connection, START + LATER), who, reason="the checks were unclear", by="owner")
        (standing,) = standings(study.at(connection, START), vault=VAULT)
    assert (standing.ids.person, standing.due) == ("alice", "full")
    with study.read(store) as live:
        (after,) = people_states(live)
    left = any(page.state == "dropped" for page in pages_of(store, who))  # chance may have put only checks at the end
    assert after.outcome == ("stopped" if left else "completed")


def test_who_is_left_out_by_hand_in_the_middle_has_stopped_and_can_be_paid(store):
    study = opened(store)
    who = begun(store, study, "alice")
    answer(store, study, who)
    with study.write(store, START) as live:
        void(live, who, reason="a colleague", by="owner")
        (standing,) = standings(live, vault=VAULT)
        person = next(one for one in people_states(live) if one.id == who)

    assert (person.stage, person.outcome) == ("done", "stopped")
    assert (standing.ids.person, standing.due) == ("alice", "full")


@pytest.mark.parametrize(("ends", "outcome"), [("stopped", "left_early"), ("too_many_skips", "too_many_skips")])
def test_who_answered_no_item_left_early_unless_skipping_checks_ended_it(store, ends, outcome):
    study = opened(store)
    who = begun(store, study, "alice")
    with study.write(store, START) as live:
        finish_batch(live, who, outcome=ends)
        assert people_states(live)[0].outcome == outcome


def test_who_is_taken_in_again_counts_where_there_is_room_and_never_more(store):
    study = opened(store, design(ratings={"per_item": 1, "per_annotator": 3}, conditions=["no_context"]), queries=3)
    ann = finished(store, study, "ann")
    with study.write(store, START) as live:
        void(live, ann, reason="a mistake", by="owner")
    ben = begun(store, study, "ben")
    for _ in range(2):
        answer(store, study, ben)
    with study.write(store, START) as live:
        void(live, ben, reason="asked us to", by="owner")
        assert restore(live, ann, reason="it was one", by="owner") == 3
        assert restore(live, ann, reason="twice", by="owner") == 0
        assert restore(live, ben, reason="but too late", by="owner") == 0
    assert seen(store, study).exact
    with store.read() as connection:
        states = connection.scalars(select(tables.pages.c.state).where(tables.pages.c.annotator_id == ben)).all()
        events = connection.execute(
            select(tables.events.c.detail).where(tables.events.c.kind == "restored").order_by(tables.events.c.id)
        ).all()
    assert "surplus" in states

    assert events[0].detail == {"why": "it was one", "counted": 3, "surplus": 0}
