import json

import numpy as np
import pytest
from tests.auditing.builders import benchmark_of, crowd
from typer.testing import CliRunner

import casewise
from casewise.api.until_precise import judge_until_precise
from casewise.cli.app import app
from casewise.errors import BenchmarkError, ConfigurationError, RunConflict
from casewise.evaluation.gate import gate_runs
from casewise.evaluation.leaderboard import leaderboard
from casewise.storage import write_benchmark


@pytest.fixture(scope="module")
def benchmark():
    return benchmark_of(crowd(np.random.default_rng(1), queries=700, votes=3))


def test_a_large_benchmark_is_judged_in_part_and_answered_as_a_whole(benchmark, tmp_path):
    folder = write_benchmark(benchmark, tmp_path / "benchmark")
    words = [
        "judge",
        str(folder),
        "--judge",
        "constant:safe",
        "--until-precise",
        "0.04",
        "--out",
        str(tmp_path / "run"),
    ]

    result = CliRunner().invoke(app, [*words, "--json"])

    value = json.loads(result.stdout)
    whole = casewise.report(casewise.judge(benchmark, "constant:safe"), benchmark=benchmark).metrics
    truth = whole.filter(metric="accuracy", label_policy="votes")["estimate"].item()
    assert value["reached"]
    assert value["items"] < value["of_items"] == 1400
    assert value["accuracy"]["estimate"] == pytest.approx(truth, abs=0.08)
    inclusion = json.loads((tmp_path / "run" / "sampling.json").read_text(encoding="utf-8"))["inclusion"]
    assert len(inclusion) == 700
    assert min(inclusion.values()) > 0


def test_the_same_again_asks_nothing_more(benchmark, tmp_path):
    one, again = (
        judge_until_precise(benchmark, "constant:safe", half_width=0.05, out=tmp_path / "run") for _ in range(2)
    )

    assert one.as_json() == again.as_json()


def test_such_a_run_is_barred_from_the_gate_and_the_leaderboard(benchmark, tmp_path):
    judge_until_precise(benchmark, "constant:safe", half_width=0.05, out=tmp_path / "run")

    with pytest.raises(BenchmarkError, match="--until-precise"):
        gate_runs(tmp_path / "run", tmp_path / "run", margins={"accuracy": 0.1}, benchmark=benchmark)
    with pytest.raises(BenchmarkError, match="--until-precise"):
        leaderboard([tmp_path / "run"], benchmark=benchmark)


def test_the_refusal_says_what_to_do(benchmark, tmp_path):
    judge_until_precise(benchmark, "constant:safe", half_width=0.05, out=tmp_path / "run")

    with pytest.raises(BenchmarkError, match="without --until-precise and with another --out"):
        leaderboard([tmp_path / "run"], benchmark=benchmark)


def test_its_report_says_what_its_numbers_are_of_and_gives_the_weighted_estimate(benchmark, tmp_path):
    run = judge_until_precise(benchmark, "constant:safe", half_width=0.05, out=tmp_path / "run")

    (note,) = [line for line in casewise.report(run.path, benchmark=benchmark).notes if "--until-precise" in line]
    assert f"on {run.found.items:,} of 1,400 items" in note
    assert f"{run.found.estimate:.3f} [{run.found.low:.3f}, {run.found.high:.3f}]" in note


def test_one_that_came_to_ask_every_query_is_a_run_like_any_other(tmp_path):
    run = judge_until_precise(casewise.load("demo"), "constant:safe", half_width=0.05, out=tmp_path / "run")

    assert "All were asked: sampling starts at 200 queries, and there are 45." in run.sentence()
    assert not [line for line in casewise.report(run.path).notes if "--until-precise" in line]
    assert leaderboard([run.path]).n_items == 90


def test_one_that_was_cut_short_is_barred_too_and_its_report_says_so(benchmark, tmp_path, monkeypatch):
    monkeypatch.setattr("casewise.api.until_precise.right", cut_short)

    with pytest.raises(KeyboardInterrupt):
        judge_until_precise(benchmark, "constant:safe", half_width=0.05, out=tmp_path / "run")

    with pytest.raises(BenchmarkError, match="--until-precise"):
        leaderboard([tmp_path / "run"], benchmark=benchmark)
    assert [line for line in casewise.report(tmp_path / "run", benchmark=benchmark).notes if "not finished" in line]


def cut_short(*_):
    raise KeyboardInterrupt


def test_it_never_turns_an_ordinary_run_into_a_sampled_one(tmp_path):
    casewise.judge("demo", "constant:safe", out=tmp_path / "run")

    with pytest.raises(RunConflict, match="another place"):
        judge_until_precise(casewise.load("demo"), "constant:safe", half_width=0.05, out=tmp_path / "run")


def test_it_draws_the_items_itself():
    words = ["judge", "demo", "--judge", "constant:safe", "--until-precise", "0.05", "--limit", "10"]

    result = CliRunner().invoke(app, words)

    assert isinstance(result.exception, ConfigurationError)
