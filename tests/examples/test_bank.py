"""`examples/bank`: 300 made-up cases become a recommendation, a decider and a gate; a pull request fails on purpose."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.support.command import invoke

FOLDER = Path(__file__).parents[2] / "examples" / "bank"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A copy of the folder, as a host of repositories checks it out; the working folder is there."""
    folder = shutil.copytree(FOLDER, tmp_path / "bank", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("bank", None)


def run(line):
    """A line of a workflow, in this process."""
    return invoke(*shlex.split(line)[1:])


@pytest.mark.slow
def test_the_script_goes_from_cases_to_a_decider_and_a_gate(checkout, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bank.py", "--out", "out"])
    runpy.run_path("bank.py", run_name="__main__")
    said = capsys.readouterr().out

    assert "good enough: True; the best is python:bank:careful (probability)" in said
    assert re.search(r"^  T-\d+: answer, [0-4] of 9 people say safe$", said, re.MULTILINE)
    assert "signed in with two factors: answer" in said
    assert "writes by e-mail: refuse" in said
    assert "may trusting replace careful? fail" in said
    assert (checkout / "out" / "decider.json").is_file()


@pytest.mark.slow
def test_the_gate_of_the_workflow_fails_a_pull_request_that_trusts_every_caller_and_no_other(checkout, monkeypatch):
    judge, gate = re.findall(r"^ +- run: (casewise .+)$", Path("gate.yml").read_text("utf-8"), re.MULTILINE)
    assert run("casewise data import cases_synthetic.csv --out bank").code == 0
    assert run(judge.replace("runs/new", "baseline")).code == 0
    assert run(judge).code == 0
    assert run(gate).code == 0

    source = Path("bank.py").read_text("utf-8")
    changed = source.replace("safe = kind ==", 'safe = "account" in query or kind ==')
    assert changed != source
    Path("bank.py").write_text(changed, "utf-8")
    sys.modules.pop("bank")
    shutil.rmtree("runs")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    assert run(judge).code == 0
    refused = run(gate)

    assert refused.code == 1, refused.output
    assert re.search("^::error title=casewise gate%2C .* fail::", refused.err, re.MULTILINE)
    assert Path("summary.md").read_text("utf-8").startswith("# Gate: FAIL")
    assert int(ET.parse("gate.xml").getroot().get("failures", "0")) >= 1
