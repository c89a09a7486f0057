"""A benchmark described in Croissant, beside its Parquet files."""

import hashlib
import json
import sys
import tomllib
from datetime import date

import polars as pl
import pytest

import casewise
from casewise import api
from casewise.errors import ConfigurationError, DataError
from casewise.share.croissant import CroissantAbout, croissant_metadata, read_croissant_about, write_croissant

ABOUT = """
url = "https://example.org/cases"
creators = ["A. Maker"]
published = 2026-11-01
licence = "https://creativecommons.org/licenses/by/4.0/"
cite_as = "@misc{cases}"
platform = ["a panel"]
demographics = ["half of them under 40"]
"""


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


# A small benchmark.


CASES = [
    {"query": "Who?", "context": "a nurse", "annotator": person, "vote": "safe", "trait.age": 30} for person in "ab"
] + [{"query": "When?", "context": "a thief", "annotator": "a", "vote": "unsafe", "trait.age": 30}]


@pytest.fixture
def written(tmp_path):
    def write(rows=CASES, **options):
        benchmark = casewise.load_frame(rows, "ward")
        missing = write_croissant(benchmark, tmp_path / "out", **options)
        return json.loads((tmp_path / "out" / "croissant.json").read_text()), missing, tmp_path / "out"

    return write


def test_what_the_benchmark_and_the_file_say_stands_in_the_description(written):
    about = CroissantAbout(
        url="https://example.org",
        creators=("A. Maker", "B. Maker"),
        published=date(2026, 11, 1),
        licence="CC-BY-4.0",
        cite_as="@misc{x}",
        platform=("a panel",),
        demographics=("under 40",),
        protocol=("They rated.",),
        use_cases=("evaluation",),
        biases=("one ward",),
        limitations=("few",),
        social_impact="none",
        sensitive=("none",),
        maintenance="yearly",
    )
    metadata, missing, _ = written(about=about, biases=["an audit's finding"])

    assert missing == ()
    assert {name: metadata[name] for name in ("name", "version", "url", "license", "datePublished", "citeAs")} == {
        "name": "ward",
        "version": "0.0.0",
        "url": "https://example.org",
        "license": "CC-BY-4.0",
        "datePublished": "2026-11-01",
        "citeAs": "@misc{x}",
    }
    assert metadata["creator"] == [{"@type": "Person", "name": name} for name in about.creators]
    assert metadata["description"] == "ward"
    assert {name: part for name, part in metadata.items() if name.startswith("rai:")} == {
        "rai:dataAnnotationProtocol": ["They rated."],
        "rai:dataAnnotationPlatform": ["a panel"],
        "rai:annotationsPerItem": "1 to 2",
        "rai:annotatorDemographics": ["under 40"],
        "rai:dataUseCases": ["evaluation"],
        "rai:dataBiases": ["one ward", "an audit's finding"],
        "rai:dataLimitations": ["few"],
        "rai:dataSocialImpact": "none",
        "rai:personalSensitiveInformation": ["none"],
        "rai:dataReleaseMaintenancePlan": "yearly",
    }


def test_what_is_nowhere_said_is_left_out_and_named(written):
    metadata, missing, _ = written()

    assert missing == (
        *("url", "creator", "datePublished", "license", "citeAs"),
        *("rai:dataAnnotationPlatform", "rai:annotatorDemographics"),
    )
    assert {"url", "rai:dataBiases", "rai:dataLimitations"}.isdisjoint(metadata)
    assert len(metadata["rai:dataAnnotationProtocol"]) == 1


def test_a_benchmark_without_ratings_states_no_protocol_and_no_number_of_them(written):
    metadata, _, _ = written([{"query": "Who?", "safe_rate": 0.5}])

    assert {"rai:dataAnnotationProtocol", "rai:annotationsPerItem"}.isdisjoint(metadata)


def test_items_with_one_number_of_ratings_state_it_once(tmp_path):
    metadata = croissant_of([{"query": "Who?", "label": "safe"}, {"query": "When?", "label": "safe"}], tmp_path)
    assert metadata["rai:annotationsPerItem"] == "1"


def croissant_of(rows, folder):
    benchmark = casewise.load_frame(rows, "ward")
    write_croissant(benchmark, folder / "out")
    return croissant_metadata(benchmark, folder / "out", ["items.parquet"], CroissantAbout(), [])


def test_each_file_is_described_with_its_size_and_checksum_and_each_table_with_its_columns(written):
    metadata, _, folder = written()
    files = {each["@id"]: each for each in metadata["distribution"]}

    for name, file in files.items():
        content = (folder / name).read_bytes()
        assert (file["contentSize"], file["sha256"]) == (f"{len(content)} B", hashlib.sha256(content).hexdigest())
    fields = {each["@id"]: each["field"] for each in metadata["recordSet"]}
    assert set(fields) == {name.removesuffix(".parquet") for name in files if pl.read_parquet(folder / name).height}
    kinds = {field["name"]: field["dataType"] for field in fields["ratings"]}
    assert [kinds[name] for name in ("verdict", "position", "value")] == ["sc:Text", "sc:Integer", "sc:Float"]
    assert fields["items"][0]["source"] == {
        "fileObject": {"@id": "items.parquet"},
        "extract": {"column": fields["items"][0]["name"]},
    }


def test_a_folder_that_is_there_is_refused_and_stays(written, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(ConfigurationError):
        written()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_a_file_of_facts_may_be_absent_and_has_no_unknown_key(tmp_path):
    assert read_croissant_about(None) == CroissantAbout()
    (tmp_path / "about.toml").write_text("address = 3\n")
    with pytest.raises(DataError, match="address"):
        read_croissant_about(tmp_path / "about.toml")
