"""The front door: a page one can read, commands that load when they are called, and no room below the api."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command import Command
from typer.main import get_command
from typer.testing import CliRunner

import casewise
from casewise.cli.app import SECTIONS, app
from casewise.extras import install_command

CLI = Path(casewise.__file__).parent / "cli"
ENTRIES = [entry for section in SECTIONS.values() for entry in section]


@pytest.fixture
def program(monkeypatch, capsys):
    return Command(monkeypatch, capsys)


def test_the_page_of_all_commands_is_in_sections_a_line_each():
    said = CliRunner().invoke(app, [], env={"COLUMNS": "80"}).output.splitlines()

    for heading, section in SECTIONS.items():
        assert (f"{heading}:" in said) == bool(section)
    for entry in ENTRIES:
        assert [line for line in said if line.split()[:1] == [entry.name] and line.endswith(entry.help)], entry.name
    assert max(map(len, said)) <= 80


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_entry_is_a_command_with_help_of_its_own(entry):
    command = get_command(app).commands[entry.name]  # type: ignore[attr-defined]  # it is a group

    assert command.name == entry.name
    assert command.help


def test_the_page_of_all_commands_loads_none_of_them():
    check = (
        "import sys; sys.argv = ['casewise', '--help']\n"
        "from casewise.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([n for n in sys.modules if n.startswith(('casewise.api', 'casewise.cli.')) "
        "and n not in ('casewise.api', *map('casewise.cli.{}'.format, ('app', 'commands', 'printing')))])"
    )

    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


def test_h_is_help_everywhere(program):
    for words in ((), ("judge",), ("data",), ("data", "show"), ("study", "open")):
        assert program(*words, "-h").out == program(*words, "--help").out


def test_a_path_that_is_no_text_is_refused_before_anything_is_written(program):
    said = program("judge", "demo", "--judge", "constant:safe", "--out", "run\udcfc")

    assert said.code == 2
    assert "is not utf-8: rename the file" in said.err
    assert not list(Path().glob("run*"))


def test_a_command_that_is_nearly_one_is_told(program):
    said = program("leaderbord")

    assert said.code == 2
    assert "leaderboard" in said.err


def test_where_the_recruiters_commands_were_they_still_are(program):
    assert "keep-out" in program("study", "prolific", "--help").out
    assert "prolific" not in program("study", "--help").out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("judge", "demo", "--judge", "constnat:safe"), "did you mean 'constant:safe'?"),
        (("judge", "demo", "--judge", "linear", "--elicit", "probabilty"), "did you mean 'probability'?"),
        (("judge", "demo", "--judge", "linear", "--items", "claer"), "did you mean 'clear'?"),
        (("audit", "demo", "--fail-on", "lables"), "did you mean 'labels'?"),
        (("gate", "x", "--baseline", "y", "--max-drop", "acuracy=0.1"), "did you mean 'accuracy'?"),
    ],
)
def test_what_is_nearly_a_name_is_told(words, says, program):
    said = program(*words)

    assert said.code == 2
    assert says in said.err


@pytest.mark.parametrize(
    ("words", "at", "said"), [("casewise jud", 1, "judge"), ("casewise judge --retry", 2, "--retry-unscored")]
)
def test_a_shell_is_told_how_a_line_may_go_on(words, at, said):
    asking = {"_CASEWISE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(at)}

    assert as_a_shell(asking).split() == [said]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_what_makes_it_ask(shell):
    assert "_CASEWISE_COMPLETE=complete_" + shell in as_a_shell({"_CASEWISE_COMPLETE": f"source_{shell}"})


def as_a_shell(asking):
    program = "import sys; sys.argv = ['casewise']; from casewise.cli.app import main; main()"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env={**os.environ, **asking}, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("words", [["serve"], ["decider", "serve", "decider.json"]])
def test_what_an_extra_brings_is_asked_for_by_its_name_and_is_no_bug(words):
    program = f"import sys; sys.modules['uvicorn'] = None; sys.argv = ['casewise', *{words}]; from casewise.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (2, f"error: this needs uvicorn: {install_command('web')}\n")


def test_the_demo_prints_its_answer_and_leads_on(monkeypatch, capsys, tmp_path):
    said = Command(monkeypatch, capsys)("demo", "--out", tmp_path / "demo")

    assert "agrees with people on" in " ".join(said.out.split())
    assert "Balanced accuracy" not in said.out
    assert "data show demo 1" in said.err
