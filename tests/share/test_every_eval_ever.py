"""A run in the common schema of evaluation results."""

import hashlib
import json
from pathlib import Path

import jsonschema_rs
import pytest
from tests.support.gated import gated_demo

import casewise
from casewise import api
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.judges.llm import LLMJudge
from casewise.models.protocol import FakeModel
from casewise.records import Judgement, Scored, Unscored, UnscoredReason
from casewise.share.every_eval_ever import outcome_of, path_name, write_every_eval_ever
from casewise.stats.metrics import find_metric

SCHEMAS = Path(__file__).parents[1] / "reference" / "every_eval_ever_0.3.0"


def valid(name):
    return jsonschema_rs.validator_for(json.loads((SCHEMAS / name).read_text(encoding="utf-8")))


@pytest.fixture
def run(tmp_path):
    casewise.judge("demo", "fake/rehearsal", elicitations=("binary", "score"), out=tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.slow
def test_a_run_is_valid_in_the_common_schema_and_gives_the_reports_accuracy(run, tmp_path):
    done = api.export(run, tmp_path / "out", to="eee")
    found = json.loads(done.path.read_text(encoding="utf-8"))
    valid("eval.schema.json").validate(found)
    samples = tmp_path / "out" / found["detailed_evaluation_results"]["file_path"]
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        valid("instance_level_eval.schema.json").validate(row)

    accuracy = next(
        one for one in found["evaluation_results"] if one["evaluation_result_id"] == "binary, full/accuracy"
    )
    of_binary = [row["evaluation"]["score"] for row in rows if row["evaluation_result_id"] == "binary, full/accuracy"]
    assert len(of_binary) == 90
    assert sum(of_binary) / 90 == pytest.approx(accuracy["score_details"]["score"])
    limits = accuracy["score_details"]["uncertainty"]["confidence_interval"]
    assert limits["lower"] < accuracy["score_details"]["score"] < limits["upper"]
    assert found["detailed_evaluation_results"]["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()


@pytest.mark.slow
def test_what_is_undecided_is_never_false(tmp_path):
    model = FakeModel(lambda messages, options: ("I cannot say.", '{"judgement": "safe"}')[len(str(messages)) % 2])
    casewise.judge("demo", LLMJudge(model), out=tmp_path / "run")
    done = api.export(tmp_path / "run", tmp_path / "out", to="eee")
    aside = [json.loads(line) for line in next((tmp_path / "out").rglob("*_unscored.jsonl")).read_text().splitlines()]

    assert aside
    assert all("evaluation" not in row and row["error"].startswith("unscored: ") for row in aside)
    assert f"{len(aside)} judgements are neither right nor wrong" in done.notes[0]


@pytest.mark.slow
def test_texts_of_a_gated_benchmark_are_withheld_unless_they_are_asked_for(tmp_path):
    casewise.judge(str(gated_demo(tmp_path / "gated")), "fake/rehearsal", out=tmp_path / "run")
    query = casewise.load("demo").queries[0].text

    withheld = api.export(tmp_path / "run", tmp_path / "a", to="eee")
    given = api.export(tmp_path / "run", tmp_path / "b", to="eee", with_texts=True)

    assert query not in next((tmp_path / "a").rglob("*_samples.jsonl")).read_text(encoding="utf-8")
    assert query in next((tmp_path / "b").rglob("*_samples.jsonl")).read_text(encoding="utf-8")
    assert "withheld" in withheld.notes[-1]
    assert not any("withheld" in note for note in given.notes)


@pytest.mark.slow
def test_what_a_model_made_of_a_context_is_handed_on_as_it_was_shown(tmp_path):
    api.attack("demo", "fake/rehearsal", attacks="paraphrase:fake/rehearsal", noise="none", out=tmp_path / "run")
    api.export(tmp_path / "run", tmp_path / "out", to="eee")

    rows = [json.loads(line) for line in next((tmp_path / "out").rglob("*_samples.jsonl")).read_text().splitlines()]
    by_arm = {"paraphrase" in row["evaluation_name"]: row["input"]["raw"] for row in rows}
    assert "In other words:" in by_arm[True]
    assert "In other words:" not in by_arm[False]


# A small run, whose samples are counted by hand.


CASES = [
    {"id": f"c{n}", "query": f"Question {n}?", "context": "a nurse", "category": "x", "votes": votes}
    for n, votes in enumerate(["safe", "safe", "unsafe", "unsafe", "safe,unsafe", "safe"])
]
"""Four items that are plain, one on which people are tied, and one that the judge does not decide."""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The aggregate, the samples and the rows apart of a run in which a judge says safe throughout."""
    folder = tmp_path_factory.mktemp("small")

    def judge(query, context):
        return Unscored(reason=UnscoredReason.REFUSED) if query == "Question 5?" else "safe"

    casewise.judge(casewise.load_frame(CASES, "a/b c"), judge, out=folder / "run")
    numbers = JudgeNumbers.from_runs([folder / "run"], benchmark=casewise.load_frame(CASES, "a/b c"))
    path, notes = write_every_eval_ever(numbers, folder / "out", with_texts=False)
    files = {kind: next((folder / "out").rglob(f"*_{kind}.jsonl")) for kind in ("samples", "unscored")}
    rows = {kind: [json.loads(line) for line in file.read_text().splitlines()] for kind, file in files.items()}
    return json.loads(path.read_text()), rows["samples"], rows["unscored"], (path, notes)


def test_a_sample_is_right_where_the_verdict_is_the_label_and_others_stand_apart(small):
    _, samples, apart, (_, notes) = small

    assert [row["evaluation"] for row in samples] == [{"score": float(n < 2), "is_correct": n < 2} for n in range(4)]
    assert [row["error"] for row in apart] == [
        "unscored: people are tied, or there are no ratings",
        "unscored: refused",
    ]
    assert notes == (f"2 judgements are neither right nor wrong and stand in {notes[0].rpartition(' ')[2]}",)
    assert "a nurse" in samples[0]["input"]["raw"]
    assert samples[0]["input"]["raw"].endswith("Question 0?")
    assert [row["input"]["reference"] for row in apart] == [[], ["safe"]]


def test_the_hash_of_a_sample_covers_what_was_shown_and_its_label(small):
    _, samples, apart, _ = small

    for row in (*samples, *apart):
        text = row["input"]["raw"] + "".join(row["input"]["reference"])
        assert row["sample_hash"] == hashlib.sha256(text.encode()).hexdigest()
    assert {row["metadata"]["category"] for row in samples} == {"x"}


def test_the_files_lie_under_plain_names_and_the_aggregate_counts_them(small):
    aggregate, samples, apart, (path, _) = small
    detail = aggregate["detailed_evaluation_results"]

    assert path.parts[-5:-3] == ("data", "b-c")
    assert aggregate["model_info"]["id"].startswith("casewise/")
    assert detail["total_rows"] == len(samples) == 4
    assert detail["additional_details"] == {"unscored_or_tied": str(len(apart)), "texts": "given"}
    assert aggregate["evaluation_timestamp"] == aggregate["retrieved_timestamp"]
    assert aggregate["evaluation_id"].endswith(aggregate["evaluation_timestamp"])


def test_a_result_states_its_metric_its_interval_and_what_has_no_verdict(small):
    aggregate, _, _, _ = small
    by_metric = {each["metric_config"]["metric_id"]: each for each in aggregate["evaluation_results"]}
    accuracy = by_metric["accuracy"]

    assert accuracy["metric_config"]["lower_is_better"] is False
    assert (accuracy["metric_config"]["min_score"], accuracy["metric_config"]["max_score"]) == (0, 1)
    assert accuracy["score_details"]["details"] == {"unscored": "1"}
    assert accuracy["score_details"]["uncertainty"]["confidence_interval"]["confidence_level"] == 0.95
    assert {name: each["metric_config"]["lower_is_better"] for name, each in by_metric.items()} == {
        name: find_metric(name).better == "lower" for name in by_metric
    }
    assert {each["metric_config"]["additional_details"]["labels"] for each in by_metric.values()} == {"votes"}


def judgement(outcome, **more):
    return Judgement(item_id="i", judge_id="j", elicitation="binary", arm="full", outcome=outcome, **more)


@pytest.mark.parametrize(
    ("elicitation", "outcome", "label", "row"),
    [
        ("binary", Unscored(reason=UnscoredReason.REFUSED), "safe", {"error": "unscored: refused"}),
        ("binary", Scored(value=1), None, {"error": "unscored: people are tied, or there are no ratings"}),
        ("scalar", Scored(value=1), "safe", {"error": "unscored: a value without a verdict"}),
        ("binary", Scored(value=1), "safe", {"score": 1.0, "is_correct": True}),
        ("binary", Scored(value=0), "safe", {"score": 0.0, "is_correct": False}),
        ("binary", Scored(value=0), "unsafe", {"score": 1.0, "is_correct": True}),
        ("probability", Scored(value=0.5), "unsafe", {"score": 1.0, "is_correct": True}),
    ],
)
def test_an_outcome_is_right_wrong_or_neither(elicitation, outcome, label, row):
    found = outcome_of(judgement(outcome).model_copy(update={"elicitation": elicitation}), label)

    assert (found if "error" in row else found["evaluation"]) == row


def test_an_outcome_states_how_it_was_read_its_tokens_and_its_time_where_they_are_known():
    whole = outcome_of(
        judgement(Scored(value=1), input_tokens=5, output_tokens=2, latency_s=0.25, read_as="json"), "safe"
    )
    part = outcome_of(judgement(Scored(value=0), input_tokens=5), "safe")

    assert whole["token_usage"] == {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    assert whole["performance"] == {"latency_ms": 250.0}
    (attribution,) = whole["answer_attribution"]
    assert (attribution["extracted_value"], attribution["extraction_method"]) == ("safe", "json")
    assert "token_usage" not in part
    assert "performance" not in part
    assert part["answer_attribution"][0]["extracted_value"] == "unsafe"
    assert part["answer_attribution"][0]["extraction_method"] == "as given"


@pytest.mark.parametrize(
    ("text", "name"),
    [("a/b c", "a-b-c"), ("-a.-", "a"), ("Ärzte_1.2", "Ärzte_1.2"), ("//", "unnamed"), ("", "unnamed")],
)
def test_a_name_in_a_path_has_plain_characters_only(text, name):
    assert path_name(text) == name
