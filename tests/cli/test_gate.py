import json

import pytest
from typer.testing import CliRunner

import casewise
from casewise.cli.app import app
from casewise.errors import ConfigurationError
from casewise.evaluation.gate import parse_margins


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("intended", "safe"):
        casewise.judge("demo", f"constant:{name}", out=folder / name)
    return folder


def test_a_worse_judge_fails_with_exit_1(runs, tmp_path):
    page = tmp_path / "summary.md"

    result = run(
        "gate", runs / "safe", "--baseline", runs / "intended", "--max-drop", "accuracy=0.05", "--markdown", page
    )

    assert result.exit_code == 1
    assert "Gate: FAIL" in page.read_text(encoding="utf-8")


def test_a_better_judge_passes_with_exit_0(runs):
    result = run("gate", runs / "intended", "--baseline", runs / "safe", "--max-drop", "accuracy=0.05", "--json")

    assert result.exit_code == 0
    value = json.loads(result.stdout)
    assert value["decision"] == "pass"
    assert value["metrics"][0]["drop"] < -0.3


def test_what_few_items_cannot_tell_is_exit_3_with_the_drop_they_could(runs):
    result = run("gate", runs / "safe", "--baseline", runs / "safe", "--max-drop", "accuracy=0.0001")

    assert result.exit_code == 3
    assert "told from none" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    "text", ["accuracy", "accuracy=x", "accuracy=-1", "nothing=0.1", "accuracy=0.1,accuracy=0.2", ""]
)
def test_margins_that_say_nothing_are_refused(text):
    with pytest.raises(ConfigurationError, match="--max-drop"):
        parse_margins(text)
