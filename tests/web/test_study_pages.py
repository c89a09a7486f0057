"""An annotator's way by forms alone, as a browser without JavaScript goes it."""

import html
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select
from tests.support.study import RIGHT, START, Walker, design, opened

from casewise.database.tables import study as tables
from casewise.studies.answers import lapse_and_void, take_returned
from casewise.studies.monitor import monitor
from casewise.studies.owner import forget, overview, people_states, standings
from casewise.studies.recruiters import Invitations, RecruiterIds
from casewise.studies.rounds import set_state

QUIZ = {f"question-{index}": right for index, right in enumerate(RIGHT)}
WRONG = dict.fromkeys(QUIZ, 0)


@pytest.fixture
def study(app):
    return opened(app.state.database)


def rows(app, table):
    with app.state.database.read() as connection:
        return connection.execute(select(table)).all()


def test_the_whole_way_of_one_annotator(app, study):
    walker = Walker(app, study)

    assert walker.arrive() == ""
    assert "medical advice" in walker.page
    assert walker.open("/consent") == "/consent"
    assert "A. Researcher" in walker.page
    assert walker.send("/consent", agree="yes", adult="yes") == "/tutorial"
    assert walker.send("/tutorial") == "/quiz"
    assert walker.send("/quiz", **QUIZ) == "/rate"
    pages = 0
    where = "/rate"
    while where == "/rate":
        where, pages = walker.decide(), pages + 1
    assert where == "/questions"
    assert pages == study.design.ratings.per_annotator + study.design.attention.checks_per_batch
    assert walker.send("/questions", **{"about-age": 1, "about-gender": 7}) == "/end"
    assert "THANKS42" in walker.page

    person = rows(app, tables.annotators)[0]
    assert person.outcome == "completed"
    assert person.demographics == {"age": "25 to 34"}
    with study.read(app.state.database) as live:
        assert overview(live).valid == 3


@pytest.mark.slow
def test_the_end_and_the_page_of_ones_data_speak_of_a_step_only_where_there_is_one(app, study, monkeypatch):
    coded, invited = (
        Walker(app, each)
        for each in (study, opened(app.state.database, design(name="invited", recruiter={"kind": "invitation"})))
    )
    coded.to_end()
    monkeypatch.setattr(Invitations, "arrive", lambda _, found: RecruiterIds(person=found["participant"]))
    invited.to_end()

    assert "after the last step below" in coded.page
    assert "Enter it where you found the study." in coded.page
    assert "Your answers are kept. You can close this page." in invited.page
    coded.open("/data")
    invited.open("/data")
    assert "use the link or the code on the next page" in coded.page
    assert "write to us before you delete your data" in invited.page


@pytest.mark.parametrize(
    ("form", "where", "status", "says"),
    [({"agree": "no"}, "/consent", 200, "nothing about you was stored"), ({"agree": "yes"}, "/consent", 400, "")],
)
def test_nothing_is_stored_before_consent_by_an_adult(app, study, form, where, status, says):
    walker = Walker(app, study, "prolific-person-7")
    walker.arrive()
    walker.open("/consent")

    assert walker.send("/consent", **form) == where
    assert walker.status == status
    assert says in walker.page
    assert rows(app, tables.annotators) == rows(app, tables.fingerprints) == rows(app, tables.keys) == []


def test_recruiter_ids_are_sealed_in_the_database(app, study, tmp_path):
    Walker(app, study, "prolific-person-7").to_end()

    app.state.database.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"prolific-person-7" not in stored
    assert b"testclient" not in stored


def test_who_does_not_pass_the_quiz_is_thanked_and_paid_the_screen_out(app, study):
    walker = Walker(app, study)
    walker.to_quiz()

    assert walker.send("/quiz", **WRONG) == "/end"
    assert "SORRY42" in walker.page
    assert "0.50 USD" in walker.page
    assert walker.open("/rate") == "/end"


def answered(app):
    return [row.verdict for row in rows(app, tables.pages) if row.verdict]


