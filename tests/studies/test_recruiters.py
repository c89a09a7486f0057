import pytest

from casewise.errors import StudyError
from casewise.studies.design import RecruiterSettings
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
