"""One table of exit codes for all commands."""

import os
import pty
import signal
import subprocess
import sys
import time

import pytest
from tests.support.command import invoke
from tests.support.published import output_rows, write

import casewise
from casewise import errors
from casewise.errors import CasewiseError, ExitCode

SILENT = """
from casewise import read_reply

def silent(query, context):
    return read_reply("No idea.")
"""


@pytest.fixture
def program(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    return invoke


def test_every_error_ends_with_a_code_of_the_table():
    kinds = [kind for name in vars(errors) if isinstance(kind := getattr(errors, name), type)]

    codes = {kind.__name__: kind.exit_code for kind in kinds if issubclass(kind, CasewiseError)}
    assert {name for name, code in codes.items() if code != ExitCode.USAGE} == {"ConnectionLost"}
    assert codes["ConnectionLost"] == ExitCode.STOPPED


@pytest.mark.slow
def test_a_judge_that_gives_no_verdict_on_anything_ends_with_5(program, tmp_path):
    (tmp_path / "silent_rules.py").write_text(SILENT)

    said = program("judge", "demo", "--judge", "python:silent_rules:silent", "--out", "run", "--json")

    assert said.code == ExitCode.NOTHING_SCORED
    assert '"n_unscored": 90' in said.out
    program("judge", "demo", "--judge", "constant:safe", "--out", "safe")
    silent, beside, same = ["run"], ["run", "safe"], ["run", "run"]
    nothing = [("report", *silent), ("leaderboard", *silent), ("compare", *same)]
    assert [program(*words).code for words in nothing] == [ExitCode.NOTHING_SCORED] * 3
    for words in (("leaderboard", *beside), ("compare", *beside)):
        said = program(*words)
        assert said.code == ExitCode.DONE
        assert "silent (binary) gave no verdict on any item" in " ".join(said.out.replace("│", "").split())
    attacked = ("attack", "demo", "--judge", "python:silent_rules:silent", "--limit", "4", "--out", "attacked")
    assert [program(*words).code for words in (attacked, ("robustness", "attacked"))] == [ExitCode.NOTHING_SCORED] * 2
    gates = [program("gate", "run", "--baseline", to, "--max-drop", "accuracy=0.1").code for to in ("run", "safe")]
    assert gates == [ExitCode.CANNOT_TELL, ExitCode.NO]


def test_a_published_output_without_a_value_of_its_kind_ends_with_5(program, tmp_path):
    file = write(tmp_path / "safety_some-model" / "output_binary.json", output_rows([3, 8.5]))

    said = program("paper", str(file))

    assert said.code == ExitCode.NOTHING_SCORED
    assert "output_score.json" in said.out


def test_a_run_that_its_limit_stops_ends_with_4_and_goes_on(program):
    command = ("judge", "demo", "--judge", "fake/rehearsal", "--out", "run")

    stopped = program(*command, "--max-tokens-total", "5000")
    whole = program(*command)

    assert stopped.code == ExitCode.STOPPED
    assert "the same command resumes" in stopped.err
    assert whole.code == ExitCode.DONE


@pytest.mark.slow
def test_a_gate_on_a_run_that_did_not_finish_is_3_never_pass(program):
    casewise.judge("demo", "constant:intended", out="whole")
    program("judge", "demo", "--judge", "constant:intended", "--out", "part", "--limit", "60")
    gate = ("gate", "part", "--baseline", "whole", "--max-drop", "accuracy=0.5")

    said = program(*gate)

    assert said.code == ExitCode.CANNOT_TELL
    assert "it lacks 30 items of the baseline" in " ".join(said.out.split())
    assert '"decision": "inconclusive"' in program(*gate, "--json").out
    assert program("gate", "whole", "--baseline", "part", "--max-drop", "accuracy=0.5").code == ExitCode.DONE


def test_a_bug_ends_with_70_and_says_how_to_see_more(program, monkeypatch):
    monkeypatch.setattr("casewise.api.report_options", None, raising=False)

    said = program("compare", "x", "y")

    assert said.code == ExitCode.INTERNAL
    assert "CASEWISE_DEBUG=1" in said.err


@pytest.mark.slow
def test_ctrl_c_at_a_question_ends_the_command_at_once():
    """A library that begins reads again after a signal would keep it waiting for Enter."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "casewise", "data", "fetch", "casebench", "--from", "nowhere"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)  # so that reading ends where the command has ended without a question
        said = b""
        while b"y/N" not in said:
            said += os.read(ours, 4096)
        time.sleep(0.2)  # between the question's last byte and the read behind it a signal is lost, in any Python
        child.send_signal(signal.SIGINT)
        try:
            assert child.wait(timeout=20) == ExitCode.INTERRUPTED
        finally:
            child.kill()
