"""Prolific: the request that creates a study, its client, and the rules of reconciling."""

import asyncio
from dataclasses import replace
from typing import get_args

import pytest
from tests.support.study import SECRET, design

from casewise.errors import ConfigurationError, RecruiterRefused, StudyError
from casewise.studies.design import RecruiterSettings
from casewise.studies.ledger import APPROVAL, Payment
from casewise.studies.owner import RoundAccount, Standing
from casewise.studies.people import Vault
from casewise.studies.prolific import (
    SETTLED,
    FittedPlaces,
    ProlificClient,
    ReconciliationLine,
    Submission,
    Transition,
    can_be_reached,
    client,
    filters_of,
    fit_study,
    known_person,
    manual_filters,
    reconcile,
    seen_payments,
    study_request,
    unknown_submission,
)
from casewise.studies.recruiters import RecruiterIds

CODES = {"completion_code": "DONE1234", "screened_out_code": "OUT12345", "failed_checks_code": "FAIL1234"}
PLAN = design(
    recruiter={"kind": "prolific", **CODES},
    quiz={"attempts": 2},
    pay={"per_batch": 4.0, "screen_out": 0.5},
    eligibility={"approval_rate": 95, "approved_count": 100},
)
VAULT = Vault(SECRET)

# The request.


@pytest.mark.parametrize(
    ("url", "reached"),
    [
        ("https://study.uni.edu", True),
        ("https://1.1.1.1:8443/x", True),
        ("http://study.uni.edu", False),
        ("https://", False),
        ("https://localhost", False),
        ("https://app.localhost", False),
        ("https://10.0.0.4", False),
        ("https://[::1]", False),
    ],
)
def test_only_an_encrypted_address_of_no_private_machine_can_be_reached(url, reached):
    assert can_be_reached(url) == reached


def test_filters_are_those_of_the_eligibility_that_prolific_takes_as_numbers():
    ranges = {"age": (18, 100), "approval_rate": (95, 100), "approval_numbers": (100, 100_000)}

    assert filters_of(PLAN) == [
        {"filter_id": name, "selected_range": {"lower": low, "upper": high}} for name, (low, high) in ranges.items()
    ]
    assert [one["filter_id"] for one in filters_of(design())] == ["age"]


def test_countries_and_languages_are_left_to_prolifics_page():
    both = design(eligibility={"countries": ["Kenya", "Ghana"], "languages": ["English"]})

    assert manual_filters(both) == "countries Kenya, Ghana and languages English"
    assert manual_filters(design(eligibility={"languages": []})) is None


def request_to_prolific(*, group=None, project=None, **changes):
    plan, url = PLAN.model_copy(update=changes), "https://study.example/study/1"
    return study_request(plan, url=url, places=10, minutes=14.6, group=group, project=project)


def test_the_request_to_prolific_pays_screen_outs_and_keeps_returners_out():
    request = request_to_prolific(group="g1")

    assert request["reward"] == 400
    assert request["estimated_completion_time"] == 15
    assert {"filter_id": "participant_group_blocklist", "selected_values": ["g1"]} in request["filters"]
    assert "PROLIFIC_PID={{%PROLIFIC_PID%}}" in request["external_study_url"]
    screened = next(code for code in request["completion_codes"] if code["code"] == "OUT12345")
    assert screened["actions"][0]["fixed_screen_out_reward"] == 50
    assert screened["actions"][0]["slots"] == request["total_available_places"] == 10
    assert "project" not in request
    assert request_to_prolific(project="p1")["project"] == "p1"
    assert "REJECT" not in str(request)
    assert "NO_CONSENT" not in str(request)
    assert "read what a chatbot replied" in request_to_prolific(rates="replies")["description"]


def test_those_who_do_not_consent_have_a_code_that_prolific_knows():
    settings = RecruiterSettings(kind="prolific", **CODES, no_consent_code="NOTHANKS1")

    assert request_to_prolific(recruiter=settings)["completion_codes"][-1] == {
        "code": "NOTHANKS1",
        "code_type": "NO_CONSENT",
        "actions": [{"action": "REQUEST_RETURN", "return_reason": "Withdrew consent"}],
    }


