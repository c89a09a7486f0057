import csv

import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats.agreement import reliability
from casewise.stats.ceilings import ceilings


@pytest.fixture
def release(shared):
    with (shared / "data" / "human_ratings.csv").open() as file:
        rows = list(csv.DictReader(file))
    return np.array([row["votes20"].count("1") for row in rows]), [row["intended_safe"] for row in rows]


def crowd(items=300, votes=20, seed=1):
    rng = np.random.default_rng(seed)
    true = rng.beta(2, 2, items)
    return true, rng.binomial(votes, true), np.full(items, votes)


def test_the_release_has_the_ceilings_that_were_measured_on_it(release):
    result = ceilings(release[0], np.full(900, 20))

    assert result.pearson == pytest.approx(0.908, abs=5e-4)
    assert result.cross_entropy_plug_in == pytest.approx(0.558, abs=5e-4)
    assert result.cross_entropy_floor == pytest.approx(0.582, abs=5e-4)
    assert result.brier_floor == pytest.approx(0.00997, abs=5e-6)


def test_most_of_the_ceiling_on_the_release_is_the_contrast_between_conditions(release):
    safe, intended = release
    meant, rate = np.array(intended) == "1", safe / 20
    between = sum(rows.mean() * (rate[rows].mean() - rate.mean()) ** 2 for rows in (meant, ~meant)) / rate.var()

    result = ceilings(safe, np.full(900, 20), condition=intended)

    assert result.between_conditions == pytest.approx(between)
    assert result.between_conditions == pytest.approx(0.654, abs=5e-4)
    assert result.contrast == "65 % of the rates' variance lies between conditions"


def test_split_halves_stepped_up_agree_with_the_analytic_form(release):
    result = reliability(release[0], np.full(900, 20), rng=np.random.default_rng(1))

    assert result.analytic == pytest.approx(0.8248, abs=5e-5)
    assert result.split_half == pytest.approx(result.analytic, abs=0.003)
    assert result.analytic_interval
    assert result.analytic_interval[0] < result.analytic < result.analytic_interval[1]


def test_two_items_by_hand():
    result = ceilings([1, 3], [4, 4])

    assert result.brier_floor == pytest.approx(0.25 * 0.75 / 3)
    assert result.pearson == pytest.approx(np.sqrt(1 - (0.1875 / 3) / 0.125))
    entropy = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    assert result.cross_entropy_plug_in == pytest.approx(entropy)
    assert result.cross_entropy_floor == pytest.approx(entropy + 1 / 8)


def test_the_pearson_ceiling_is_what_the_true_rates_reach():
    true, safe, votes = crowd(items=20_000)

    assert ceilings(safe, votes).pearson == pytest.approx(np.corrcoef(true, safe / votes)[0, 1], abs=0.01)


def test_the_bce_floor_is_nearer_to_the_true_entropy_than_the_plug_in():
    true, safe, votes = crowd(items=5000)
    entropy = -np.mean(true * np.log(true) + (1 - true) * np.log(1 - true))

    result = ceilings(safe, votes)
    assert abs(result.cross_entropy_floor - entropy) < abs(result.cross_entropy_plug_in - entropy)


@pytest.mark.parametrize(
    "question",
    [
        lambda: ceilings([1, 1], [1, 1]),
        lambda: ceilings([2, 2], [4, 4]),
        lambda: reliability([1, 1, 1], [2, 2, 2], rng=np.random.default_rng(0)),
    ],
)
def test_what_has_no_answer_is_an_error(question):
    with pytest.raises(StatisticsError):
        question()
