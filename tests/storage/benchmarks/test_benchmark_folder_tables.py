"""People's ratings as rows, and judgements by item: the shapes that are made of them agree with those made elsewhere."""

import numpy as np
import polars as pl
import pytest
from tests.audits.builders import Row, benchmark_of

import casewise
from casewise.errors import DataError
from casewise.evaluate.judged_runs import read_runs
from casewise.storage.benchmark_folder import people_rows, places_of


@pytest.fixture(scope="module")
def demo():
    return casewise.load("demo")


@pytest.fixture(scope="module")
def run(tmp_path_factory, demo):
    said = iter(range(10_000))

    def judge(query, context):
        return None if next(said) % 7 == 6 else "safe"

    return casewise.judge(demo, judge, out=tmp_path_factory.mktemp("runs") / "run", elicitations=("binary",), repeats=2)


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
    means = dict(run.judgements.group_by("item_id").agg(pl.col("value").mean()).iter_rows())

    expected = np.array([means[item.id] for item in run.benchmark.items], dtype=float)
    assert np.array_equal(series.values, expected, equal_nan=True)


def test_a_judgement_of_an_item_that_there_is_not_is_named(demo, tmp_path):
    with pytest.raises(DataError, match=r"log:.*nowhere"):
        places_of(demo.item_columns, pl.DataFrame({"item_id": ["nowhere"]}), source=tmp_path / "log")
