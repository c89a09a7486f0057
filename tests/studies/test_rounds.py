"""Rounds: what is on record of them, who is let in, the plan that they follow, and what a page's script measures."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select
from tests.support.benchmarks import context_of
from tests.support.databases import new_database
from tests.support.study import LATER, START, VAULT, begun, design, material, opened, tea

from casewise.database.tables import study as tables
from casewise.errors import ConfigurationError, StudyError
from casewise.records import Item, Query
from casewise.storage import About, Benchmark, write_benchmark
from casewise.studies.design import NO_CONTACT
from casewise.studies.freeze import Material
from casewise.studies.people import admit
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import (
    SIGHT,
    all_rounds,
    amendments,
    closed_conditions,
    find_round,
    freeze_plan,
    init_study,
    last_object_at_recruiter,
    load_round,
    note_at_recruiter,
    objects_at_recruiter,
    open_plan,
    open_round,
    pilot_of,
    ratings_by,
    read_events,
    read_plan,
    read_sight,
    refuse_second_object,
    rehearsal_of,
    round_state,
    seconds_to_wait,
    set_condition,
    set_state,
    shown_items,
)


@pytest.fixture
def lite(tmp_path):
    with new_database(tmp_path / "casewise.db") as database:
        yield database


@pytest.fixture
def live(lite):
    """A round in a transaction."""
    with opened(lite).write(lite, START) as bound:
        yield bound


# What is on record.


def test_objects_at_the_recruiter_are_those_made_or_begun_and_not_refused(live):
    assert last_object_at_recruiter(live, "study") is None
    for kind, state, name in (
        ("study", "begun", ""),
        ("study", "made", "s1"),
        ("group", "begun", ""),
        ("study", "begun", ""),
        ("study", "refused", ""),
    ):
        note_at_recruiter(live, kind, state, name)

    assert (objects_at_recruiter(live, "study"), objects_at_recruiter(live, "group")) == (["s1"], [""])
    assert (last_object_at_recruiter(live, "study"), last_object_at_recruiter(live, "group")) == ("s1", "")
    assert {event.by for event in live.events("at recruiter")} == {"owner"}


def test_a_second_object_is_made_only_when_that_is_wanted(live):
    refuse_second_object(live, "study", again=False)
    note_at_recruiter(live, "study", "begun")
    with pytest.raises(
        StudyError,
        match="a study was started for this round, but the recruiter did not confirm it: check there, and add --again if it does not exist",
    ):
        refuse_second_object(live, "study", again=False)
    note_at_recruiter(live, "study", "made", "s1")
    with pytest.raises(
        StudyError, match="this round already has the study s1 at the recruiter; to make another, add --again"
    ):
        refuse_second_object(live, "study", again=False)
    refuse_second_object(live, "study", again=True)


def test_an_amended_round_waits_until_every_server_has_read_the_last_amendment(live):
    assert (amendments(live), seconds_to_wait(live)) == ([], 0)
    for minutes in (5, 0):
        replace(live, now=START + timedelta(minutes=minutes)).note("amended", detail={"why": str(minutes)})

    assert [(at, detail["why"]) for at, detail in amendments(live)] == [
        (START + timedelta(minutes=5), "5"),
        (START, "0"),
    ]
    waits = [seconds_to_wait(replace(live, now=START + timedelta(minutes=5, seconds=s))) for s in (0, 64, 65, 66)]
    assert waits == [65, 1, 0, 0]


def test_events_are_read_in_order_with_seconds_since_the_persons_first_and_without_names_of_staff(lite):
    study = opened(lite)
    ann = begun(lite, study, "ann")
    with study.write(lite, START + timedelta(seconds=90.6)) as live:
        live.note("paused", by="0123abcd")
        live.note("lapsed", annotator_id=ann, detail={"reopened": 3})
        live.note("skipped", by="annotator", annotator_id=ann)
        events = read_events(live)

    assert [event["order"] for event in events] == list(range(1, 8))
    assert events[0] == {
        "order": 1,
        "after_s": None,
        "by": "system",
        "kind": "opened",
        "annotator_id": None,
        "detail": {"phase": "main", "items": 8},
    }
    assert [(event["kind"], event["by"], event["after_s"]) for event in events[1:]] == [
        ("consented", "annotator", 0),
        ("quiz", "annotator", 0),
        ("assigned", "system", 0),
        ("paused", "owner", None),
        ("lapsed", "system", 91),
        ("skipped", "annotator", 91),
    ]
    assert events[5]["detail"] == {"reopened": 3}


def test_rows_are_counted_in_the_round_alone_by_one_column_or_several(lite):
    study, pilot = opened(lite), opened(lite, phase="pilot")
    begun(lite, study, "ann")
    with study.read(lite) as live:
        slots, pages = tables.slots.c, tables.pages.c
        assert live.counts(slots.condition) == {"no_context": 8, "safe_revised": 8}
        assert live.counts(slots.condition, slots.number)["no_context", 2] == 4
        assert live.counts(pages.kind, where=[pages.state == "waiting"]) == {"item": 3, "check": 1}
        assert [live.count(pages.kind == "item", pages.state == state) for state in ("waiting", "rated")] == [3, 0]
    with pilot.read(lite) as live:
        assert live.counts(pages.kind) == {}
        assert [event.kind for event in live.events()] == ["opened"]


def test_a_round_that_is_bound_without_a_time_is_bound_to_now(lite):
    study, before = opened(lite), datetime.now(UTC)
    with study.read(lite) as live:
        assert before <= live.now <= datetime.now(UTC)
        assert live.round is study
        assert (live.id, live.design, study.at(live.connection, START).now) == (study.id, study.design, START)


# Opening, finding, pausing.


def test_an_opened_round_has_its_items_its_slots_and_its_categories(lite):
    study = opened(lite)
    with study.read(lite) as live:
        items = shown_items(live)
        numbers = live.scalars(select(tables.slots.c.number).where(tables.slots.c.item_id == "i_no_context_0")).all()

    assert sorted(items, key=str) == sorted(material(study.design).items, key=str)
    assert [item.item_id for item in items] == sorted(item.item_id for item in items)
    assert sorted(numbers) == [1, 2]
    assert study.categories[0] == ("medical advice", "Somebody may be treated wrongly.")
    assert (study.frozen, study.created_at, len(study.id), study.translator.language) == (None, START, 20, "en")
    assert study.benchmark == {"name": "bench", "version": "1", "digest": "0" * 32}


def test_a_round_is_opened_once_and_not_without_items(lite):
    study = opened(lite)
    with lite.write() as connection:
        shown, texts = material(study.design), study.wording
        with pytest.raises(
            StudyError,
            match=r"the main round of tea 1 already exists; set a new `version` in study.toml for another one",
        ):
            open_round(connection, study.design, phase="main", wording=texts, material=shown, now=START)
        with pytest.raises(StudyError, match="there is nothing to rate"):
            open_round(connection, study.design, phase="pilot", wording=texts, material=Material((), ()), now=START)
        second = study.design.model_copy(update={"version": "2"})
        newer = open_round(connection, second, phase="main", wording=texts, material=shown, now=START + LATER).id
        opened_pilot = open_round(
            connection, second, phase="pilot", wording=texts, material=shown, now=START - LATER
        ).id

        assert [row.id for row in all_rounds(connection)] == [newer, study.id, opened_pilot]
        found = [find_round(connection, "tea", version=version, phase="main") for version in (None, "1", "2", "3")]
        assert [one and one.id for one in found] == [newer, study.id, newer, None]
        assert find_round(connection, "coffee", phase="main") is load_round(connection, "nothing") is None


def test_a_round_is_open_until_its_owner_says_otherwise(live):
    assert round_state(live) == "open"
    for state in ("paused", "closed"):
        set_state(live, state, by="olga")
        assert round_state(live) == state
    assert [(event.kind, event.by) for event in live.events("paused", "closed", "open")] == [
        ("paused", "olga"),
        ("closed", "olga"),
    ]


def test_one_condition_is_closed_and_opened_again_once_each(live):
    for closed in (False, True, True, False, True):
        set_condition(live, "no_context", closed=closed, by="olga")
        assert closed_conditions(live) == ({"no_context"} if closed else set())

    changes = live.events("condition closed", "condition opened")
    assert [(event.kind, event.by, event.detail) for event in changes] == [
        (f"condition {word}", "olga", {"condition": "no_context"}) for word in ("closed", "opened", "closed")
    ]
    with pytest.raises(StudyError, match="the condition"):
        set_condition(live, "nowhere", closed=True, by="olga")


def test_events_of_people_close_no_condition(live):
    who = admit(live, RecruiterIds("ann"), vault=VAULT)
    assert who is not None
    live.note("condition closed", annotator_id=who.id, detail={"condition": "no_context"})

    assert closed_conditions(live) == set()


# Plans.


@pytest.fixture
def path(tmp_path):
    return tea(tmp_path / "study.toml")


def test_a_plan_says_what_it_is_and_freezes_once(path):
    plan = read_plan(path)
    assert repr(plan) == "<StudyPlan tea 1: 132 items>"
    assert (plan.problem, plan.departures) == (None, ())
    file = freeze_plan(plan, at=START)
    frozen = read_plan(path)

    assert file == path.with_suffix(".frozen.json")
    assert json.loads(file.read_text())["digest"] == frozen.frozen.digest  # type: ignore[union-attr]
    assert file.read_text().endswith("}\n")
    assert repr(frozen) == "<StudyPlan tea 1: 132 items, frozen>"
    assert frozen.departures == ()
    with pytest.raises(
        StudyError,
        match=r"exists: the study is already frozen. If you change study.toml, reports list the change as a departure",
    ):
        freeze_plan(plan, at=START)


def test_a_study_with_placeholders_or_low_pay_cannot_be_frozen_or_opened(path, lite):
    plan = read_plan(path)
    blank = replace(plan, design=plan.design.model_copy(update={"contact": NO_CONTACT}))
    poor = replace(
        plan, design=plan.design.model_copy(update={"pay": plan.design.pay.model_copy(update={"per_batch": 0.5})})
    )

    assert blank.problem == (
        f"{path}: [contact] still has 'Your name' and 'Your institution' and 'you@example.org'; fill them in: "
        "annotators write to this person"
    )
    for wrong, says in ((blank, r"\[contact\] still has"), (poor, "below pay.hourly_floor")):
        with pytest.raises(StudyError, match=says):
            freeze_plan(wrong, at=START)
        with pytest.raises(StudyError, match=says), lite.write() as connection:
            open_plan(connection, wrong, phase="pilot", now=START)
        with lite.write() as connection:
            assert open_plan(connection, replace(wrong, frozen=None), phase="preview", now=START)
            connection.rollback()


def test_the_main_round_is_opened_of_a_frozen_plan_alone(path, lite):
    with (
        pytest.raises(StudyError, match="is not frozen; freeze it first: casewise study check --freeze"),
        lite.write() as c,
    ):
        open_plan(c, read_plan(path), phase="main", now=START)
    freeze_plan(read_plan(path), at=START)
    with lite.write() as connection:
        study = open_plan(connection, read_plan(path), phase="main", now=START)
        assert load_round(connection, study.id) == study

    assert study.frozen is not None
    assert study.frozen["digest"] == read_plan(path).frozen.digest  # type: ignore[union-attr]


def test_a_pilot_is_a_few_queries_in_every_condition_and_a_rehearsal_the_whole_in_haste(path):
    freeze_plan(read_plan(path), at=START)
    plan = read_plan(path)
    pilot, rehearsal = pilot_of(plan, queries=3, per_item=2), rehearsal_of(plan, lease_s=90, stamp="now")

    assert (len(pilot.material.items), pilot.design.ratings.per_item, pilot.frozen) == (9, 2, None)
    assert pilot.design.ratings.per_annotator == plan.design.ratings.per_annotator
    assert pilot_of(plan, queries=3, per_item=2).material == pilot.material, "the same queries each time"
    design = rehearsal.design
    assert (design.ratings.lease_minutes, design.version, rehearsal.frozen) == (1.5, "1 now", None)
    assert (design.exclusion.least_seconds, design.exclusion.seconds_per_100_words) == (0.0, 0.0)
    assert rehearsal.material == plan.material


@pytest.mark.parametrize(("people", "per_item"), [(2, 1), (3, 2), (4, 3), (9, 5)])
def test_so_many_people_rate_each_item_as_often_as_they_can(people, per_item):
    """Four items in batches of four: one who passes rates each once, and all but one in four pass."""
    plan = design(
        conditions=["no_context"], ratings={"per_item": 5, "per_annotator": 4}, quiz={"expected_pass_rate": 0.75}
    )

    assert ratings_by(people, plan, material(plan)) == per_item


def test_too_few_people_to_rate_each_item_once_are_told_how_far_they_get():
    plan = design(
        conditions=["no_context"], ratings={"per_item": 5, "per_annotator": 3}, quiz={"expected_pass_rate": 0.7}
    )
    with pytest.raises(
        StudyError,
        match=r"about 1 of 2 people pass the quiz \(quiz.expected_pass_rate\). At 3 items each they give 3 ratings, and the study has 4 items; take",
    ):
        ratings_by(2, plan, material(plan))


# Writing a study.


def small(folder, judged="request", *, contexts=True):
    """Two queries of a benchmark, each with a context that is meant as safe, and without one."""
    queries = tuple(Query(text=f"Question {n}?", category="terrorism", judged=judged) for n in (1, 2))
    safe = tuple(context_of(query, intended_safe=True) for query in queries) if contexts else ()
    items = (*map(Item.from_context, safe), *(Item(query_id=query.id, condition="no_context") for query in queries))
    write_benchmark(Benchmark(About(name="Small Set!"), queries, safe, items), folder)
    return folder


def test_a_study_is_written_for_the_conditions_of_its_benchmark_in_the_papers_order(tmp_path):
    source = small(tmp_path / "small")
    found = init_study(str(source), path=tmp_path / "study.toml", today=START.date())

    assert (found.name, found.conditions, found.rates) == ("small-set", ("no_context", "safe_generated"), "requests")
    assert (found.benchmark, found.privacy.withdraw_until.isoformat()) == (str(source), "2027-02-18")
    assert init_study("demo", path=tmp_path / "other.toml", name="mine").benchmark == "demo"
    with pytest.raises(ConfigurationError, match=r"study\.toml exists; choose another place with --to"):
        init_study(str(source), path=tmp_path / "study.toml")


def test_a_study_takes_the_ratings_that_so_many_people_can_give(tmp_path):
    assert init_study("demo", path=tmp_path / "all.toml").ratings.per_item == 21
    assert init_study("demo", path=tmp_path / "few.toml", people=30).ratings.per_item == 3


@pytest.mark.parametrize(
    ("judged", "rates", "chosen"),
    [
        ("action", "requests", "actions"),
        ("reply", "requests", "given_replies"),
        ("action", "actions_or_ask", "actions_or_ask"),
    ],
)
def test_a_study_asks_about_what_its_benchmark_holds(tmp_path, judged, rates, chosen):
    source = small(tmp_path / "small", judged, contexts=False)

    assert init_study(str(source), path=tmp_path / "study.toml", rates=rates).rates == chosen


def test_a_study_that_its_benchmark_cannot_have_is_refused(tmp_path):
    source, path = str(small(tmp_path / "small")), tmp_path / "study.toml"
    with pytest.raises(StudyError, match="does not hold only actions, so people cannot ask an agent to ask first"):
        init_study(source, path=path, rates="actions_or_ask")
    with pytest.raises(StudyError, match="has no items in unsafe_generated; generate contexts for its queries"):
        init_study(source, path=path, preset="paper-rest")
    with pytest.raises(StudyError, match="--preset"):
        init_study(source, path=path, preset="mturk")
    assert not path.exists()


# What a page's script measures.


def test_what_is_known_and_a_number_is_kept():
    everything = dict.fromkeys(SIGHT, 2.5)

    assert read_sight(json.dumps({**everything, "something else": 1})) == everything
    assert read_sight('{"away": 0, "scrolled_px": 9999999}') == {"away": 0.0, "scrolled_px": 9_999_999.0}
    assert read_sight('{"away": 1}'.ljust(1000)) == {"away": 1.0}


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "{",
        "[]",
        "7",
        "{}",
        '{"away": -1}',
        '{"away": true, "away_s": "x"}',
        '{"away": NaN}',
        '{"away": 10000000}',
        '{"away": 1}'.ljust(1001),
    ],
)
def test_what_cannot_be_is_nothing(sent):
    assert read_sight(sent) is None
