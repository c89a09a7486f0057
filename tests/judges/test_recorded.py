import json

import pytest
from tests.support.demo import DEMO
from tests.support.published import output_rows, released_rows, write

import casewise
from casewise.errors import ConfigurationError, DataError, JudgeError, RunConflict
from casewise.records import Arm


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_another_run_is_repeated(tmp_path):
    first = casewise.judge("demo", "linear", out=tmp_path / "first")
    again = casewise.judge("demo", f"recorded:{tmp_path / 'first'}", out=tmp_path / "again")

    assert values(again) == values(first)
    assert again.report().metrics["estimate"].to_list() == first.report().metrics["estimate"].to_list()


def test_the_arms_of_another_run_are_repeated(tmp_path):
    arms = (Arm(), Arm.parse("none"), Arm.parse("without:recipient"))
    casewise.judge("demo", "constant:safe", arms=arms, out=tmp_path / "first")

    again = casewise.judge("demo", f"recorded:{tmp_path / 'first'}")
    assert again.judgements["arm"].unique().sort().to_list() == ["full", "none", "without:recipient"]
    assert again.summary.n_judged == 270


def test_answers_to_another_benchmark_are_an_error(tmp_path, benchmark):
    rows = [row | {"query": f"Another query, {n}?"} for n, row in enumerate(output_rows(["safe"] * 4))]
    output = write(tmp_path / "output_binary.json", rows)

    with pytest.raises(JudgeError, match="has no answer to any item of 'benchmark': it is about another benchmark"):
        casewise.judge(benchmark, f"recorded:{output}")


def test_what_is_neither_an_output_nor_a_run_is_an_error(tmp_path, benchmark):
    with pytest.raises(DataError, match="is no run folder"):
        casewise.judge(benchmark, f"recorded:{tmp_path}")
    with pytest.raises(DataError, match=r"nothing\.json: cannot be read"):
        casewise.judge(benchmark, f"recorded:{tmp_path / 'nothing.json'}")


IDS = [item.id for item in DEMO.items]


def table_at(path, text):
    path.write_text(text, encoding="utf-8")
    return f"recorded:{path}"


def values_of(run):
    return dict(zip(run.judgements["item_id"], run.judgements["value"], strict=True))


@pytest.mark.slow
def test_a_table_of_verdicts_is_a_run_that_can_be_reported_compared_and_gated(tmp_path):
    lines = "".join(f"{item_id},{'safe' if place % 2 else 'unsafe'}\n" for place, item_id in enumerate(IDS))
    run = casewise.judge("demo", table_at(tmp_path / "mine.csv", "item_id,verdict\n" + lines), out=tmp_path / "a")
    constant = casewise.judge("demo", "constant:safe", out=tmp_path / "b")

    assert values_of(run) == {item_id: float(place % 2) for place, item_id in enumerate(IDS)}
    assert casewise.report(run).as_json()["answers"][0]["unscored"]["estimate"] == 0.0
    assert casewise.compare(run, constant).comparison.n_items == 90
    assert casewise.gate(constant, run, max_drop={"accuracy": 1.0}).decision == "pass"


@pytest.mark.parametrize(
    ("column", "cell", "value", "elicitation"),
    [
        ("verdict", "Safe", 1.0, "binary"),
        ("score", "7", 7.0, "score"),
        ("probability", "0.25", 0.25, "probability"),
        ("value", "-3.5", -3.5, "scalar"),
    ],
)
def test_every_kind_of_value_is_read(tmp_path, column, cell, value, elicitation):
    name = table_at(tmp_path / "one.csv", f"id,{column}\n{IDS[0]},{cell}\n")
    run = casewise.judge("demo", name)

    assert values_of(run)[IDS[0]] == value
    assert set(run.judgements["elicitation"].cast(str)) == {elicitation}
    assert run.summary.n_unscored == 89
    assert set(run.judgements["unscored_reason"].drop_nulls().cast(str)) == {"not_recorded"}


