"""What `casewise run` asks, stops at, reports and gates, and the exit code that follows."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from casewise.cli import run_file as commands
from casewise.cli.judge import BeforeRunOptions
from casewise.cli.printing import gathering_results
from casewise.errors import ConfigurationError, ExitCode
from casewise.judges.plan import RunSummary

FILE = Path("nightly.toml")
JUDGING: dict[str, Any] = {
    "benchmark": ["demo"],
    "judge": ["linear", "constant:safe"],
    "out": None,
    **dict.fromkeys(("plan", "items", "model", "calls", "local")),
}
GATE = commands.GateTable(["--max-drop=accuracy=0.1"], "constant:safe", ["linear"], ["demo"])


@pytest.fixture
def world(monkeypatch):
    """Two planned judges; what happens in `events`, what their runs come to in `summaries`, and the code of each command."""
    FILE.write_text("a run file\n")
    read = commands.RunFile(FILE, JUDGING, ["--labels=intended", "--failures=f.csv"], [GATE])
    summaries = [RunSummary(run=Path("run"), n_items=2, n_usable=2) for _ in range(2)]
    world = SimpleNamespace(events=list[Any](), summaries=summaries, codes=dict[str, int](), file=read)
    plans = [
        SimpleNamespace(label=name, judge=f"the judge {name}", estimate=lambda: "an estimate")
        for name in ("linear", "constant:safe")
    ]

    def plan_runs(folders, *, needs_key, **options):
        world.events.append(("planned", folders, needs_key, sorted(options)))
        return plans

    def perform_with_consent(planned, *, agreed):
        world.events.append(("performed", agreed))
        return [SimpleNamespace(summary=summary, path=summary.run) for summary in world.summaries]

    def run_command(command, tokens):
        world.events.append((command, *tokens))
        return world.codes.get(command, 0), {command: 1}

    def happens(name):
        return lambda *given, **options: world.events.append((name, *given, *options.values()))

    monkeypatch.setattr("casewise.cli.run_file.RunFile.read", lambda _path: world.file)
    options = {name: SimpleNamespace(name=f"--{name}") for name in ("labels", "html")}
    monkeypatch.setattr("casewise.cli.run_file.keys_of", lambda _command: options)
    monkeypatch.setattr("casewise.cli.run_file.plan_runs", plan_runs)
    monkeypatch.setattr("casewise.cli.run_file.perform_with_consent", perform_with_consent)
    monkeypatch.setattr("casewise.cli.run_file.run_command", run_command)
    monkeypatch.setattr("casewise.cli.run_file.test_connection", happens("connected"))
    monkeypatch.setattr("casewise.cli.run_file.print_planned", happens("estimated"))
    monkeypatch.setattr("casewise.cli.run_file.runs_json", lambda _runs, _planned: "the runs")
    monkeypatch.setattr("casewise.cli.run_file.print_summary", lambda _summary, path, *, then: print(path, then))
    return world


def code_of(**before: Any) -> int:
    with pytest.raises(SystemExit) as ended:
        commands.run(FILE, before=BeforeRunOptions(**before))
    return int(ended.value.code or 0)


OUT = Path("runs/nightly")


def test_judges_are_asked_reported_ranked_and_gated_in_that_order(world, capsys):
    assert code_of(yes=True) == 0

    linear, safe = str(OUT / "demo/linear"), str(OUT / "demo/constant-safe")
    assert world.events == [
        ("planned", {"demo": {"linear": Path(linear), "constant:safe": Path(safe)}}, True, ["calls", "items", "local", "model", "plan"]),
        ("performed", True),
        ("report", linear, safe, "--labels=intended", "--failures=f.csv", f"--html={OUT / 'demo/report.html'}"),
        ("leaderboard", linear, safe, "--labels=intended", f"--html={OUT / 'leaderboard.html'}"),
        ("gate", linear, f"--baseline={safe}", "--max-drop=accuracy=0.1"),
    ]  # fmt: skip
    assert (OUT / "nightly.toml").read_text() == "a run file\n"
    printed, notes = capsys.readouterr()
    assert printed.splitlines() == ["linear:", "run None", "constant:safe:", "run None", "", "gate: linear on demo"]
    assert notes == ""


def test_all_that_was_done_is_one_document(world, capsys):
    with gathering_results(json=True):
        assert code_of() == 0
    assert world.events[1] == ("performed", False)
    assert json.loads(capsys.readouterr().out) == {
        "runs": "the runs",
        "reports": {"demo": {"report": 1}},
        "leaderboard": {"leaderboard": 1},
        "gates": [{"benchmark": "demo", "judge": "linear", "exit_code": 0, "gate": {"gate": 1}}],
    }


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ({"gate": ExitCode.NO, "report": ExitCode.NOTHING_SCORED}, ExitCode.NO),
        ({"gate": ExitCode.CANNOT_TELL, "report": ExitCode.NOTHING_SCORED}, ExitCode.CANNOT_TELL),
        ({"report": ExitCode.NOTHING_SCORED}, ExitCode.NOTHING_SCORED),
        ({"leaderboard": ExitCode.NOTHING_SCORED}, ExitCode.NOTHING_SCORED),
    ],
)
def test_the_exit_code_is_that_of_the_gates_before_that_of_a_report(world, codes, code):
    world.codes = codes
    assert code_of() == code


@pytest.mark.parametrize("counts", [{"stopped": "the limit"}, {"n_pending": 1}, {"n_unavailable": 1}, None])
@pytest.mark.parametrize("json_output", [False, True])
def test_a_run_that_is_not_complete_is_neither_reported_nor_gated(world, capsys, counts, json_output):
    if counts is None:
        world.summaries.pop()
    for name, value in (counts or {}).items():
        setattr(world.summaries[-1], name, value)
    with gathering_results(json=json_output):
        assert code_of() == ExitCode.STOPPED

    assert [event[0] for event in world.events] == ["planned", "performed"]
    assert (OUT / "nightly.toml").exists()
    printed = capsys.readouterr().out
    assert (json.loads(printed) == {"runs": "the runs"}) if json_output else printed.startswith("linear:\n")


def test_a_dry_run_or_a_test_of_connections_performs_nothing(world, capsys):
    commands.run(FILE, before=BeforeRunOptions(dry_run=True))
    commands.run(FILE, before=BeforeRunOptions(test_connection=True, yes=True))

    (planned, estimated, (_, _, needs_key, _), connected) = world.events
    assert (planned[2], needs_key) == (False, True)
    assert (estimated[0], estimated[2]) == ("estimated", ["an estimate"] * 2)
    assert (connected[1], connected[-1]) == (["the judge linear", "the judge constant:safe"], True)
    assert capsys.readouterr().err == "then: reports in runs/nightly, 1 gate\n"
    world.file = commands.RunFile(FILE, JUDGING, [], [])
    commands.run(FILE, before=BeforeRunOptions(dry_run=True))
    assert capsys.readouterr().err == "then: reports in runs/nightly, 0 gates\n"
    assert not OUT.exists()


def test_a_file_that_changed_since_the_last_session_is_said_and_kept_anew(world, capsys):
    code_of()
    FILE.write_text("# changed\n")
    capsys.readouterr()
    code_of()
    assert (
        capsys.readouterr().err
        == f"nightly.toml has changed since the last session; {OUT / FILE} is its newest version\n"
    )
    assert (OUT / FILE).read_text() == "# changed\n"
    code_of()
    assert capsys.readouterr().err == ""


def test_a_run_file_without_consent_is_not_kept(world, monkeypatch):
    def refuse(_planned, *, agreed):
        raise ConfigurationError("nothing was sent")

    monkeypatch.setattr("casewise.cli.run_file.perform_with_consent", refuse)
    with pytest.raises(ConfigurationError, match="nothing was sent"):
        commands.run(FILE)
    assert not OUT.exists()
