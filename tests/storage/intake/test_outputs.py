"""Outputs of programs that run judges, written by hand after their documentation, become tables with one shape."""

from typing import Any

import pytest
from tests.support.outputs import ANTHROPIC, LM_EVAL, MLFLOW, OUTPUTS, RESULTS, json_file

import casewise
from casewise.errors import ConfigurationError, DataError
from casewise.judges.recorded import RecordedJudge
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.formats.format import FileOptions

FAILED = {
    "promptfoo": "x",
    "promptfoo lines": "x",
    "OpenAI": "batch_expired",
    "OpenAI responses": "batch_expired",
    "Anthropic": "expired",
    "Inspect": "out of time",
    "Inspect JSON": "out of time",
}
"""What an output says of the call for the second case."""


@pytest.fixture
def benchmark():
    cases = [{"id": "c1", "query": "Who?", "label": "safe"}, {"id": "c2", "query": "When?", "label": "unsafe"}]
    return casewise.load_frame(cases)


def failures(benchmark, name):
    """Why the cases c1 and c2 have no verdict; None for one that has."""
    answers = RecordedJudge.read(name, benchmark).answers
    outcomes = [answers[item.id, "binary", "full", 0].outcome for item in benchmark.items]
    return [getattr(outcome, "failure", None) for outcome in outcomes]


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_names_its_cases_and_replies_and_is_a_recorded_judge(tmp_path, benchmark, name):
    write, content = OUTPUTS[name]
    write(tmp_path / "output", content)
    columns = read_any_table(tmp_path / "output").columns

    assert (columns["id"], columns["reply"]) == (["c1", "c2"], ["unsafe", None])
    rows = casewise.judge(benchmark, f"recorded:{tmp_path / 'output'}").judgements
    assert rows["value"].to_list() == [0.0, None]
    said = FAILED.get(name)
    assert rows["unscored_reason"].to_list() == [None, "judge_failed" if said else "not_recorded"]
    assert failures(benchmark, tmp_path / "output")[1] == (f"judge failed: {said}" if said else "not recorded")


@pytest.mark.parametrize(
    ("name", "column", "values"),
    [
        ("promptfoo", "success,true=safe", [0.0, 1.0]),
        ("promptfoo", "success,true=unsafe", [1.0, 0.0]),
        ("DeepEval", "Harm success,true=safe", [0.0, None]),
        ("Inspect", "match,I=unsafe,C=safe", [0.0, 0.0]),
        ("Inspect", "match answer", [0.0, 0.0]),
    ],
)
def test_a_column_of_an_output_and_its_words_can_be_named(tmp_path, benchmark, name, column, values):
    write, content = OUTPUTS[name]
    write(tmp_path / "output", content)
    name = f"recorded:{tmp_path / 'output'}#{column}"

    assert casewise.judge(benchmark, name).judgements["value"].to_list() == values


def test_assessments_and_annotations_are_a_column_each_with_those_of_people_apart(tmp_path):
    json_file(tmp_path / "traces", MLFLOW)
    traces = read_any_table(tmp_path / "traces").columns
    assert (traces["harm"], traces["harm (people)"], traces["query"]) == (
        ["no", None],
        ["yes", None],
        ["Who?", "When?"],
    )

    rows = ["span_id,annotation_name,annotator_kind,result.label,result.score"]
    rows += ["c1,harm,LLM,unsafe,0.9", "c1,harm,HUMAN,safe,", "c2,harm,LLM,,0.1"]
    (tmp_path / "annotations.csv").write_text("\n".join(rows))
    table = read_any_table(tmp_path / "annotations.csv")
    assert table.columns == {"id": ["c1", "c2"], "harm": ["unsafe", "0.1"], "harm (people)": ["safe", None]}
    (tmp_path / "annotations.csv").write_text("\n".join([*rows, "c2,harm,LLM,safe,"]))
    with pytest.raises(DataError, match="'c2' has two scores called 'harm'"):
        read_any_table(tmp_path / "annotations.csv")


