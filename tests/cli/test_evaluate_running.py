"""What the commands of reports, comparisons, boards and gates hand to the API, where they write, and how they end."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from casewise import api
from casewise.cli import evaluate as commands
from casewise.cli.printing import gathering_results
from casewise.errors import ConfigurationError, ExitCode
from casewise.evaluate.judged_runs import ReportOptions, policy_of

RUN, OTHER = Path("run"), Path("other")
INTENDED = commands.NumbersOptions(labels="intended", benchmark="demo")
OPTIONS = ReportOptions(labels=policy_of("intended"))


@pytest.fixture
def world(monkeypatch):
    """What was asked of the API and printed; `scored` is whether any item has a verdict, `exit_code` the gate's."""
    world = SimpleNamespace(asked=list[Any](), shown=list[Any](), scored=True, exit_code=ExitCode.NO)

    def report(name):
        def make(*runs, **options):
            world.asked.append((name, *runs, options))
            numbers = SimpleNamespace(
                nothing_scored=not world.scored, write_metrics=lambda run: world.shown.append(("metrics", run))
            )
            return SimpleNamespace(
                name=name,
                numbers=numbers,
                exit_code=world.exit_code,
                to_html=lambda: "<p>",
                write_failures=lambda path: [world.shown.append(("failures", path)), 3][1],
                write_site=lambda site, *, with_texts: f"{site}, texts: {with_texts}",
            )

        return make

    def present(self, report, *, full=True):
        world.shown.append((getattr(report, "name", report), full, self.form))

    def present_with_page(_self, report, page, *, full, hint, before_printing):
        before_printing()
        world.shown.append((report.name, page, full, hint))

    for name in ("judge", "report", "policies", "paper", "compare", "leaderboard", "leaderboards", "gate", "require_robustness"):  # fmt: skip
        monkeypatch.setattr(f"casewise.cli.evaluate.api.{name}", report(name))
    monkeypatch.setattr("casewise.cli.evaluate.api.replying.compare_says_does", report("says and does"))
    monkeypatch.setattr("casewise.cli.evaluate.DocumentOptions.present", present)
    monkeypatch.setattr("casewise.cli.evaluate.DocumentOptions.present_with_page", present_with_page)
    monkeypatch.setattr("casewise.cli.evaluate.by_benchmark", lambda runs: {run.parent: run for run in runs})
    return world


def code_of(command, *given: Any, **options: Any) -> int:
    try:
        command(*given, **options)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_a_report_of_one_run_writes_its_metrics_and_failures_and_hints_at_the_tables(world, capsys):
    commands.report([RUN], numbers=INTENDED, failures=Path("failures.csv"))
    assert world.asked == [("report", RUN, {"benchmark": "demo", "options": OPTIONS})]
    assert world.shown == [
        ("metrics", RUN),
        ("failures", Path("failures.csv")),
        ("report", RUN / "report.html", False, " (to print the main tables here: --full)"),
    ]
    assert capsys.readouterr().err == "written: failures.csv, 3 items\n"
    world.shown.clear()
    commands.report([RUN, OTHER], full=True)
    assert world.shown == [("report", RUN / "report.html", True, "")]


def test_policies_take_the_place_of_a_report_and_no_rule(world):
    commands.report([RUN], policies=True, numbers=commands.NumbersOptions(benchmark="demo"))
    assert world.asked == [("policies", RUN, {"benchmark": "demo", "options": ReportOptions()})]
    assert world.shown == [("policies", True, None)]
    for rules in ({"labels": "intended"}, {"ties": "drop"}, {"unscored": "exclude"}):
        with pytest.raises(ConfigurationError, match="--policies tries every rule"):
            commands.report([RUN], policies=True, numbers=commands.NumbersOptions(**rules))
    assert len(world.asked) == 1


COMMANDS: tuple[tuple[Any, tuple[Any, ...], dict[str, Any]], ...] = (
    (commands.report, ([RUN],), {}),
    (commands.compare, ([RUN, OTHER],), {}),
    (commands.compare, (), {"says": [RUN], "does": [OTHER]}),
    (commands.leaderboard, ([RUN],), {}),
    (commands.leaderboard, ([RUN, Path("deep/run")],), {}),
)


@pytest.mark.parametrize(("command", "given", "options"), COMMANDS)
def test_a_command_without_any_verdict_prints_and_ends_with_a_code_of_its_own(world, command, given, options):
    assert code_of(command, *given, **options) == 0
    world.scored = False
    assert code_of(command, *given, **options) == ExitCode.NOTHING_SCORED
    assert len([shown for shown in world.shown if shown[0] != "metrics"]) == 2


