"""Benchmarks and runs in other people's formats, read by those people's tools."""

import hashlib
import json
import sys
import tomllib
from pathlib import Path

import jsonschema_rs
import pytest

import casewise
from casewise import api
from casewise.errors import CasewiseError, ConfigurationError
from casewise.judges.llm import LLMJudge
from casewise.models.protocol import FakeModel
from casewise.share.croissant import CroissantAbout

SCHEMAS = Path(__file__).parents[1] / "reference" / "every_eval_ever_0.3.0"

ABOUT = """
url = "https://example.org/cases"
creators = ["A. Maker"]
published = 2026-11-01
licence = "https://creativecommons.org/licenses/by/4.0/"
cite_as = "@misc{cases}"
platform = ["a panel"]
demographics = ["half of them under 40"]
"""


def gated_demo(folder):
    """The demo as a benchmark whose texts may not be given away."""
    api.export("demo", folder, to="folder")
    manifest = json.loads((folder / "benchmark.json").read_text(encoding="utf-8"))
    manifest["about"]["gated"] = True
    (folder / "benchmark.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def valid(name):
    return jsonschema_rs.validator_for(json.loads((SCHEMAS / name).read_text(encoding="utf-8")))


@pytest.fixture
def run(tmp_path):
    casewise.judge("demo", "fake/rehearsal", elicitations=("binary", "score"), out=tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:ConjunctiveGraph is deprecated:DeprecationWarning"
)  # rdflib's own, within mlcroissant
def test_croissant_is_what_its_own_validator_accepts(tmp_path, caplog):
    mlcroissant = pytest.importorskip("mlcroissant")
    # absl's handler, made on import, holds what pytest captures and closes it when somebody configures logging anew.
    pytest.importorskip("absl.logging").get_absl_handler().python_handler.stream = sys.__stderr__
    (tmp_path / "about.toml").write_text(ABOUT, encoding="utf-8")
    done = api.export("demo", tmp_path / "out", to="croissant", about=tmp_path / "about.toml")

    dataset = mlcroissant.Dataset(jsonld=done.path / "croissant.json")
    issues = dataset.metadata.ctx.issues

    assert (issues.errors, issues.warnings) == (set(), set())
    assert done.notes == ()
    fields = {field.name: field.source.extract.column for one in dataset.metadata.record_sets for field in one.fields}
    assert {"verdict", "text", "query_id"} <= fields.keys() & set(fields.values())
    assert dataset.metadata.annotations_per_item == "21"
    assert any("simulated" in text for text in dataset.metadata.data_limitations)
    assert casewise.load(done.path).digest == casewise.load("demo").digest


@pytest.mark.slow
def test_what_only_the_makers_know_is_asked_for_by_name(tmp_path):
    done = api.export("demo", tmp_path / "out", to="croissant")

    assert "url is not known; give it with --about FILE" in done.notes
    assert "creator" not in json.loads((done.path / "croissant.json").read_text(encoding="utf-8"))
    assert CroissantAbout.model_validate(tomllib.loads(ABOUT)).creators == ("A. Maker",)


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


@pytest.mark.parametrize(
    ("source", "to", "said"),
    [
        ("demo", "croisant", "did you mean 'croissant'"),
        ("demo", "eee", "demo"),
        ("nowhere", "croissant", "nowhere"),
    ],
)
def test_what_cannot_be_is_said(source, to, said, tmp_path):
    with pytest.raises(CasewiseError, match=said):
        api.export(source, tmp_path / "out", to=to)
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "out.json").write_text("mine", encoding="utf-8")

    with pytest.raises(ConfigurationError, match="nothing is overwritten"):
        api.export("demo", tmp_path / "out.json", to="published")


@pytest.mark.slow
@pytest.mark.parametrize("to", ["folder", "parquet", "hf", "croissant"])
def test_texts_of_a_benchmark_with_terms_are_written_only_when_that_is_said(to, tmp_path):
    gated = gated_demo(tmp_path / "gated")

    with pytest.raises(ConfigurationError, match="--with-texts"):
        api.export(gated, tmp_path / "out", to=to)
    assert not (tmp_path / "out").exists()
    api.export(gated, tmp_path / "out", to=to, with_texts=True)
    assert (tmp_path / "out").exists()