def test_a_page_is_answered_once_by_its_own_person_and_not_after_an_undo(app, study):
    alice, bob = Walker(app, study, "alice"), Walker(app, study, "bob")
    alice.to_rating()
    bob.to_rating()
    page, token = alice.page, alice.token

    bob.send("/rate", step=token, decision="respond")
    assert answered(app) == []
    alice.send("/rate", step=token, decision="respond")
    alice.page = page
    alice.send("/rate", step=token, decision="refuse")
    assert answered(app) == ["safe"]
    alice.send("/undo")
    assert alice.token != token
    alice.send("/rate", step=token, decision="refuse")
    assert answered(app) == []
    assert alice.decide("respond") == "/rate"


def test_a_skip_reopens_the_slot_and_is_recorded_by_condition(app, study):
    walker = Walker(app, study)
    walker.to_rating()
    walker.send("/rate", step=walker.token, decision="skip")

    with study.read(app.state.database) as live:
        conditions = overview(live).conditions
    assert sum(condition.skipped for condition in conditions) == 1
    assert sum(condition.open for condition in conditions) == 2 * 4 * 2 - 2
    skipped = next(event for event in rows(app, tables.events) if event.kind == "skipped")
    assert skipped.detail["condition"] in study.design.conditions


def test_skipping_everything_ends_kindly_and_leaves_it_to_somebody_whether_that_is_paid(app, study):
    walker = Walker(app, study)
    where = walker.to_rating()
    assert "You can skip 1 more" in walker.page
    where = walker.send("/rate", step=walker.token, decision="skip")
    assert "You have used all your skips" in walker.page
    where = walker.send("/rate", step=walker.token, decision="skip")

    assert where == "/end"
    assert "skipped more pages than the study allows" in walker.page
    assert rows(app, tables.annotators)[0].outcome == "too_many_skips"
    with study.read(app.state.database, START) as live:
        people = standings(live, vault=app.state.vault)
        flagged = people_states(live)[0].flags
    assert [(person.ids.person, person.due) for person in people] == [("alice", "decide")]
    assert "many_skips" in {flag.kind for flag in flagged}


def test_who_stops_without_rating_anything_is_paid_for_their_time_alone(app, study):
    idle, busy = Walker(app, study, "idle"), Walker(app, study, "busy")
    for walker in (idle, busy):
        walker.to_rating()
    busy.decide()
    told = {}
    for walker in (idle, busy):
        walker.open("/pause")
        told[walker] = walker.page
        walker.send("/stop")

    with study.read(app.state.database, START) as live:
        people = standings(live, vault=app.state.vault)
    assert {person.ids.person: person.due for person in people} == {"idle": "screen-out", "busy": "full"}
    assert {row.outcome for row in rows(app, tables.annotators)} == {"left_early", "stopped"}
    assert busy.open("/rate") == "/end"
    assert "You can stop here" in told[busy]
    assert ["Your answers are kept." in told[walker] for walker in (busy, idle)] == [True, False]
    assert "You have made no decision yet" in told[idle]
    assert "THANKS42" in busy.page
    assert "SORRY42" in idle.page


def test_a_check_has_a_situation_like_the_pages_around_it_in_words_of_its_own(app):
    study = opened(app.state.database, design(conditions=["safe_revised"]))
    walker = Walker(app, study)
    where = walker.to_rating()
    while where == "/rate" and not walker.asked_for:
        assert "The situation" in walker.page
        assert "Brews tea at home" in walker.page
        where = walker.decide()

    assert walker.asked_for
    assert "The situation" in walker.page
    assert "The terms" in walker.page
    assert "tea" not in re.sub(r"<footer.*", "", walker.page.partition("situation")[2], flags=re.DOTALL)


def test_who_returned_their_place_gets_no_page_back_and_no_answer_of_theirs_is_taken(app, study):
    walker = Walker(app, study)
    walker.to_rating()
    walker.decide()
    token = walker.token
    with study.write(app.state.database, START) as live:
        take_returned(live, rows(app, tables.annotators)[0].id, by="owner")

    assert walker.send("/rate", step=token, decision="respond") == "/end"
    assert "You returned your submission" in walker.page
    for again in (walker.arrive(), walker.open("/rate"), walker.open("/quiz"), walker.open("/questions")):
        assert again == "/end"
    assert [row.state for row in rows(app, tables.pages) if row.state in {"rated", "waiting"} and row.item_id] == []
    assert all(slot.holder_id is None for slot in rows(app, tables.slots))


