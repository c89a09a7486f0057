"""One table for people and judges: the same columns, and the shapes that are made of it agree with those made elsewhere."""

import numpy as np
import polars as pl
import pytest
from tests.audits.builders import Row, benchmark_of

import casewise
from casewise.api import long_table
from casewise.errors import DataError
from casewise.evaluate.judged_runs import read_runs
from casewise.storage.benchmark_folder import LONG_COLUMNS, judges_rows, people_rows


@pytest.fixture(scope="module")
def demo():
    return casewise.load("demo")


@pytest.fixture(scope="module")
def run(tmp_path_factory, demo):
    said = iter(range(10_000))

    def judge(query, context):
        return None if next(said) % 7 == 6 else "safe"

    return casewise.judge(demo, judge, out=tmp_path_factory.mktemp("runs") / "run", elicitations=("binary",), repeats=2)


def test_people_and_judges_have_the_same_columns(demo, run):
    table = long_table(run)

    assert table.schema == LONG_COLUMNS
    assert dict(table["rater_kind"].value_counts().iter_rows()) == {"person": len(demo.ratings), "judge": 180}


def test_votes_by_item_are_those_of_the_table_of_items(demo):
    items = demo.item_columns
    votes = people_rows(demo).group_by("item_id").agg(n_safe=pl.col("value").sum(), n_votes=pl.len())
    found = items.select("item_id").join(votes, on="item_id", maintain_order="left")

    assert found["n_safe"].to_list() == items["n_safe"].to_list()
    assert found["n_votes"].to_list() == items["n_votes"].to_list()


def test_every_rating_keeps_its_item_its_person_and_its_verdict(demo):
    rows = people_rows(demo).select("item_id", "rater_id", "value").rows()

    assert rows == [(one.item_id, one.annotator_id, float(one.verdict == "safe")) for one in demo.ratings]


def test_an_anonymous_vote_has_no_rater():
    table = people_rows(benchmark_of([Row("query", True, (1, 0, 1)), Row("query", False, (0, 0, 0))]))

    assert table["rater_id"].null_count() == 6
    assert table["value"].to_list() == [1, 0, 1, 0, 0, 0]


def test_values_by_series_are_means_over_the_judgements_with_a_value(run):
    (series,) = read_runs([run.path]).series
    judged = long_table(run).filter(rater_kind="judge")
    means = dict(judged.group_by("item_id").agg(pl.col("value").mean()).iter_rows())

    expected = np.array([means[item.id] for item in run.benchmark.items], dtype=float)
    assert np.array_equal(series.values, expected, equal_nan=True)
    assert judged.filter(pl.col("value").is_null())["unscored_reason"].null_count() == 0


def test_a_judgement_of_an_item_that_there_is_not_is_named(demo, tmp_path):
    stray = pl.DataFrame(
        {"item_id": ["nowhere"], "elicitation": ["binary"], "arm": ["full"], "repeat": [0], "value": [1.0]}
    ).with_columns(unscored_reason=pl.lit(None, pl.String))

    with pytest.raises(DataError, match=r"log:.*nowhere"):
        judges_rows(demo.item_columns, stray, rater_id="judge", source=tmp_path / "log")
