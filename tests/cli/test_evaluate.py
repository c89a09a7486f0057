"""Reports, comparisons, leaderboards and gates as commands: what they take together, where they write, how they end."""

import json
from pathlib import Path

import pytest
from tests.support.command import invoke

import casewise
from casewise.api.judging import RunOptions
from casewise.cli.evaluate import ContinuousIntegration, NumbersOptions, end_with_code
from casewise.errors import ExitCode
from casewise.evaluate.judged_runs import ReportOptions
from casewise.judges.plan import Selection
from casewise.storage.benchmark_folder import write_benchmark


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A benchmark of eight items, and a run of each of two judges over it."""
    folder, demo = tmp_path_factory.mktemp("eight"), casewise.load("demo")
    write_benchmark(demo.restricted_to(demo.items[:8]), folder / "eight")
    for name in ("intended", "safe"):
        casewise.judge(folder / "eight", f"constant:{name}", out=folder / name)
    return folder


def test_options_of_numbers_are_those_of_python_with_the_further_ones_kept():
    more = ReportOptions(fit_thresholds=True)
    options = NumbersOptions(labels="votes", ties="drop", unscored="exclude", items="clear").options(more)

    assert options.fit_thresholds
    assert (options.items, options.unscored) == ("clear", "exclude")
    assert options.labels.name == "votes,ties:drop"
    assert NumbersOptions().options() == ReportOptions()


def test_nothing_scored_has_an_exit_code_of_its_own():
    end_with_code(nothing_scored=False)
    with pytest.raises(SystemExit) as end:
        end_with_code(nothing_scored=True)
    assert end.value.code == ExitCode.NOTHING_SCORED


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("paper out.json some_folder", "give run folders or output files, not both; to add output files to runs, use --outputs"),
        ("paper out.json --outputs .", "give run folders or output files, not both"),
        ("report r --policies --labels intended", "--policies tries every rule; leave out --labels, --ties and --unscored"),
        ("report r --policies --ties drop", "--policies tries every rule"),
        ("report r --policies --unscored exclude", "--policies tries every rule"),
        ("compare a b --grader-labels x.csv", "--grader-labels works only with --says and --does"),
        ("compare --says a", "give --says and --does together, without other runs"),
        ("compare --does a", "give --says and --does together, without other runs"),
        ("compare c --says a --does b", "give --says and --does together, without other runs"),
        ("gate r", "give either --baseline with --max-drop, or --max-turned"),
        ("gate r --baseline b", "give either --baseline with --max-drop, or --max-turned"),
        ("gate r --max-drop accuracy=0.1", "give either --baseline with --max-drop, or --max-turned"),
        ("gate r --baseline b --max-turned safe=0.1", "give either --baseline with --max-drop, or --max-turned"),
        ("gate r --max-drop accuracy=0.1 --max-turned safe=0.1", "give either --baseline with --max-drop, or --max-turned"),
        ("gate r --baseline b --max-drop accuracy=0.1 --max-turned safe=0.1", "give either --baseline with --max-drop"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_refused(words, problem):
    Path("some_folder").mkdir()

    done = invoke(*words.split())

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {problem}")


@pytest.mark.parametrize("option", ["--benchmark demo", "--outputs .", "--site new"])
def test_what_concerns_one_benchmark_is_refused_for_runs_over_several(folder, option):
    casewise.judge("demo", "constant:safe", out="demo", options=RunOptions(selection=Selection(limit=2)))

    done = invoke("leaderboard", folder / "safe", "demo", *option.split())

    assert done.code == 2
    assert "--benchmark, --outputs and --site work only for runs over one benchmark" in done.err


@pytest.mark.slow
def test_a_report_is_printed_and_its_page_and_metrics_are_written(folder):
    done = invoke("report", folder / "safe", "--failures", "failed.csv")

    assert done.code == 0, done.err
    assert done.err.splitlines()[-2:] == [
        f"written: failed.csv, {len(Path('failed.csv').read_text().splitlines()) - 1} items",
        f"page: {folder / 'safe' / 'report.html'} (to print the main tables here: --full)",
    ]
    assert (folder / "safe" / "report.html").exists()
    assert json.loads((folder / "safe" / "metrics.json").read_text())


@pytest.mark.slow
def test_a_report_of_several_runs_writes_no_metrics_and_its_page_where_it_is_told(folder):
    (folder / "intended" / "metrics.json").unlink(missing_ok=True)

    done = invoke("report", folder / "intended", folder / "safe", "--html", "page.html", "--full")

    assert done.code == 0, done.err
    assert done.err.splitlines()[-1] == "page: page.html"
    assert Path("page.html").exists()
    assert not (folder / "intended" / "metrics.json").exists()


def test_every_policy_is_tried_in_place_of_a_report(folder):
    done = invoke("report", folder / "safe", "--policies", "--json")

    assert done.code == 0, done.err
    assert {"sentence", "metrics"} & json.loads(done.out).keys() == {"sentence"}


@pytest.mark.parametrize(
    ("baseline", "drop", "code", "decision"), [("safe", 0.9, 0, "pass"), ("intended", 0.2, 3, "inconclusive")]
)
def test_a_gate_ends_with_its_decision(folder, baseline, drop, code, decision):
    done = invoke("gate", folder / "safe", "--baseline", folder / baseline, "--max-drop", f"accuracy={drop}", "--json")

    assert done.code == code, done.err
    assert json.loads(done.out)["decision"] == decision


@pytest.fixture(scope="module")
def decided(folder):
    return casewise.gate(folder / "safe", folder / "safe", max_drop="accuracy=0.2")


@pytest.mark.parametrize(
    ("environment", "options", "noted"),
    [
        ({}, {}, False),
        ({"GITHUB_ACTIONS": "true"}, {}, True),
        ({"GITHUB_ACTIONS": "false"}, {}, False),
        ({"GITHUB_ACTIONS": "true"}, {"annotations": False}, False),
        ({}, {"annotations": True}, True),
    ],
)
def test_github_is_told_where_it_runs_the_gate_or_is_asked_for(
    monkeypatch, capsys, decided, environment, options, noted
):
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    ContinuousIntegration(**options).write_and_print(decided)

    assert len(decided.annotations) == 1
    assert capsys.readouterr() == ("", f"{decided.annotations[0]}\n" if noted else "")
    assert list(Path().iterdir()) == []


def test_a_summary_and_junit_are_written_where_they_are_asked_for(monkeypatch, decided):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "github.md")

    ContinuousIntegration(junit=Path("j.xml")).write_and_print(decided)
    ContinuousIntegration(summary=Path("own.md")).write_and_print(decided)

    assert sorted(path.name for path in Path().iterdir()) == ["github.md", "j.xml", "own.md"]
    assert Path("j.xml").read_text() == decided.to_junit()
    assert Path("own.md").read_text() == Path("github.md").read_text()
