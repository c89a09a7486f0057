"""What `casewise attack` asks before it sends anything, what it hands to the API, and how it ends."""

import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from casewise import api
from casewise.ask.elicitations import AskOptions
from casewise.cli import attack as commands
from casewise.cli.calls import Calls, Items
from casewise.cli.judge import AskingOptions, BeforeRunOptions
from casewise.cli.printing import gathering_results
from casewise.errors import ConfigurationError, ExitCode
from casewise.judges.llm import LiveOptions
from casewise.judges.plan import RunSummary, Selection
from casewise.models.local import LocalOptions
from casewise.models.prices import Spend
from casewise.replies.collect import ChatSummary, CollectOptions
from casewise.replies.grade import GradeSummary
from casewise.runs.limits import Limits
from casewise.runs.run import CallEstimate
from casewise.transforms.texts import AdaptiveAttack

FOLDER = Path("my run")
ONE_CLAIM = commands.AttackOptions(attacks="claim:authority/user/safe", noise="none", repeats=2)
TWO_ITEMS = Items(Selection(limit=2), seed=7)


# The options.


@pytest.fixture
def handed(monkeypatch):
    """What `attack` hands on, to a judge or to a chatbot."""
    calls = list[Any]()
    monkeypatch.setattr("casewise.cli.attack.attack_judge", lambda *handed: calls.append(("judge", *handed)))
    monkeypatch.setattr("casewise.cli.attack.attack_replies", lambda *handed: calls.append(("replies", *handed)))
    return calls


WHOM = "give --judge, or --model with --grader; casewise show attacks says what there is to attack with"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, WHOM),
        ({"judge": "linear", "model": "fake/rehearsal", "grader": ("keywords",)}, WHOM),
        ({"model": "fake/rehearsal"}, WHOM),
        ({"judge": "linear", "grader": ("keywords",)}, WHOM),
        (
            {"model": "fake/rehearsal", "grader": ("keywords",), "adaptive": AdaptiveAttack("fake/writer")},
            "--attacker works only on a judge; give --judge instead of --model",
        ),
        (
            {"judge": "linear", "asking": AskingOptions(prompts=("casewise", "bridge"))},
            "--prompts may be repeated in casewise judge only: attack one wording at a time",
        ),
    ],
)
def test_what_cannot_be_attacked_is_refused(handed, options, problem):
    with pytest.raises(ConfigurationError, match=problem):
        commands.attack("demo", attacking=ONE_CLAIM, **options)
    assert handed == []


def test_a_judge_is_attacked_in_every_arm_with_the_options_that_were_given(handed):
    before = BeforeRunOptions(dry_run=True)
    commands.attack("demo", judge="fake/rehearsal", attacking=ONE_CLAIM, items=TWO_ITEMS, out=FOLDER, before=before)
    commands.attack("demo", judge="fake/rehearsal", attacking=ONE_CLAIM, elicit="score")

    (_, attacked, given), (_, by_default, _) = handed
    assert given is before
    assert attacked.run.folder == FOLDER
    assert (attacked.run.plan.repeats, len(attacked.run.plan.items), len(attacked.run.plan.arms)) == (2, 2, 2)
    assert (attacked.run.options.seed, attacked.run.options.live.ask.seed) == (7, 7)
    assert not attacked.run.options.live.model.needs_key
    assert attacked.attacker is None
    assert by_default.run.folder == Path("runs/demo-fake-rehearsal-attack")
    assert by_default.run.plan.elicitations == ("score",)
    assert by_default.run.options.live.model.needs_key


def test_a_chatbot_is_attacked_in_every_arm_with_the_options_that_were_given(handed):
    asking = AskingOptions(live=LiveOptions(ask=AskOptions(temperature=0.5, max_tokens=77)))
    calls = Calls(limits=Limits(max_cost=1.5))
    given: dict[str, Any] = {"model": "fake/rehearsal", "grader": ("keywords",), "attacking": ONE_CLAIM}
    commands.attack("demo", **given, items=TWO_ITEMS, asking=asking, calls=calls, out=FOLDER)
    commands.attack("demo", **given, before=BeforeRunOptions(dry_run=True))

    (_, planned, graders, before), (_, by_default, _, _) = handed
    options = planned.options
    assert (planned.folder, planned.model.model.name, len(planned.plan.items)) == (FOLDER, "fake/rehearsal", 2)
    assert (planned.plan.repeats, len(planned.plan.arms)) == (2, 2)
    assert (options.temperature, options.max_tokens, options.seed) == (0.5, 77, 7)
    assert (options.limits.max_cost, options.batch, options.makers.needs_key) == (1.5, None, True)
    assert ([grader.name for grader in graders], before) == (["keywords"], BeforeRunOptions())
    assert by_default.folder == Path("replies/demo-fake-rehearsal-attack")
    assert not by_default.options.makers.needs_key