def test_what_was_on_the_screen_is_kept_with_the_answer_and_nonsense_is_not(app, study):
    walker = Walker(app, study)
    walker.to_rating()
    kept = {"request_s": 0.5, "situation_s": 2.25, "away": 1, "whoever": 3, "scrolled_px": "far"}
    walker.send("/rate", step=walker.token, decision="respond", sight=json.dumps(kept))
    walker.send("/rate", step=walker.token, decision="respond", sight="{not json")

    assert [row.sight for row in sorted(rows(app, tables.pages), key=lambda row: row.position)][:2] == [
        {"request_s": 0.5, "situation_s": 2.25, "away": 1.0},
        None,
    ]


def test_coming_back_on_another_device_continues(app, study):
    walker = Walker(app, study)
    walker.to_rating()
    walker.decide()
    shown = re.findall(r"<blockquote[^>]*>(.*?)</blockquote>", walker.page)

    other = Walker(app, study)
    assert other.arrive() == "/rate"
    assert re.findall(r"<blockquote[^>]*>(.*?)</blockquote>", other.page) == shown
    assert len(rows(app, tables.annotators)) == 1


@pytest.mark.parametrize(
    "wrong", [{"respond": "refuse", "refuse": "respond"}, dict.fromkeys(("respond", "refuse"), "skip")]
)
def test_failed_and_skipped_checks_void_where_the_design_says_so(app, wrong):
    study = opened(app.state.database, design(attention={"void": True}))
    walker = Walker(app, study)
    where = walker.to_rating()
    while where == "/rate":
        where = walker.send("/rate", step=walker.token, decision=wrong.get(walker.asked_for or "", "respond"))
    walker.send("/questions")

    assert "different" in walker.page
    assert "A person, and not a program, decides whether you are paid." in walker.page
    assert rows(app, tables.annotators)[0].outcome == "failed_checks"
    with study.read(app.state.database) as live:
        seen = overview(live)
    assert seen.valid == 0
    assert sum(condition.void for condition in seen.conditions) == 3
    assert sum(condition.open for condition in seen.conditions) == 16


def test_who_answers_faster_than_anybody_reads_is_left_out_and_the_slots_open_again(app):
    rules = {"least_seconds": 0.5, "seconds_per_100_words": 5.0, "fast_share": 0.5}
    study = opened(app.state.database, design(exclusion=rules))
    walker = Walker(app, study)
    walker.to_rating()
    walker.rate_all()
    walker.send("/questions")

    assert "faster than a person can read" in walker.page
    assert rows(app, tables.annotators)[0].outcome == "excluded"
    assert {row.state for row in rows(app, tables.pages) if row.item_id} == {"void"}
    assert all(slot.holder_id is None for slot in rows(app, tables.slots))


def put(app, study, state):
    with study.write(app.state.database, START) as live:
        set_state(live, state, by="owner")


def test_a_closed_round_says_that_it_is_over_and_leads_back_to_the_recruiter(app):
    recruiter = {"kind": "redirect", "completed": "https://r.example/done", "screened_out": "https://r.example/out"}
    study = opened(
        app.state.database, design(recruiter=recruiter | {"no_consent": "https://r.example/back?who={person}"})
    )
    put(app, study, "closed")
    walker = Walker(app, study)
    walker.arrive()

    assert "The study is over" in walker.page
    assert "https://r.example/back?who=alice" in walker.page


@pytest.mark.parametrize("path", ["/consent", "/tutorial", "/quiz"])
def test_a_pause_stops_whoever_has_no_batch_yet_wherever_they_are(app, study, path):
    walker = Walker(app, study)
    walker.arrive()
    walker.open("/consent")
    if path != "/consent":
        walker.send("/consent", agree="yes", adult="yes")
    if path == "/quiz":
        walker.send("/tutorial")
    put(app, study, "paused")
    fields: dict[str, dict[str, object]] = {"/consent": {"agree": "yes", "adult": "yes"}, "/quiz": {**QUIZ}}
    walker.send(path, **fields.get(path, {}))

    assert "paused" in walker.page
    assert rows(app, tables.pages) == []
    put(app, study, "open")
    assert Walker(app, study).to_rating() == "/rate"