def test_there_is_no_way_to_reject_anybody():
    assert set(get_args(Transition)) == {"PUBLISH", "PAUSE", "START", "APPROVE"}
    assert not [name for name in dir(ProlificClient) if "reject" in name.lower()]


# The client.


def asked(work):
    """What comes of calls to the stand-in."""

    async def talk():
        async with client() as prolific:
            return await work(prolific)

    return asyncio.run(talk())


def test_without_a_token_nothing_is_asked(prolific, monkeypatch):
    monkeypatch.setenv("CASEWISE_PROLIFIC_TOKEN", "another")
    with pytest.raises(ConfigurationError, match="did not accept the token; check CASEWISE_PROLIFIC_TOKEN"):
        asked(lambda api: api.call("GET", "/studies/s/"))
    monkeypatch.delenv("CASEWISE_PROLIFIC_TOKEN")
    with pytest.raises(
        ConfigurationError, match="set the environment variable CASEWISE_PROLIFIC_TOKEN to your API token"
    ):
        asked(lambda api: api.call("GET", "/studies/s/"))


@pytest.mark.parametrize(
    ("method", "path", "advice"),
    [
        ("GET", "/studies/s/", "try again"),
        ("PATCH", "/studies/s/", "try again"),
        ("POST", "/studies/s/transition/", "try again"),
        ("POST", "/messages/", "the request may have succeeded; check at Prolific before you repeat it"),
    ],
)
def test_an_error_says_whether_the_request_may_be_repeated(prolific, monkeypatch, method, path, advice):
    prolific.fails = method
    with pytest.raises(StudyError, match=f"Prolific answered 500 to {method} {path}: .*; {advice}$"):
        asked(lambda api: api.call(method, path, {}))
    monkeypatch.setenv("CASEWISE_PROLIFIC_API", "http://127.0.0.1:1")
    with pytest.raises(StudyError, match=f"Prolific could not be reached for {method} {path}: .*; {advice}$"):
        asked(lambda api: api.call(method, path, {}))


def test_a_refusal_is_told_from_a_busy_server(prolific):
    with pytest.raises(RecruiterRefused, match=r"answered 404 to GET /nowhere: .*Not found[^;]*$") as refused:
        asked(lambda api: api.call("GET", "/nowhere"))
    prolific.busy = 1
    with pytest.raises(RecruiterRefused, match=r"answered 429 .*; wait a minute and try again$") as busy:
        asked(lambda api: api.call("GET", "/studies/s/"))
    assert (refused.value.status, busy.value.status) == (404, 429)


def test_an_answer_without_words_is_empty_and_one_without_its_field_is_in_doubt(prolific):
    prolific.bonuses["b"] = "s,1.00"
    assert asked(lambda api: api.call("POST", "/bulk-bonus-payments/b/pay/", {})) == {}
    assert asked(lambda api: api.create("/eligibility-count/", {"filters": []}, field="count")) == "1234.0"
    with pytest.raises(StudyError, match=r"did not return the 'id'; the request may have succeeded"):
        asked(lambda api: api.create("/messages/", {}))


@pytest.mark.parametrize("n_listed", [0, 1, 2, 5])
def test_a_list_is_read_to_its_end(prolific, n_listed):
    prolific.submissions = {f"s{n}": {"participant_id": f"p{n}", "status": "AWAITING_REVIEW"} for n in range(n_listed)}

    assert asked(lambda api: api.submissions("study 1")) == [
        Submission(f"s{n}", f"p{n}", "study 1", "AWAITING REVIEW") for n in range(n_listed)
    ]


def test_a_list_that_breaks_off_is_no_list(prolific):
    prolific.submissions = {f"s{n}": {} for n in range(3)}
    prolific.loses = 1
    with pytest.raises(StudyError, match=r"Prolific did not list all of /submissions/\?study=s; try again"):
        asked(lambda api: api.submissions("s"))


