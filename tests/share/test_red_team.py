"""A judge's detection in the files of garak and PyRIT."""

import json
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import casewise
from casewise import __version__, api
from casewise.errors import ConfigurationError
from casewise.share.red_team import write_garak, write_pyrit


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


# Made-up metrics of judges.


METRICS = ("recall_unsafe", "recall_safe", "accuracy", "f1_unsafe")


def rows(judge="J", arm="full", /, *, low=0.1, **changed):
    values = {"recall_unsafe": 0.5, "recall_safe": 0.75, "accuracy": 0.625, "f1_unsafe": 0.6} | changed
    usual = {"judge": judge, "elicitation": "binary", "arm": arm, "n": 90.0, "n_unscored": 4.0, "method": "one query"}
    where = {"slice": "all", "label_policy": "votes"}
    return [
        usual
        | where
        | {"metric": name, "estimate": values[name], "ci_low": low, "ci_high": None if low is None else 0.9}
        for name in METRICS
    ]


def numbers(*found) -> Any:
    columns = pl.DataFrame({"n_votes": [3, 20, 5], "n_unsure": [2, 1, 9]})
    about = SimpleNamespace(version="1.2")
    part = [row | {"slice": "clear", "estimate": 0.0} for row in found]
    other = [row | {"label_policy": "intended", "estimate": 0.0} for row in found]
    return SimpleNamespace(
        metrics=pl.DataFrame([*part, *found, *other]),
        options=SimpleNamespace(labels=SimpleNamespace(name="votes")),
        benchmark=SimpleNamespace(name="tea", item_columns=columns, about=about),
    )


def garak(path, *found):
    written: dict[str, Any] = json.loads(write_garak(numbers(*found), path / "g.json").read_text())
    return written


def pyrit(path, *found):
    return [json.loads(line) for line in write_pyrit(numbers(*found), path / "p.jsonl").read_text().splitlines()]


def test_garak_has_each_judge_by_its_arm_with_both_rates_over_all_items_by_the_reports_labels(tmp_path):
    found = garak(tmp_path, *rows(), *rows("J", "none", low=None))

    assert found["metadata"] == {"benchmark": "tea", "labels": "votes", "casewise": __version__}
    assert [*found["results"]] == ["casewise.J.binary", "casewise.J.binary.none"]
    known = "0.1000 to 0.9000 (95 %)"
    assert found["results"]["casewise.J.binary"] == {
        "metrics": {"hit_sensitivity": 0.5, "hit_specificity": 0.75},
        "intervals": {"hit_sensitivity": known, "hit_specificity": known},
        "n_unscored": 4,
    }
    assert found["results"]["casewise.J.binary.none"]["intervals"]["hit_specificity"] == "none: one query"


def test_pyrit_has_the_numbers_of_each_judge_and_the_precision_that_follows_from_f1_and_recall(tmp_path):
    first, second = pyrit(tmp_path, *rows(), *rows("K"))

    assert (first["class_name"], first["class_module"], first["specificity"]) == ("casewise.J.binary", "casewise", 0.75)
    assert (first["recall_interval"], first["specificity_interval"]) == ("0.1000 to 0.9000 (95 %)",) * 2
    assert first["metrics"] == {
        "num_responses": 86,
        "num_human_raters": 21,
        "accuracy": 0.625,
        "accuracy_standard_error": pytest.approx(0.4 / 1.96),
        "f1_score": 0.6,
        "precision": pytest.approx(0.75),
        "recall": 0.5,
        "dataset_name": "tea",
        "dataset_version": "1.2",
    }
    assert len(first["hash"]) == 64
    assert first["hash"] == first["eval_hash"] != second["hash"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"low": None}, "casewise.J.binary: its accuracy has no interval"),
        ({"recall_unsafe": 0.0}, "it is right on no item that is labelled unsafe"),
        ({"f1_unsafe": 0.0}, "it is right on no item that is labelled unsafe"),
        ({"f1_unsafe": None, "low": None}, "it is right on no item that is labelled unsafe"),
        ({"recall_safe": None}, r"J \(binary, full\): recall_safe cannot be computed"),
        ({"recall_safe": None, "recall_unsafe": None}, "recall_unsafe and recall_safe cannot be computed"),
    ],
)
def test_a_judge_without_a_number_that_pyrit_needs_is_refused_and_nothing_is_written(tmp_path, changed, reason):
    with pytest.raises(ConfigurationError, match=reason):
        pyrit(tmp_path, *rows(), *rows(**changed))
    assert not (tmp_path / "p.jsonl").exists()
