"""Whole cases of rules, from a few items whose votes and predictions are written down."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from casewise.errors import BenchmarkError, DataError
from casewise.evaluate.rules import cases_of, rules_of_file, rules_of_run, score_cases


def benchmark_of(*rows) -> Any:
    """Items of a case, a rule, a level, a cluster, and votes: `s` safe, `u` unsafe, nothing for none."""
    items, votes = [], {}
    for place, (case, rule, level, cluster, said) in enumerate(rows):
        columns = {name: value for name, value in (("case", case), ("rule", rule)) if value is not None}
        items.append(SimpleNamespace(id=f"i{place}", columns=columns or None, cluster=cluster, level=level))
        votes[f"i{place}"] = SimpleNamespace(total=len(said), safe=said.count("s"))
    return SimpleNamespace(name="rules", items=items, votes=votes, category_of=lambda item: item.level)


CASES = benchmark_of(
    ("a", 1, "L0", "x", "u"), ("a", 2, "L0", "x", "s"), ("b", 1, "L1", "x", "u"), ("b", 3, "L1", "x", "us"), ("c", 1, "L1", None, ""),
)  # fmt: skip


def test_a_case_has_the_items_of_its_rules_and_those_that_every_vote_calls_violated():
    found = cases_of(CASES)

    assert {name: (case.level, case.cluster) for name, case in found.items()} == {
        "a": ("L0", "x"),
        "b": ("L1", "x"),
        "c": ("L1", "c"),
    }
    assert (found["a"].items, found["a"].violated) == ({1: "i0", 2: "i1"}, frozenset({1}))
    assert (found["b"].items, found["b"].violated) == ({1: "i2", 3: "i3"}, frozenset({1}))
    assert found["c"].violated == set(), "no vote calls it violated"


@pytest.mark.parametrize(("case", "rule"), [(None, 1), ("a", None), (7, 1), ("a", "1"), (None, None)])
def test_an_item_states_its_case_and_rule(case, rule):
    with pytest.raises(BenchmarkError, match="item i0 of rules has no column 'case' and 'rule'"):
        cases_of(benchmark_of((case, rule, "L0", None, "s")))


def test_cases_that_were_predicted_are_scored_together_and_by_level():
    found = score_cases("J", "per policy", cases_of(CASES), {"c": frozenset(), "a": frozenset({1}), "b": None})

    assert {level: scores.cases for level, scores in found.levels.items()} == {"all": 3, "L0": 1, "L1": 2}
    assert found.levels["all"].clusters == 2
    assert found.levels["all"].scores["RMR@1"].estimate == 1.0
    assert found.levels["L1"].scores["unpredicted"].estimate == 0.5
    first, *_ = found.cells()
    assert first[:2] == ("all", "3")
    assert len(first) == len(found.columns) == 6
    content = json.loads(json.dumps(found.as_json()))
    assert (
        content["judge"],
        content["protocol"],
        content["levels"]["all"]["cases"],
        content["levels"]["all"]["clusters"],
    ) == ("J", "per policy", 3, 2)
    assert content["levels"]["L1"]["unpredicted"]["n"] == 2
    some = score_cases("J", "per rule", cases_of(CASES), {"a": frozenset({2})})
    assert list(some.levels) == ["all", "L0"]
    assert some.levels["all"].scores["RMR@1"].estimate == 0.0


def test_a_run_predicts_the_rules_that_it_calls_unsafe_and_nothing_where_one_has_no_verdict(monkeypatch):
    values, asked = np.array([0.0, 1, 0, np.nan, 1]), np.array([True, True, True, True, False])
    series = SimpleNamespace(values=values, asked=asked, elicitation="binary", name="J")
    runs = SimpleNamespace(
        benchmark=CASES, items={"item_id": [f"i{n}" for n in range(5)]}, main_series=(series, series)
    )
    monkeypatch.setattr("casewise.evaluate.rules.read_runs", lambda _runs, benchmark: runs)
    found, again = rules_of_run("a run")  # type: ignore[arg-type]

    assert (found.judge, found.protocol, again.judge) == ("J", "per rule", "J")
    assert found.levels["all"].cases == 2, "the third was not asked"
    assert found.levels["L0"].scores["RMR@1"].estimate == 1.0
    assert found.levels["L1"].scores["unpredicted"].estimate == 1.0


def predictions(tmp_path, *lines):
    path = tmp_path / "sets.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_predicted_sets_are_read_a_case_a_line(tmp_path):
    whole = predictions(
        tmp_path,
        {"id": "a", "violated_rules": [1]},
        {"id": "b", "violated_rules": None},
        {"id": "c", "violated_rules": []},
    )
    found = rules_of_file(whole, CASES)

    assert (found.judge, found.levels["all"].cases) == ("sets", 3)
    assert found.levels["all"].scores["unpredicted"].estimate == pytest.approx(1 / 3)
    assert found.levels["all"].scores["RMR@1"].estimate == 1.0


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            [{"id": "a", "violated_rules": [1]}] * 2,
            r"sets\.jsonl:2: 'id' is 'a', this case stands twice; keep one line of it",
        ),
        ([{"id": "x", "violated_rules": [1]}], r"sets\.jsonl:1: 'id' is 'x', not a case of rules"),
        ([{"id": "a", "violated_rules": [9, 3, 1]}], "names rule 3, which the policy of 'a' does not have"),
        ([], "is empty; each line is a case with 'id' and 'violated_rules'"),
    ],
)
def test_a_prediction_of_no_case_or_rule_is_refused(tmp_path, lines, problem):
    with pytest.raises(DataError, match=problem):
        rules_of_file(predictions(tmp_path, *lines), CASES)
