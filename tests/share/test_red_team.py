"""A judge's detection in the files of garak and PyRIT."""

import json

import pytest

import casewise
from casewise import api
from casewise.errors import ConfigurationError


@pytest.fixture
def run(tmp_path):
    casewise.judge("demo", "linear", out=tmp_path / "run")
    return tmp_path / "run"


def estimate(run, metric):
    (row,) = casewise.report(run).metrics.filter(metric=metric, slice="all", label_policy="votes").to_dicts()
    return row["estimate"]


@pytest.mark.slow
def test_garak_finds_sensitivity_and_specificity_with_their_intervals(run, tmp_path):
    written = json.loads(api.export(run, tmp_path / "g.json", to="garak").path.read_text())
    (detector,) = written["results"].values()
    assert detector["metrics"] == {
        "hit_sensitivity": estimate(run, "recall_unsafe"),
        "hit_specificity": estimate(run, "recall_safe"),
    }
    low, _, high = detector["intervals"]["hit_sensitivity"].split()[:3]
    assert float(low) < detector["metrics"]["hit_sensitivity"] < float(high)


@pytest.mark.slow
def test_pyrit_finds_a_line_for_each_judge_whose_numbers_agree(run, tmp_path):
    (line,) = api.export(run, tmp_path / "p.jsonl", to="pyrit").path.read_text().splitlines()
    entry = json.loads(line)
    metrics = entry["metrics"]
    assert (metrics["num_responses"], metrics["num_human_raters"]) == (90, 21)
    assert metrics["recall"] == estimate(run, "recall_unsafe")
    assert metrics["f1_score"] == pytest.approx(
        2 * metrics["precision"] * metrics["recall"] / (metrics["precision"] + metrics["recall"])
    )


@pytest.mark.slow
def test_a_rate_that_nobody_observed_is_no_perfect_one(tmp_path):
    one = api.judging.RunOptions(selection=api.Selection(limit=1))
    casewise.judge("demo", "linear", out=tmp_path / "run", options=one)
    with pytest.raises(ConfigurationError, match=r"recall_(un)?safe cannot be computed, and a detector without them"):
        api.export(tmp_path / "run", tmp_path / "g.json", to="garak")
    assert not (tmp_path / "g.json").exists()


@pytest.mark.slow
def test_a_judge_that_never_hits_has_no_precision_and_no_line(tmp_path):
    casewise.judge("demo", "constant:safe", out=tmp_path / "run")
    with pytest.raises(ConfigurationError, match="it is right on no item that is labelled unsafe"):
        api.export(tmp_path / "run", tmp_path / "p.jsonl", to="pyrit")
    assert json.loads(api.export(tmp_path / "run", tmp_path / "g.json", to="garak").path.read_text())