def test_judges_are_compared_with_the_options_that_were_given(world):
    commands.compare([RUN, OTHER], numbers=INTENDED, fit_thresholds=True)
    commands.compare(says=[RUN], does=[OTHER], numbers=INTENDED, grader_labels=Path("labels.csv"))

    fitted = ReportOptions(labels=policy_of("intended"), fit_thresholds=True)
    labelled = ReportOptions(labels=policy_of("intended"), grader_labels=Path("labels.csv"))
    assert world.asked == [
        ("compare", RUN, OTHER, {"benchmark": "demo", "options": fitted}),
        ("says and does", [RUN], [OTHER], {"benchmark": "demo", "options": labelled}),
    ]
    for given, problem in (
        ({"grader_labels": Path("l.csv")}, "--grader-labels works only with --says and --does"),
        ({"says": [RUN]}, "give --says and --does together, without other runs"),
        ({"does": [RUN]}, "give --says and --does together"),
        ({"runs": [RUN], "says": [RUN], "does": [OTHER]}, "without other runs"),
    ):
        options: dict[str, Any] = {**given}
        runs = options.pop("runs", None)
        with pytest.raises(ConfigurationError, match=problem):
            commands.compare(runs, **options)
    assert len(world.asked) == 2


def test_a_leaderboard_of_one_benchmark_has_a_site_on_request(world, capsys):
    commands.leaderboard(
        [RUN], numbers=INTENDED, outputs=Path("outputs"), arms=True, site=Path("site"), with_texts=True
    )
    commands.leaderboard(numbers=INTENDED, fit_thresholds=True)
    assert capsys.readouterr().err == "site: site, texts: True\n"
    (*run, first), (name, second) = world.asked
    assert (run, name) == (["leaderboard", RUN], "leaderboard")
    assert first == {"benchmark": "demo", "outputs": Path("outputs"), "arms": True, "options": OPTIONS}
    assert (second["options"].fit_thresholds, second["arms"], second["outputs"]) == (True, False, None)


def test_runs_over_several_benchmarks_have_one_board_and_no_option_of_a_single_one(world):
    several = [Path("a/run"), Path("b/run")]
    commands.leaderboard(several, arms=True)
    assert world.asked == [("leaderboards", *several, {"arms": True, "options": ReportOptions()})]
    refused: tuple[dict[str, Any], ...] = ({"numbers": INTENDED}, {"outputs": Path("out")}, {"site": Path("site")})
    for options in refused:
        with pytest.raises(ConfigurationError, match="--benchmark, --outputs and --site work only for runs over one"):
            commands.leaderboard(several, **options)
    assert len(world.asked) == 1


@pytest.mark.parametrize("code", [ExitCode.NO, ExitCode.CANNOT_TELL])
def test_a_gate_ends_with_the_code_of_its_decision_once_it_is_printed(world, monkeypatch, code):
    monkeypatch.setattr(
        "casewise.cli.evaluate.ContinuousIntegration.write_and_print",
        lambda _self, report: world.shown.append(report.name),
    )
    world.exit_code = code
    drop: dict[str, Any] = {"baseline": OTHER, "max_drop": "accuracy=0.1"}
    assert code_of(commands.gate, RUN, **drop, max_unscored=0.2, numbers=INTENDED) == code
    assert code_of(commands.gate, RUN, max_turned="safe=0.1", defence="datamark", numbers=INTENDED) == code
    assert world.shown == [("gate", True, None), "gate", ("require_robustness", True, None), "require_robustness"]
    options = {"benchmark": "demo", "options": OPTIONS}
    assert world.asked == [
        ("gate", RUN, OTHER, {"max_drop": "accuracy=0.1", "max_unscored": 0.2, **options}),
        ("require_robustness", RUN, "safe=0.1", {"defence": "datamark", **options}),
    ]
    refused: tuple[dict[str, Any], ...] = ({}, {"baseline": OTHER}, {"max_drop": "a=1"}, {**drop, "max_turned": "safe=1"}, {"baseline": OTHER, "max_turned": "safe=1"})  # fmt: skip
    for given in refused:
        with pytest.raises(ConfigurationError, match="give either --baseline with --max-drop, or --max-turned"):
            commands.gate(RUN, **given)
    assert len(world.asked) == 2


# The paper, and the demo.


@pytest.fixture
def replayed(world, monkeypatch):
    """The output files that were replayed, of four answers each; `unscored` is how many of these have no verdict."""
    world.unscored = [0, 0]

    def replay(file, *, elicitation):
        world.asked.append((file, elicitation))
        unscored = world.unscored[len(world.asked) - 1]
        return SimpleNamespace(n=4, n_unscored=unscored, as_json=lambda: {"file": str(file)})

    monkeypatch.setattr("casewise.cli.evaluate.api.replay", replay)
    monkeypatch.setattr("casewise.cli.evaluate.DocumentOptions.present", lambda _self, report: world.shown.append(report.numbers))  # fmt: skip
    return world


FILES = [Path("output_score.json"), Path("b.json")]


@pytest.mark.parametrize(("unscored", "code"), [([0, 4], 0), ([4, 4], ExitCode.NOTHING_SCORED)])
def test_output_files_are_replayed_together(replayed, unscored, code):
    replayed.unscored = unscored
    assert code_of(commands.paper, FILES, elicitation="score") == code
    assert replayed.asked == [(file, "score") for file in FILES]
    assert replayed.shown == [{"replays": [{"file": "output_score.json"}, {"file": "b.json"}]}]


