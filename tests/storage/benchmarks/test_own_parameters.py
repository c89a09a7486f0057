"""A taxonomy and a set of context parameters of one's own, from TOML to the report of an ablation."""

import json

import pytest
from tests.support.command import invoke

PARAMETERS = """
name = "service desk"

[[groups]]
name = "caller"
title = "Who calls"
parameters = [{ name = "role", title = "Their role" }, { name = "home_town", may_be_missing = true }]

[[groups]]
name = "line"
parameters = [{ name = "recorded" }]
"""
TAXONOMY = """
name = "desk"
categories = [{ name = "accounts", domain = "it" }, { name = "people", domain = "hr" }]
"""


def case(query, role, recorded, votes, **more):
    said = {"caller.role": role, "line.recorded": recorded, "label": votes, "category": "accounts"}
    return {"query": query, **said, **more}


CASES = [
    case(f"question {n}", role, n % 2 == 0, "safe" if role == "a colleague" else "unsafe")
    for n in range(6)
    for role in ("a colleague", "a stranger")
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk.toml").write_text(PARAMETERS)
    (tmp_path / "taxonomy.toml").write_text(TAXONOMY)
    return tmp_path


def imported(folder, cases):
    (folder / "cases.jsonl").write_text("".join(json.dumps(one) + "\n" for one in cases))
    return invoke(
        "data", "import", "cases.jsonl", "--out", "bench", "--parameters", "desk.toml", "--taxonomy", "taxonomy.toml"
    )


@pytest.mark.slow
def test_an_ablation_leaves_out_the_groups_of_the_set_and_the_report_gives_each_its_worth(folder):
    assert imported(folder, CASES).code == 0
    judged = invoke("judge", "bench", "--judge", "fake/rehearsal", "--ablate", "groups", "--out", "run")
    assert judged.code == 0, judged.output
    arms = json.loads(invoke("report", "run", "--json").out)["arms"]

    assert {row["part"] for row in arms if row["worth"] == "shapley"} == {"caller", "line"}
    assert {row["part"] for row in arms if row["worth"] == "left out"} == {"caller", "line", "the whole context"}
    refused = invoke("judge", "bench", "--judge", "fake/rehearsal", "--omit", "recipient", "--out", "other")
    assert "there are: caller, line, caller.role" in refused.err


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"line.recorded": None}, "states nothing for 'line.recorded', which 'service desk' asks of every context"),
        ({"line.colour": "red"}, "states 'line.colour', which 'service desk' does not have"),
        ({"category": "weather"}, "'desk' has no category 'weather'; it has accounts, people"),
    ],
)
def test_a_case_that_does_not_fit_is_refused_with_its_line(folder, change, problem):
    result = imported(folder, [*CASES, {**CASES[0], "query": "another", **change}])
    assert result.err.startswith(f"error: cases.jsonl:13: {problem}")
    assert not (folder / "bench").exists()
