"""What `casewise study` does with its options: whom it pays, what it changes, and what it refuses."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.study import design

from casewise.cli import study as commands
from casewise.cli.printing import gathering_results
from casewise.errors import ConfigurationError, StudyError
from casewise.studies.freeze import Departure, StudyEstimate

STUDY = Path("s.toml")
TEA = SimpleNamespace(name="tea", version="1", phase="main")


class Place:
    """A study that does what it is told and keeps it; `answers` are what each of its methods returns."""

    def __init__(self, **answers: Any) -> None:
        self.told, self.answers, self.where = list[Any](), answers, list[Any]()

    def found(self, *where: Any, **more: Any) -> "Place":
        self.where.append((*where, *more.values()))
        return self

    def __getattr__(self, method: str) -> Any:
        def done(*arguments: Any, **options: Any) -> Any:
            self.told.append((method, *arguments, options) if options else (method, *arguments))
            return self.answers.get(method)

        return done


@pytest.fixture
def place(monkeypatch):
    """The study that every command finds."""
    place = Place()
    monkeypatch.setattr("casewise.cli.study.Study", place.found)
    monkeypatch.setattr("casewise.cli.study.StudyAtProlific", place.found)
    return place


def document(capsys) -> Any:
    return json.loads(capsys.readouterr().out)


# One person.

ACTIONS: tuple[tuple[dict[str, Any], Any, Any, str, dict[str, Any]], ...] = (
    ({"leave_out": "left"}, ("void", "a1", {"reason": "left"}), 2, "a1 is excluded; 2 slots are open again", {"reopened": 2}),
    ({"take_in": "wrong"}, ("restore", "a1", {"reason": "wrong"}), 1, "a1 is included again, with 1 rating", {"counted": 1}),
    ({"message": "Thanks"}, ("message", "a1", "Thanks"), None, "the message to a1 was sent", {}),
    ({"bonus": 1.5}, ("bonus", "a1", 1.5, {"again": False}), None, "a1 is paid 1.50 more", {"amount": 1.5}),
    ({"bonus": 1.5, "again": True}, ("bonus", "a1", 1.5, {"again": True}), None, "a1 is paid 1.50 more", {"amount": 1.5}),
    ({"settle": "paid", "payment": "b-1"}, ("settle", "a1", {"paid": True, "payment": "b-1"}), 2.0, "a1: 2.00 is paid", {"amount": 2.0, "paid": True}),
    ({"settle": "not-paid"}, ("settle", "a1", {"paid": False, "payment": None}), 2.0, "a1: 2.00 was not paid", {"amount": 2.0, "paid": False}),
    ({"ask_return": "no item"}, ("ask_return", "a1", "no item"), None, "a1 was asked to return their submission", {}),
)  # fmt: skip


@pytest.mark.parametrize(("wish", "told", "answer", "line", "facts"), ACTIONS)
def test_one_person_is_the_object_of_one_action(place, capsys, wish, told, answer, line, facts):
    place.answers[told[0]] = answer
    commands.person("a1", STUDY, phase="pilot", database="x.db", **wish)

    assert (place.where, place.told) == ([(STUDY, "pilot", "x.db")], [told])
    assert capsys.readouterr().out == f"{line}\n"
    with gathering_results(json=True):
        commands.person("a1", **wish)
    assert document(capsys) == {"annotator": "a1", **facts}


@pytest.mark.parametrize(
    "wishes", [{}, {"again": True}, {"forget": True, "bonus": 1.0}, {"leave_out": "a", "take_in": "b"}]
)
def test_no_action_or_two_at_once_are_refused_before_the_study_is_opened(place, wishes):
    with pytest.raises(
        StudyError, match=r"^give one of --leave-out, --take-in, --forget, --message, --bonus, --settle, --ask-return$"
    ):
        commands.person("a1", **wishes)
    assert place.where == []


@pytest.mark.parametrize(
    ("ratings", "words"), [("withdrawn", "withdrawn"), ("kept", "kept without a link to the person")]
)
def test_who_is_forgotten_has_a_certificate_where_one_is_asked_for(place, capsys, ratings, words):
    place.answers["forget"] = SimpleNamespace(ratings=ratings, number=7, signature="abc"), "the certificate"
    commands.person("a1", forget=True)
    assert capsys.readouterr().out == f"the data about the person are deleted; the ratings are {words}\n"
    file = Path("certificate.txt")
    assert not file.exists()
    with gathering_results(json=True):
        commands.person("a1", forget=True, certificate=file)
    assert document(capsys) == {"ratings": ratings, "number": 7, "signature": "abc", "certificate": "certificate.txt"}
    assert file.read_text() == "the certificate"


# The state of a round.


def test_a_round_is_paused_closed_and_reopened_after_the_wait(place, capsys, monkeypatch):
    slept = list[float]()
    monkeypatch.setattr("casewise.cli.study.time.sleep", slept.append)
    place.answers["set_state"] = TEA
    commands.set_state("paused", STUDY, phase="pilot", database="x.db")
    (_, state, options) = place.told.pop()
    assert (state, place.where) == ("paused", [(STUDY, "pilot", "x.db")])
    assert capsys.readouterr().out == "tea 1 (main) is paused\n"
    options["wait"](61.4)
    assert slept == [61.4]
    assert capsys.readouterr().err == "Waiting 61 s, until every server has read the amendment.\n"


def test_one_condition_is_closed_or_opened_without_the_round(place, capsys):
    for state in ("closed", "open"):
        commands.set_state(state, condition="safe")
        assert capsys.readouterr().out == f"The condition safe is {state}.\n"
    assert place.told == [("set_condition", "safe", {"closed": True}), ("set_condition", "safe", {"closed": False})]


@pytest.mark.parametrize(
    ("state", "options", "problem"),
    [
        ("paused", {"condition": "safe"}, "--condition works only with closed or open, without --amend"),
        ("open", {"condition": "safe", "amend": "why"}, "--condition works only with closed or open, without --amend"),
        ("closed", {"amend": "why"}, "--amend works only with open; pause the round and change study.toml before"),
    ],
)
def test_options_that_do_not_go_together_change_nothing(place, state, options, problem):
    with pytest.raises(ConfigurationError, match=problem):
        commands.set_state(state, **options)
    assert (place.where, place.told) == ([], [])


AMENDMENT = SimpleNamespace(
    change="ratings.per_item was 2 and is 3", ratings=(1600, 2400), cost=(40.0, 1060.5), currency="EUR"
)


@pytest.fixture
def asked(place, monkeypatch):
    """The questions to the person at the terminal, who says `place.says`."""
    questions = list[str]()

    def confirm(question):
        questions.append(question)
        return place.says

    monkeypatch.setattr("casewise.cli.study.confirm", confirm)
    place.answers |= {"amendment": AMENDMENT, "set_state": TEA}
    return questions


@pytest.mark.parametrize(("says", "yes"), [(True, False), (False, True)])
def test_an_amendment_is_shown_with_its_cost_and_made_after_consent(place, asked, capsys, says, yes):
    place.says = says
    commands.set_state("open", amend="wide intervals", yes=yes)

    assert asked == ([] if yes else ["Continue?"])
    assert [told[0] for told in place.told] == ["amendment", "amend", "set_state"]
    assert place.told[1] == ("amend", AMENDMENT, {"reason": "wide intervals"})
    assert capsys.readouterr().out.splitlines() == [
        "ratings.per_item was 2 and is 3",
        "ratings: 1,600, then 2,400",
        "cost to come: 40.00 EUR, then 1,060.50 EUR",
        "Every report will list this change as a departure from the frozen design, made while people rated.",
        "The round is amended.",
        "tea 1 (main) is open",
    ]


def test_without_consent_nothing_is_amended_and_the_round_stays_paused(place, asked, capsys):
    place.says = False
    with gathering_results(json=True):
        commands.set_state("open", amend="wide intervals")

    assert place.told == [("amendment",)]
    printed, notes = capsys.readouterr()
    assert json.loads(printed) == {
        "said": AMENDMENT.change,
        "ratings": [1600, 2400],
        "to_come": [40.0, 1060.5],
        "amended": False,
    }
    assert notes == "Nothing was changed, and the round is still paused. To reopen it: casewise study set open\n"


# Checking, opening, writing and reporting.

ESTIMATE = StudyEstimate(
    items=8, ratings=16, annotators=4, largest_batch=3, short_batches=0, screened_out=2, minutes_per_annotator=12.5,
    hours=1.4, pay=17.0, fees=5.0, hourly=19.2, hourly_floor=9.0,
)  # fmt: skip


def plan_of(**facts: Any) -> Any:
    plan = {"estimate": ESTIMATE, "design": design(), "material": SimpleNamespace(left_out=0)}
    return SimpleNamespace(**plan | {"departures": (), "problem": None} | facts)


@pytest.fixture
def plan(monkeypatch):
    """The plan that every command reads."""
    plan = plan_of()
    monkeypatch.setattr("casewise.cli.study.read_plan", lambda _path: plan)
    return plan


DEPARTURE = Departure("ratings.per_item", 2, 3)


def test_a_study_is_checked_without_being_frozen(place, plan, capsys):
    plan.departures = (DEPARTURE,)
    commands.check(STUDY)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "8 items in 2 conditions, 2 ratings each:"
    assert lines[-1] == "departs from the frozen plan: ratings.per_item: frozen as 2, now 3"
    with gathering_results(json=True):
        commands.check(STUDY)
    facts = document(capsys)
    assert (facts["items"], facts["total"], facts["currency"], facts["problem"]) == (8, 22.0, "USD", None)
    assert facts["departures"] == ["ratings.per_item: frozen as 2, now 3"]
    assert place.told == []


def test_a_study_is_frozen_and_its_package_written_where_they_are_asked_for(place, plan, capsys):
    place.answers |= {"freeze": Path("s.frozen.json"), "deposit": Path("package")}
    with gathering_results(json=True):
        commands.check(STUDY, freeze=True)
    facts = document(capsys)
    assert (facts["frozen"], "deposit" in facts, place.told) == ("s.frozen.json", False, [("freeze",)])
    commands.check(STUDY, freeze=True, deposit=Path("package"))
    assert place.told[1:] == [("freeze",), ("deposit", Path("package"))]
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "s.frozen.json holds the frozen plan. Publish it with your preregistration.",
        "package: read preregistration.md before you publish it",
    ]


def test_a_study_with_a_problem_is_shown_and_not_frozen(place, plan, capsys):
    plan.problem = "pay more"
    with pytest.raises(StudyError, match=r"^pay more$"):
        commands.check(STUDY, freeze=True)
    assert place.told == []
    assert "8 items in 2 conditions" in capsys.readouterr().out
    with pytest.raises(ConfigurationError, match="--deposit works only with --freeze"):
        commands.check(STUDY, deposit=Path("package"))
    assert capsys.readouterr().out == ""


def opened(phase="main", url="https://study.uni.edu/study/1", kind="code", departures=()) -> Any:
    made = design(recruiter={"kind": kind})
    return SimpleNamespace(plan=plan_of(design=made, departures=departures), phase=phase, url=url)


def test_a_round_is_opened_at_its_address_with_its_departures(place, capsys):
    place.answers["open"] = opened(departures=(DEPARTURE,))
    commands.open_round(STUDY, database="x.db", site_url="https://study.uni.edu")
    assert (place.where, place.told) == ([(STUDY, "x.db", "https://study.uni.edu")], [("open",)])
    assert capsys.readouterr().out.splitlines() == [
        "The main round of tea 1 is open. People arrive at:",
        "  https://study.uni.edu/study/1",
        "departs from the frozen plan: ratings.per_item: frozen as 2, now 3",
        "People can answer while the web app runs: casewise serve",
    ]


@pytest.mark.parametrize(("phase", "option"), [("main", ""), ("pilot", " --phase pilot")])
def test_a_round_on_this_machine_by_invitation_says_what_is_left_to_do(place, capsys, phase, option):
    here = opened(phase, "http://127.0.0.1:8000/study/1", "invitation")
    place.answers |= {"open": here, "pilot": here}
    commands.open_round(Path("my study.toml"), pilot=phase == "pilot", queries=3, per_item=1)
    assert place.told == [("pilot", {"queries": 3, "per_item": 1}) if phase == "pilot" else ("open",)]
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith("This address opens on this machine only.")
    assert lines[-1] == f"Make a link for each person with: casewise invite 'my study.toml'{option}"


@pytest.fixture
def written(monkeypatch):
    """What `study init` has written, a call each."""
    calls = list[Any]()

    def write(kind):
        def written_as(benchmark, **options):
            calls.append((kind, benchmark, options))
            return design(benchmark=benchmark)

        return written_as

    monkeypatch.setattr("casewise.cli.study.init_study", write("requests"))
    monkeypatch.setattr("casewise.cli.study.init_replies", write("replies"))
    return calls


@pytest.mark.parametrize(
    ("options", "rates"),
    [({}, "requests"), ({"actions": True}, "actions"), ({"actions": True, "ask_first": True}, "actions_or_ask")],
)
def test_a_study_of_requests_or_actions_is_written(written, capsys, options, rates):
    commands.init("demo", **options)

    ((kind, benchmark, given),) = written
    assert (kind, benchmark, given["preset"], given["people"], given["rates"]) == (
        "requests",
        "demo",
        "lab",
        None,
        rates,
    )
    assert capsys.readouterr().out.splitlines() == [
        "study.toml: 2 conditions: no_context, safe_revised",
        "Fill in [contact], look through the rest, then: casewise study check study.toml",
    ]


def test_a_study_of_people_with_a_contact_is_written(written, plan, capsys, monkeypatch):
    counted = list[Any]()
    monkeypatch.setattr("casewise.cli.study.print_people", lambda *said: counted.append(said))
    contact: dict[str, Any] = {"researcher": "Ada", "institution": "Here", "email": "ada@uni.edu"}
    with gathering_results(json=True):
        commands.init("demo", preset="paper", people=40, to=Path("my study.toml"), name="tea", **contact)

    (_, _, given) = written[0]
    assert (given["preset"], given["people"], given["path"], given["name"]) == (
        "paper",
        40,
        Path("my study.toml"),
        "tea",
    )
    assert given["contact"].model_dump() == {**contact, "ethics_approval": ""}
    assert counted == [(40, plan)]
    assert document(capsys) == {
        "file": "my study.toml",
        "benchmark": "demo",
        "conditions": ["no_context", "safe_revised"],
    }
    commands.init("demo", to=Path("my study.toml"), **contact)
    assert capsys.readouterr().out.splitlines()[-1] == "next: casewise study check 'my study.toml'"


def test_a_study_of_replies_is_written_for_experts_unless_another_preset_is_named(written, capsys):
    commands.init("replies/x", question="reply", sample=30, seed=4)
    commands.init("replies/x", question="reply", preset="lab")

    (kind, folder, given), (_, _, other) = written
    assert (kind, folder, given["sample"], given["seed"], given["preset"]) == ("replies", "replies/x", 30, 4, "experts")
    assert (other["sample"], other["seed"], other["preset"]) == (200, 1, "lab")
    assert capsys.readouterr().out.splitlines()[0] == "study.toml: 2 people a reply; drawn replies: replies/x"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"ask_first": True}, "--ask-first works only with --actions"),
        ({"question": "reply", "actions": True}, "--actions works only with --question request"),
        ({"question": "reply", "people": 3}, "--people works only with --question request"),
    ],
)
def test_what_a_study_cannot_ask_is_refused_before_anything_is_written(written, options, problem):
    with pytest.raises(ConfigurationError, match=problem):
        commands.init("demo", **options)
    assert written == []


@pytest.fixture
def analysed(monkeypatch):
    """What the analysis of a study was asked."""
    calls = list[Any]()

    def write(out):
        out.mkdir(exist_ok=True)
        (out / "report.html").touch()

    def study_report(ratings, **options):
        calls.append((ratings, options))
        return SimpleNamespace(write=write)

    monkeypatch.setattr("casewise.cli.study.api.study_report", study_report)
    monkeypatch.setattr("casewise.cli.study.DocumentOptions.present", lambda *_said: None)
    return calls


def test_a_report_departs_from_the_frozen_plan_only_where_it_is_told_to(analysed, capsys):
    commands.report("rated")
    commands.report("rated", exclude="none", contrast=("a:b",), crossed=True, seed=3)
    commands.report("rated", exclude="failed_checks", out=Path("other"))

    (ratings, first), (_, second), (_, third) = analysed
    frozen = dict.fromkeys(("alpha", "correction", "labels", "ties", "exclude", "contrasts", "margin", "flow"))
    assert (ratings, first) == ("rated", {**frozen, "crossed": False, "judges": (), "seed": 0})
    assert second == {**frozen, "crossed": True, "judges": (), "seed": 3, "exclude": (), "contrasts": (("a", "b"),)}
    assert third["exclude"] == ("failed_checks",)
    assert capsys.readouterr().err.splitlines() == [
        "page: study-report/report.html",
        "page: study-report/report.html (in place of the earlier one)",
        "page: other/report.html",
    ]
