import json

import numpy as np
import polars as pl
import pytest
from tests.support.command import invoke


def run(*words):
    return invoke("power", *words)


def test_anova_prints_one_json_document():
    result = run("study", "--groups", "5", "--effect-size", "0.4", "--alpha", "0.05", "--power", "0.8", "--json")

    numbers = json.loads(result.out)
    assert (numbers["n_per_group"], numbers["n_total"]) == (16, 80)
    assert {"actual_power", "critical_f", "noncentrality"} <= numbers.keys()


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("--p1 0.5 --p2 0.7", "186"),
        ("--effect-size 0.4", "If 5 conditions differ with an effect of f = 0.4, 16 annotators in each (80 in all)"),
        ("--effect-size 0.4", "needs 22 per condition"),
        ("--effect-size 0.4 --n 22", "with a probability of 92.6 %"),
        ("--n 16", "with a probability of 80.0 %"),
        (
            "--p1 0.5 --n 93",
            "If the safe rates are 50.0 % and 70.0 %, 93 annotators in each condition find the difference",
        ),
        ("--rates 0.2,0.8 --n 10 --simulated 500", "0.2, 0.8"),
        ("--rates 0.2,0.8 --n 10 --simulated 500", "Simulated tasks"),
        ("--people 40 --groups 3", "198"),
        ("--people 40 --groups 2 --per-item 21", "Ratings of each"),
        ("--half-width 0.05 --items 2000 --rate 0.4 --correlation 0.7", "369"),
    ],
)
def test_the_test_follows_from_what_is_given(words, answer):
    assert answer in " ".join(run("study", *words.split()).out.split())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("", "give --effect-size, or --n"),
        ("--rates 0.2,0.8 --per-item 3", "--rates and --per-item belong to different questions"),
        ("--n 10 --per-item 3", "--n and --per-item belong to different questions"),
        ("--people 40 --p1 0.3", "--people and --p1 belong to different questions"),
        ("--p1 0.3 --p2 0.5 --minutes-before 3", "--p1, --p2 and --minutes-before belong to different questions"),
        ("--people 40 --per-item 0", "--per-item"),
        ("--people 3 --groups 2", "needs two people in each"),
        ("--people 40 --per-annotator 1 --per-item 30", "one query needs 150"),
        ("--people 40 --from pilot.csv", "--from needs"),
        ("--from pilot.csv", "--from needs --conditions"),
        ("--rates high,low", "write safe rates as 0.4,0.8,0.2"),
        ("--design none.toml", "none.toml"),
    ],
)
def test_a_question_is_one_question(words, problem):
    found = run("study", *words.split())
    assert (found.code, problem in found.err) == (2, True), found.output


@pytest.mark.slow
def test_two_judges_are_planned_by_assumptions_and_from_two_runs(tmp_path):
    for name in ("linear", "constant:unsafe"):
        folder = str(tmp_path / name.partition(":")[0])
        assert invoke("judge", "demo", "--judge", name, "--out", folder).code == 0
    runs = [str(tmp_path / "linear"), str(tmp_path / "constant")]

    assumed = json.loads(run("judges", "--difference", "0.02", "--json").out)
    planned = json.loads(run("judges", "--difference", "0.1", "--from", *runs, "--json").out)
    given = json.loads(run("judges", "--from", *runs, "--n", "45", "--json").out)

    assert assumed["n_queries"] == 1470
    assert planned["n_queries"] > 45
    assert planned["more_ratings"] == planned["n_ratings"] - 1890
    assert given["difference"] == given["observed_difference"]
    differ = {
        line["item_id"]
        for line in (json.loads(text) for text in (tmp_path / "linear" / "judgements.jsonl").read_text().splitlines())
        if line["outcome"]["value"] > 0.5
    }
    assert given["more_ratings_on"]
    assert set(given["more_ratings_on"]) <= differ, "elsewhere both say unsafe"
    assert run("judges").code == 2


@pytest.mark.slow
def test_a_study_is_planned_from_its_pilot(tmp_path):
    from casewise.stats import CrowdDesign, CrowdModel, simulate_ratings

    drawn = simulate_ratings(
        CrowdModel(), CrowdDesign(safe_rates=(0.4, 0.6), queries=30, ratings_per_item=4), rng=np.random.default_rng(1)
    )
    pl.DataFrame(
        {
            "item_id": [f"i{q}-{c}" for q, c in zip(drawn.query, drawn.condition, strict=True)],
            "query_id": [f"q{q}" for q in drawn.query],
            "condition": np.where(drawn.condition == 0, "without", "with").tolist(),
            "annotator_id": [f"a{a}" for a in drawn.annotator],
            "verdict": np.where(drawn.safe, "safe", "unsafe").tolist(),
        }
    ).write_csv(tmp_path / "pilot.csv")
    pilot = ("study", "--from", str(tmp_path / "pilot.csv"), "--conditions", "without:with", "--json")
    numbers = json.loads(run(*pilot, "--difference", "0.1").out)
    assert numbers["actual_power"] >= 0.8
    assert numbers["n_per_group"] == -(-numbers["n_queries"] * 21 // 25)
    given = json.loads(run(*pilot, "--difference", "0.1", "--queries", str(numbers["n_queries"] - 1)).out)
    assert given["actual_power"] < 0.8
    twice = json.loads(run(*pilot, "--difference", "0.1", "--per-annotator", "50").out)
    assert twice["n_queries"] > numbers["n_queries"]
    wrong = run(*pilot[:3], "--conditions", "without:nowhere")
    assert wrong.code == 2
