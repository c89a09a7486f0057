"""The crossed mixed model: what is written for R, what lme4 says of it, and that our two-way errors are of its kind."""

import shutil
import subprocess

import numpy as np
import polars as pl
import pytest
from tests.support.crowds import crowd_plan, crowd_table
from tests.support.data import REFERENCE, cases

from casewise.stats import clustered_contrast
from casewise.stats.ratings import code_ratings
from casewise.stats.study_tables import AnalysisOptions
from casewise.studies.report import study_report
from casewise.studies.report_parts import mixed_model_table, write_mixed_model


@pytest.fixture(scope="module")
def known():
    """Ratings that R drew, and what lme4 found."""
    (data,), (found,) = (cases(REFERENCE / "mixed_model.json", part) for part in ("data", "cases"))
    return {name: np.array(column) for name, column in data.items() if name != "id"}, found


def coded(data):
    return code_ratings(
        pl.DataFrame(
            {
                "item_id": [f"{q}-{c}" for q, c in zip(data["query"], data["condition"], strict=True)],
                "query_id": data["query"].astype(str),
                "condition": [f"c{c}" for c in data["condition"]],
                "annotator_id": data["annotator"].astype(str),
                "verdict": np.where(data["safe"], "safe", "unsafe"),
            }
        )
    )


def test_two_way_errors_are_those_of_the_mixed_model(known):
    data, found = known
    ours = clustered_contrast(data["safe"], data["condition"], query=data["query"], annotator=data["annotator"])

    assert ours.queries_like_these is not None
    assert ours.queries_like_these.estimate == pytest.approx(found["difference"], abs=found["error"] / 4)
    assert ours.queries_like_these.error == pytest.approx(found["error"], rel=0.15)


def test_the_table_has_every_rating_under_its_names():
    frame = crowd_table(crowd_plan(queries=6))

    table = mixed_model_table(code_ratings(frame))
    assert table.columns == ["query", "condition", "annotator", "safe"]
    expected = frame.select("query_id", "condition", "annotator_id", pl.col("verdict") == "safe")
    assert sorted(table.with_columns(pl.col("safe") == 1).iter_rows()) == sorted(expected.iter_rows())


def test_anonymous_votes_have_no_mixed_model():
    ratings = code_ratings(crowd_table(crowd_plan(queries=3)).drop("annotator_id"))

    with pytest.raises(ValueError, match="anonymous"):
        mixed_model_table(ratings)


def test_names_are_written_as_r_reads_them(tmp_path):
    options = AnalysisOptions(correction="benjamini-hochberg", level=0.9)
    write_mixed_model(
        tmp_path,
        code_ratings(crowd_table(crowd_plan(queries=3))),
        [('a "b"', "c\\d")],
        options,
        notices=["SYNTHETIC DATA"],
    )

    script = (tmp_path / "mixed_model.R").read_text()
    assert r'list(c("a \"b\"", "c\\d"))' in script
    assert 'correction <- "BH"' in script
    assert "level <- 0.9" in script


@pytest.mark.slow
def test_a_report_has_the_model_beside_it_where_annotators_are_known(tmp_path):
    crowd_table(crowd_plan(queries=6)).write_csv(tmp_path / "ratings.csv")
    study_report(tmp_path / "ratings.csv").write(tmp_path / "report")

    assert {path.name for path in (tmp_path / "report" / "mixed_model").iterdir()} == {"mixed_model.R", "ratings.csv"}


def has_lme4() -> bool:
    if shutil.which("Rscript") is None:
        return False
    asked = subprocess.run(["Rscript", "-e", "library(lme4)"], capture_output=True, check=False)
    return asked.returncode == 0


@pytest.mark.slow
def test_the_script_gives_what_lme4_gave(known, tmp_path):
    if not has_lme4():
        pytest.skip("needs R with lme4")
    data, expected = known
    write_mixed_model(tmp_path, coded(data), [("c0", "c1")], AnalysisOptions(), notices=[])

    subprocess.run(["Rscript", "mixed_model.R"], cwd=tmp_path, check=True, capture_output=True)

    (found,) = pl.read_csv(tmp_path / "contrasts.csv").to_dicts()
    for name in ("logit", "logit_error", "difference", "error"):
        assert found[name] == pytest.approx(expected[name], rel=2e-3)
    assert found["ci_low"] < found["difference"] < found["ci_high"]
    assert found["p_corrected"] == pytest.approx(found["p"])
