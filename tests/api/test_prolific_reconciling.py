"""Prolific's submissions against our people, in every state that either can be in; done after a yes."""

from collections import Counter

import pytest
from sqlalchemy import select
from tests.support.command import invoke
from tests.support.prolific import comes
from tests.support.study import opened

from casewise import database
from casewise.api import StudyAtProlific
from casewise.api.prolific import NewProlificStudy
from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.studies.monitor import monitor
from casewise.studies.owner import overview
from casewise.studies.prolific import SETTLED

HERE = (
    "tutorial",
    "reading away",
    "rating",
    "rating away",
    "completed",
    "stopped",
    "rated nothing",
    "no_room",
    "too_many_skips",
    "failed_checks",
    "excluded",
    "screened_out",
    "left_early",
    "returned",
)
THERE = ("RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "TIMED-OUT", "RETURNED", "SCREENED OUT", "REJECTED")
PAID = {"completed", "stopped", "no_room"}


def expected(here, there):
    """What is to be done, by the rules that the documentation states."""
    if here == "returned" or there in {"RESERVED", "ACTIVE"}:
        return None
    if there == "RETURNED":
        return None if here in {"screened_out", "left_early"} else "leave out"
    if here.endswith("away"):
        return "end"
    if there in {"AWAITING REVIEW", "TIMED-OUT"}:
        if here in PAID:
            return "approve"
        if here in {"screened_out", "left_early"}:
            return "pay"
    if there == "AWAITING REVIEW" and here in {"rated nothing", "too_many_skips"}:
        return "decide"
    return None


@pytest.fixture
def crowd(place, recruited, prolific):
    """One person in each state here, for each state there; what is to be done about each by the submission."""
    actions = {}
    with database.open(str(place["database"])) as store, store.write() as connection:
        for here in HERE:
            for there in THERE:
                name = f"{here}-{there}".replace(" ", "_").lower()
                comes(connection, recruited, name, here)
                submission = {"participant_id": f"p-{name}", "status": there, "study_code": "GOOD"}
                prolific.submissions[f"s-{name}"] = submission
                actions[f"s-{name}"] = expected(here, there)
    return actions


def reconciled(place, *words):
    """Run `casewise prolific reconcile` on the study at `place`."""
    return invoke("prolific", "reconcile", place["file"], "--database", place["database"], *words)


@pytest.mark.slow
def test_every_state_is_listed_with_what_to_do_and_done_once(prolific, place, recruited, crowd):
    lines = StudyAtProlific(**place).reconcile()
    assert {line.submission.id: line.action for line in lines if line.submission} == crowd
    settled = {line.submission.id for line in lines if line.submission and line.advice == SETTLED}
    assert "s-completed-approved" in settled
    assert "s-screened_out-screened_out" in settled
    assert "s-completed-rejected" not in settled
    assert "s-too_many_skips-awaiting_review" not in settled

    assert reconciled(place, "--no").code == 0
    assert (prolific.paid, prolific.returns, prolific.approved) == ([], {}, [])

    done = reconciled(place, "--yes")
    assert (done.code, "refused" in done.out.splitlines()[-1]) == (0, False)
    # Whoever rated a part and left is ended, and then paid; whoever left while reading is paid a screen-out.
    due = [name for name, action in crowd.items() if action == "approve"]
    ended = [f"s-rating_away-{there}" for there in ("awaiting_review", "timed-out")]
    assert sorted(prolific.approved) == sorted([*due, *ended])
    screened = [
        f"{here}-{there}"
        for here in ("screened_out", "left_early", "reading_away")
        for there in ("awaiting_review", "timed-out")
    ]
    assert sorted(prolific.bonuses.values()) == sorted(f"s-{name},0.50" for name in screened)
    assert len(prolific.paid) == len(screened)

    once = (list(prolific.approved), list(prolific.paid))
    reconciled(place, "--yes")
    assert (prolific.approved, prolific.paid) == once
    assert sorted(prolific.returns) == [f"s-{name}" for name in sorted(screened) if name.endswith("review")]
    assert not [
        line for line in StudyAtProlific(**place).reconcile() if line.action not in (None, "decide", "ask return")
    ]

    with database.open(str(place["database"])) as store, recruited.read(store) as live:
        stages = overview(live).stages
        left_out = live.scalars(select(tables.events.c.kind).where(tables.events.c.kind == "returned")).all()
    assert stages["returned"] == len(left_out) + len(THERE)
    assert len(left_out) == 11


@pytest.mark.slow
def test_what_timed_out_and_cannot_be_approved_is_paid_a_bonus_instead(prolific, place, recruited):
    prolific.refuses_late = True
    with database.open(str(place["database"])) as store, store.write() as connection:
        comes(connection, recruited, "late", "completed")
        comes(connection, recruited, "good", "completed")
    for name, status in (("late", "TIMED-OUT"), ("good", "AWAITING REVIEW")):
        prolific.submissions[f"s-{name}"] = {"participant_id": f"p-{name}", "status": status, "study_code": "NOCODE"}
    lines = {line.submission.id: line for line in StudyAtProlific(**place).reconcile() if line.submission}
    assert "without the right code" in lines["s-good"].advice
    assert (reconciled(place, "--yes").code, prolific.approved, prolific.bonuses) == (
        0,
        ["s-good"],
        {"bonus-0": "s-late,4.00"},
    )
    assert Counter(line.advice for line in StudyAtProlific(**place).reconcile()) == {SETTLED: 2}
    with database.open(str(place["database"])) as store, recruited.read(store) as live:
        spent = monitor(live).money.spent
    assert spent == pytest.approx(2 * 4.0 * 1.3), "a bonus instead of an approval is counted once"


def test_one_that_is_not_confirmed_stops_no_other(prolific, place, recruited):
    with database.open(str(place["database"])) as store, store.write() as connection:
        for name in ("one", "two"):
            comes(connection, recruited, name, "completed")
            prolific.submissions[f"s-{name}"] = {"participant_id": f"p-{name}", "status": "AWAITING REVIEW"}
    prolific.breaks = "POST /submissions/s-one"
    done = reconciled(place, "--yes")
    assert (done.code, sorted(prolific.approved)) == (1, ["s-one", "s-two"]), "only the answer to the first was lost"
    assert "s-one: approve was not confirmed: " in done.err


@pytest.mark.parametrize(
    ("words", "approved"), [(("--yes",), []), (("--no",), []), (("--no", "--doubtful"), ["s-skips"])]
)
def test_who_skipped_too_much_is_paid_only_where_somebody_says_so(prolific, place, recruited, words, approved):
    with database.open(str(place["database"])) as store, store.write() as connection:
        comes(connection, recruited, "skips", "too_many_skips")
    prolific.submissions["s-skips"] = {"participant_id": "p-skips", "status": "AWAITING REVIEW"}
    assert reconciled(place, *words).code == 0
    assert prolific.approved == approved


def test_theirs_without_ours_and_ours_without_theirs(prolific, place, recruited):
    with database.open(str(place["database"])) as store, store.write() as connection:
        comes(connection, recruited, "made-up", "completed")
        twice = comes(connection, recruited, "twice", "completed")
    for name, person, status in (
        ("never", "x", "AWAITING REVIEW"),
        ("lost", "l", "AWAITING REVIEW"),
        ("reading", "y", "ACTIVE"),
        ("odd", "z", "APPROVED"),
        ("s-twice", "p-twice", "TIMED-OUT"),
        ("second", "P-twice", "AWAITING REVIEW"),
    ):
        prolific.submissions[name] = {
            "participant_id": person,
            "status": status,
            "study_code": "GOOD" if name == "lost" else "",
        }

    def lines():
        found = StudyAtProlific(**place).reconcile()
        return {line.submission.id if line.submission else "none": (line.action, line.advice) for line in found}

    listed = lines()
    assert listed["never"][0] == "ask return"
    assert listed["lost"] == (
        None,
        "has the right code but is unknown to this study (backup restored, or code passed on): decide at Prolific",
    )
    assert listed["reading"][1].startswith("has not consented yet")
    assert "unknown to this study" in listed["odd"][1]
    assert listed["second"][0] == "approve", "the livelier of somebody's two submissions is the one that is paid"
    assert listed["s-twice"] == (None, f"another submission of {twice}, who is paid through second")
    assert "was invented" in listed["none"][1]

    with database.open(str(place["database"])) as store, recruited.write(store) as live:
        live.set_annotator(twice, sealed=None)
    assert lines()["never"] == (None, "is unknown to this study, or was forgotten: decide at Prolific")


def test_a_list_that_breaks_off_is_not_taken_for_all(prolific, place, recruited):
    prolific.submissions["one"] = {"participant_id": "x", "status": "ACTIVE"}
    prolific.breaks = "GET /submissions"
    with pytest.raises(StudyError, match="502"):
        StudyAtProlific(**place).reconcile()
    prolific.breaks = ""
    prolific.loses = 1
    with pytest.raises(StudyError, match="did not list all"):
        StudyAtProlific(**place).reconcile()


@pytest.mark.slow
def test_the_study_is_put_in_a_project_of_the_workspace(prolific, place, recruited):
    prolific.projects = {"w1": {"a": "Tea"}, "w2": {"b": "One", "c": "Two", "d": "Three"}}
    recruiting = StudyAtProlific(**place, site_url="https://study.uni.edu")
    recruiting.create(NewProlificStudy(workspace="w1", again=True))
    recruiting.create(NewProlificStudy(workspace="w2", project="d", again=True))
    recruiting.create(NewProlificStudy(project="e", again=True))
    recruiting.create(NewProlificStudy(again=True))
    assert [made.get("project") for made in prolific.created] == ["a", "d", "e", None]
    for wrong in (None, "a"):
        with pytest.raises(StudyError, match=r"--project: b \(One\), c \(Two\), d \(Three\)"):
            recruiting.create(NewProlificStudy(workspace="w2", project=wrong, again=True))
    assert StudyAtProlific(**place).publish() == "study-4"
    assert prolific.paused == ["study-4 PUBLISH"]


def test_without_a_study_on_record_its_id_is_asked_for(prolific, place):
    with database.open(str(place["database"])) as store:
        opened(store)
    with pytest.raises(StudyError, match="no study at Prolific is recorded for the main round"):
        StudyAtProlific(**place).publish()
    assert StudyAtProlific(**place, prolific_study="mine").publish() == "mine"


def lost_answers(place, recruited, prolific, *, done):
    """Five people whose screen-out was begun as a bonus: Prolific's answer was lost after it had paid, or before."""
    with database.open(str(place["database"])) as store, store.write() as connection:
        for name in "abcde":
            comes(connection, recruited, name, "screened_out")
            prolific.submissions[f"s-{name}"] = {"participant_id": f"p-{name}", "status": "AWAITING REVIEW"}
    if done:
        prolific.breaks = "POST /bulk"
    else:
        prolific.fails = "POST /bulk"
    first = reconciled(place, "--yes")
    prolific.breaks = prolific.fails = ""
    return first


@pytest.mark.slow
@pytest.mark.parametrize("done", [True, False])
def test_money_whose_answer_was_lost_is_in_doubt_until_somebody_looks(prolific, place, recruited, done):
    first = lost_answers(place, recruited, prolific, done=done)
    assert (first.code, "not confirmed: 5" in first.out, "refused" in first.out) == (1, True, False)
    assert "5 payments are in doubt (2.50 USD)" in first.err
    second = reconciled(place, "--yes")
    assert second.code == 1
    assert "0 settled, 5 not" in second.out
    assert "5 payments are in doubt (2.50 USD)" in second.err
    assert len(prolific.bonuses) == 5, "nothing is paid twice"

    for name in "abcde":
        prolific.submissions[f"s-{name}"]["bonus_payments"] = [50.0] if done else None
    third = reconciled(place, "--no")
    assert ("are in doubt" in third.err) == (not done), (
        "what Prolific shows was paid; what it does not show may still come"
    )
    ledger = StudyAtProlific(**place).ledger()
    assert {(line.owed, line.confirmed, line.doubtful) for line in ledger} == {(0, 0.5, 0) if done else (0, 0, 0.5)}


@pytest.mark.slow
def test_what_was_not_paid_by_a_persons_word_is_paid_once(prolific, place, recruited):
    lost_answers(place, recruited, prolific, done=False)
    for line in StudyAtProlific(**place).ledger():
        StudyAtProlific(**place).settle(line.annotator_id, paid=False)
    assert reconciled(place, "--yes").code == 0
    assert len(prolific.paid) == 5
    assert {line.confirmed for line in StudyAtProlific(**place).ledger()} == {0.5}


def test_a_person_is_asked_to_return_once(prolific, place, recruited):
    prolific.submissions["stranger"] = {"participant_id": "x", "status": "AWAITING REVIEW"}
    for _ in range(3):
        assert reconciled(place, "--yes").code == 0
    assert prolific.returns == {"stranger": ["Did not finish study"]}
    assert StudyAtProlific(**place).reconcile()[0].advice.startswith("was asked to return it")


@pytest.mark.slow
def test_an_error_in_the_middle_stops_nothing_and_is_in_the_summary(prolific, place, recruited):
    with database.open(str(place["database"])) as store, store.write() as connection:
        for name, here in (("left", "rating away"), ("one", "completed"), ("two", "completed")):
            comes(connection, recruited, name, here)
            prolific.submissions[f"s-{name}"] = {"participant_id": f"p-{name}", "status": "AWAITING REVIEW"}
    prolific.fails = "POST /submissions/s-one"
    done = reconciled(place, "--yes")
    assert done.code == 1
    assert "approve: 1 (4.00 USD); end: 1 (4.00 USD); not confirmed: 1" in done.out
    prolific.fails = ""
    assert reconciled(place, "--yes").code == 0
    assert sorted(prolific.approved) == ["s-left", "s-one", "s-two"]
    assert {(line.owed, line.confirmed, line.doubtful) for line in StudyAtProlific(**place).ledger()} == {(0, 4.0, 0)}
