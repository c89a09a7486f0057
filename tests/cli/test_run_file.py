"""`casewise init` and `casewise run`: an evaluation in one file."""

import json
import tomllib

import pytest
from tests.support.command import invoke
from tests.support.fault_server import FaultServer
from tests.support.served import served

from casewise.cli.app import app
from casewise.cli.run_file import keys_of

GATE = '[[gate]]\nbaseline = "constant:safe"\nmax_drop = "accuracy=0.05"\n'


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    return invoke


@pytest.fixture
def file(tmp_path):
    def write(top="", rest="", benchmark='["demo"]', judge='["linear", "constant:safe"]'):
        path = tmp_path / "eval.toml"
        path.write_text(f"benchmark = {benchmark}\njudge = {judge}\n{top}\n{rest}")
        return path.name

    return write


@pytest.mark.slow
def test_a_written_file_has_every_option_with_a_comment_and_can_be_run(command, tmp_path):
    assert command("init", "--judge", "linear", "--judge", "constant:safe").code == 0
    text = (tmp_path / "eval.toml").read_text()
    values = tomllib.loads(text)
    lines = [line for line in text.splitlines() if " = " in line]

    for keys in map(keys_of, ("judge", "report", "gate")):
        assert all(any(line.removeprefix("# ").startswith(f"{key} = ") for line in lines) for key in keys)
    assert values["judge"] == ["linear", "constant:safe"]
    assert values["report"]["labels"] == "votes"

    assert "dry_run" not in text
    assert command("run", "eval.toml", "--dry-run").code == 0

    assert command("init").code == 2
    assert (tmp_path / "eval.toml").read_text() == text
    assert "--benchmark casebench" in command("init", "casebench").err


def test_the_keys_are_the_options_of_judge():
    options = {
        one.name.lstrip("-").replace("-", "_")
        for one in app["judge"].assemble_argument_collection()
        if one.show and one.name.startswith("--")
    }
    assert options - set(keys_of("judge")) == {"dry_run", "test_connection", "yes"}


def test_a_dry_run_says_what_would_be_asked_and_writes_nothing(command, file, tmp_path):
    said = command("run", file(rest=GATE, top="limit = 10"), "--dry-run")

    assert said.code == 0
    assert "linear: 10 judgements of 10 items" in said.out
    assert "1 gate" in said.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_run_asks_reports_and_gates_and_a_second_one_asks_nothing_again(command, file, tmp_path):
    first = command("run", file(rest=GATE))
    again = command("run", "eval.toml", "--json")

    out = tmp_path / "runs" / "eval"
    assert first.code == again.code == 0
    assert "Gate: PASS" in first.out
    assert (out / "eval.toml").read_text() == (tmp_path / "eval.toml").read_text()
    assert (out / "demo" / "report.html").is_file()
    assert (out / "leaderboard.html").is_file()
    found = json.loads(again.out)
    assert {name: run["n_calls"] for name, run in found["runs"].items()} == {"linear": 0, "constant:safe": 0}
    assert [(one["judge"], one["exit_code"], one["gate"]["decision"]) for one in found["gates"]] == [
        ("linear", 0, "pass")
    ]
    assert found["leaderboard"]["rows"][0]["name"] == "linear (probability)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("baseline", "code"), [("constant:intended", 1), ("constant:safe", 3)], ids=["worse", "cannot tell"]
)
def test_a_gate_that_fails_or_cannot_tell_is_the_exit_code(command, file, baseline, code):
    gate = f'[[gate]]\njudge = ["linear"]\nbaseline = "{baseline}"\nmax_drop = "accuracy=0.001"\n'
    judges = json.dumps(["linear", baseline])

    assert command("run", file(rest=gate, judge=judges)).code == code