def test_the_adapter_of_a_chatbot_is_not_its_graders(handed, monkeypatch):
    made = list[Any]()
    monkeypatch.setattr("casewise.cli.attack.make_grader", lambda name, *, options: made.append((name, options)))
    monkeypatch.setattr("casewise.cli.attack.chat_model", lambda _name, options: made.append(("chatbot", options)))
    monkeypatch.setattr("casewise.cli.attack.PlannedReplies", lambda *_planned, **_options: None)
    local = LocalOptions(adapter="adapter", dtype="float32")
    commands.attack("demo", model="fake/rehearsal", grader=("a", "b"), attacking=ONE_CLAIM, local=local)

    assert [(name, options.local.adapter, options.local.dtype) for name, options in made] == [
        ("chatbot", "adapter", "float32"),
        ("a", None, "float32"),
        ("b", None, "float32"),
    ]


# A judge.


@dataclass(frozen=True)
class Attack:
    """An attack on a judge of another provider than the attacker's, which keeps what becomes of it."""

    run: Any
    summary: RunSummary
    events: list[Any]
    beyond: tuple[str, ...] = ()

    def beyond_address(self) -> tuple[str, ...]:
        return self.beyond

    def sends_to(self) -> tuple[str | None, ...]:
        return ("judge.org", *self.beyond)

    def notes_before(self) -> tuple[str, ...]:
        return ("two attacks do not reach the judge",)

    def estimate(self) -> Any:
        return self.run.estimate()

    async def perform(self) -> Any:
        self.events.append("performed")
        self.run.options.watch.say("under way")
        return SimpleNamespace(summary=self.summary, path=FOLDER)


@pytest.fixture
def events(monkeypatch):
    """What happens: each question for consent, with what was agreed to, and each thing that is performed."""
    happened = list[Any]()
    for module in ("attack", "replies"):
        monkeypatch.setattr(
            f"casewise.cli.{module}.confirm_sending", lambda what, *to, **how: happened.append((what, to, how))
        )
    return happened


@cache
def planned_run() -> Any:
    options = api.RunOptions(selection=Selection(limit=2))
    return api.plan_run(api.load("demo"), "fake/rehearsal", out=FOLDER, options=options)


def attack_on(events, *, beyond=(), **counts) -> Any:
    return Attack(planned_run(), RunSummary(run=FOLDER, n_items=2, n_usable=2, **counts), events, beyond)


QUERIES = "the benchmark's queries"


@pytest.mark.parametrize("yes", [False, True])
def test_a_judge_is_attacked_after_consent_and_an_attacker_elsewhere_has_a_question_of_its_own(events, capsys, yes):
    commands.attack_judge(attack_on(events, beyond=("other.org",)), BeforeRunOptions(yes=yes))

    assert events == [
        (QUERIES, (None, "other.org"), {"remembered": False}),
        (QUERIES, ("judge.org", "other.org"), {"agreed": yes}),
        "performed",
    ]
    printed, notes = capsys.readouterr()
    assert printed.startswith("2 verdicts, 0 unscored; ")
    assert notes.splitlines() == [
        "--base-url is the address of fake/rehearsal only; calls to the other provider's model go to other.org",
        "under way",
        "next: casewise robustness 'my run'",
    ]


def test_a_dry_run_of_an_attack_prints_its_estimate_and_asks_nobody(events, capsys):
    commands.attack_judge(attack_on(events), BeforeRunOptions(dry_run=True))

    assert events == []
    printed, notes = capsys.readouterr()
    assert printed.startswith("fake/rehearsal: 2 judgements of 2 items in 2 calls\n")
    assert notes == "two attacks do not reach the judge\n"


def test_an_attack_that_a_limit_stops_has_the_exit_code_of_that(events):
    with pytest.raises(SystemExit) as ended:
        commands.attack_judge(attack_on(events, stopped="the budget is spent"), BeforeRunOptions())
    assert ended.value.code == ExitCode.STOPPED


# A chatbot.


LIMITED = CollectOptions(limits=Limits(max_cost=5.0), command="casewise attack demo")


@dataclass(frozen=True)
class Collection:
    """A planned collection of replies that keeps what becomes of it."""

    summary: ChatSummary
    events: list[Any]
    options: CollectOptions = LIMITED
    folder: Path = FOLDER
    benchmark: str = "the demo"
    unseen: tuple[str, ...] = ()
    model: Any = field(default_factory=lambda: SimpleNamespace(model=SimpleNamespace(name="fake/rehearsal")))

    def sends_to(self) -> tuple[str | None, ...]:
        return ("chat.org", None)

    def estimate(self) -> Any:
        return CallEstimate(n_calls=2, input_tokens=20, output_tokens=4, cost_usd=0.0, cost_at_most_usd=0.0)

    def estimate_before(self) -> dict[str, Any]:
        return {}

    def unseen_note(self) -> str | None:
        return f"{len(self.unseen)} unseen" if self.unseen else None

    def perform(self, watch: Any) -> Any:
        self.events.append(("collected", self.options.limits))
        watch.say("under way")
        return SimpleNamespace(summary=self.summary, path=FOLDER, benchmark=self.benchmark)


GRADER: Any = SimpleNamespace(name="keywords", sends_to="grader.org")


