import numpy as np
import polars as pl
import pytest
from tests.support.crowds import crowd_plan, crowd_table

from casewise.errors import StatisticsError
from casewise.stats import CrowdModel
from casewise.stats.ratings import code_ratings, safe_rate_by_stratum

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


def people_alone(rng, *, values, conditions, people, items=25, sd=1.0):
    """So many people in each cell, who differ by `sd` logits and by nothing else."""
    n = values * conditions * people
    person = np.repeat(np.arange(n), items)
    safe = rng.random(n * items) < 1 / (1 + np.exp(-rng.normal(0, sd, n)))[person]
    value, condition = person % values, person // values % conditions
    return pl.DataFrame(
        {
            "item_id": [f"i{i % items}-{c}" for i, c in enumerate(condition)],
            "query_id": [f"q{i % items}" for i in range(n * items)],
            "annotator_id": person.astype(str),
            "condition": [f"c{c}" for c in condition],
            "verdict": np.where(safe, "safe", "unsafe"),
            "age": [f"v{v}" for v in value],
        }
    )


@pytest.mark.slow
def test_the_interaction_test_keeps_its_size_with_twelve_people_a_cell():
    rng = np.random.default_rng(3)
    p = [rates(people_alone(rng, values=3, conditions=5, people=12)).p for _ in range(60)]

    assert np.mean(np.array(p) < 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)


def test_with_two_by_two_cells_the_test_is_welchs_for_a_difference_of_differences():
    frame = people_alone(np.random.default_rng(5), values=2, conditions=2, people=15)
    of_person = (
        frame.with_columns(safe=pl.col("verdict") == "safe")
        .group_by("annotator_id", "age", "condition")
        .agg(pl.col("safe").mean())
    )
    cells = {key: rows["safe"].to_numpy() for key, rows in of_person.group_by("age", "condition")}
    means = {key: cell.mean() for key, cell in cells.items()}
    variances = np.array([cell.var(ddof=1) / 15 for cell in cells.values()])
    gap = means["v0", "c0"] - means["v0", "c1"] - means["v1", "c0"] + means["v1", "c1"]

    found = rates(frame)
    assert found.f == pytest.approx(gap**2 / variances.sum())
    assert found.people_df == pytest.approx(variances.sum() ** 2 / (variances**2 / 14).sum())


def test_a_stratum_of_one_value_has_nothing_to_interact():
    frame = study().with_columns(age=pl.lit("all"))

    assert rates(frame).p is None


def test_anonymous_votes_and_unknown_strata_are_errors():
    with pytest.raises(StatisticsError, match="anonymous"):
        rates(study().drop("annotator_id"))
    with pytest.raises(StatisticsError, match="no stratum 'sex'"):
        safe_rate_by_stratum(code_ratings(study(), strata=("age",)), "sex")
