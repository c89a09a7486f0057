"""SafePyramid's scores of a run and of predicted sets."""

import json

import pytest
from tests.support.command import invoke
from tests.support.public_benchmarks import write_files

from casewise import api
from casewise.errors import CasewiseError, DataError
from casewise.storage import write_benchmark
from casewise.storage.loaders.registry import loader_named


@pytest.fixture
def pyramid(tmp_path):
    loader = loader_named("safepyramid")
    return write_benchmark(loader.load(write_files(loader, tmp_path / "files")), tmp_path / "pyramid")


def test_a_run_is_scored_by_case_and_level(pyramid, tmp_path):
    assert invoke("judge", pyramid, "--judge", "constant:safe", "--out", tmp_path / "run").code == 0
    (found,) = api.rule_match(tmp_path / "run")

    # {1, 2}, {3} and {} are violated, and nothing is predicted
    assert found.protocol == "per rule"
    assert {level: scores.scores["RMR@1"].estimate for level, scores in found.levels.items()} == {
        "all": pytest.approx(1 / 3),
        "L0": 0.5,
        "L2": 0.0,
    }
    assert found.levels["all"].scores["RDR"].estimate == 1
    assert found.levels["all"].clusters == 2
    table = invoke("paper", tmp_path / "run")
    assert table.code == 0
    assert "33.3 %" in table.out
    assert json.loads(invoke("paper", tmp_path / "run", "--json").out)["scores"][0]["levels"]["L0"]["cases"] == 2


def test_predicted_sets_are_scored_and_a_null_is_no_prediction(pyramid, tmp_path):
    lines = [
        {"id": "made-001-l0", "violated_rules": [1, 2]},
        {"id": "made-001-l2", "violated_rules": [1]},
        {"id": "made-002-l0", "violated_rules": None},
    ]
    file = tmp_path / "sets.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    (found,) = api.rule_match(file, benchmark=pyramid)

    assert (found.judge, found.protocol) == ("sets", "per policy")
    scores = found.levels["all"].scores
    assert [scores[name].estimate for name in ("RMR@1", "RDR", "unpredicted")] == [0.5, 0.5, pytest.approx(1 / 3)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"id": "other", "violated_rules": []}, "'id' is 'other', not a case of"),
        ({"id": "made-001-l0", "violated_rules": [4]}, "names rule 4, which the policy"),
        ({"id": "made-001-l0", "violated_rules": ["a"]}, "not a number"),
        ({"id": "made-001-l0"}, "'violated_rules' is not there"),
        ([], "not an object"),
    ],
)
def test_predictions_of_another_shape_are_refused_with_their_line(line, problem, pyramid, tmp_path):
    file = tmp_path / "sets.jsonl"
    file.write_text(json.dumps(line))
    with pytest.raises(DataError, match=rf"sets.jsonl:1: .*{problem}"):
        api.rule_match(file, benchmark=pyramid)


def test_another_benchmark_has_no_rules(tmp_path):
    assert invoke("judge", "demo", "--judge", "constant:safe", "--out", tmp_path / "run").code == 0
    with pytest.raises(CasewiseError, match="no column 'case' and 'rule'"):
        api.rule_match(tmp_path / "run")
