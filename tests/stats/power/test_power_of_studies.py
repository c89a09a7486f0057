import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats import CrowdDesign, CrowdModel, clustered_contrast, simulate_ratings
from casewise.stats.power import (
    PilotRatings,
    StudyVariance,
    pilot_intervals,
    study_power,
    study_queries,
    variance_of,
)

MODEL = CrowdModel(query_sd=1.2, query_condition_sd=0.6, annotator_sd=1.0)


def crowd(*, queries, seed, rates=(0.5, 0.6), per_item=10):
    design = CrowdDesign(safe_rates=rates, queries=queries, ratings_per_item=per_item, items_per_annotator=20)
    return simulate_ratings(MODEL, design, rng=np.random.default_rng(seed))


def pilot(drawn):
    return PilotRatings(drawn.safe, drawn.condition == 1, drawn.query, drawn.annotator)


def test_the_parts_of_the_variance_are_those_of_the_crowd():
    # Truths by integration over a very large crowd drawn from the same model.
    rng = np.random.default_rng(1)
    big = crowd(queries=20_000, seed=5, per_item=1)
    shift = rng.normal(0, MODEL.annotator_sd, 4000)
    true = 1 / (1 + np.exp(-(big.logits[:400, :, None] + shift)))
    by_query = true.mean(2)
    truth_difference = (by_query[:, 0] - by_query[:, 1]).var(ddof=1)
    truth_annotators = true.mean(0).var(axis=1, ddof=1).mean()
    found = [variance_of(pilot(crowd(queries=60, seed=seed))) for seed in range(60)]
    assert np.mean([one.of_annotators for one in found]) == pytest.approx(truth_annotators, rel=0.1)
    assert np.mean([one.of_difference for one in found]) == pytest.approx(truth_difference, rel=0.2)


def test_the_power_that_is_planned_is_the_power_that_is_had():
    found = variance_of(pilot(crowd(queries=800, seed=3)))
    planned = study_power(found, found.difference, queries=40, per_item=10, per_annotator=20)
    reached = 0
    for seed in range(150):
        drawn = crowd(queries=40, seed=100 + seed)
        result = clustered_contrast(
            drawn.safe, drawn.condition == 1, query=drawn.query, annotator=drawn.annotator
        ).queries_like_these
        assert result is not None
        reached += result.p is not None and result.p <= 0.05
    assert reached / 150 == pytest.approx(
        planned, abs=0.12
    )  # two and a half standard errors of 150 studies, and t for z


def test_the_queries_that_are_needed_are_the_fewest_that_do():
    variance = StudyVariance(0.1, of_difference=0.02, of_annotators=0.03, of_ratings=0.15)
    size = {"per_item": 5, "per_annotator": 20}
    queries = study_queries(variance, 0.05, **size)
    assert study_power(variance, 0.05, queries=queries, **size) >= 0.8
    assert study_power(variance, 0.05, queries=queries - 1, **size) < 0.8
    # By hand: error^2 = (0.02 + 2 * (20 * 0.03 + 0.15) / 5) / Q, (1.95996 + 0.84162)^2 * 0.32 / 0.05^2 = 1004.6.
    assert queries == 1005


def test_a_pilot_that_cannot_say_is_refused():
    with pytest.raises(StatisticsError, match="both conditions"):
        variance_of(PilotRatings([True, False], [False, False], ["a", "b"], ["x", "y"]))
    with pytest.raises(StatisticsError, match="two queries"):
        variance_of(PilotRatings([True, False], [False, True], ["a", "a"], ["x", "y"]))
    with pytest.raises(StatisticsError, match="difference of 0"):
        study_queries(StudyVariance(0, 0.1, 0.1, 0.1), 0.0, per_item=5, per_annotator=5)


def test_the_interval_lies_around_what_queries_differ_by():
    some = pilot(crowd(queries=60, seed=2))
    parts, limits = variance_of(some), pilot_intervals(some, rng=np.random.default_rng(1), draws=200)

    assert limits.low < parts.of_difference < limits.high