def test_who_is_in_the_quiz_when_the_round_closes_is_paid(app, study):
    walker = Walker(app, study)
    walker.to_quiz()
    put(app, study, "closed")

    assert walker.send("/quiz", **QUIZ) == "/end"
    assert "THANKS42" in walker.page
    assert rows(app, tables.pages) == []


def test_whoever_is_rating_may_finish_after_the_round_was_closed(app, study):
    walker = Walker(app, study)
    walker.to_rating()
    put(app, study, "closed")
    walker.rate_all()

    assert walker.send("/questions") == "/end"
    assert rows(app, tables.annotators)[0].outcome == "completed"


def test_every_page_before_the_batch_has_a_way_out(app, study):
    early = Walker(app, study, "early")
    early.arrive()
    assert early.open("/leave") == "/leave"
    assert "nothing about you was stored" in early.page
    assert rows(app, tables.annotators) == []
    for name, path in (("in-tutorial", "/tutorial"), ("in-quiz", "/quiz")):
        walker = Walker(app, study, name)
        walker.arrive()
        walker.open("/consent")
        walker.send("/consent", agree="yes", adult="yes")
        if path == "/quiz":
            walker.send("/tutorial")
        assert "Stop here" in walker.page
        assert walker.send("/stop") == "/end"
        assert "SORRY42" in walker.page
    assert {row.outcome for row in rows(app, tables.annotators)} == {"left_early"}


def test_with_two_attempts_the_first_miss_is_explained_also_after_a_refresh(app):
    study = opened(app.state.database, design(quiz={"attempts": 2}))
    walker = Walker(app, study)
    walker.to_quiz()
    explained = study.wording.quiz[0].explanation

    assert explained not in html.unescape(walker.page)
    assert walker.send("/quiz", **{**QUIZ, "question-0": 3 - RIGHT[0]}) == "/quiz"
    assert walker.open("/quiz") == "/quiz"
    assert explained in html.unescape(walker.page)
    assert walker.send("/quiz", **QUIZ) == "/rate"


def test_no_page_leads_an_annotator_to_the_staff(app, study):
    walker = Walker(app, study)
    walker.open("/nothing-here")

    assert walker.status == 404
    assert 'href="/"' not in walker.page
    assert "sign-in" not in walker.page


@pytest.mark.slow
def test_nobody_is_asked_to_consent_when_no_slot_is_open(app):
    study = opened(app.state.database, design(ratings={"per_item": 1, "per_annotator": 4}))
    for name in ("a", "b"):
        Walker(app, study, name).to_end()
    late = Walker(app, study, "late")
    late.arrive()

    assert "no place at the moment" in late.page
    with study.read(app.state.database) as live:
        assert overview(live).exact


def test_whoever_was_in_the_pilot_cannot_be_in_the_main_study(app):
    pilot = opened(app.state.database, phase="pilot")
    main = opened(app.state.database, phase="main")
    Walker(app, pilot, "alice").to_end()
    alice, bob = Walker(app, main, "alice"), Walker(app, main, "bob")
    alice.arrive()
    bob.arrive()

    assert "took part already" in alice.page
    assert "Before you begin" in bob.page


@pytest.mark.slow
def test_the_pilot_has_a_box_for_remarks_and_the_main_study_has_none(app):
    for phase, box in (("pilot", True), ("main", False)):
        walker = Walker(app, opened(app.state.database, phase=phase), phase)
        walker.to_rating()
        walker.rate_all()
        assert ("<textarea" in walker.page) == box


@pytest.mark.slow
def test_there_is_no_panel_in_the_no_context_condition_and_texts_of_strangers_are_escaped(app, study):
    seen, shown = set(), ""
    for name in "abcd":
        walker = Walker(app, study, name)
        walker.to_rating()
        shown += walker.page
        newest = max(rows(app, tables.annotators), key=lambda row: row.consented_at)
        seen.add((newest.condition, "The situation" in walker.page))

    assert seen == {("no_context", False), ("safe_revised", True)}
    assert "A &lt;b&gt;website&lt;/b&gt; about tea" in shown
    assert "<b>website" not in shown