def test_one_output_file_is_a_replay_of_its_own(replayed):
    commands.paper(FILES[:1])
    assert (replayed.asked, replayed.shown) == ([(FILES[0], None)], [{"file": "output_score.json"}])
    for options in ({"sources": [*FILES, RUN]}, {"sources": FILES, "outputs": Path("out")}):
        sources: Any = options.pop("sources")
        with pytest.raises(ConfigurationError, match="give run folders or output files, not both"):
            commands.paper(sources, **options)


def test_the_paper_is_recomputed_with_runs(world):
    commands.paper([RUN], benchmark="demo", outputs=Path("out"))
    commands.paper()
    assert world.asked == [
        ("paper", RUN, {"benchmark": "demo", "outputs": Path("out")}),
        ("paper", {"benchmark": None, "outputs": None}),
    ]


@pytest.mark.parametrize("name", ["safepyramid", "casebench"])
def test_rules_are_scored_for_a_run_of_safepyramid_or_a_file_of_rules(world, monkeypatch, name):
    ruled = list[Any]()
    monkeypatch.setattr("casewise.cli.evaluate.rules", lambda sources, *, benchmark: ruled.append((sources, benchmark)))
    monkeypatch.setattr("casewise.cli.evaluate.read_run", lambda _run: SimpleNamespace(benchmark_name=name))
    RUN.mkdir()
    (RUN / "run.json").touch()
    commands.paper([RUN], benchmark="demo")
    commands.paper([Path("rules.jsonl")])
    assert ruled == [*([([RUN], "demo")] if name == "safepyramid" else []), ([Path("rules.jsonl")], None)]
    assert len(world.asked) == (name != "safepyramid")


def test_the_scores_of_rules_are_tables_or_one_document(monkeypatch, capsys):
    score = SimpleNamespace(judge="linear", protocol="per rule", columns=("RMR", "RDR"), as_json=lambda: {"rmr": 0.5})
    score.cells = lambda: [("50.0 %", "10.0 %")]
    monkeypatch.setattr("casewise.cli.evaluate.api.rule_match", lambda _source, *, benchmark: [score])
    commands.rules([RUN, OTHER], benchmark=None)
    printed, notes = capsys.readouterr()
    assert [" ".join(line.split()) for line in printed.splitlines()] == [
        "linear, per rule",
        "RMR RDR",
        "50.0 % 10.0 %",
    ] * 2
    assert notes.startswith("RMR, rule match: higher is better. RDR, rule disagreement: lower is better.")
    with gathering_results(json=True):
        commands.rules([RUN], benchmark=None)
    assert json.loads(capsys.readouterr().out) == {"scores": [{"rmr": 0.5}]}


@pytest.mark.parametrize("web", [True, False])
def test_the_demo_writes_its_page_and_leads_on_to_what_is_installed(world, monkeypatch, capsys, web):
    monkeypatch.setattr("casewise.cli.evaluate.find_spec", lambda _name: object() if web else None)
    monkeypatch.setattr("casewise.cli.evaluate.shutil.which", lambda _name: "casewise" if web else None)
    monkeypatch.setattr("casewise.cli.evaluate.relative_to_here", lambda _path: "bin/casewise")
    Path("casewise.py").touch()
    monkeypatch.setattr("casewise.cli.evaluate.sys.argv", ["casewise.py"])
    run = SimpleNamespace(report=lambda: api.report(RUN))
    monkeypatch.setattr("casewise.cli.evaluate.api.judge", lambda *_asked, out: run)
    commands.demo(out=Path("my demo"), form="text")

    assert (Path("my demo") / "report.html").read_text() == "<p>"
    assert world.shown == [("metrics", Path("my demo")), ("report", False, "text")]
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == ["", "The page: my demo/report.html", "Next:"]
    word = "casewise" if web else "bin/casewise"
    assert [line.split()[0] for line in lines[3:6]] == [word] * 3
    serving = lines[3] if web else lines[-1]
    assert f"{word} serve 'my demo'" in serving
    assert (len(lines), ", and then " in lines[-1]) == (3 + len(commands.NEXT), not web)


def test_the_demo_is_called_by_name_where_no_file_started_it(world, monkeypatch, capsys):
    monkeypatch.setattr("casewise.cli.evaluate.shutil.which", lambda _name: None)
    monkeypatch.setattr("casewise.cli.evaluate.sys.argv", ["not-a-file"])
    monkeypatch.setattr("casewise.cli.evaluate.find_spec", lambda _name: object())
    run = SimpleNamespace(report=lambda: api.report(RUN))
    monkeypatch.setattr("casewise.cli.evaluate.api.judge", lambda *_asked, out: run)
    commands.demo(out=Path("demo"))
    assert capsys.readouterr().err.splitlines()[3].startswith("  casewise serve demo  ")