def test_samples_after_several_filters_and_answers_of_several_models_are_not_taken_for_repeats(tmp_path, benchmark):
    samples = tmp_path / "samples"
    json_file(samples, [LM_EVAL[0] | {"filter": name, "filtered_resps": [name]} for name in ("unsafe", "safe")])
    with pytest.raises(
        ConfigurationError, match="after several filters \\(unsafe, safe\\); give --where filter=unsafe"
    ):
        read_any_table(samples)
    chosen = read_any_table(samples, FileOptions(where=("filter=safe",)))
    assert (chosen.columns["reply"], chosen.left_out) == (["safe"], {"not among those of --where filter=safe": 1})
    assert casewise.judge(benchmark, f"recorded:{samples}?filter=safe").judgements["value"].to_list() == [1.0, None]

    results = tmp_path / "results"
    replies = (("a", "unsafe"), ("b", "safe"))
    json_file(results, [RESULTS[0] | {"provider": {"id": m}, "response": {"output": o}} for m, o in replies])
    with pytest.raises(DataError, match="the model is 'b' here and 'a' in an earlier row of the same item"):
        casewise.judge(benchmark, f"recorded:{results}")
    assert casewise.judge(benchmark, f"recorded:{results}?model=b").judgements["value"].to_list() == [1.0, None]


@pytest.mark.parametrize(
    ("where", "error", "problem"),
    [
        ("modle=a", ConfigurationError, "--where: there is no column 'modle' .did you mean 'model'"),
        ("model=c", DataError, "no row has 'c' in 'model'; it has a, b"),
        ("model", ConfigurationError, "--where is 'model'; write COLUMN=VALUE"),
    ],
)
def test_rows_that_are_asked_for_and_are_not_there_are_named(tmp_path, where, error, problem):
    json_file(tmp_path / "results", [RESULTS[0] | {"provider": {"id": name}} for name in ("a", "b")])
    with pytest.raises(error, match=problem):
        read_any_table(tmp_path / "results", FileOptions(where=(where,)))


def test_a_run_in_which_every_call_failed_is_a_judge_without_verdicts_that_says_why(tmp_path, benchmark):
    failed: dict[str, Any] = {"success": False, "score": 0, "failureReason": 2, "gradingResult": None, "testCase": {}}
    json_file(tmp_path / "run", [failed | {"vars": {"id": f"c{n}"}, "error": "Rate limit"} for n in (1, 2)])
    for column in ("", "#success,true=safe"):
        assert failures(benchmark, f"{tmp_path / 'run'}{column}") == ["judge failed: Rate limit"] * 2


def test_a_batch_says_why_a_call_gave_no_verdict(tmp_path, benchmark):
    def reasons(first, second):
        json_file(tmp_path / "batch", [first, second])
        return failures(benchmark, tmp_path / "batch")

    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}
    declined = {"type": "succeeded", "message": {"model": "m", "content": [], "stop_reason": "refusal"}}
    assert reasons(
        {"custom_id": "c1", "result": {"type": "errored", "error": error}}, {"custom_id": "c2", "result": declined}
    ) == ["judge failed: errored: invalid_request_error: too long", "refused: the model declined"]

    body = {"error": {"message": "Overloaded", "type": "server_error", "code": None}}
    choice = {"message": {"content": None, "refusal": "I can't."}, "finish_reason": "stop"}
    assert reasons(
        {"custom_id": "c1", "error": None, "response": {"status_code": 500, "body": body}},
        {"custom_id": "c2", "error": None, "response": {"body": {"choices": [choice]}}},
    ) == ["judge failed: server_error: Overloaded", "refused: I can't."]


def test_a_reply_that_a_batch_cut_off_is_no_verdict(tmp_path, benchmark):
    cut = {
        "type": "succeeded",
        "message": {"model": "m", "stop_reason": "max_tokens", "content": [{"type": "text", "text": "I"}]},
    }
    json_file(tmp_path / "batch", [{"custom_id": "c1", "result": cut}, ANTHROPIC[1]])
    reasons = casewise.judge(benchmark, f"recorded:{tmp_path / 'batch'}").judgements["unscored_reason"]
    assert reasons.to_list() == ["truncated", "judge_failed"]


# Rows are joined to items by the user's own id, the item's id, or the query and the context.


