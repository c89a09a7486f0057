import json

import pytest
from tests.support.command import invoke

DESIGN = """
[simulation]
queries = 12
ratings_per_item = 12
items_per_annotator = 6
categories = 3
[simulation.safe_rates]
no_context = 0.4
safe_revised = 0.7
"""


def run(*words):
    return invoke("study", *words)


@pytest.fixture
def design(tmp_path):
    path = tmp_path / "design.toml"
    path.write_text(DESIGN)
    return str(path)


def test_a_rehearsed_study_is_reported(design, tmp_path):
    ratings, out = tmp_path / "ratings.parquet", tmp_path / "out"

    assert invoke("power", "study", "--design", design, "--ratings", str(ratings)).code == 0
    result = run("report", str(ratings), "--out", str(out))
    assert result.code == 0
    assert "no context" in result.out
    assert "no frozen plan" in result.out
    assert (out / "report.html").is_file()


@pytest.mark.slow
def test_a_report_is_one_json_document(design, tmp_path):
    ratings = tmp_path / "ratings.csv"
    invoke("power", "study", "--design", design, "--ratings", str(ratings))

    result = run("report", str(ratings), "--out", str(tmp_path / "out"), "--json")
    assert json.loads(result.out)["ratings"] == 12 * 2 * 12


def test_repetitions_say_what_each_analysis_is_worth(design):
    result = invoke("power", "study", "--design", design, "--repeat", "5", "--json")

    found = json.loads(result.out)
    assert {row["analysis"] for row in found["contrasts"]} == {"pooled", "by_item", "by_query", "two_way", "annotator"}
    assert found["repeats"] == 5


@pytest.mark.parametrize(
    "words",
    [
        ("report", "none.csv"),
        ("report", "columns.csv"),
        ("report", "demo", "--contrast", "safe_revised"),
        ("report", "demo", "--contrast", "safe_revised:nothing"),
        ("report", "demo", "--margin", "0"),
    ],
)
def test_what_cannot_be_is_an_error_and_no_traceback(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "columns.csv").write_text("item_id,query_id\na,b\n", encoding="utf-8")

    assert run(*words).code == 2
