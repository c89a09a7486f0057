"""`casewise export`: what it refuses, with what would do; and what the demo leads on to."""

import importlib.util

import pytest
from tests.support.command import invoke as casewise

from casewise import api
from casewise.cli import evaluate as demo
from casewise.plugins import install_command


def test_a_run_is_refused_where_a_benchmark_is_wanted_and_told_where_it_can_go(tmp_path):
    run = api.judge("demo", "constant:safe", out=tmp_path / "run").path
    for to in ("parquet", "croissant", "folder"):
        said = casewise("export", run, "--to", to, "--out", tmp_path / "out")
        assert said.code == 2
        assert (
            f"--to {to} takes a benchmark, and {run} is a run, which can go to eee, inspect, garak, pyrit" in said.err
        )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("to", ["eee", "inspect"])
def test_a_benchmark_is_refused_where_a_run_is_wanted_and_told_where_it_can_go(tmp_path, to):
    said = casewise("export", "demo", "--to", to, "--out", tmp_path / "out")

    assert said.code == 2
    assert f"--to {to} takes a run, and demo is a benchmark" in said.err
    assert "is a benchmark, which can go to folder, published, parquet, hf, croissant, csv" in said.err


@pytest.mark.slow
@pytest.mark.parametrize("installed", [True, False])
def test_the_demo_leads_on_to_what_is_installed(tmp_path, monkeypatch, installed):
    monkeypatch.setattr(demo, "find_spec", lambda name: importlib.util.find_spec("json") if installed else None)
    said = casewise("demo", "--out", tmp_path / "run").err
    lines = said.partition("Next:")[2].splitlines()

    assert (install_command("web") in said) is not installed
    assert f"serve {tmp_path / 'run'}" in lines[1 if installed else -1]
