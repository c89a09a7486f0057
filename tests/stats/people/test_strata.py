import numpy as np
import polars as pl
import pytest
from tests.support.crowds import crowd_plan, crowd_table

from casewise.errors import StatisticsError
from casewise.stats import CrowdModel
from casewise.stats.people.coded_ratings import code_ratings
from casewise.stats.people.strata import safe_rate_by_stratum

TWO = {"no_context": 0.5, "safe_revised": 0.5}


def study(seed=1, *, effect=0.0, small=0):
    """A stratum of people; where it has an effect, the young say safe more often under `safe_revised` only."""
    frame = crowd_table(crowd_plan(rates=TWO, queries=60, crowd=CrowdModel(annotator_sd=0.3)), seed=seed)
    rng = np.random.default_rng(seed)
    people = frame["annotator_id"].unique().sort().to_list()
    ages = {name: ("young", "old")[i % 2] for i, name in enumerate(people)} | dict.fromkeys(people[:small], "rare")
    frame = frame.with_columns(age=pl.col("annotator_id").replace_strict(ages))
    moved = (
        pl.Series(rng.random(len(frame)) < effect) & (frame["age"] == "young") & (frame["condition"] == "safe_revised")
    )
    return frame.with_columns(verdict=pl.when(moved).then(pl.lit("safe")).otherwise(pl.col("verdict")))


def rates(frame):
    return safe_rate_by_stratum(code_ratings(frame, strata=("age",)), "age")


def test_rates_are_those_of_the_cells():
    frame = study()
    cell = frame.filter((pl.col("age") == "old") & (pl.col("condition") == "no_context"))

    row = rates(frame).table.filter((pl.col("value") == "old") & (pl.col("condition") == "no_context")).to_dicts()[0]
    assert row["safe_rate"] == pytest.approx((cell["verdict"] == "safe").mean())
    assert row["people"] == cell["annotator_id"].n_unique()


def test_cells_of_few_people_are_suppressed():
    found = rates(study(small=3))

    assert found.suppressed >= 1
    rare = found.table.filter(pl.col("value") == "rare")
    assert rare["safe_rate"].is_null().all()
    assert rare["people"].is_null().all()


def test_an_interaction_is_found_where_there_is_one():
    assert rates(study(effect=0.6)).p < 0.001


@pytest.mark.slow
def test_the_interaction_test_keeps_its_size():
    p = np.array([rates(study(seed)).p for seed in range(200)])

    assert np.mean(p < 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_a_stratum_of_one_value_has_nothing_to_interact():
    frame = study().with_columns(age=pl.lit("all"))

    assert rates(frame).p is None


def test_anonymous_votes_and_unknown_strata_are_errors():
    with pytest.raises(StatisticsError, match="anonymous"):
        rates(study().drop("annotator_id"))
    with pytest.raises(StatisticsError, match="no stratum 'sex'"):
        safe_rate_by_stratum(code_ratings(study(), strata=("age",)), "sex")