@pytest.fixture
def grades(monkeypatch, events):
    """The summaries of graders, who keep what they were asked; earlier collecting cost 3 dollars and grading 1."""
    summaries = list[GradeSummary]()

    def grade_each(*asked, **where):
        events.append(("graded", asked, where))
        return summaries

    monkeypatch.setattr("casewise.cli.attack.grade_each", grade_each)
    monkeypatch.setattr("casewise.cli.attack.grading_spend", lambda _folder, _graders: Spend(1.0, 10))
    monkeypatch.setattr("casewise.cli.attack.run_spend", lambda _folder, _kind: Spend(2.0, 20))
    monkeypatch.setattr("casewise.cli.attack.makers_spend", lambda _folder: Spend(1.0, 5))
    return summaries


def collection(events, **counts) -> Any:
    return Collection(ChatSummary(run=FOLDER, n_items=2, **{"n_usable": 2, **counts}), events)


def test_replies_are_collected_and_graded_after_consent_under_one_budget(events, grades, capsys):
    commands.attack_replies(collection(events), [GRADER], BeforeRunOptions(yes=True))

    asked, (_, collecting), (_, (path, graders, grading), where) = events
    assert asked == (f"{QUERIES} and the replies", ("chat.org", None, "grader.org"), {"agreed": True})
    assert collecting == Limits(max_cost=5.0, spent_elsewhere=Spend(1.0, 10))
    assert (path, graders, where) == (FOLDER, [GRADER], {"benchmark": "the demo"})
    assert grading.limits == Limits(max_cost=5.0, spent_elsewhere=Spend(3.0, 25))
    assert (grading.command, grading.batch) == ("casewise attack demo", None)
    printed, notes = capsys.readouterr()
    assert printed == "2 replies: my run\n"
    assert notes.splitlines() == ["under way", "next: casewise robustness 'my run'"]


def test_replies_at_the_provider_are_not_graded_yet(events, grades, capsys):
    with pytest.raises(SystemExit) as ended:
        commands.attack_replies(collection(events, n_pending=2), [GRADER], BeforeRunOptions())

    assert ended.value.code == ExitCode.STOPPED
    assert [event[0] for event in events[1:]] == ["collected"]
    printed, notes = capsys.readouterr()
    assert printed == ""
    assert "next:" not in notes
    assert notes.splitlines()[-1].startswith("2 calls are at the provider (casewise show jobs 'my run')")


def test_a_limit_that_ends_before_the_first_reply_is_a_stop_and_nothing_is_graded(events, grades, capsys):
    with pytest.raises(SystemExit) as ended:
        commands.attack_replies(collection(events, n_usable=0, stopped="the limit"), [GRADER], BeforeRunOptions())

    assert ended.value.code == ExitCode.STOPPED
    assert [event[0] for event in events[1:]] == ["collected"]
    printed, notes = capsys.readouterr()
    assert (printed, notes.splitlines()) == ("", ["under way", "stopped: the limit; the same command resumes"])


def test_attacked_replies_and_their_grades_are_one_document_and_a_grader_without_a_grade_ends_with_its_code(
    events, grades, capsys
):
    grades.append(GradeSummary(run=FOLDER, n_replies=2, n_unusable=2))
    with pytest.raises(SystemExit) as ended, gathering_results(json=True):
        commands.attack_replies(collection(events), [GRADER], BeforeRunOptions())

    assert ended.value.code == ExitCode.NOTHING_SCORED
    printed, notes = capsys.readouterr()
    document = json.loads(printed)
    assert (document["replies"]["n_replies"], document["grades"][0]["n_ungraded"]) == (2, 2)
    assert notes == "under way\n"


@pytest.mark.parametrize("unseen", [(), ("claim:a", "claim:b")])
def test_a_dry_run_of_an_attack_on_replies_counts_its_calls_and_asks_nobody(events, grades, capsys, unseen):
    commands.attack_replies(replace(collection(events), unseen=unseen), [GRADER], BeforeRunOptions(dry_run=True))

    assert events == []
    printed, notes = capsys.readouterr()
    assert printed.startswith("fake/rehearsal: 2 calls\n")
    assert notes == ("2 unseen\n" if unseen else "")


def test_a_report_on_robustness_has_its_page_in_the_run_and_a_code_for_no_verdict(monkeypatch):
    presented = list[Any]()
    report = SimpleNamespace(numbers=SimpleNamespace(nothing_scored=False))
    monkeypatch.setattr("casewise.cli.attack.api.robustness", lambda *_runs, **_options: report)
    monkeypatch.setattr(
        "casewise.cli.attack.DocumentOptions.present_with_page", lambda _self, *shown: presented.append(shown)
    )
    commands.robustness(FOLDER)
    assert presented == [(report, FOLDER / "robustness.html")]
    report.numbers.nothing_scored = True
    with pytest.raises(SystemExit) as ended:
        commands.robustness(FOLDER)
    assert (ended.value.code, len(presented)) == (ExitCode.NOTHING_SCORED, 2)