def test_json_lines_with_replies_are_read_by_the_strict_reader_and_keep_them(tmp_path):
    replies = ['{"judgement": "safe", "explanation": "x"}', "On balance, I would let it through.", "unsafe"]
    lines = [
        {"item_id": item_id, "reply": reply, "model": "theirs-1"} for item_id, reply in zip(IDS, replies, strict=False)
    ]
    name = table_at(tmp_path / "replies.jsonl", "\n".join(map(json.dumps, lines)) + "\n")
    run = casewise.judge("demo", name, out=tmp_path / "run")
    rows = {row["item_id"]: row for row in map(json.loads, (run.path / "judgements.jsonl").read_text().splitlines())}

    assert [rows[item_id]["outcome"].get("value") for item_id in IDS[:3]] == [1.0, None, 0.0]
    assert rows[IDS[1]]["outcome"]["reason"] == "no_verdict"
    assert rows[IDS[1]]["raw_reply"] == replies[1]
    assert rows[IDS[0]]["model_version"] == "theirs-1"


def test_an_item_in_several_rows_was_asked_as_often(tmp_path):
    name = table_at(tmp_path / "twice.csv", f"item_id,verdict\n{IDS[0]},safe\n{IDS[0]},unsafe\n")
    run = casewise.judge("demo", name, repeats=2)

    rows = run.judgements.filter(run.judgements["item_id"] == IDS[0]).sort("repeat")
    assert rows["value"].to_list() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("item_id,verdict\nnobody,safe\n", DataError, r"csv:2.*no item 'nobody'"),
        (f"item_id,verdict\n{IDS[0]},maybe\n", DataError, "csv:2.*'maybe'; it is safe or unsafe"),
        (f"item_id,score\n{IDS[0]},11\n", DataError, "from 1 to 10"),
        (f"item_id,probability\n{IDS[0]},1.5\n", DataError, "from 0 to 1"),
        (f"item_id,decision\n{IDS[0]},safe\n", DataError, "there are item_id, decision. Name it"),
        ("verdict\nsafe\n", DataError, "no column is called item_id or query"),
        (f"item_id,verdict,score\n{IDS[0]},safe,3\n", ConfigurationError, "--elicit"),
        (f'query,verdict\n"{DEMO.queries[0].text}",safe\n', DataError, "items ask that, each in its own context"),
        ("query,verdict\nWhat is this?,safe\n", DataError, "no item asks that"),
        ("", DataError, "empty"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_line_and_what_there_is(tmp_path, text, error, said):
    with pytest.raises(error, match=f"(?s){said}"):
        casewise.judge("demo", table_at(tmp_path / "wrong.csv", text))


def test_which_column_is_meant_can_be_said(tmp_path):
    name = table_at(tmp_path / "both.csv", f"item_id,verdict,score\n{IDS[0]},safe,3\n")
    assert values_of(casewise.judge("demo", name, elicitations="score"))[IDS[0]] == 3.0


def test_a_request_with_one_context_may_be_named_by_its_words(tmp_path):
    cases = tmp_path / "cases.csv"
    cases.write_text("query,context,label\nMay I?,a nurse,safe\nShall I?,a stranger,unsafe\n")
    mine = casewise.import_cases(cases)
    run = casewise.judge(mine, table_at(tmp_path / "v.csv", "query,verdict\nMay I?,safe\nShall I?,safe\n"))
    assert run.judgements["value"].to_list() == [1.0, 1.0]


def test_a_log_that_is_none_is_refused(tmp_path):
    (tmp_path / "log.eval").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(DataError, match="begins as a ZIP archive and is none"):
        casewise.judge("demo", f"recorded:{tmp_path / 'log.eval'}")


def test_the_file_is_part_of_what_the_run_is(tmp_path):
    run = table_at(tmp_path / "v.csv", f"item_id,verdict\n{IDS[0]},safe\n")
    casewise.judge("demo", run, out=tmp_path / "run")
    table_at(tmp_path / "v.csv", f"item_id,verdict\n{IDS[0]},unsafe\n")
    with pytest.raises(RunConflict):
        casewise.judge("demo", run, out=tmp_path / "run")
