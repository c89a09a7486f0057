import numpy as np
import polars as pl
import pytest
from tests.support.samples import covers, some

from casewise.stats.estimates import item_values, judge_noise

THREE = pl.DataFrame(
    {"item_id": ["a", "a", "a", "b", "b", "c"], "value": [7.0, 4.0, 7.0, 3.0, None, None]},
    schema={"item_id": pl.String, "value": pl.Float64},
)


def test_an_items_value_is_the_mean_of_its_scored_judgements():
    found = item_values(THREE, elicitation="score")

    assert found.columns == ["item_id", "value", "n_repeats", "n_scored", "n_safe", "sum_squares"]
    assert found["value"].to_list() == [6, 3, None]
    assert found["n_repeats"].to_list() == [3, 2, 1]
    assert found["n_scored"].to_list() == [3, 1, 0]
    assert found["n_safe"].to_list() == [2, 0, 0]
    assert found["sum_squares"].to_list() == [6, 0, 0]


def test_a_scalar_has_no_verdicts():
    assert item_values(THREE, elicitation="scalar")["n_safe"].to_list() == [None, None, None]


def test_noise_is_pooled_within_items():
    noise = some(judge_noise(item_values(THREE, elicitation="score"), np.array([0, 1, 2])))

    assert (noise.n_items, noise.n_judgements) == (1, 6)
    assert noise.deviation.estimate == pytest.approx(np.sqrt(6 / 2))
    assert noise.changes.estimate == pytest.approx(2 * 2 * 1 / (3 * 2))
    assert noise.deviation.n_unscored == 2


def test_noise_has_an_interval_over_queries():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"item_id": np.repeat(np.arange(200), 5).astype(str), "value": rng.normal(5.5, 2, 1000)})
    noise = some(judge_noise(item_values(table, elicitation="score"), np.arange(200)))

    assert covers(noise.deviation, 2)
    assert covers(noise.changes, 0.5)


def test_without_repeats_there_is_no_noise_to_report():
    once = item_values(THREE.unique("item_id"), elicitation="score")

    assert judge_noise(once, np.array([0, 1, 2])) is None


def test_repeats_that_all_failed_have_no_number_and_say_why():
    failed = THREE.with_columns(value=pl.lit(None, dtype=pl.Float64))
    noise = some(judge_noise(item_values(failed, elicitation="score"), np.array([0, 1, 2])))

    assert noise.deviation.estimate is None
    assert noise.deviation.method == "undefined: no item has two judgements with a value"