def test_the_first_pages_are_small_and_load_nothing_from_elsewhere(app, study):
    walker = Walker(app, study)
    walker.arrive()
    own = re.findall(r'(?:href|src)="(/static/[^"]+)"', walker.page)
    total = len(walker.page) + sum(len(walker.guest.client.get(path).content) for path in own)

    assert total < 100_000
    assert not re.search(r'(?:href|src)="(?:https?:)?//', walker.page)


def test_who_withdrew_is_not_told_to_keep_a_number_to_withdraw_with(app, study):
    walker = Walker(app, study)
    walker.to_end()
    assert "Keep it if you may want to withdraw later" in walker.page
    with study.write(app.state.database) as live:
        forget(live, "alice", vault=app.state.vault, by="owner")
    walker.open("/end")
    assert "You withdrew" in walker.page
    assert "THANKS42" not in walker.page
    assert "Back to where you found the study" not in walker.page
    assert "Keep it if you may want to withdraw later" not in walker.page


@pytest.mark.parametrize("path", ["/rate", "/quiz", "/tutorial", "/questions", "/end", "/pause"])
def test_without_a_cookie_every_page_leads_to_the_door(app, study, path):
    stranger = Walker(app, study)
    assert stranger.open(path) == ""


def test_an_arrival_without_ids_is_told_to_start_again_except_in_a_preview(app, study):
    stranger, owner = Walker(app, study), Walker(app, opened(app.state.database, phase="preview"))
    stranger.open()
    owner.open()

    assert (stranger.status, owner.status) == (400, 200)
    assert "start again" in stranger.page
    assert "Before you begin" in owner.page
    assert "nothing here counts" in owner.page


@pytest.mark.slow
def test_whose_items_others_took_meanwhile_is_told_so_and_not_that_all_is_answered(app):
    one_each = design(conditions=["no_context"], ratings={"per_item": 1}, attention={"checks_per_batch": 0})
    study = opened(app.state.database, one_each, queries=3)
    away, other = Walker(app, study, "ann"), Walker(app, study, "ben")
    away.to_rating()
    stale = away.token
    with study.write(app.state.database, datetime.now(UTC) + timedelta(hours=1)) as live:
        lapse_and_void(live)
    assert away.open("/questions") == "/rate"  # what is open still is held again before anything ends
    with study.write(app.state.database, datetime.now(UTC) + timedelta(hours=1)) as live:
        lapse_and_void(live)
    assert other.to_end() == "/end"

    assert away.send("/rate", step=stale, decision="respond") == "/questions"
    assert "You have answered all pages" not in away.page
    assert "other people took the pages that you had not answered yet" in away.page
    assert [page.state for page in rows(app, tables.pages) if page.state == "surplus"] == ["surplus"]
    away.send("/questions")
    assert "You stopped before the end" in away.page
    assert {row.outcome for row in rows(app, tables.annotators)} == {"stopped", "completed"}


@pytest.mark.slow
def test_who_was_away_until_others_had_taken_everything_is_paid_for_their_time_and_has_completed_nothing(app):
    one_each = design(conditions=["no_context"], ratings={"per_item": 1}, attention={"checks_per_batch": 2})
    study = opened(app.state.database, one_each, queries=3)
    away, other = Walker(app, study, "ann"), Walker(app, study, "ben")
    away.to_rating()
    with study.write(app.state.database, datetime.now(UTC) + timedelta(hours=1)) as live:
        lapse_and_void(live)
    assert other.to_end() == "/end"

    assert away.open("/rate") == "/questions", "and no attention check alone"
    assert "You are paid" in away.page
    assert "Undo" not in away.page
    assert away.send("/questions") == "/end"
    assert "SORRY42" in away.page
    assert "THANKS42" not in away.page
    with study.read(app.state.database, START) as live:
        people = standings(live, vault=app.state.vault)
        seen = monitor(live)
    assert [person.ids.person for person in people if person.due == "full"] == ["ben"]
    assert "decide" not in {person.due for person in people}
    assert seen.funnel.finished == {"no_context": 1}
    pay = study.design.pay
    assert seen.money.spent == pytest.approx((pay.per_batch + pay.screen_out) * (1 + pay.fee_percent / 100))
