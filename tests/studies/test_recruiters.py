from typing import get_args

import pytest
from tests.support.study import design

from casewise.errors import StudyError
from casewise.studies.design import RecruiterSettings
from casewise.studies.prolific import ProlificClient, Transition, study_request
from casewise.studies.recruiters import RecruiterIds, make_recruiter, new_invitation

KEY = b"a key for invitations"
CODES = {"completion_code": "DONE1234", "screened_out_code": "OUT12345", "failed_checks_code": "FAIL1234"}
PROLIFIC = {"PROLIFIC_PID": "5f1", "STUDY_ID": "s1", "SESSION_ID": "x1"}


def recruiter(**settings):
    return make_recruiter(RecruiterSettings(**settings), invitation_key=KEY)


def test_prolific_names_the_person_the_study_and_the_session():
    assert recruiter(kind="prolific", **CODES).arrive(PROLIFIC) == RecruiterIds("5f1", "s1", "x1")


@pytest.mark.parametrize("missing", PROLIFIC)
def test_prolific_needs_all_three_ids(missing):
    with pytest.raises(StudyError, match=missing):
        recruiter(kind="prolific", **CODES).arrive({k: v for k, v in PROLIFIC.items() if k != missing})


@pytest.mark.parametrize(
    ("outcome", "way_out"),
    [
        ("completed", "/complete?cc=DONE1234"),
        ("screened_out", "/complete?cc=OUT12345"),
        ("failed_checks", "/complete?cc=FAIL1234"),
        ("no_consent", ""),
    ],
)
def test_prolific_gets_people_back_with_the_code_of_their_outcome(outcome, way_out):
    finish = recruiter(kind="prolific", **CODES).finish(outcome, None)

    assert finish.url == f"https://app.prolific.com/submissions{way_out}"


def test_a_redirect_fills_in_ids_once_and_escaped():
    found = recruiter(
        kind="redirect", completed="https://r.example/?p={person}&s={study}", screened_out="https://r.example/"
    )

    assert found.finish("completed", RecruiterIds("a&b={code}")).url == "https://r.example/?p=a%26b%3D%7Bcode%7D&s="


@pytest.mark.parametrize("person", ["", "a b", "<script>", "x" * 201, "alice\n"])
def test_an_id_that_cannot_be_one_is_refused(person):
    with pytest.raises(StudyError, match="participant"):
        recruiter(kind="code", completion_code="DONE1234").arrive({"participant": person})


def test_an_invitation_opens_the_door_and_a_made_up_one_does_not():
    invitation = new_invitation(KEY)

    assert recruiter(kind="invitation").arrive({"participant": invitation}).person == invitation[:24]
    for wrong in (invitation[:-1] + "z", "", new_invitation(b"another key")):
        with pytest.raises(StudyError, match="complete invitation"):
            recruiter(kind="invitation").arrive({"participant": wrong})


def test_an_id_in_capitals_is_the_same_person():
    invitation = new_invitation(KEY)
    parameters = {"PROLIFIC_PID": "5F00AB", "STUDY_ID": "S1", "SESSION_ID": "Se1"}

    assert recruiter(kind="invitation").arrive({"participant": invitation.upper()}).person == invitation[:24]
    found = recruiter(kind="prolific", **CODES).arrive(parameters)
    assert (found.person, found.session) == ("5f00ab", "Se1")


def request_to_prolific(*, group=None, **changes):
    plan = design(
        recruiter={"kind": "prolific", **CODES},
        quiz={"attempts": 2},
        eligibility={"approval_rate": 95, "approved_count": 100},
    )
    plan, url = plan.model_copy(update=changes), "https://study.example/study/1"
    return study_request(plan, url=url, places=10, minutes=14.6, group=group)


def test_the_request_to_prolific_pays_screen_outs_and_keeps_returners_out():
    request = request_to_prolific(group="g1")

    assert request["reward"] == 350
    assert request["estimated_completion_time"] == 15
    assert {"filter_id": "participant_group_blocklist", "selected_values": ["g1"]} in request["filters"]
    assert "PROLIFIC_PID={{%PROLIFIC_PID%}}" in request["external_study_url"]
    screened = next(code for code in request["completion_codes"] if code["code"] == "OUT12345")
    assert screened["actions"][0]["fixed_screen_out_reward"] == 50
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