CASES = [
    {"id": f"c{place}", "query": query, "context": context, "label": label}
    for place, (query, context, label) in enumerate(
        [("Who?", "a nurse", "pass"), ("Who?", "a thief", "fail"), ("When?", "a nurse", "pass")]
    )
]
WORDS = casewise.VerdictWords(safe_word=("pass",), unsafe_word=("fail",))


@pytest.mark.parametrize("names", [("id",), ("item_id",), ("query", "context"), ("id", "query")])
def test_rows_find_their_items_by_any_of_their_names_and_declared_words_hold(tmp_path, names):
    mine = casewise.load_frame(CASES, words=WORDS)
    rows = [row | {"item_id": item.id, "verdict": "fail"} for row, item in zip(CASES, mine.items, strict=True)]
    json_file(tmp_path / "v.jsonl", [{name: row[name] for name in (*names, "verdict")} for row in reversed(rows)])

    run = casewise.judge(mine, f"recorded:{tmp_path / 'v.jsonl'}")
    assert run.judgements["value"].to_list() == [0.0] * 3


@pytest.mark.parametrize("names", [("ticket",), ("ask", "setting"), ("ticket", "ask")])
def test_rows_find_their_items_by_the_columns_of_the_file_that_was_imported(tmp_path, names):
    rows = [{"ticket": row["id"], "ask": row["query"], "setting": row["context"], "out": row["label"]} for row in CASES]
    json_file(tmp_path / "cases.jsonl", rows)
    columns = casewise.CaseColumns(id="ticket", query="ask", context="setting", label="out")
    mine = casewise.import_cases(tmp_path / "cases.jsonl", columns=columns, words=WORDS)
    json_file(tmp_path / "v.jsonl", [{name: row[name] for name in (*names, "out")} for row in reversed(rows)])

    run = casewise.judge(mine, f"recorded:{tmp_path / 'v.jsonl'}#out")
    assert run.judgements["value"].to_list() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": "c9", "verdict": "safe"}, "has no item 'c9'; its first is 'i_.*' or 'c0'"),
        (
            {"id": "c0", "query": "When?", "verdict": "pass"},
            "whose query is 'Who\\?', and the row's query is 'When\\?'",
        ),
        ({"query": "Who?", "verdict": "pass"}, "2 items ask that, each in its own context"),
        ({"id": "c0", "verdict": "true"}, "write recorded:FILE#verdict,true=safe or ,true=unsafe"),
        ({"id": "c0", "verdict": "perhaps"}, "it is safe or unsafe. Other words: recorded:FILE#verdict,WORD=safe"),
    ],
)
def test_a_row_that_fits_no_item_or_says_no_verdict_is_refused_with_what_to_do(tmp_path, row, problem):
    mine = casewise.load_frame(CASES, words=WORDS)
    json_file(tmp_path / "v.jsonl", [row, row])

    with pytest.raises(DataError, match=problem):
        casewise.judge(mine, f"recorded:{tmp_path / 'v.jsonl'}")


def test_a_boolean_that_was_declared_for_one_column_says_nothing_of_another(tmp_path):
    cases = [{"id": "c1", "query": "Who?", "harmful": True}, {"id": "c2", "query": "When?", "harmful": False}]
    mine = casewise.load_frame(
        cases, columns=casewise.CaseColumns(label="harmful"), words=casewise.VerdictWords(true_means="unsafe")
    )
    json_file(tmp_path / "v.jsonl", [{"id": "c1", "verdict": True}, {"id": "c2", "verdict": False}])
    with pytest.raises(DataError, match="nothing says what that means"):
        casewise.judge(mine, f"recorded:{tmp_path / 'v.jsonl'}")
    json_file(tmp_path / "v.jsonl", [{"id": "c1", "harmful": True}, {"id": "c2", "harmful": False}])
    assert casewise.judge(mine, f"recorded:{tmp_path / 'v.jsonl'}#harmful").judgements["value"].to_list() == [0.0, 1.0]


def test_a_name_without_a_verdict_for_a_word_is_refused(benchmark):
    with pytest.raises(ConfigurationError, match="'ja' has no verdict"):
        casewise.judge(benchmark, "recorded:nothing.csv#a,ja")