def test_bonuses_are_asked_for_the_chosen_submissions_alone_and_kept_in_whole_cents(prolific):
    listed = {"a": [50.0, 25], "b": [10], "c": None, "d": ["x"]}
    prolific.submissions = {name: {"bonus_payments": bonuses} for name, bonuses in listed.items()}
    known = [Submission(name, "p", "s", "APPROVED") for name in listed]
    found = asked(lambda api: api.with_bonuses(known, {"a", "c", "d"}))

    assert [one.bonuses for one in found] == [(50, 25), None, None, None]


def test_a_project_is_the_one_that_is_named_or_the_only_one(prolific):
    prolific.projects = {"w": {"a": "One", "b": "Two"}, "one": {"a": "One"}}

    assert asked(lambda api: api.project_in("w", "b")) == "b"
    assert asked(lambda api: api.project_in("one", None)) == "a"
    for workspace, project, names in (
        ("w", None, r"a \(One\), b \(Two\)"),
        ("one", "b", r"a \(One\)"),
        ("x", None, "none"),
    ):
        with pytest.raises(StudyError, match=f"name a project of the workspace {workspace} with --project: {names}"):
            asked(lambda api, at=workspace, named=project: api.project_in(at, named))


@pytest.mark.parametrize(
    ("needed", "shrinks", "status", "after", "calls"),
    [
        (6, True, "ACTIVE", FittedPlaces(10, 4, 6, 10, paused=False), []),
        (9, False, "ACTIVE", FittedPlaces(10, 4, 9, 13, paused=False), []),
        (1, True, "ACTIVE", FittedPlaces(10, 4, 1, 5, paused=False), []),
        (1, False, "ACTIVE", FittedPlaces(10, 4, 1, 10, paused=False), []),
        (0, False, "ACTIVE", FittedPlaces(10, 4, 0, 10, paused=True), ["s PAUSE"]),
        (0, True, "PAUSED", FittedPlaces(10, 4, 0, 4, paused=False), []),
        (6, True, "PAUSED", FittedPlaces(10, 4, 6, 10, paused=False, started=True), ["s START"]),
    ],
)
def test_places_are_those_taken_and_those_needed_or_the_study_is_paused(
    prolific, needed, shrinks, status, after, calls
):
    prolific.lets_shrink, prolific.status = shrinks, status
    fitted = asked(lambda api: fit_study(api, "s", needed))

    assert replace(fitted, why="") == after
    assert (prolific.paused, bool(fitted.why)) == (calls, after.after == 10 and needed < 6)
    assert prolific.places["total_available_places"] == after.after


def test_more_places_that_are_refused_and_a_busy_server_are_errors(prolific, monkeypatch):
    prolific.places["total_available_places"] = 3
    monkeypatch.setattr(
        type(prolific), "study", lambda own, method, _body: (400, {}) if method == "PATCH" else (200, own.places)
    )
    with pytest.raises(RecruiterRefused):
        asked(lambda api: fit_study(api, "s", 0))  # four are taken
    prolific.places["total_available_places"] = 30
    monkeypatch.setattr(
        type(prolific), "study", lambda own, method, _body: (429, {}) if method == "PATCH" else (200, own.places)
    )
    with pytest.raises(RecruiterRefused, match="wait a minute"):
        asked(lambda api: fit_study(api, "s", 0))
    prolific.places = {}
    with pytest.raises(StudyError, match="did not report how many places s has, and how many are taken"):
        asked(lambda api: fit_study(api, "s", 0))


# Reconciling.


def standing(due="full", **changes):
    return replace(Standing("a1", RecruiterIds("p1", "s", "sub-1"), "completed", due, away=False, rated=3), **changes)


def submission(status="AWAITING REVIEW", **changes):
    return replace(Submission("sub-1", "p1", "s", status, code="DONE1234"), **changes)


def advised(person, status, *made):
    line = known_person(person, None if status is None else submission(status), PLAN, made)
    return line.action, line.amount, line.ratings


