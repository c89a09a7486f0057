"""What `casewise replies` asks before it sends anything, under which limits it grades, and how it ends."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from casewise.cli import replies as commands
from casewise.cli.calls import Calls, Items
from casewise.cli.printing import gathering_results
from casewise.errors import ConfigurationError, ExitCode
from casewise.judges.plan import Selection
from casewise.models.prices import Spend
from casewise.models.protocol import Sampling
from casewise.replies.collect import ChatSummary
from casewise.replies.grade import GradeOptions, GradeSummary
from casewise.runs.limits import Limits
from casewise.runs.run import CallEstimate

FOLDER = Path("my replies")
ESTIMATE = CallEstimate(n_calls=2, input_tokens=20, output_tokens=4, cost_usd=0.0, cost_at_most_usd=0.0)


@pytest.fixture
def events(monkeypatch):
    """What happens, in its order: each question for consent, and each thing that is performed."""
    happened = list[Any]()
    monkeypatch.setattr(
        "casewise.cli.replies.confirm_sending", lambda what, *to, agreed: happened.append(("asked", what, to, agreed))
    )
    return happened


@pytest.fixture
def planned(monkeypatch, events):
    """The collections that were planned; `summary` is what the next one comes to."""
    plans = SimpleNamespace(made=list[Any](), summary=ChatSummary(run=FOLDER, n_items=2, n_usable=2))

    class Planned:
        def __init__(self, *given: Any) -> None:
            self.folder, self.benchmark, self.model, self.plan, self.chat, self.options = given
            plans.made.append(self)

        def estimate(self) -> CallEstimate:
            return ESTIMATE

        def estimate_before(self) -> dict[str, CallEstimate]:
            return {"writer": ESTIMATE}

        def sends_to(self) -> tuple[str | None, ...]:
            return ("chat.org", "writer.org")

        def perform(self, watch: Any) -> Any:
            watch.say("under way")
            events.append("performed")
            return SimpleNamespace(summary=plans.summary)

    monkeypatch.setattr("casewise.cli.replies.PlannedReplies", Planned)
    monkeypatch.setattr("casewise.cli.replies.has_discarded_texts", lambda _folder: False)
    return plans


def collect(**options: Any) -> None:
    commands.collect("demo", model="fake/rehearsal", **options)


def test_replies_are_collected_with_the_options_that_were_given(planned, events, tmp_path):
    (tmp_path / "system.txt").write_text("Be brief. {context}")
    chat = commands.ChatOptions("user", verified=True, sampling=Sampling(temperature=0.5, max_tokens=77))
    calls, items = Calls(limits=Limits(max_cost=1.5)), Items(Selection(limit=2), seed=7)
    collect(out=FOLDER, chat=chat, arms="full none", repeats=3, retry_unanswered=2, items=items, calls=calls)
    collect(chat=commands.ChatOptions(system=tmp_path / "system.txt"))

    first, second = planned.made
    assert (first.folder, first.model.model.name) == (FOLDER, "fake/rehearsal")
    assert (len(first.plan.items), len(first.plan.arms), first.plan.repeats) == (2, 2, 3)
    options = first.options
    assert (options.temperature, options.max_tokens, options.seed, options.retries) == (0.5, 77, 7, 2)
    assert (options.limits.max_cost, options.batch, options.makers.needs_key) == (1.5, None, True)
    assert second.folder == Path("replies/demo-fake-rehearsal")
    assert (len(second.plan.arms), second.plan.repeats, second.options.retries) == (1, 1, 0)
    assert first.chat != second.chat
    assert [event for event in events if event != "performed"] == [
        ("asked", "the benchmark's queries", ("chat.org", "writer.org"), False)
    ] * 2


def test_replies_are_collected_after_consent_and_the_next_command_is_named(planned, events, capsys, monkeypatch):
    collect(out=FOLDER, yes=True)
    assert events == [("asked", "the benchmark's queries", ("chat.org", "writer.org"), True), "performed"]
    printed, notes = capsys.readouterr()
    assert printed == "2 replies, 0 unanswered; 0 calls in 0.0 s: my replies\n"
    assert notes.splitlines() == ["under way", "next: casewise replies grade 'my replies' --grader rubric:MODEL"]
    monkeypatch.setattr("casewise.cli.replies.has_discarded_texts", lambda _folder: True)
    collect(out=FOLDER)
    assert capsys.readouterr().err.splitlines()[-1] == "next: casewise report 'my replies'"
    with gathering_results(json=True):
        collect(out=FOLDER)
    printed, notes = capsys.readouterr()
    assert (json.loads(printed)["n_replies"], notes) == (2, "under way\n")


def test_a_dry_run_of_collecting_counts_the_calls_and_asks_nobody(planned, events, capsys):
    collect(dry_run=True)

    assert events == []
    assert not planned.made[0].options.makers.needs_key
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "fake/rehearsal: 2 calls"
    assert "before that, writer writes 2 texts" in lines


@pytest.mark.parametrize(
    ("counts", "code", "said"),
    [
        ({"n_usable": 1, "stopped": "the budget is spent"}, ExitCode.STOPPED, "stopped: the budget is spent; "),
        ({"n_pending": 2}, ExitCode.STOPPED, "2 calls are at the provider (casewise show jobs 'my replies')"),
        (
            {"n_unusable": 2, "problems": {"cut off": 2}},
            ExitCode.NOTHING_SCORED,
            "2 unanswered in this session: cut off",
        ),
    ],
)
def test_collecting_that_does_not_end_well_has_a_code_of_its_own(planned, events, capsys, counts, code, said):
    planned.summary = ChatSummary(run=FOLDER, n_items=2)
    for name, value in counts.items():
        getattr(planned.summary, name).update(value) if name == "problems" else setattr(planned.summary, name, value)
    with pytest.raises(SystemExit) as ended:
        collect(out=FOLDER)
    assert ended.value.code == code
    notes = capsys.readouterr().err
    assert said in notes
    assert ("next:" in notes) == (planned.summary.n_done > 0)


def test_a_limit_that_ends_before_the_first_reply_is_a_stop_and_no_fault_of_the_folder(capsys):
    """The models that write texts for the arms take all of it, and the folder holds no replies yet."""
    with pytest.raises(SystemExit) as ended:
        collect(
            out=FOLDER,
            arms="filter:fake/rehearsal",
            items=Items(Selection(limit=2)),
            calls=Calls(limits=Limits(max_tokens_total=1)),
        )
    assert ended.value.code == ExitCode.STOPPED
    assert not (FOLDER / "replies.jsonl").exists()
    assert capsys.readouterr().err.splitlines() == [
        "stopped: filter:fake/rehearsal: the limit of 1 token; the same command resumes"
    ]


def test_replies_of_a_table_are_imported_and_nobody_is_asked(planned, events, capsys, monkeypatch):
    imported = list[Any]()

    def import_replies(table, folder, loaded, *, model, source):
        imported.append((table, folder, loaded.name, model, source))
        return 1

    monkeypatch.setattr("casewise.cli.replies.import_replies", import_replies)
    commands.collect("demo", model="my bot", from_=Path("replies.csv"), out=FOLDER)
    assert imported == [(Path("replies.csv"), FOLDER, "demo", "my bot", "demo")]
    assert capsys.readouterr().out == "my replies: 1 reply\n"
    assert (events, planned.made) == ([], [])


# Grading.


@pytest.fixture
def graded(monkeypatch, events):
    """What each grader comes to; each has spent a dollar before."""
    summaries = dict[str, GradeSummary]()

    def make_grader(name, *, rubric, options):
        events.append(("made", name, rubric, options.needs_key))
        return SimpleNamespace(name=name, sends_to=f"{name}.org")

    def grade(folder, grader, *, benchmark, options):
        options.watch.say(f"asking {grader.name}")
        events.append(("graded", folder, grader.name, benchmark, options.limits, options.retries))
        return summaries.get(grader.name) or GradeSummary(run=FOLDER, n_replies=2, n_usable=2)

    monkeypatch.setattr("casewise.cli.replies.make_grader", make_grader)
    monkeypatch.setattr("casewise.cli.replies.api.grade", grade)
    monkeypatch.setattr(
        "casewise.cli.replies.grading_spend", lambda _folder, graders: Spend(1.0 * sum(1 for _ in graders), 0)
    )
    monkeypatch.setattr(
        "casewise.cli.replies.discard_texts", lambda folder: [events.append(("discarded", folder)), 2][1]
    )
    return summaries


def test_replies_are_graded_after_consent_by_each_grader_under_one_budget(graded, events, capsys):
    limited = Limits(max_cost=5.0)
    commands.grade(FOLDER, grader=["a", "b"], rubric="lenient", benchmark="demo", retry_ungraded=2, calls=Calls(limits=limited), yes=True)  # fmt: skip

    texts, shared = "the benchmark's queries and the replies", Limits(max_cost=5.0, spent_elsewhere=Spend(1.0, 0))
    assert events == [
        ("made", "a", "lenient", True),
        ("made", "b", "lenient", True),
        ("asked", texts, ("a.org",), True),
        ("asked", texts, ("b.org",), True),
        ("graded", FOLDER, "a", "demo", shared, 2),
        ("graded", FOLDER, "b", "demo", shared, 2),
    ]
    printed, notes = capsys.readouterr()
    assert printed.splitlines() == [f"{name}: 2 grades, 0 ungraded; 0 calls in 0.0 s" for name in "ab"]
    assert notes.splitlines() == ["asking a", "asking b", "next: casewise report 'my replies'"]


def test_without_consent_no_grader_is_asked(graded, events, monkeypatch):
    def refuse(*_asked, **_how):
        raise ConfigurationError("nothing was sent")

    monkeypatch.setattr("casewise.cli.replies.confirm_sending", refuse)
    with pytest.raises(ConfigurationError, match="nothing was sent"):
        commands.grade(FOLDER, grader=["a"])
    assert events == [("made", "a", "strict", True)]


def test_a_dry_run_of_grading_counts_the_calls_of_each_grader_and_asks_nobody(graded, events, capsys, monkeypatch):
    monkeypatch.setattr("casewise.cli.replies.read_manifest", lambda folder, _kind: ("manifest of", folder))
    monkeypatch.setattr("casewise.cli.replies.find_benchmark", lambda manifest, benchmark: (manifest, benchmark))
    monkeypatch.setattr("casewise.cli.replies.estimate_grading", lambda _folder, _benchmark, _grader: ESTIMATE)
    commands.grade(FOLDER, grader=["a", "b"], dry_run=True)

    assert events == [("made", "a", "strict", False), ("made", "b", "strict", False)]
    assert [line for line in capsys.readouterr().out.splitlines() if "calls" in line] == ["a: 2 calls", "b: 2 calls"]


@pytest.mark.parametrize("json_output", [False, True])
def test_the_exit_code_of_grading_is_that_of_the_worst_grader(graded, events, capsys, json_output):
    graded["b"] = GradeSummary(run=FOLDER, n_replies=2, n_usable=1, n_pending=1, notes=("b saw half of it",))
    with pytest.raises(SystemExit) as ended, gathering_results(json=json_output):
        commands.grade(FOLDER, grader=["a", "b"])

    assert ended.value.code == ExitCode.STOPPED
    printed, notes = capsys.readouterr()
    assert "next:" not in notes
    if json_output:
        assert [row["n_graded"] for row in json.loads(printed)] == [2, 1]
        assert "note:" not in notes
    else:
        assert printed.splitlines()[1].startswith("b: 1 grade, ")
        assert "note: b saw half of it" in notes.splitlines()
        assert "1 call is at the provider (casewise show jobs 'my replies')" in notes


@pytest.mark.parametrize(
    ("counts", "discarded"),
    [({}, True), ({"stopped": "interrupted"}, False), ({"n_pending": 1}, False), ({"n_unusable": 1}, False)],
)
def test_texts_are_discarded_only_once_every_grader_has_graded_all(graded, events, capsys, counts, discarded):
    summaries = [GradeSummary(run=FOLDER, n_replies=2, n_usable=2), GradeSummary(run=FOLDER, n_replies=2, **counts)]
    commands.discard(FOLDER, summaries)

    assert events == ([("discarded", FOLDER)] if discarded else [])
    assert capsys.readouterr().err == (
        "the texts of 2 replies were removed; grades and digests stay\n"
        if discarded
        else "the texts stay, because some replies have no grade yet; the same command resumes\n"
    )


def test_texts_stay_unless_their_removal_is_asked_for(graded, events):
    commands.grade(FOLDER, grader=["a"])
    assert ("discarded", FOLDER) not in events
    assert events[-1][-1] == 0, "no grade is asked for again unless that is said"
    commands.grade(FOLDER, grader=["a"], discard_replies=True)
    assert events[-1] == ("discarded", FOLDER)


def test_graders_share_one_budget_also_with_those_that_another_command_names(graded, events):
    graders: list[Any] = [SimpleNamespace(name=name) for name in "abc"]
    summaries = commands.grade_each(FOLDER, graders, GradeOptions(limits=Limits(max_cost=9.0)))

    assert len(summaries) == 3
    assert [event[4].spent_elsewhere.cost_usd for event in events] == [2.0, 2.0, 2.0]
