import numpy as np
import polars as pl
import pytest

from casewise.api import judge, study_report
from casewise.errors import ConfigurationError


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return judge("demo", "linear", out=tmp_path_factory.mktemp("runs") / "linear").path


def ratings(tmp_path, queries=20, prefix=""):
    """Ratings of some of the demo's queries, as a table."""
    from casewise.storage.benchmark_folder import people_rows
    from casewise.storage.load import load

    table = people_rows(load("demo"))
    some = np.random.default_rng(0).permutation(table["query_id"].unique().sort().to_numpy())[:queries]
    wanted = table.filter(pl.col("query_id").is_in(some.tolist())).select(
        pl.concat_str(pl.lit(prefix), pl.col("item_id").cast(pl.String)).alias("item_id"),
        "query_id",
        "condition",
        annotator_id="rater_id",
        verdict=pl.when(pl.col("value") > 0.5).then(pl.lit("safe")).otherwise(pl.lit("unsafe")),
    )
    wanted.write_csv(tmp_path / "ratings.csv")
    return tmp_path / "ratings.csv"


def test_a_study_of_some_items_gets_the_rates_of_all_with_a_judges_help(run, tmp_path):
    report = study_report(ratings(tmp_path), judges=[run])
    rows = report.as_json()["rates_with_judge"]

    assert {row["condition"] for row in rows} == {"safe_revised", "unsafe_revised"}
    assert all((row["labels"], row["items"]) == (20, 45) for row in rows)
    assert all(row["ci_low"] < row["estimate"] < row["ci_high"] for row in rows)
    assert "rates-with-judge" in {
        block.name for section in report.document.sections for block in section.blocks if hasattr(block, "name")
    }


def test_a_run_over_other_items_is_refused(run, tmp_path):
    with pytest.raises(ConfigurationError, match="item ids differ"):
        study_report(ratings(tmp_path, prefix="x"), judges=[run])
