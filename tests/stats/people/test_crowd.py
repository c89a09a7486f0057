import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats.ratings import CrowdDesign, CrowdModel, simulate_ratings

FIVE = CrowdDesign(safe_rates=(0.4, 0.8, 0.2, 0.8, 0.2), queries=60, ratings_per_item=7, items_per_annotator=25)


def rng(seed=1):
    return np.random.default_rng(seed)


def test_every_item_gets_its_ratings():
    crowd = simulate_ratings(CrowdModel(), FIVE, rng=rng())

    assert (np.bincount(crowd.query * 5 + crowd.condition) == 7).all()
    assert len(crowd) == 60 * 5 * 7


def test_nobody_rates_a_query_twice_or_in_two_conditions():
    crowd = simulate_ratings(CrowdModel(), FIVE, rng=rng())

    assert len(np.unique(crowd.annotator * 60 + crowd.query)) == len(crowd)
    assert (crowd.annotator_condition[crowd.annotator] == crowd.condition).all()
    assert np.bincount(crowd.annotator).max() <= 25


def test_a_crowd_without_effects_says_what_the_design_says():
    crowd = simulate_ratings(
        CrowdModel(query_sd=0, query_condition_sd=0, annotator_sd=0),
        CrowdDesign(safe_rates=(0.2, 0.7), queries=500),
        rng=rng(),
    )

    rates = [crowd.safe[crowd.condition == c].mean() for c in (0, 1)]
    assert rates == pytest.approx([0.2, 0.7], abs=5 * np.sqrt(0.25 / 10_500))


def test_contrary_annotators_turn_the_rate_round():
    crowd = simulate_ratings(
        CrowdModel(query_sd=0, query_condition_sd=0, annotator_sd=0, contrary=1),
        CrowdDesign(safe_rates=(0.2,), queries=500),
        rng=rng(),
    )

    assert crowd.safe.mean() == pytest.approx(0.8, abs=0.02)
    assert set(crowd.annotators.kinds()) == {"contrary"}


def test_careless_annotators_answer_by_a_coin():
    crowd = simulate_ratings(
        CrowdModel(careless=1, careless_safe_rate=0.9), CrowdDesign(safe_rates=(0.2,), queries=500), rng=rng()
    )

    assert crowd.safe.mean() == pytest.approx(0.9, abs=0.02)


def test_those_who_leave_rate_less_and_are_counted():
    crowd = simulate_ratings(CrowdModel(drop_out=0.4), CrowdDesign(safe_rates=(0.5, 0.5)), rng=rng())

    rated = np.bincount(crowd.annotator, minlength=len(crowd.finished))
    assert 1 - crowd.finished.mean() == pytest.approx(0.4, abs=0.06)
    assert (rated[crowd.finished] == 25).all()
    assert (rated[~crowd.finished] < 25).all()


def test_the_same_seed_draws_the_same_study():
    first, second = (simulate_ratings(CrowdModel(), FIVE, rng=rng(7)) for _ in range(2))

    assert (first.safe == second.safe).all()


@pytest.mark.parametrize("model", [{"careless": 1.5}, {"annotator_sd": -1}, {"careless": 0.6, "contrary": 0.6}])
def test_impossible_crowds_are_refused(model):
    with pytest.raises(StatisticsError):
        CrowdModel(**model)


@pytest.mark.parametrize("design", [{"safe_rates": ()}, {"safe_rates": (1.0,)}, {"safe_rates": (0.5,), "queries": 0}])
def test_impossible_designs_are_refused(design):
    with pytest.raises(StatisticsError):
        CrowdDesign(**design)
