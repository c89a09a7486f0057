import json

import pytest
from tests.support.published import output_rows, released_rows, write

import casewise
from casewise.errors import DataError, JudgeError
from casewise.records import Arm

DEMO = casewise.load("demo")


def values(run):
    table = run.judgements
    return dict(zip(table["item_id"], zip(table["value"], table["unscored_reason"], strict=True), strict=True))


@pytest.fixture
def benchmark(tmp_path):
    return casewise.load(write(tmp_path / "benchmark.json", released_rows(6)))


def test_a_published_output_is_repeated_item_by_item(tmp_path, benchmark):
    output = write(tmp_path / "output_score.json", output_rows([1, "", 3, 4.5, 99, 6]))
    run = casewise.judge(benchmark, f"recorded:{output}")

    outcomes = [values(run)[item.id] for item in benchmark.items]
    assert [value for value, _ in outcomes] == [1.0, None, 3.0, 4.5, None, 6.0]
    assert [reason for _, reason in outcomes] == [None, "unparsed", None, None, "out_of_range", None]
    assert run.judgements["elicitation"].unique().to_list() == ["score"]
    assert run.judgements["raw_reply"].to_list()[:2] == ["1", ""]


def test_a_real_shape_of_output_is_repeated_on_the_published_rows(tmp_path, shared):
    file = shared / "data" / "casebench_subset.json"
    rows = [row | {"a-model": "safe" if row["safe_rate"] > 0.5 else "unsafe"} for row in json.loads(file.read_text())]
    output = write(tmp_path / "output_binary.json", rows)
    run = casewise.judge(file, f"recorded:{output}")

    report = run.report(labels="published")
    accuracy = report.metrics.filter(metric="accuracy", label_policy="published")["estimate"].item()
    assert accuracy > 0.95
    assert run.summary.n_judged == 240
    assert run.summary.n_unscored == 0


def test_a_renamed_output_needs_the_elicitation(tmp_path, benchmark):
    output = write(tmp_path / "mine.json", output_rows([1, 2, 3, 4, 5, 6]))

    assert casewise.judge(benchmark, f"recorded:{output}", elicitations=("score",)).summary.n_judged == 6


def test_items_without_an_answer_are_unscored(tmp_path, benchmark):
    output = write(tmp_path / "output_binary.json", output_rows(["safe", "unsafe"]))
    run = casewise.judge(benchmark, f"recorded:{output}")

    reasons = [values(run)[item.id][1] for item in benchmark.items]
    assert reasons == [None, None, "not_recorded", "not_recorded", "not_recorded", "not_recorded"]


def test_another_run_is_repeated(tmp_path):
    first = casewise.judge("demo", "linear", out=tmp_path / "first")
    again = casewise.judge("demo", f"recorded:{tmp_path / 'first'}", out=tmp_path / "again")

    assert values(again) == values(first)
    assert again.report().metrics["estimate"].to_list() == first.report().metrics["estimate"].to_list()


def test_the_arms_of_another_run_are_repeated(tmp_path):
    arms = (Arm(), Arm.named("none"), Arm.named("without:recipient"))
    casewise.judge("demo", "constant:safe", arms=arms, out=tmp_path / "first")

    again = casewise.judge("demo", f"recorded:{tmp_path / 'first'}")
    assert again.judgements["arm"].unique().sort().to_list() == ["full", "none", "without:recipient"]
    assert again.summary.n_judged == 270


def test_answers_to_another_benchmark_are_an_error(tmp_path, benchmark):
    rows = [row | {"query": f"Another query, {n}?"} for n, row in enumerate(output_rows(["safe"] * 4))]
    output = write(tmp_path / "output_binary.json", rows)

    with pytest.raises(JudgeError, match="holds no answer to any item of 'benchmark': it is of another benchmark"):
        casewise.judge(benchmark, f"recorded:{output}")


def test_what_is_neither_an_output_nor_a_run_is_an_error(tmp_path, benchmark):
    with pytest.raises(DataError, match="is no run folder"):
        casewise.judge(benchmark, f"recorded:{tmp_path}")
    with pytest.raises(DataError, match=r"nothing\.json: cannot be read"):
        casewise.judge(benchmark, f"recorded:{tmp_path / 'nothing.json'}")
