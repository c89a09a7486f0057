import json

import numpy as np
import pytest
from tests.audits.builders import benchmark_of, crowd
from typer.testing import CliRunner

import casewise
from casewise.api import Limits, RunOptions
from casewise.api.judging import judge_until_precise
from casewise.cli.app import app
from casewise.errors import BenchmarkError, ConfigurationError, RunConflict, Stopped
from casewise.evaluate.comparison import gate_runs
from casewise.evaluate.leaderboard import leaderboard
from casewise.runs.texts import made_in
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
    monkeypatch.setattr("casewise.api.judging.right", cut_short)

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


def seen_by(judge_name):
    """A judge that notes which contexts it was shown."""
    shown = []

    def watcher(query, context):
        shown.append(context)
        return True

    watcher.__name__ = judge_name
    return watcher, shown


def test_the_arm_that_is_named_is_the_one_that_is_asked(tmp_path):
    judge, shown = seen_by("watcher")

    run = judge_until_precise("demo", judge, half_width=0.05, out=tmp_path / "run", arms="none")

    arms = casewise.report(run.path, benchmark="demo").metrics["arm"].unique().to_list()
    assert arms == ["none"]
    assert shown
    assert not any(shown)


def test_every_item_is_asked_as_often_as_repeats_say(tmp_path):
    judge, shown = seen_by("watcher")

    judge_until_precise("demo", judge, half_width=0.05, out=tmp_path / "run", repeats=2)

    assert len(shown) == 2 * casewise.load("demo").counts.items


@pytest.mark.parametrize(
    "options",
    [
        ("--ablate", "groups"),
        ("--no-context", "--omit", "sender"),
        ("--arms", "full none"),
        ("--elicit", "binary,score"),
    ],
)
def test_several_arms_or_elicitations_are_refused_before_the_first_call(options, tmp_path):
    words = ["judge", "demo", "--judge", "fake/rehearsal", "--until-precise", "0.05", "--out", str(tmp_path / "run")]

    result = CliRunner().invoke(app, [*words, *options])

    assert isinstance(result.exception, ConfigurationError)
    assert "one elicitation and one arm" in str(result.exception)
    assert not (tmp_path / "run").exists()


def test_the_options_of_the_command_line_are_honoured(tmp_path):
    words = ["judge", "demo", "--judge", "constant:safe", "--until-precise", "0.05", "--out", str(tmp_path / "run")]

    result = CliRunner().invoke(app, [*words, "--omit", "recipient", "--repeats", "2"])

    assert result.exit_code == 0, result.output
    found = casewise.report(tmp_path / "run").runs.series[0]
    assert (found.arm, found.repeats) == ("without:recipient", 2)


def test_the_judge_is_made_once_and_closed_once(benchmark, tmp_path, monkeypatch):
    made: list[object] = []
    closed: list[object] = []
    monkeypatch.setattr("casewise.api.judging.as_judge", counted(made, closed))

    found = judge_until_precise(benchmark, "fake/rehearsal", half_width=0.03, out=tmp_path / "run")

    assert found.found.look > 1
    assert (len(made), len(closed)) == (1, 1)


def counted(made, closed):
    from casewise.api.judging import as_judge

    def counting(*arguments, **options):
        judge = as_judge(*arguments, **options)
        made.append(judge)

        async def close():
            closed.append(judge)

        vars(judge)["close"] = close
        return judge

    return counting


def test_one_that_is_stopped_says_so_and_is_no_answer(benchmark, tmp_path):
    options = RunOptions(limits=Limits(max_tokens_total=5000))

    with pytest.raises(Stopped, match="goes on with what is left"):
        judge_until_precise(benchmark, "fake/rehearsal", half_width=0.05, out=tmp_path / "run", options=options)


@pytest.mark.slow
def test_what_an_arm_takes_of_a_model_is_made_before_each_look_of_the_items_that_are_asked(benchmark, tmp_path):
    arm = "paraphrase:fake/rehearsal"
    found = judge_until_precise(benchmark, "fake/rehearsal", half_width=0.03, out=tmp_path / "run", arms=arm)
    judged = casewise.report(tmp_path / "run", benchmark=benchmark).runs.series[0]
    texts = {text for one in benchmark.contexts for text in one.texts().values()}

    assert (judged.arm, judged.reasons, found.found.look > 1) == (arm, {}, True)
    assert 0 < len(made_in(tmp_path / "run")) < len(texts)


def test_one_whose_texts_cannot_all_be_made_says_so(benchmark, tmp_path):
    options = RunOptions(limits=Limits(max_tokens_total=500))
    with pytest.raises(Stopped, match=r"paraphrase:fake/rehearsal: .* goes on with what is left"):
        judge_until_precise(
            benchmark,
            "fake/rehearsal",
            half_width=0.03,
            out=tmp_path / "run",
            arms="paraphrase:fake/rehearsal",
            options=options,
        )
