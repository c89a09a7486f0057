"""Rates of a study with a judge's help."""

import numpy as np
import polars as pl
import pytest
from tests.support.worlds import World

import casewise
from casewise.api import judge, study_report
from casewise.errors import ConfigurationError
from casewise.evaluate.judged_runs import read_runs
from casewise.evaluate.study import fill_missing, rates_with_judge
from casewise.stats.panel import prediction_powered_rate
from casewise.stats.ratings import code_ratings
from casewise.storage.benchmark_folder import write_benchmark


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


VOTES = ("sssss", "uuuus", "ssuu", "suuu") * 6
WORLD = World("rated", VOTES, {"a": ("s", "u", "?", "s") * 6})


def rated(places):
    """The votes of some items as a study's ratings."""
    items = WORLD.benchmark.items
    rows = [
        (
            items[place].id,
            items[place].query_id,
            items[place].condition,
            "safe" if vote == "s" else "unsafe",
            f"person {at} of {items[place].condition}",
        )
        for place in places
        for at, vote in enumerate(VOTES[place])
    ]
    return pl.DataFrame(rows, schema=["item_id", "query_id", "condition", "verdict", "annotator_id"], orient="row")


@pytest.fixture(scope="module")
def own_run(tmp_path_factory):
    return WORLD.runs(tmp_path_factory.mktemp("rated"), kept=True)["a"]


def test_a_conditions_rate_is_over_all_items_that_the_judge_decided(own_run):
    found = rates_with_judge(code_ratings(rated(range(16))), own_run)
    runs = read_runs([own_run])
    chosen = (runs.items["condition"] == "safe_generated").to_numpy()
    shares = np.array([votes.count("s") / len(votes) for votes in VOTES])
    values = runs.series[0].values

    assert (str(found.judge), found.not_available) == ("a (binary)", {})
    assert found.table.select("condition", "unscored", "labels", "items").rows() == [
        ("safe_generated", 6, 8, 12),
        ("unsafe_generated", 0, 8, 12),
    ]
    labels = np.where(np.arange(24) < 16, shares, np.nan)[chosen]
    alone = prediction_powered_rate(fill_missing(values[chosen]), labels, clusters=runs.cluster[chosen])
    assert found.table["estimate"][0] == pytest.approx(alone.estimate)
    assert found.table["ci_low"][0] <= alone.ci_low + 1e-9, "people add to the error"


def test_anonymous_ratings_and_ratings_of_other_items_are_taken_as_they_are(own_run):
    ratings = rated(range(16))
    stray = ratings.head(5).with_columns(item_id=pl.lit("stray"), query_id=pl.lit("stray"))
    known, with_stray, anonymous = (
        rates_with_judge(code_ratings(frame), own_run).table
        for frame in (ratings, pl.concat([ratings, stray]), ratings.drop("annotator_id"))
    )

    assert known.rows() == with_stray.rows()
    assert known["estimate"].to_list() == pytest.approx(anonymous["estimate"].to_list())
    assert known["ci_low"].to_list() != anonymous["ci_low"].to_list()


def test_a_condition_with_too_few_ratings_says_why_and_the_other_has_its_rate(own_run):
    few = rates_with_judge(code_ratings(rated([0, 1, 5, 9])), own_run)

    assert few.table["condition"].to_list() == ["unsafe_generated"]
    assert few.not_available == {"safe_generated": "a rate needs labels in two clusters at least"}


def test_a_run_that_was_asked_in_two_ways_is_refused(tmp_path):
    benchmark = write_benchmark(WORLD.benchmark, tmp_path / "benchmark")
    both = casewise.judge(benchmark, "fake/rehearsal", elicitations=("binary", "score"), out=tmp_path / "both")

    with pytest.raises(ConfigurationError, match="a run asked in one way"):
        rates_with_judge(code_ratings(rated([0, 1])), both.path)
