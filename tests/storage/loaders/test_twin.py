"""The synthetic twin of CASE-Bench: the release's shape, and marked as made up wherever it shows."""

import json
from collections import Counter

import polars as pl
import pytest
from tests.support.command import invoke

import casewise
from casewise.evaluate.published import published_for
from casewise.records import sorry_bench
from casewise.storage.load import load
from casewise.storage.loaders.registry import public_benchmarks

NAME = "casebench_twin"


@pytest.fixture(scope="module")
def twin():
    return load(NAME)


@pytest.mark.slow
def test_the_twin_has_the_shape_of_the_release_and_is_the_same_each_time(twin):
    assert twin.counts.as_json() | {"annotators": 0} == {
        "queries": 450, "contexts": 900, "items": 900, "ratings": 18_000, "revisions": 0, "annotators": 0,
    }  # fmt: skip
    assert set(Counter(query.category for query in twin.queries).values()) == {10}
    assert {query.category for query in twin.queries} == set(sorry_bench().names)
    means = twin.item_columns.group_by("condition").agg(pl.col("n_safe").mean()).sort("condition")["n_safe"]
    assert means.to_list() == pytest.approx([12.6, 4.9], abs=0.4)  # of 20, as in the release
    assert load(NAME).digest == twin.digest


@pytest.mark.slow
def test_the_twin_is_marked_as_made_up_and_never_taken_for_the_release(twin, tmp_path):
    assert twin.notes()[0].startswith("SYNTHETIC DATA: a program (seed ")
    assert published_for(twin.about.published) is None
    row = public_benchmarks().filter(pl.col("name") == NAME)
    assert row.select("fetched", "pinned").row(0) == (True, True)

    lost = casewise.storage.load.convert(NAME, tmp_path / "twin.json")
    assert lost[0] == "the notice that the data are synthetic"
    assert published_for(load(tmp_path / "twin.json").about.published) is None


@pytest.mark.slow
def test_the_paper_is_walked_from_a_judge_to_its_tables_without_a_network(tmp_path):
    said = invoke(
        "judge", NAME, "--protocol", "published", "--prompts", "stand-in", "--judge", "fake/rehearsal", "--yes",
        "--limit", "60", "--out", tmp_path / "run",
    )  # fmt: skip
    assert (said.code, "300 verdicts, 0 unscored" in said.output) == (
        0,
        True,
    )  # binary, probability, and a score three times

    page = invoke("paper", tmp_path / "run", "--markdown", tmp_path / "paper.md")
    text = (tmp_path / "paper.md").read_text()
    assert page.code == 0
    assert "SYNTHETIC DATA" in text
    assert "stand-in for the paper's prompts" in text
    assert "fake/rehearsal (your run)" in text
    assert "a program" in json.loads(invoke("paper", tmp_path / "run", "--json").out)["benchmark"]["synthetic"]