@pytest.mark.parametrize(
    ("top", "rest", "problem"),
    [
        ("max_cots = 5", "", "max_cots is not known (did you mean 'max_cost'?)"),
        ("", "[report]\nlables = 'votes'", "report.lables is not known (did you mean 'labels'?)"),
        ("", "[[gate]]\nmax_drp = 'accuracy=1'", "gate.max_drp is not known (did you mean 'max_drop'?)"),
        ("margin = 0.1", "", "margin is a key of [report]; put it there"),
        ("limit = 2.5", "", "limit is 2.5; it is a whole number"),
        ("limit = true", "", 'Invalid value for --limit: unable to convert "True" into int'),
        ("max_cost = 'five'", "", 'Invalid value for --max-cost: unable to convert "five" into float'),
        ("max_cost = -1", "", "--max-cost is -1.0; it is 0 or more, in US dollars"),
        ("context_role = 'usr'", "", 'Invalid value "usr" for --context-role'),
        ("elicit = 'binary,scroe'", "", "no elicitation is called 'scroe' (did you mean 'score'?)"),
        ("price_in = 1", "", "--price-out is missing"),
        ("", "[[gate]]\nmax_drop = 'acuracy=0.1'\nbaseline = 'linear'", "did you mean 'accuracy'?"),
        ("", "[[gate]]\nmax_drop = 'accuracy=0.1'\nbaseline = 'linea'", "gate.baseline is 'linea' (did you mean 'linear'?)"),
        ("", "[[gate]]\nmax_drop = 'accuracy=0.1'\nbaseline = 'linear'\njudge = 'linear'", "gate.baseline is 'linear', and no other judge"),
        ("", "[[gate]]\nmax_drop = 'accuracy=0.1'\nbaseline = 'my--judge'", "gate.baseline is 'my--judge'"),
        ("gate = 5", "", "gate is no table; write [[gate]]"),
        ("", "[[gate]]\nbaseline = 'linear'", "give either gate.max_drop or gate.max_turned"),
        ("", "gate = 3", "not a run file in TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_file_and_key_before_anything_is_asked(command, file, tmp_path, top, rest, problem):
    rest = "gate = 3\n[report" if rest == "gate = 3" else rest
    said = command("run", file(top, rest))

    assert said.code == 2
    assert said.err.startswith("error: eval.toml: ")
    assert problem in said.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("judge", "benchmark", "problem"),
    [
        ('["gpt-4o"]', '["demo"]', "no judge is called 'gpt-4o' (did you mean 'openai/gpt-4o'?)"),
        ('["linear"]', '["nowhere"]', "nowhere: no such benchmark"),
        ("[]", '["demo"]', "judge is missing"),
    ],
)
def test_an_unknown_judge_or_benchmark_is_named_with_its_key(command, file, judge, benchmark, problem):
    said = command("run", file(judge=judge, benchmark=benchmark))

    assert said.code == 2
    assert said.err.startswith(f"error: eval.toml: {problem}")


@pytest.mark.slow
def test_a_budget_of_nothing_stops_before_the_first_call_and_more_money_goes_on(command, file, tmp_path):
    server = FaultServer()
    with served(server):
        top = f'base_url = "{server.url}"\nprice_in = 1\nprice_out = 1\nlimit = 2\n'
        said = command("run", file(f"{top}max_cost = 0", judge='["vllm/tiny"]'), "--yes")
        assert said.code == 4
        assert "the cost limit of $0" in said.err
        assert not server.bodies
        assert not (tmp_path / "runs" / "eval" / "demo" / "report.html").exists()

        said = command("run", file(f"{top}max_cost = 1", judge='["vllm/tiny"]'), "--yes")
        assert said.code == 0
        assert "eval.toml has changed since the last session" in said.err
        assert len(server.bodies) == 2


def test_without_consent_nothing_is_sent_and_nothing_is_written(command, file, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    said = command("run", file(judge='["openai/gpt-4o"]'))

    assert said.code == 2
    assert "add --yes" in said.err
    assert not (tmp_path / "runs").exists()