@pytest.mark.parametrize(
    ("due", "status", "expected"),
    [
        ("full", "AWAITING REVIEW", ("approve", 4.0, 0)),
        ("full", "TIMED-OUT", ("approve", 4.0, 0)),
        ("full", "RETURNED", ("leave out", 0.0, 3)),
        ("full", "ACTIVE", (None, 0.0, 0)),
        ("full", None, (None, 0.0, 0)),
        ("decide", "AWAITING REVIEW", ("decide", 4.0, 0)),
        ("failed checks", "AWAITING REVIEW", (None, 0.0, 0)),
        ("screen-out", "AWAITING REVIEW", ("pay", 0.5, 0)),
        ("screen-out", "TIMED-OUT", ("pay", 0.5, 0)),
    ],
)
def test_what_is_owed_and_how_it_stands_there_say_what_to_do_and_for_how_much(due, status, expected):
    assert advised(standing(due), status) == expected


@pytest.mark.parametrize(
    ("status", "rated", "expected"),
    [
        ("AWAITING REVIEW", 3, ("end", 4.0, 0)),
        ("TIMED-OUT", 0, ("end", 0.5, 0)),
        ("APPROVED", 3, ("end", 0.0, 0)),
        ("ACTIVE", 3, (None, 0.0, 0)),
        ("RESERVED", 3, (None, 0.0, 0)),
    ],
)
def test_who_left_is_ended_and_paid_what_that_is_worth_where_it_can_be(status, rated, expected):
    assert advised(standing("under way", away=True, rated=rated), status) == expected


def test_the_number_of_ratings_is_told_where_ending_costs_something():
    lines = [
        known_person(standing("under way", away=True), submission(status), PLAN, ()).advice
        for status in ("TIMED-OUT", "APPROVED")
    ]

    assert [advice.endswith(" (3 rated)") for advice in lines] == [True, False]


def paid(amount=0.5, state="confirmed", payment="b1", purpose="pay"):
    return Payment("a1", payment, amount, purpose, state)


@pytest.mark.parametrize(
    ("due", "status", "made", "settled"),
    [
        ("screen-out", "TIMED-OUT", paid(), True),
        ("full", "TIMED-OUT", paid(4.0), True),
        ("full", "TIMED-OUT", paid(3.9), False),
        ("full", "RETURNED", paid(0.01), True),
        ("full", "RETURNED", paid(0.01, "refused"), False),
        ("full", "RETURNED", paid(0.01, payment=APPROVAL), False),
    ],
)
def test_a_bonus_settles_what_it_pays(due, status, made, settled):
    line = known_person(standing(due), submission(status), PLAN, [made])

    assert (line.advice == SETTLED) == settled


def test_who_got_the_screen_out_as_a_bonus_is_asked_to_return_the_submission():
    assert advised(standing("screen-out"), "AWAITING REVIEW", paid()) == ("ask return", 0.0, 0)


def test_a_bonus_in_doubt_comes_before_everything_else():
    doubts = (paid(1.0, "doubtful", "b1"), paid(2.0, "begun", "b2"))
    line = known_person(standing(), submission(), PLAN, [*doubts, paid(3.0)])

    assert (line.action, line.doubtful) == (None, doubts)
    assert line.advice == (
        "a bonus of 1.00 (b1) and 2.00 (b2) was begun and is in doubt: check at Prolific whether it was paid, then: "
        "casewise study person a1 --settle paid (or not-paid)"
    )


def test_a_submission_without_the_right_code_is_said_to_be_where_it_would_be_paid():
    wrong, right = (known_person(standing(), submission(code=code), PLAN, ()) for code in ("X", "DONE1234"))

    assert (wrong.advice, wrong.action) == (f"(without the right code) {right.advice}", "approve")
    assert not known_person(standing("failed checks"), submission(code="X"), PLAN, ()).advice.startswith("(without")


@pytest.mark.parametrize(
    ("status", "finished", "all_known", "action", "advice"),
    [
        ("RESERVED", False, True, None, "has not consented yet: wait, Prolific closes it when its time runs out"),
        ("ACTIVE", False, True, None, "has not consented yet: wait, Prolific closes it when its time runs out"),
        ("RETURNED", False, True, None, SETTLED),
        ("TIMED-OUT", True, False, None, SETTLED),
        ("APPROVED", False, True, None, "is approved at Prolific but unknown to this study: check it at Prolific"),
        (
            "AWAITING REVIEW",
            True,
            True,
            None,
            "has the right code but is unknown to this study (backup restored, or code passed on): decide at Prolific",
        ),
        ("AWAITING REVIEW", False, False, None, "is unknown to this study, or was forgotten: decide at Prolific"),
        ("AWAITING REVIEW", False, True, "ask return", "never consented in this study: ask them to return it"),
    ],
)
def test_a_submission_of_an_unknown_person_is_never_paid(status, finished, all_known, action, advice):
    line = unknown_submission(submission(status), all_known=all_known, finished=finished)

    assert (line.action, line.advice, line.standing, line.amount) == (action, advice, None, 0.0)


def account(*people, payments=None, asked=(), all_known=True):
    return RoundAccount(people, payments or {}, frozenset(VAULT.fingerprint("tea", one) for one in asked), all_known)


def test_people_are_matched_by_submission_or_by_person_and_paid_through_the_liveliest():
    there = [
        submission("RETURNED"),
        Submission("other", "P1", "s", "AWAITING REVIEW", "DONE1234"),
        Submission("third", "p1", "s", "AWAITING REVIEW"),
        Submission("stranger", "x", "s", "AWAITING REVIEW"),
    ]
    stranger, counts, second, third = reconcile(there, account(standing()), PLAN, vault=VAULT)

    assert (stranger.submission, stranger.action) == (there[3], "ask return")
    assert (counts.submission, counts.action) == (there[1], "approve")
    assert [line.submission for line in (second, third)] == [there[2], there[0]]
    assert [line.action for line in (second, third)] == ["ask return", None]
    assert second.advice == third.advice == "another submission of a1, who is paid through other"


def test_a_return_is_asked_for_once():
    lines = [
        reconcile([submission(code="")], account(asked=asked), PLAN, vault=VAULT)[0]
        for asked in ((), ("sub-1",), ("sub-2",))
    ]

    assert [line.action for line in lines] == ["ask return", None, "ask return"]
    assert lines[1].advice == "was asked to return it: wait, or decide at Prolific"
    (approved,) = reconcile([submission()], account(standing(), asked=["sub-1"]), PLAN, vault=VAULT)
    assert approved.action == "approve"


def line_of(status="AWAITING REVIEW", bonuses=None, doubtful=()):
    return ReconciliationLine(submission(status, bonuses=bonuses), standing(), "", doubtful=doubtful)


@pytest.mark.parametrize(
    ("status", "made", "amount"),
    [
        ("APPROVED", (), 4.0),
        ("SCREENED OUT", (), 0.5),
        ("APPROVED", (paid(4.0, "begun", APPROVAL),), 4.0),
        ("APPROVED", (paid(4.0, "confirmed", APPROVAL),), None),
        ("AWAITING REVIEW", (), None),
    ],
)
def test_what_is_approved_or_screened_out_there_was_paid(status, made, amount):
    seen = seen_payments([line_of(status)], account(standing(), payments={"a1": made}), PLAN)

    why = f"seen {status.lower()} at Prolific"
    assert seen == ([] if amount is None else [Payment("a1", APPROVAL, amount, "pay", "confirmed", why)])


def test_a_bonus_in_doubt_was_paid_where_it_is_shown_more_often_than_it_was_confirmed():
    doubts = (paid(0.5, "doubtful", "b1"), paid(0.5, "doubtful", "b2"), paid(0.25, "doubtful", "b3"))
    confirmed = paid(0.5, "confirmed", "b0")

    def seen(*cents):
        payments = {"a1": [confirmed, *doubts]}
        return [
            one.payment
            for one in seen_payments(
                [line_of(bonuses=cents, doubtful=doubts)], account(standing(), payments=payments), PLAN
            )
        ]

    assert [seen(), seen(50), seen(50, 50), seen(50, 25, 50, 50)] == [[], [], ["b1"], ["b1", "b2", "b3"]]
    (first,) = seen_payments([line_of(bonuses=(50,), doubtful=doubts[:1])], account(standing()), PLAN)
    assert (first.state, first.why) == ("confirmed", "seen among the bonuses at Prolific")


def test_nothing_is_seen_of_a_line_without_a_submission_or_a_person():
    alone = [replace(line_of("APPROVED"), submission=None), replace(line_of("APPROVED"), standing=None)]

    assert seen_payments(alone, account(), PLAN) == []
